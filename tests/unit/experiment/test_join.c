// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One ledger of two hosts: precedence between the hosts, and conditions for a loss on the wire. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
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

static void left(uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		f.seen[at(n)] = SEEN_TX_DEVICE;
}

CASE_WITH(wire_is_what_left_and_never_came, open_outcomes, close_outcomes)
{
	begin(true);
	left(0, 79);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, 0, 19), 0);
	assert_int_equal(note(OUTCOME_OPEN, 0, 20, 29), 0);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_RX_DEVICE, 30, 34), 0);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, 35, 79), 0);
	assert_int_equal(note(OUTCOME_OPEN, 0, 80, 99), 0); /* not seen to leave */
	fold(100);
	assert_int_equal(tally.delivered, 65);
	assert_int_equal(tally.dropped, 10);
	assert_int_equal(tally.cause[1][JOIN_WIRE].packets, 10);
	assert_int_equal(tally.cause[1][JOIN_WIRE].first, 20);
	assert_int_equal(tally.cause[1][JOIN_WIRE].last, 29);
	assert_int_equal(tally.unaccounted, 25);
	assert_int_equal(tally.unaccounted_seen[SEEN_RX_DEVICE], 5);
	assert_int_equal(tally.unaccounted_seen[0], 20);
}

CASE_WITH(wire_takes_nothing_that_ended_here, open_outcomes, close_outcomes)
{
	begin(true);
	left(0, 9);
	f.cause[at(0)] = 3;    /* dropped after the probe, for example by a driver */
	f.cause[at(1)] = COPY; /* a tap's copy */
	f.failed[at(2)] = EPERM; /* refused, and yet it left */
	assert_int_equal(note(OUTCOME_OPEN, 0, 0, 2), 0);
	fold(3);
	assert_int_equal(tally.cause[1][3].packets, 1);
	assert_int_equal(tally.cause[1][JOIN_WIRE].packets, 2);
	assert_int_equal(tally.refused, 0);
	assert_int_equal(tally.attempted, 3);
}

/* A refused call without a packet stays refused. If its packet arrived, the packet was sent. */
CASE_WITH(refused_is_what_nobody_saw, open_outcomes, close_outcomes)
{
	begin(true);
	f.failed[at(0)] = f.failed[at(1)] = f.failed[at(2)] = ENOBUFS;
	note(OUTCOME_DELIVERED, 0, 1, 1);
	note(OUTCOME_OPEN, SEEN_RX_DEVICE, 2, 2);
	fold(3);
	assert_int_equal(tally.refused, 1);
	assert_int_equal(tally.delivered, 1);
	assert_int_equal(tally.unaccounted, 1);
}

/* Rows: reports of the sender. Columns: reports of the receiver. */
static const enum outcome tx[] = {OUTCOME_OPEN, OUTCOME_REFUSED, OUTCOME_GAP, OUTCOME_SEEN,
				  OUTCOME_DROPPED};
static const enum outcome rx[] = {OUTCOME_NOTHING, OUTCOME_OPEN,     OUTCOME_SEEN,
				  OUTCOME_DROPPED, OUTCOME_GIVEN_UP, OUTCOME_DELIVERED};
enum { DROPPED_TX = 100, DROPPED_RX }; /* the host of the cause */
static const unsigned both[5][6] = {
	{OUTCOME_OPEN, OUTCOME_OPEN, OUTCOME_OPEN, DROPPED_RX, DROPPED_RX, OUTCOME_DELIVERED},
	{OUTCOME_REFUSED, OUTCOME_REFUSED, OUTCOME_OPEN, DROPPED_RX, DROPPED_RX, OUTCOME_DELIVERED},
	{OUTCOME_GAP, OUTCOME_GAP, OUTCOME_IMPOSSIBLE, OUTCOME_IMPOSSIBLE, OUTCOME_IMPOSSIBLE,
	 OUTCOME_IMPOSSIBLE},
	{OUTCOME_WIRE, OUTCOME_OPEN, OUTCOME_OPEN, DROPPED_RX, OUTCOME_WIRE, OUTCOME_DELIVERED},
	{DROPPED_TX, DROPPED_TX, DROPPED_TX, DROPPED_RX, DROPPED_TX, OUTCOME_DELIVERED},
};

CASE(who_is_believed)
{
	for (unsigned t = 0; t < 5; t++) {
		for (unsigned r = 0; r < 6; r++) {
			unsigned is = join_decide(tx[t], rx[r]);

			if (is == OUTCOME_DROPPED)
				is = join_believes_receiver(tx[t], rx[r]) ? DROPPED_RX : DROPPED_TX;
			if (is != both[t][r])
				fail_msg("sender %u, receiver %u", t, r);
		}
	}
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
CASE_WITH(each_pair_from_both_sides, open_outcomes, close_outcomes)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < 2 * 5 * 6; i++) {
		const bool far_receives = i % 2;
		const enum outcome sender = tx[i / 2 % 5], receiver = rx[i / 10];
		const unsigned is = both[i / 2 % 5][i / 10];
		const bool of_rx = is == DROPPED_RX, dropped = of_rx || is == DROPPED_TX;
		struct range out = {}, here = {.first = n, .last = n, .stream = 1};
		uint8_t cause = cause_of(of_rx ? receiver : sender, of_rx);
		int detail;

		/* a site here knows the numbers that it sends, and watches all the time */
		if (sender == OUTCOME_GAP || (!far_receives && receiver == OUTCOME_OPEN))
			continue;
		begin(far_receives);
		join_cause(&j, CAUSE_TX);
		join_cause(&j, CAUSE_RX);
		join_cause(&j, TRACE_CAUSE_GIVEN_UP);
		report(sender, false, far_receives, n);
		report(receiver, true, !far_receives, n);
		outcomes_fold(&f, 1, f.base + n + 1, ignored, &(struct range_visitor){keep, &here});
		join_here(&j, &here, &(struct range_visitor){keep, &out});
		if (dropped && of_rx == far_receives)
			cause = j.cause_of[cause];
		assert_int_equal(out.outcome, dropped || is == OUTCOME_WIRE ? OUTCOME_DROPPED : is);
		detail = dropped		    ? cause
			 : is == OUTCOME_WIRE	    ? JOIN_WIRE
			 : is == OUTCOME_REFUSED    ? ENOBUFS
			 : is != OUTCOME_OPEN	    ? 0
			 : receiver == OUTCOME_SEEN ? SEEN_RX_DEVICE
			 : sender == OUTCOME_SEEN   ? SEEN_TX_DEVICE
						    : 0;
		assert_int_equal(out.detail, detail);
		n++;
	}
	assert_int_equal(n, 4 * 6 + 4 * 5);
}

/* A sender's cause has no meaning that a receiver's with the same index would have. */
CASE_WITH(given_up_is_of_receivers, open_outcomes, close_outcomes)
{
	uint8_t far;

	begin(false);
	far = join_cause(&j, TRACE_CAUSE_GIVEN_UP);
	assert_int_equal(note(OUTCOME_DROPPED, TRACE_CAUSE_GIVEN_UP, 0, 0), 0);
	fold(1);
	assert_int_equal(tally.cause[1][far].packets, 1);
}

CASE_WITH(receiver_is_believed_before_sender, open_outcomes, close_outcomes)
{
	uint8_t far;

	begin(true);
	far = join_cause(&j, 3);
	assert_int_equal(join_cause(&j, 3), far);
	assert_int_not_equal(far, 3);
	f.cause[at(0)] = f.cause[at(1)] = 3;
	assert_int_equal(note(OUTCOME_DROPPED, 3, 0, 0), 0);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, 1, 1), 0);
	fold(2);
	assert_int_equal(tally.cause[1][far].packets, 1);
	assert_int_equal(tally.cause[1][3].packets, 0);
	assert_int_equal(tally.delivered, 1);
}

CASE_WITH(far_sender_tells_what_left, open_outcomes, close_outcomes)
{
	uint8_t far;

	begin(false);
	far = join_cause(&j, 1);
	f.arrivals[at(0)] = 1;
	f.seen[at(1)] = SEEN_RX_DEVICE;
	f.cause[at(2)] = 7;
	f.cause[at(3)] = COPY;
	assert_int_equal(note(OUTCOME_OPEN, SEEN_TX_DEVICE, 0, 1), 0);
	assert_int_equal(note(OUTCOME_DROPPED, 1, 2, 4), 0);
	assert_int_equal(note(OUTCOME_REFUSED, ENOBUFS, 5, 6), 0);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_TX_DEVICE, 7, 7), 0);
	assert_int_equal(note(OUTCOME_OPEN, 0, 8, 8), 0);
	fold(9);
	assert_int_equal(tally.delivered, 1);
	assert_int_equal(tally.cause[1][7].packets, 1);
	assert_int_equal(tally.cause[1][far].packets, 2);
	assert_int_equal(tally.refused_by[ENOBUFS], 2);
	assert_int_equal(tally.cause[1][JOIN_WIRE].packets, 1);
	assert_int_equal(tally.cause[1][JOIN_WIRE].first, 7);
	assert_int_equal(tally.unaccounted, 2);
	assert_int_equal(tally.unaccounted_seen[SEEN_RX_DEVICE], 1);
}

/*
 * A receiver releases a datagram with a missing fragment. The previous host may know where the
 * fragment was lost.
 */
CASE_WITH(given_up_is_asked_further, open_outcomes, close_outcomes)
{
	uint8_t frag;

	begin(true);
	frag = join_cause(&j, TRACE_CAUSE_GIVEN_UP);
	f.cause[at(0)] = 3;
	left(1, 1);
	assert_int_equal(note(OUTCOME_DROPPED, TRACE_CAUSE_GIVEN_UP, 0, 2), 0);
	fold(3);
	assert_int_equal(tally.cause[1][3].packets, 1);
	assert_int_equal(tally.cause[1][JOIN_WIRE].packets, 1);
	assert_int_equal(tally.cause[1][frag].packets, 1);

	begin(false);
	frag = join_cause(&j, 1);
	for (uint64_t n = 3; n < 6; n++)
		f.cause[at(n)] = TRACE_CAUSE_GIVEN_UP;
	assert_int_equal(note(OUTCOME_DROPPED, 1, 3, 3), 0);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_TX_DEVICE, 4, 4), 0);
	assert_int_equal(note(OUTCOME_OPEN, 0, 5, 5), 0);
	fold(6);
	assert_int_equal(tally.cause[1][frag].packets, 2); /* the index is given once more */
	assert_int_equal(tally.cause[1][JOIN_WIRE].packets, 2);
	assert_int_equal(tally.cause[1][TRACE_CAUSE_GIVEN_UP].packets, 1);
}

CASE_WITH(suppression_is_kept, open_outcomes, close_outcomes)
{
	begin(true);
	left(0, 2);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_RX_DEVICE | SEEN_ON_INIT, 0, 0), 0);
	assert_int_equal(note(OUTCOME_OPEN, 0, 1, 1), 0);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_TX_DEVICE, 2, 2), 0); /* not at its device */
	f.seen[at(3)] = SEEN_BRIDGE_IN;
	assert_int_equal(note(OUTCOME_OPEN, SEEN_TX_DEVICE | SEEN_ON_INIT, 3, 3), 0);
	assert_int_equal(note(OUTCOME_OPEN, 0, 4, 4), 0);
	fold(5);
	assert_int_equal(tally.unaccounted_on_init, 2);
	assert_int_equal(tally.unaccounted, 3);
	assert_int_equal(tally.unaccounted_seen[SEEN_TX_DEVICE], 1);
	assert_int_equal(tally.cause[1][JOIN_WIRE].packets, 2);
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

CASE_WITH(nonsense_is_refused, open_outcomes, close_outcomes)
{
	const struct range stream = {0, 0, STREAMS, 0, OUTCOME_DELIVERED};
	const struct range cause = {0, 0, 1, TRACE_CAUSES, OUTCOME_DROPPED};

	begin(true);
	assert_int_equal(join_check(&j, &stream), -EBADMSG);
	assert_int_equal(join_check(&j, &cause), -EBADMSG);
	assert_int_equal(note(OUTCOME_SEEN, 0, 0, 0), -EBADMSG);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, 5, 4), -EBADMSG);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, 0, TRACE_PAGE_SIZE), -EBADMSG);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, UINT64_MAX - 1, UINT64_MAX), -EBADMSG);
	assert_int_equal(note(OUTCOME_DELIVERED, 1, 0, 0), -EBADMSG);
	assert_int_equal(note(OUTCOME_DROPPED, 5, 0, 0), -EBADMSG); /* never named */
	assert_int_equal(note(OUTCOME_REFUSED, ENOBUFS, 0, 0), -EBADMSG);
	assert_int_equal(note(OUTCOME_GAP, 0, 0, 0), -EBADMSG);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_SOCKET + 1, 0, 0), -EBADMSG);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_SOCKET, 0, 0), 0);
	fold(1);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, 0, 0), -EBADMSG); /* folded already */
	assert_int_equal(note(OUTCOME_OPEN, 0, TRACE_PAGE_SIZE, TRACE_PAGE_SIZE), 0);

	begin(false);
	assert_int_equal(note(OUTCOME_DELIVERED, 0, 1, 1), -EBADMSG);
	assert_int_equal(note(OUTCOME_OPEN, SEEN_RX_DEVICE, 1, 1), -EBADMSG);
	assert_int_equal(note(OUTCOME_GAP, 0, 1, 1), -EBADMSG);
	assert_int_equal(note(OUTCOME_REFUSED, 0, 1, 1), -EBADMSG);
	assert_int_equal(tally.delivered + tally.dropped, 0);
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

int main(void)
{

	return run_cases(NULL, NULL);
}
