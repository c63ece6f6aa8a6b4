// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tables of losses: grouping, sums, order, and what happens where there is no room. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/describe.h"
#include "monitor/session.h"
#include "monitor/table.h"

static struct live_table t;

static int open_table(void **state)
{
	table_init(&t, LIVE_ROWS);
	return 0;
}

static int close_table(void **state)
{
	table_free(&t);
	return 0;
}

static struct live_row row(enum stage stage, enum drop_class class, const char *socket, const char *cpu,
			   uint64_t packets)
{
	struct live_row r = {.stage = stage,
			     .class = class,
			     .note = "a note",
			     .cookie = 7,
			     .counts = {1, packets, 100 * packets, 1000 * packets}};

	live_row_begin(&r, "", "");
	r.text[LIVE_SOCKET] = socket;
	r.text[LIVE_CPU] = cpu;
	return r;
}

static void add(struct live_table *to, unsigned by, enum stage stage, const char *socket,
		const char *cpu, uint64_t packets)
{
	const struct live_row r = row(stage, CLASS_LOSS, socket, cpu, packets);

	assert_true(table_add(to, &r, by));
}

static const struct live_row *find(const struct live_table *in, enum stage stage,
				   const char *socket)
{
	for (unsigned i = 0; i < in->n; i++) {
		if (in->rows[i].stage == stage && !strcmp(in->rows[i].text[LIVE_SOCKET], socket))
			return &in->rows[i];
	}
	fail_msg("no row %s %s", stage_name(stage), socket);
	return NULL;
}

CASE_WITH(rows_are_told_apart_by_what_is_asked, open_table, close_table)
{
	const unsigned by = LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_SOCKET);

	assert_int_equal(table_sum(&t, 0, STAGE_NONE).packets, 0);
	add(&t, by, STAGE_RCVBUF, "*:1", "0", 3);
	add(&t, by, STAGE_RCVBUF, "*:1", "1", 4);
	add(&t, by, STAGE_RCVBUF, "*:2", "1", 5);
	add(&t, by, STAGE_QDISC, "*:2", "1", 6);
	assert_int_equal(t.n, 3);
	assert_int_equal(find(&t, STAGE_RCVBUF, "*:1")->counts.packets, 7);
	assert_int_equal(find(&t, STAGE_RCVBUF, "*:1")->counts.events, 2);
	assert_int_equal(find(&t, STAGE_RCVBUF, "*:1")->counts.bytes, 700);
	assert_int_equal(find(&t, STAGE_RCVBUF, "*:1")->counts.memory, 7000);
	assert_string_equal(find(&t, STAGE_RCVBUF, "*:1")->text[LIVE_CPU], "");
	assert_int_equal(table_sum(&t, 0, STAGE_NONE).packets, 18);
	table_clear(&t);
	assert_int_equal(t.n, 0);
	add(&t, by, STAGE_RCVBUF, "*:1", "0", 1);
	assert_int_equal(t.n, 1);
}

CASE_WITH(what_rows_do_not_share_is_unknown, open_table, close_table)
{
	struct live_row a = row(STAGE_RCVBUF, CLASS_LOSS, "*:1", "0", 1), b = a;

	b.note = "another";
	b.cookie = 8;
	table_add(&t, &a, LIVE_BY_STAGE);
	assert_string_equal(t.rows[0].note, "a note");
	assert_int_equal(t.rows[0].cookie, 7);
	table_add(&t, &b, LIVE_BY_STAGE);
	assert_null(t.rows[0].note);
}

CASE_WITH(the_largest_burst_stays, open_table, close_table)
{
	static const uint64_t packets[] = {3, 9, 7};
	struct live_row one = row(STAGE_RCVBUF, CLASS_LOSS, "*:1", "0", 10);

	for (unsigned i = 0; i < 3; i++) {
		one.burst = (struct live_burst){packets[i], 1000 + i, 100};
		table_add(&t, &one, LIVE_BY_STAGE);
	}
	assert_int_equal(t.rows[0].counts.packets, 30);
	assert_int_equal(t.rows[0].burst.packets, 9);
	assert_int_equal(t.rows[0].burst.time_ns, 1001);
}

static void add_in(uint32_t netns, const char *name, uint64_t packets)
{
	struct live_row r = row(STAGE_RCVBUF, CLASS_LOSS, "*:1", "0", packets);

	r.netns = netns;
	r.text[LIVE_NETNS] = name;
	assert_true(table_add(&t, &r, LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_NETNS)));
}

/* Its name is found later than its first drop; its number is given to another one afterwards. */
CASE_WITH(a_namespace_has_one_row, open_table, close_table)
{
	add_in(4026532384, "4026532384", 1);
	add_in(4026532385, "4026532385", 2);
	assert_int_equal(t.n, 2);
	add_in(4026532384, "late", 4);
	add_in(4026532384, "4026532384", 8);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.rows[0].text[LIVE_NETNS], "late");
	assert_int_equal(t.rows[0].counts.packets, 13);
	assert_int_equal(t.rows[0].netns, 4026532384);
	add_in(4026532384, "another", 16);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.rows[0].counts.packets, 13);
	for (unsigned i = 0; i < 200; i++) { /* and the index grows */
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		add_in(5000 + i, name, 1);
	}
	add_in(4026532385, "two", 1);
	assert_int_equal(t.n, 203);
	assert_string_equal(t.rows[1].text[LIVE_NETNS], "two");
}

CASE_WITH(the_socket_that_lost_most_of_it, open_table, close_table)
{
	static const uint64_t votes[][2] = {{7, 3}, {8, 10}, {9, 2}, {8, 10}, {7, 4}, {9, 6}};
	struct live_row one = row(STAGE_RCVBUF, CLASS_LOSS, "*:1", "0", 1);

	for (unsigned i = 0; i < sizeof(votes) / sizeof(votes[0]); i++) {
		one.cookie = votes[i][0];
		one.counts.packets = votes[i][1];
		table_add(&t, &one, LIVE_BY_STAGE);
	}
	assert_int_equal(t.n, 1);
	assert_int_equal(t.rows[0].counts.packets, 35);
	assert_int_equal(t.rows[0].cookie, 8); /* 20 of 35 */
}

/* Texts are the table's own. */
CASE_WITH(texts_are_copied, open_table, close_table)
{
	char name[] = "*:1";

	add(&t, LIVE_BY_DEFAULT, STAGE_RCVBUF, name, "", 1);
	memset(name, 'x', 3);
	assert_string_equal(t.rows[0].text[LIVE_SOCKET], "*:1");
}

CASE_WITH(grouped_by_fewer_fields, open_table, close_table)
{
	const unsigned by = LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_CPU);
	const struct live_row benign = row(STAGE_L2, CLASS_EXPECTED, "", "0", 100);
	struct live_table by_stage, by_cpu;

	add(&t, by, STAGE_RCVBUF, "*:1", "0", 1);
	add(&t, by, STAGE_RCVBUF, "*:2", "1", 2);
	add(&t, by, STAGE_NEIGH, "", "1", 4);
	table_add(&t, &benign, by);
	assert_int_equal(table_sum(&t, 1u << CLASS_LOSS, STAGE_NONE).packets, 7);
	assert_int_equal(table_sum(&t, 1u << CLASS_LOSS, STAGE_RCVBUF).packets, 3);
	assert_int_equal(table_sum(&t, 1u << CLASS_LOSS, STAGE_L2).packets, 0); /* benign */
	assert_int_equal(table_sum(&t, 1u << CLASS_LOSS, STAGE_NEIGH).bytes, 400);
	table_group(&by_stage, &t, LIVE_BIT(LIVE_STAGE), 1 << CLASS_LOSS);
	assert_int_equal(by_stage.n, 2);
	assert_int_equal(find(&by_stage, STAGE_RCVBUF, "")->counts.packets, 3);
	table_group(&by_cpu, &t, LIVE_BIT(LIVE_CPU), 0);
	assert_int_equal(by_cpu.n, 2);
	table_sort(&by_cpu, TABLE_BY_PACKETS);
	assert_string_equal(by_cpu.rows[0].text[LIVE_CPU], "0");
	assert_int_equal(by_cpu.rows[0].counts.packets, 101);
	assert_int_equal(table_sum(&t, 1 << CLASS_EXPECTED, STAGE_NONE).packets, 100);
	table_free(&by_cpu);
	table_free(&by_stage);
}

CASE_WITH(sorted, open_table, close_table)
{
	add(&t, LIVE_BY_DEFAULT, STAGE_RCVBUF, "*:1", "", 5);
	add(&t, LIVE_BY_DEFAULT, STAGE_RCVBUF, "*:2", "", 9);
	add(&t, LIVE_BY_DEFAULT, STAGE_NEIGH, "", "", 7);
	add(&t, LIVE_BY_DEFAULT, STAGE_NEIGH, "*:3", "", 7);
	table_sort(&t, TABLE_BY_PATH);
	assert_string_equal(t.rows[0].text[LIVE_SOCKET], "");
	assert_string_equal(t.rows[1].text[LIVE_SOCKET], "*:3");
	assert_string_equal(t.rows[2].text[LIVE_SOCKET], "*:2");
	table_sort(&t, TABLE_BY_PACKETS);
	assert_int_equal(t.rows[0].counts.packets, 9);
	assert_int_equal(t.rows[3].counts.packets, 5);
	/* the index has been made anew */
	add(&t, LIVE_BY_DEFAULT, STAGE_RCVBUF, "*:1", "", 1);
	assert_int_equal(t.n, 4);
	assert_int_equal(find(&t, STAGE_RCVBUF, "*:1")->counts.packets, 6);
}

/* Nothing is lost: rows without room are counted as other. */
CASE_WITH(full, open_table, close_table)
{
	const unsigned by = LIVE_BY_STAGE | LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_REASON);
	unsigned all = 0;

	t.max = 100;
	for (unsigned i = 0; i < 1000; i++) {
		struct live_row r = row(STAGE_RCVBUF + i % 2, CLASS_LOSS, "", "", 1 + i);
		char socket[16];

		snprintf(socket, sizeof(socket), "*:%u", i);
		r.text[LIVE_SOCKET] = socket;
		r.text[LIVE_REASON] = "SOCKET_RCVBUFF";
		table_add(&t, &r, by);
		all += 1 + i;
	}
	assert_int_equal(t.others, 1000 - (t.n - 2));
	assert_int_equal(table_sum(&t, 0, STAGE_NONE).packets, all);
	assert_int_equal(table_sum(&t, 0, STAGE_NONE).events, 1000);
	assert_in_range(t.n, 50, 102);
	assert_string_equal(find(&t, STAGE_RCVBUF, LIVE_OTHERS)->text[LIVE_REASON],
			    "SOCKET_RCVBUFF");
	/* the largest have stayed, each with all that it lost */
	for (unsigned i = 960; i < 1000; i++) {
		char socket[16];

		snprintf(socket, sizeof(socket), "*:%u", i);
		assert_int_equal(find(&t, STAGE_RCVBUF + i % 2, socket)->counts.packets, 1 + i);
	}
}

/* Fields of few values can be many together: then the stage is what remains. */
CASE_WITH(full_of_reasons, open_table, close_table)
{
	const unsigned by = LIVE_BY_STAGE | LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_NETNS);

	t.max = 100;
	for (unsigned i = 0; i < 1000; i++) {
		struct live_row r = row(STAGE_NETFILTER, CLASS_LOSS, "", "", 2);
		char netns[16];

		snprintf(netns, sizeof(netns), "%u", i);
		r.text[LIVE_NETNS] = netns;
		table_add(&t, &r, by);
	}
	assert_int_equal(table_sum(&t, 0, STAGE_NONE).packets, 2000);
	assert_int_equal(t.n, 126);
}

CASE_WITH(limits, open_table, close_table)
{
	const struct limit ask[] = {{STAGE_NONE, LIMIT_PACKETS, 10},
				    {STAGE_RCVBUF, LIMIT_PER_SECOND, 5}};
	const struct limit share = {STAGE_NONE, LIMIT_SHARE, 0.1};
	const uint64_t second = 1000000000;
	struct live_table now, total;
	struct error err = {};
	struct limits l;

	assert_int_equal(limits_init(&l, &share, 1, &err), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_int_equal(limits_init(&l, ask, 2, &err), 0);
	table_init(&now, LIVE_ROWS);
	table_init(&total, LIVE_ROWS);
	add(&now, LIVE_BY_DEFAULT, STAGE_RCVBUF, "", "", 10);
	add(&total, LIVE_BY_DEFAULT, STAGE_RCVBUF, "", "", 10);
	/* 10 in all are allowed; 10 in two seconds are 5/s */
	assert_false(limits_crossed(&l, 0, &now, &total, 2 * second));
	assert_false(limits_crossed(&l, 1, &now, &total, 2 * second));
	assert_false(l.broken);
	assert_true(limits_crossed(&l, 1, &now, &total, second));
	assert_float_equal(l.at[1].measured, 10, 0.001);
	/* it is shown once, until it was kept again */
	assert_false(limits_crossed(&l, 1, &now, &total, second));
	table_clear(&now);
	assert_false(limits_crossed(&l, 1, &now, &total, second));
	add(&now, LIVE_BY_DEFAULT, STAGE_RCVBUF, "", "", 6);
	assert_true(limits_crossed(&l, 1, &now, &total, second));
	assert_true(l.broken);
	add(&total, LIVE_BY_DEFAULT, STAGE_NEIGH, "", "", 1);
	assert_true(limits_crossed(&l, 0, &now, &total, second));
	table_free(&now);
	table_free(&total);
}

/* Parts of an interval, in any order: the sum equals a single reading. */
CASE(entries_read_in_parts)
{
	struct entries list = {};
	uint64_t events[3][4] = {}, total = 0;

	srand(2);
	for (unsigned i = 0; i < 20000; i++) {
		struct watch_entry e = {.key = {.location = 1 + (uint64_t)rand() % 3},
					.cpu = (unsigned)rand() % 4,
					.count = {.events = (uint64_t)rand() % 10, .bytes = 100}};

		events[e.key.location - 1][e.cpu] += e.count.events;
		entries_add(&list, &e);
	}
	assert_int_equal(list.at.n, 12);
	for (unsigned i = 0; i < list.at.n; i++) {
		const struct watch_entry *e = (struct watch_entry *)list.at.at + i;

		total += e->count.bytes;
		events[e->key.location - 1][e->cpu] -= e->count.events;
	}
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(events[i / 4][i % 4], 0);
	assert_int_equal(total, 20000 * 100);
	list_clear(&list.at);
	assert_int_equal(list.at.n, 0);
	list_free(&list.at);
}

int main(void)
{

	return run_cases(NULL, NULL);
}
