// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tests/fixtures/counters: experiments with known truth, and rows of the table. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cases.h"
#include "ledger/ledger.h"
#include "recorded.h"

#define FACT(member) FIELD(struct engine_facts, member)
static const struct recorded_field fact_fields[] = {
	FACT(family),	    FACT(private_ns), FACT(any_traffic), FACT(tx_socket), FACT(xsk_zerocopy),
	FACT(rx_in_sender), FACT(xdp_native), FACT(eagain),	 FACT(short_calls), FACT(refused),
	FACT(xdp_sink),	    {0}};

/* "rcvbuf 495 of 495..495 agrees flow rx Udp:RcvbufErrors" */
static const char *row_text(const struct result_counter *row)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s %" PRIu64 " of %" PRIu64 "..%" PRIu64 " %s %s %s",
		 stage_name(row->stage), row->delta, row->expected, row->expected_max,
		 row->agrees	   ? "agrees"
		 : row->documented ? "documented"
				   : "disagrees",
		 row->scope, row->name);
	return text;
}

struct run {
	char name[96]; /* of the case */
	struct engine_facts facts;
	char qdisc[16], ends[8][16];
	struct engine_link link[2];
	struct ledger_cause cause[6];
	struct counter counter[10];
	struct counters moved;
	size_t causes;
	bool compared;
	struct countercheck found;
	size_t rows, unexplained; /* that were looked at */
};

/* Copies a word. "-" means empty. */
static void take(char *to, size_t size, char **text)
{
	const char *word = strsep(text, " ");

	snprintf(to, size, "%s", strcmp(word, "-") ? word : "");
}

static enum stage stage_of(const char *name)
{
	enum stage stage = 0;

	while (stage < STAGE_COUNT && strcmp(stage_name(stage), name))
		stage++;
	return stage;
}

static void take_loss(struct result_cause *c, struct trace_count *count, char *text)
{
	c->stage = stage_of(strsep(&text, " "));
	take(c->reason, sizeof(c->reason), &text);
	take(c->location, sizeof(c->location), &text);
	take(c->netns, sizeof(c->netns), &text);
	take(c->ifname, sizeof(c->ifname), &text);
	assert_int_equal(sscanf(text, "%llu %llu", &count->events, &count->packets), 2);
}

static void take_counter(struct counter *c, char *text)
{
	take(c->scope, sizeof(c->scope), &text);
	c->value = strtoull(text, &text, 10);
	snprintf(c->name, sizeof(c->name), "%s", text + 1);
}

static void take_link(struct run *r, char *text)
{
	char(*word)[16] = &r->ends[4 * r->facts.n_links];

	for (unsigned i = 0; i < 4; i++)
		take(word[i], sizeof(word[i]), &text);
	r->link[r->facts.n_links++] = (struct engine_link){{{word[0], word[1]}, {word[2], word[3]}}};
}

static void compare(struct run *r)
{
	if (r->compared)
		return;
	r->compared = true;
	r->moved.items = r->counter;
	r->facts.links = r->link;
	r->facts.tx_qdisc = *r->qdisc ? r->qdisc : NULL;
	countercheck_compare(&r->moved, r->cause, r->causes, &r->facts, &r->found);
}

static void check(const struct run *r, const struct result_counter *rows, size_t n, size_t i,
		  const char *wanted)
{
	if (i >= n || strcmp(row_text(&rows[i]), wanted))
		fail_msg("%s\n   %s\nis %s", r->name, wanted, i < n ? row_text(&rows[i]) : "none");
	if (rows[i].documented)
		assert_memory_equal(rows[i].note, "documented:", 11);
}

#define MOVED 7

/*
 * "moves may tx v-tx:tx_dropped xdp - xdp_bulk_tx tx fq": how surely (never, must, may, or quirk,
 * which may be documented) seven skbs lost there move each of the counters, with a fact of the
 * engines. Both devices are a pair of veth; without more, send() has no qdisc, and fills the
 * receiver's backlog within the call.
 */
static void moves(char *text)
{
	static const struct engine_link pair[] = {{{{"tx", "v-tx"}, {"rx", "v-rx"}}}};
	const char *how = strsep(&text, " "), *role = strsep(&text, " "), *counter;
	const bool quirk = !strcmp(how, "quirk"), row = quirk || !strcmp(how, "must");
	const uint64_t most = strcmp(how, "never") ? MOVED : 0;
	char *list = strsep(&text, " "), loss[256];
	struct engine_facts facts = {.family = AF_INET,
				     .private_ns = true,
				     .tx_socket = true,
				     .rx_in_sender = ENGINE_YES,
				     .links = pair,
				     .n_links = 1};
	struct ledger_cause lost = {.raw.count = {.events = MOVED, .packets = 2 * MOVED}};
	struct result_cause *c = &lost.named;
	const char *fact;

	snprintf(loss, sizeof(loss), "%s", text);
	c->stage = stage_of(strsep(&text, " "));
	take(c->reason, sizeof(c->reason), &text);
	take(c->location, sizeof(c->location), &text);
	take(c->netns, sizeof(c->netns), &text);
	snprintf(c->ifname, sizeof(c->ifname), "v-%.13s", c->netns);
	fact = text ? text : "";
	facts.any_traffic = !strcmp(c->netns, "host");
	facts.family = facts.any_traffic ? AF_UNSPEC : AF_INET;
	if (!strcmp(fact, "later")) /* the receiver's softirq is not within the call */
		facts.rx_in_sender = ENGINE_NO;
	else if (!strcmp(fact, "driver") || !strcmp(fact, "generic"))
		facts.xdp_native = !strcmp(fact, "driver") ? ENGINE_YES : ENGINE_NO;
	else if (*fact)
		facts.tx_qdisc = fact;
	while ((counter = strsep(&list, "|"))) {
		for (unsigned i = 0; i < 3; i++) {
			const uint64_t delta = i ? MOVED + i - 1 : 0;
			struct counter item = {.value = delta};
			struct counters deltas = {.items = &item, .n = 1};
			struct countercheck found;
			bool good;

			snprintf(item.scope, sizeof(item.scope), "%s", role);
			snprintf(item.name, sizeof(item.name), "%s", counter);
			countercheck_compare(&deltas, &lost, 1, &facts, &found);
			good = found.n_rows == row && found.n_unexplained == (delta > most);
			if (good && row) /* others may have moved one of the host, too */
				good = found.rows[0].stage == c->stage &&
				       found.rows[0].agrees ==
					       (delta == MOVED || (delta && !strcmp(role, "host"))) &&
				       found.rows[0].documented == (!delta && quirk);
			if (!good)
				fail_msg("%s %s, %s, moved by %u", how, counter, loss, (unsigned)delta);
			countercheck_free(&found);
		}
	}
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct run *r = arg;

	if (!strcmp(verb, "case")) {
		compare(r);
		if (r->rows != r->found.n_rows || r->unexplained != r->found.n_unexplained)
			fail_msg("%s: more rows", r->name);
		countercheck_free(&r->found);
		*r = (struct run){};
		snprintf(r->name, sizeof(r->name), "%s", text);
	} else if (!strcmp(verb, "moves")) {
		moves(text);
	} else if (!strcmp(verb, "facts")) {
		recorded_read(fact_fields, text, &r->facts);
	} else if (!strcmp(verb, "qdisc")) {
		take(r->qdisc, sizeof(r->qdisc), &text);
	} else if (!strcmp(verb, "link")) {
		take_link(r, text);
	} else if (!strcmp(verb, "loss")) {
		assert_true(r->causes < LENGTH(r->cause));
		take_loss(&r->cause[r->causes].named, &r->cause[r->causes].raw.count, text);
		r->causes++;
	} else if (!strcmp(verb, "counter")) {
		assert_true(r->moved.n < LENGTH(r->counter));
		take_counter(&r->counter[r->moved.n++], text);
	} else if (!strcmp(verb, "row")) {
		compare(r);
		check(r, r->found.rows, r->found.n_rows, r->rows++, text);
	} else {
		assert_string_equal(verb, "unexplained");
		compare(r);
		check(r, r->found.unexplained, r->found.n_unexplained, r->unexplained++, text);
	}
}

CASE(all_experiments)
{
	struct run r = {};

	recorded_each("tests/fixtures/counters/experiments", take_line, &r);
	recorded_each("tests/fixtures/counters/table", take_line, &r);
}

CASE(those_of_namespaces_are_known)
{
	assert_true(countercheck_knows("Udp:SndbufErrors") && countercheck_knows("Ip6OutNoRoutes"));
	assert_true(countercheck_knows("TcpExt:ListenDrops") && countercheck_knows("XfrmIn0"));
	assert_false(countercheck_knows("Udp:InDatagrams") || countercheck_knows("TcpExt:TCPTimeouts"));
}

/* What send() refused: EAGAIN moves its counters each time, the rest may have. */
CASE(refusals)
{
	const struct result res = {.n_refused_by = 4,
				   .refused_by = {{EPERM, 10},
						  {EAGAIN, 20},
						  {TX_ERRNO_LOST, 3},
						  {ENOBUFS, 4},
						  {EINVAL, 1000}}};
	struct engine_facts facts = {};

	countercheck_refusals(&res, &facts);
	assert_int_equal(facts.eagain, 20);
	assert_int_equal(facts.short_calls, 3);
	assert_int_equal(facts.refused, 14);
}

CASE(sums_of_what_is_no_loss)
{
	static const char *const names[] = {"Icmp:InDestUnreachs", "Icmp6InPktTooBigs",
					    "Ip:ReasmOKs", "Ip6ReasmOKs", "Ip6ReasmTimeout"};
	struct counters deltas = {};

	for (unsigned i = 0; i < 5; i++) {
		counters_add(&deltas, i < 2 ? "tx" : "rx", names[i], 1 << i);
		counters_add(&deltas, i < 2 ? "rx" : "tx", names[i], 100);
	}
	assert_int_equal(countercheck_sum(&deltas, SUM_REPLIES), 3);
	assert_int_equal(countercheck_sum(&deltas, SUM_REASSEMBLED), 12);
	assert_int_equal(countercheck_sum(&deltas, SUM_TIMED_OUT), 16);
	counters_free(&deltas);
}
