// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One ledger of two hosts: precedence between the hosts, and conditions for a loss on the wire. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "outcome_fields.h"
#include "ledger/join.h"
#include "traffic/tx.h"
#include "experiment/msg.h"

#define STREAMS 2
#define COPY	9 /* a cause here that ends no packet */

static struct outcomes f;
static struct outcome_tally tally;
static struct join j;
static const uint8_t ignored[TRACE_CAUSES] = {[COPY] = 1};

static int open_outcomes(void **state)
{
	struct error err = {};

	memset(&tally, 0, sizeof(tally));
	outcomes_init(&f, STREAMS, TRACE_PAGE_SIZE);
	return outcomes_map(&f, -1, -1, -1, &err);
}

static int close_outcomes(void **state)
{
	outcomes_unmap(&f);
	return 0;
}

static size_t at(uint64_t n)
{
	return outcomes_index(&f, 1, f.base + n);
}

static struct range noted[16];

static void begin(bool remote_receives)
{
	join_init(&j, &f, remote_receives);
	j.there.range = noted;
}

static int note(enum outcome outcome, uint8_t detail, uint64_t first, uint64_t last)
{
	const struct range r = {first, last, 1, detail, outcome};
	int rc = join_check(&j, &r);

	if (!rc)
		noted[j.there.n++] = r;
	return rc;
}

static void count(void *arg, const struct range *r)
{
	tally_add(arg, &f, r);
}

static void join(void *arg, const struct range *r)
{
	join_here(arg, r, &(struct range_visitor){count, &tally});
}

static void fold(uint64_t upto)
{
	outcomes_fold(&f, 1, f.base + upto, ignored, &(struct range_visitor){join, &j});
}

/* Recorded */

static const char *const outcome_names[] = {"nothing", "unaccounted", "refused",  "gap",
					    "seen",    "dropped",     "released", "delivered",
					    "wire",    "impossible"};

static enum outcome outcome_of(const char *name)
{
	unsigned is = 0;

	while (strcmp(outcome_names[is], name))
		assert_true(++is < LENGTH(outcome_names));
	return is;
}

#define CAUSE_TX 3
#define CAUSE_RX 5

static uint8_t cause_of(enum outcome outcome, bool receives)
{
	return outcome == OUTCOME_GIVEN_UP ? TRACE_CAUSE_GIVEN_UP : receives ? CAUSE_RX : CAUSE_TX;
}

/* What a site has of a number: here in its bytes, there as a range, or not at all (OPEN there). */
static void report(enum outcome outcome, bool receives, bool here, uint64_t n)
{
	const bool dropped = outcome == OUTCOME_DROPPED || outcome == OUTCOME_GIVEN_UP;
	const bool open = outcome == OUTCOME_NOTHING || outcome == OUTCOME_SEEN;
	uint8_t detail = 0;

	if (dropped)
		detail = cause_of(outcome, receives);
	else if (outcome == OUTCOME_REFUSED)
		detail = ENOBUFS;
	else if (outcome == OUTCOME_SEEN)
		detail = receives ? SEEN_RX_DEVICE : SEEN_TX_DEVICE;
	if (here) {
		f.arrivals[at(n)] = outcome == OUTCOME_DELIVERED;
		f.cause[at(n)] = dropped ? detail : 0;
		f.failed[at(n)] = outcome == OUTCOME_REFUSED ? detail : 0;
		f.seen[at(n)] = open ? detail : 0;
	} else if (outcome != OUTCOME_OPEN || !receives) {
		outcome = dropped ? OUTCOME_DROPPED : open ? OUTCOME_OPEN : outcome;
		assert_int_equal(note(outcome, detail, n, n), 0);
	}
}

static void keep(void *arg, const struct range *r)
{
	*(struct range *)arg = *r;
}

/* The same from both sides: whichever site is here, and with the cause of the site believed. */
static void tell_pair(enum outcome sender, enum outcome receiver)
{
	static uint64_t n;

	for (unsigned far_receives = 0; far_receives < 2; far_receives++) {
		struct range out = {}, here = {.first = n, .last = n, .stream = 1};

		/* a site here watches all the time */
		if (!far_receives && receiver == OUTCOME_OPEN)
			continue;
		begin(far_receives);
		join_cause(&j, CAUSE_TX);
		join_cause(&j, CAUSE_RX);
		join_cause(&j, TRACE_CAUSE_GIVEN_UP);
		report(sender, false, far_receives, n);
		report(receiver, true, !far_receives, n);
		outcomes_fold(&f, 1, f.base + n + 1, ignored, &(struct range_visitor){keep, &here});
		join_here(&j, &here, &(struct range_visitor){keep, &out});
		tell("%s: %s %u;", far_receives ? "sends" : "receives", outcome_names[out.outcome],
		     out.detail);
		n++;
	}
}

static void take_line(void *arg, const char *verb, char *text)
{
	char name[16] = "", other[16] = "";
	unsigned n[2] = {}, detail = 0, is = 0;
	uint64_t first = 0, last = 0;
	struct bytes b = {};

	sscanf(text, "%u %u", &n[0], &n[1]);
	if (!strcmp(verb, "case")) {
		close_outcomes(NULL);
		assert_int_equal(open_outcomes(NULL), 0);
	} else if (!strcmp(verb, "from")) { /* the other host */
		begin(!strcmp(text, "receiver"));
	} else if (!strcmp(verb, "put")) {
		recorded_read(byte_fields, text, &b);
		put_bytes(&f, 1, n[0], larger(n[0], n[1]), b);
	} else if (!strcmp(verb, "cause")) {
		tell("%u", join_cause(&j, (uint8_t)n[0]));
	} else if (!strcmp(verb, "note")) {
		assert_int_equal(
			sscanf(text, "%15s %u %" SCNu64 " %" SCNu64, name, &detail, &first, &last),
			4);
		is = outcome_of(name);
		if (note(is, (uint8_t)detail, first, last))
			tell("refused");
	} else if (!strcmp(verb, "pair")) { /* the sender's report, the receiver's */
		assert_int_equal(sscanf(text, "%15s %15s", name, other), 2);
		tell_pair(outcome_of(name), outcome_of(other));
	} else {
		assert_string_equal(verb, "fold");
		fold(n[0]);
		tell_tally(&tally);
	}
}

CASE_WITH(recorded, open_outcomes, close_outcomes)
{
	recorded_stories("tests/fixtures/join", take_line, NULL);
}

/* Only between ledger files: a site knows the numbers that it sends. */
CASE(gaps_of_a_ledger)
{
	for (enum outcome rx = OUTCOME_NOTHING; rx <= OUTCOME_DELIVERED; rx++) {
		if (rx != OUTCOME_REFUSED && rx != OUTCOME_GAP)
			assert_int_equal(join_decide(OUTCOME_GAP, rx),
					 rx <= OUTCOME_OPEN ? OUTCOME_GAP : OUTCOME_IMPOSSIBLE);
	}
}

/* Of two that were seen equally far, the site here may know more. */
CASE_WITH(probes_of_a_bridge_are_kept, open_outcomes, close_outcomes)
{
	const struct range here = {0, 0, 1, SEEN_BRIDGE_IN, OUTCOME_OPEN};
	struct range out;

	begin(false);
	assert_int_equal(note(OUTCOME_OPEN, 0, 0, 0), 0);
	join_here(&j, &here, &(struct range_visitor){keep, &out});
	assert_int_equal(out.outcome, OUTCOME_OPEN);
	assert_int_equal(out.detail, SEEN_BRIDGE_IN);
}

/* Between the ranges of a stream, and after the last range, there are no outcomes. */
CASE(walk_over_ranges)
{
	static const struct range ranges[] = {
		{0, 99, 1, 0, OUTCOME_OPEN},
		{10, 19, 2, 0, OUTCOME_DELIVERED},
		{30, 39, 2, 0, OUTCOME_DROPPED},
		{0, 99, 3, 0, OUTCOME_OPEN},
	};
	struct join_walk w = {.range = ranges, .n = 4, .base = 100};

	assert_int_equal(join_to(&w, 2, 100), 109);
	assert_null(w.now);
	assert_int_equal(join_to(&w, 2, 110), 119);
	assert_ptr_equal(w.now, &ranges[1]);
	assert_int_equal(join_to(&w, 2, 120), 129);
	assert_null(w.now);
	assert_int_equal(join_to(&w, 2, 139), 139);
	assert_ptr_equal(w.now, &ranges[2]);
	assert_int_equal(join_to(&w, 2, 140), UINT64_MAX);
	assert_null(w.now);
	assert_int_equal(join_to(&w, 3, 150), 199);
	assert_ptr_equal(w.now, &ranges[3]);
	assert_int_equal(join_to(&w, 3, 200), UINT64_MAX);
}

static bool one_more(void *arg, struct join_walk *w)
{
	struct range *r = arg;

	r->first = r->last + 1;
	r->last += 10;
	w->range = r;
	w->n = r->last < 40;
	w->at = 0;
	return w->n;
}

/* Ranges that come one at a time. */
CASE(walk_asks_for_more)
{
	struct range r = {.stream = 1, .last = 9};
	struct join_walk w = {.more = one_more, .arg = &r};

	assert_int_equal(join_to(&w, 1, 5), 9);
	assert_null(w.now);
	assert_int_equal(join_to(&w, 1, 10), 19);
	assert_ptr_equal(w.now, &r);
	assert_int_equal(join_to(&w, 1, 31), 39);
	assert_int_equal(w.now->first, 30);
	assert_int_equal(join_to(&w, 1, 40), UINT64_MAX);
	assert_null(w.now);
}

CASE_WITH(causes_may_be_too_many, open_outcomes, close_outcomes)
{
	uint8_t last = 0, least = TRACE_CAUSE_FULL;

	begin(true);
	for (unsigned i = 1; i < TRACE_CAUSE_FULL; i++) {
		last = join_cause(&j, (uint8_t)i);
		least = last < least ? last : least;
	}
	assert_int_equal(last, TRACE_CAUSE_FULL);
	assert_int_equal(least, 128); /* smaller indices belong to this host */
	assert_int_equal(join_cause(&j, TRACE_CAUSE_FULL), TRACE_CAUSE_FULL);
	assert_int_equal(join_cause(&j, 1), JOIN_WIRE - 1);
}

/* Outcomes in a message. */

CASE(runs_come_back)
{
	static const struct range in[] = {
		{1000, 1069, 3, 0, OUTCOME_DELIVERED},	   {1070, 1070, 3, 254, OUTCOME_DROPPED},
		{1071, 50000000, 3, 105, OUTCOME_REFUSED},
		{50000001, 50000009, 3, 0x83, OUTCOME_OPEN},
	};
	static struct runs r;
	struct range out = {.stream = 3, .last = 999};
	const char *text = r.text;

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(runs_put(&r, &in[i]), 0);
	assert_int_equal(r.first, 1000);
	assert_string_equal(r.text, "46g1h2faec52i9j");
	assert_int_equal(r.kinds, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(runs_next(&r, &text, &out));
		assert_memory_equal(&out, &in[i], sizeof(out));
	}
	assert_false(runs_next(&r, &text, &out));
}

CASE(runs_have_room)
{
	static struct runs r;
	struct range run = {0, 0, 0, 1, OUTCOME_OPEN}, other = {1, 1, 1, 1, OUTCOME_OPEN};
	unsigned n = 0;

	assert_int_equal(runs_put(&r, &run), 0);
	assert_int_equal(runs_put(&r, &run), -ENOSPC);	 /* not the next number */
	assert_int_equal(runs_put(&r, &other), -ENOSPC); /* not this stream */
	do {
		run.first = run.last = ++n;
	} while (!runs_put(&r, &run));
	assert_true(strlen(r.text) == r.used && r.used < sizeof(r.text));
	assert_true(n > RUNS_TEXT / 2 - RUN_TEXT && r.next == n);
}

/* As many kinds as there are letters; each is written once. */
CASE(runs_have_kinds)
{
	static struct runs r;
	struct range run = {.outcome = OUTCOME_DROPPED}, out = {.last = UINT64_MAX};
	const char *text = r.text;

	for (unsigned i = 0; i < 2 * RUNS_KINDS; i++) {
		run.detail = (uint16_t)(i % RUNS_KINDS);
		run.first = run.last = i;
		assert_int_equal(runs_put(&r, &run), 0);
	}
	assert_int_equal(r.kinds, RUNS_KINDS);
	run.detail = RUNS_KINDS;
	run.first = ++run.last;
	assert_int_equal(runs_put(&r, &run), -ENOSPC);
	for (unsigned i = 0; runs_next(&r, &text, &out); i++)
		assert_true(out.first == i && out.last == i && out.detail == i % RUNS_KINDS);
	assert_int_equal(out.last, 2 * RUNS_KINDS - 1);
	r.used = 0;
	assert_int_equal(runs_put(&r, &run), 0);
	assert_int_equal(r.kinds, 1);
	text = "1h"; /* no such kind */
	assert_false(runs_next(&r, &text, &out));
}

/* Whatever comes, each number is counted once. */
CASE_WITH(garbage_does_no_harm, open_outcomes, close_outcomes)
{
	static const char alphabet[] = "00000123456789abcdef ghijklmn-";
	static struct runs runs = {.kinds = 6};
	uint64_t folded = 0;

	srandom(1);
	for (unsigned i = 0; i < 20000; i++) {
		struct range run = {.stream = (uint16_t)(random() % 4),
				    .last = (uint64_t)(random() % 5000) - 1};
		char text[24] = {};
		const char *at_text = text;

		for (unsigned c = 0; c < sizeof(text) - 1; c++)
			text[c] = alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
		for (unsigned k = 0; k < runs.kinds; k++)
			runs.kind[k] = (uint16_t)(random() % 12 << 8 | random() % 12);
		begin(random() % 2);
		join_cause(&j, (uint8_t)(random() % 10));
		while (j.there.n < 16 && runs_next(&runs, &at_text, &run) && !join_check(&j, &run))
			noted[j.there.n++] = run;
		for (unsigned s = 0; s < STREAMS; s++)
			outcomes_fold(&f, (uint16_t)s, f.tail[s] + 1, ignored,
				      &(struct range_visitor){join, &j});
		folded++;
	}
	assert_int_equal(tally.attempted, STREAMS * folded);
}
