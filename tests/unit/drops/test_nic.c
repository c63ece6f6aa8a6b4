// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of driver counters, against recorded `ethtool -S` output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "host/counters.h"
#include "drops/stagemap.h"
#include "recorded.h"

#define MOST 64 /* losses of a fixture */

/* "name: value", where names may have colons. */
static void add_line(struct nic_sample *s, char *line)
{
	char *colon = strrchr(line, ':'), *end;
	uint64_t value;

	if (!colon || !colon[1])
		return;
	value = strtoull(colon + 1, &end, 10);
	end += strspn(end, " \n");
	if (end == colon + 1 || *end)
		return;
	*colon = '\0';
	nic_sample_add(s, line, value);
}

/* The line of numbers below "RX:  bytes packets errors dropped ..." of `ip -s -s link`. */
static void add_link(struct nic_sample *s, const char *header, const char *numbers)
{
	unsigned long long v[5] = {0};

	assert_int_equal(
		sscanf(numbers, "%llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4]), 5);
	if (strstr(header, "RX:")) {
		nic_sample_add(s, "link:rx_dropped", v[3]);
		nic_sample_add(s, "link:rx_missed_errors", v[4]);
	} else {
		nic_sample_add(s, "link:tx_dropped", v[3]);
	}
}

static struct nic_sample load(const char *name)
{
	char path[128], line[512], header[512] = "";
	struct nic_sample s = {0};
	bool counters = true;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/nic/%s.txt", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "# ", 2))
			continue;
		if (!strncmp(line, "--- ", 4))
			counters = !strncmp(line + 4, "ethtool -S", 10);
		else if (*header)
			add_link(&s, header, line);
		else if (counters)
			add_line(&s, line);
		*header = '\0';
		if (strstr(line, "X:  bytes"))
			strcpy(header, line);
	}
	fclose(f);
	return s;
}

/* The same counters, all 0. */
static struct nic_sample zeros(const struct nic_sample *s)
{
	struct nic_sample z = {0};

	for (unsigned i = 0; i < s->n; i++)
		nic_sample_add(&z, s->at[i].name, 0);
	return z;
}

struct nic_case {
	char name[128], driver[32];
	struct nic_sample before, after;
	struct nic_plan *plan;
	struct nic_loss loss[MOST];
	unsigned n, named; /* losses; those that a line has named */
	bool items;	   /* are looked at, not losses */
	uint64_t summed, bound;
};

static uint64_t lost(const struct nic_case *c, enum nic_class class, const char *stage,
		     const char *cause)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < c->n; i++) {
		const struct nic_row *row = c->loss[i].item->row;

		if (row->class == class && (!stage || !strcmp(stage_name(row->stage), stage)) &&
		    (!cause || !strcmp(nic_cause_names[row->cause], cause)))
			packets += c->loss[i].packets;
	}
	return packets;
}

/* Compares the counters once all of them are read. */
static void compare(struct nic_case *c)
{
	if (c->plan || !*c->driver)
		return;
	c->plan = nic_plan_new(c->driver, &c->after);
	c->n = nic_losses(c->plan, &c->before, &c->after, c->loss, MOST);
	assert_true(c->n <= MOST);
}

static void end_case(struct nic_case *c)
{
	compare(c);
	if (*c->driver && !c->named && !c->items &&
	    (lost(c, NIC_LOSS, NULL, NULL) != c->summed ||
	     lost(c, NIC_BOUND, NULL, NULL) != c->bound))
		fail_msg("%s: %llu lost, %llu bound", c->name,
			 (unsigned long long)lost(c, NIC_LOSS, NULL, NULL),
			 (unsigned long long)lost(c, NIC_BOUND, NULL, NULL));
	if (c->named && c->named != c->n)
		fail_msg("%s: %u losses", c->name, c->n);
	nic_plan_free(c->plan);
	nic_sample_free(&c->before);
	nic_sample_free(&c->after);
}

static void take_ring(struct nic_case *c, const char *counter, uint64_t packets)
{
	struct counters_device b = {.nic = c->before}, a = {.nic = c->after};
	struct nic_ring_loss loss;

	strcpy(a.link.ifname, "eth7");
	strcpy(a.driver, c->driver);
	loss = nic_ring_loss(&b, &a);
	nic_plan_free(a.plan);
	assert_int_equal(loss.packets, packets);
	assert_string_equal(loss.counter, counter);
	c->driver[0] = '\0';
}

static void take_row(char *text)
{
	const struct nic_driver *driver = nic_driver_find(strsep(&text, " "));
	const char *class = strsep(&text, " "), *cause = strsep(&text, " ");
	const struct nic_row *row = driver ? nic_row_find(driver->rows, text, NULL) : NULL;

	if (!row || strcmp(nic_class_names[row->class], class) ||
	    strcmp(nic_cause_names[row->cause], cause))
		fail_msg("%s is not %s %s", text, class, cause);
}

static const struct nic_item *item_of(const struct nic_plan *p, const struct nic_sample *s,
				      const char *name, int queue)
{
	const struct nic_item *items;
	unsigned n;

	items = nic_plan_items(p, &n);
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(s->at[items[i].at].name, name) && items[i].queue == queue)
			return &items[i];
	}
	return NULL;
}

/* "QUEUE VALUE NAME": a counter of a queue, or -1, that the table has; whether another one has the
 * same packets.
 */
static void take_item(struct nic_case *c, char *text, bool repeated)
{
	const int queue = (int)strtol(text, &text, 10);
	const uint64_t value = strtoull(text, &text, 10);
	const struct nic_item *item;

	compare(c);
	item = item_of(c->plan, &c->after, text + 1, queue);
	if (!item || c->after.at[item->at].value != value || item->repeated != repeated)
		fail_msg("%s: %s of queue %d is not there, or is another one", c->name, text + 1,
			 queue);
	if (strstr(text, "-packets"))
		assert_int_equal(item->row->cause, NIC_RX_PACKETS);
	c->items = true;
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct nic_case *c = arg;
	const char *stage, *cause;
	uint64_t value;

	if (!strcmp(verb, "case")) {
		end_case(c);
		*c = (struct nic_case){};
		snprintf(c->name, sizeof(c->name), "%s", text);
	} else if (!strcmp(verb, "driver")) {
		snprintf(c->driver, sizeof(c->driver), "%s", text);
	} else if (!strcmp(verb, "file")) {
		c->after = load(text);
		c->before = zeros(&c->after);
	} else if (!strcmp(verb, "files")) {
		c->before = load(strsep(&text, " "));
		c->after = load(text);
	} else if (!strcmp(verb, "row")) {
		take_row(text);
	} else if (!strcmp(verb, "known")) {
		const struct nic_driver *driver = nic_driver_find(strsep(&text, " "));

		if (!driver || !nic_row_find(driver->rows, text, NULL))
			fail_msg("no row for %s", text);
	} else if (!strcmp(verb, "sum")) {
		compare(c);
		stage = strsep(&text, " ");
		cause = strsep(&text, " ");
		value = strtoull(text, NULL, 10);
		if (lost(c, NIC_LOSS, stage, cause) != value)
			fail_msg("%s: %s %s: %llu", c->name, stage, cause,
				 (unsigned long long)lost(c, NIC_LOSS, stage, cause));
		c->summed += value;
	} else if (!strcmp(verb, "bound")) {
		c->bound = strtoull(text, NULL, 10);
	} else if (!strcmp(verb, "counter")) {
		value = strtoull(text, &text, 10);
		stage = strchr(text + 1, ' ') + 1;
		nic_sample_add(&c->before, stage, value);
		nic_sample_add(&c->after, stage, strtoull(text, NULL, 10));
	} else if (!strcmp(verb, "ring")) {
		value = strtoull(text, &text, 10);
		take_ring(c, *text ? text + 1 : text, value);
	} else if (!strcmp(verb, "item") || !strcmp(verb, "repeated")) {
		take_item(c, text, *verb == 'r');
	} else if (!strcmp(verb, "no-item")) {
		compare(c);
		assert_null(item_of(c->plan, &c->after, text, -1));
	} else {
		const struct nic_loss *l = &c->loss[c->named++];

		compare(c);
		value = strtoull(text, &text, 10);
		if (c->named > c->n || l->packets != value || strcmp(l->name, text + 1) ||
		    l->restarted != !strcmp(verb, "restarted"))
			fail_msg("%s: %s %llu%s", c->name, l->name, (unsigned long long)l->packets,
				 l->restarted ? ", restarted" : "");
	}
}

CASE(losses)
{
	struct nic_case c = {};

	recorded_each("tests/fixtures/nic/losses", take_line, &c);
	assert_null(nic_row_find(nic_driver_find("macb")->rows, "rx_resource", NULL));
}

/* ethtool -L between the samples resets the counters of the queues, but not of the port. */
CASE(queues_restarted)
{
	struct nic_sample before = load("igb-2-before"), after = load("igb-2-after");
	struct nic_plan *p = nic_plan_new("igb", &before);
	struct nic_loss l[MOST];
	const struct nic_item *items;
	unsigned n, restarted = 0;

	assert_true(nic_plan_fits(p, &after));
	assert_int_equal(nic_losses(p, &before, &after, l, MOST), 0);
	items = nic_plan_items(p, &n);
	for (unsigned i = 0; i < n; i++) {
		bool anew;

		nic_item_delta(&items[i], &before, &after, &anew);
		if (anew)
			assert_true(items[i].queue >= 0);
		restarted += anew;
	}
	assert_true(restarted > 0);
	nic_plan_free(p);
	nic_sample_free(&before);
	nic_sample_free(&after);
}

/* Queues came and went: counters are known by name, and the n-th of a name is the n-th again. */
CASE(queues_changed)
{
	static const char *const names[2][4] = {{"rx_queue_1_drops", "rx_queue_0_drops", "x", "x"},
						{"rx_queue_0_drops", "rx_queue_2_drops", "x", "x"}};
	struct nic_sample s[2] = {0}, matched = {0};
	struct nic_plan *p;

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned j = 0; j < 4; j++)
			nic_sample_add(&s[i], names[i][j], 10 * i + j);
	}
	p = nic_plan_new("igb", &s[0]);
	assert_false(nic_plan_fits(p, &s[1]));
	nic_sample_match(&s[0], &s[1], &matched);
	assert_int_equal(matched.n, 4);
	assert_int_equal(matched.at[0].value, 1);
	assert_int_equal(matched.at[1].value, 11); /* new: has not moved */
	assert_int_equal(matched.at[2].value, 2);
	assert_int_equal(matched.at[3].value, 3);
	nic_plan_free(p);
	nic_sample_free(&matched);
	nic_sample_free(&s[0]);
	nic_sample_free(&s[1]);
}

static bool has_counter(const struct nic_row *rows, const char *list, size_t len)
{
	for (; rows->counter; rows++) {
		if (strlen(rows->counter) == len && !strncmp(rows->counter, list, len))
			return true;
	}
	return false;
}

static void check_list(const struct nic_row *rows, const struct nic_row *row, const char *list)
{
	for (const char *p = list; *p; p += *p == '|') {
		size_t len = strcspn(p, "|");

		if (!has_counter(rows, p, len) && !has_counter(nic_common_rows, p, len))
			fail_msg("%s: no row for %.*s", row->counter, (int)len, p);
		p += len;
	}
}

static void check_rows(const struct nic_row *rows)
{
	for (const struct nic_row *r = rows; r->counter; r++) {
		assert_true(strlen(r->counter) < NIC_NAME);
		assert_true(r->what && *r->what);
		assert_true(r->class != NIC_LOSS || r->stage != STAGE_NONE);
		assert_int_equal(!!(r->events & NIC_EV_KFREE), r->places != NULL);
		assert_int_equal(r->class == NIC_TRAFFIC, r->cause >= NIC_RX_PACKETS);
		if (r->repeats)
			check_list(rows, r, r->repeats);
		if (r->less)
			check_list(rows, r, r->less);
		for (const struct nic_row *q = rows; q < r; q++)
			assert_string_not_equal(q->counter, r->counter);
	}
}

CASE(table)
{
	check_rows(nic_common_rows);
	check_rows(nic_unknown_rows);
	for (unsigned i = 0; i < nic_driver_count; i++) {
		assert_true(*nic_drivers[i].source);
		check_rows(nic_drivers[i].rows);
	}
	assert_non_null(nic_driver_find("mlx5e_rep"));
	assert_non_null(nic_driver_find("802.1Q"));
	assert_null(nic_driver_find("igb igc"));
	assert_null(nic_driver_find("ig"));
	assert_null(nic_driver_find(""));
}

/* Contained counters are found by name: the sum over all queues is not contained in each queue. */
CASE(names_that_are_repeated)
{
	struct nic_sample s = {0};
	const struct nic_item *items;
	struct nic_plan *plan;
	unsigned n, less = 0;

	for (unsigned i = 0; i < 20; i++)
		nic_sample_add(&s, i % 2 ? "rx0_drops" : "rx0_xdp_drops", i);
	plan = nic_plan_new("virtio_net", &s);
	assert_non_null(plan);
	items = nic_plan_items(plan, &n);
	for (unsigned i = 0; i < n; i++)
		less += items[i].less_count;
	assert_in_range(less, 10, 2 * s.n); /* there is room for so many */
	nic_plan_free(plan);
	nic_sample_free(&s);
}
