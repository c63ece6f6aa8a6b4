// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pacing under a clock that is a variable: no test here waits for anything. */
#include "cases.h"

#include <math.h>

#include "traffic/shape.h"

#define BEGIN  1234567890123456789ULL /* a host that is up for 39 years */
#define SECOND 1000000000ULL

static const double rates[] = {1e3, 1000.5, 12345.678, 1e5, 1e6, 3e6, 1e7};

#define N_RATES (sizeof(rates) / sizeof(rates[0]))

static struct profile profile;

/* A single thread at a constant rate. 0: unthrottled. */
static void begin(struct pace *p, double rate, uint64_t now)
{
	profile_constant(&profile, rate);
	pace_start(p, rate > 0 ? &profile : NULL, 1, 0, 1, now);
}

/* Packets due by then: number k is due at k / rate. */
static double schedule(double rate, uint64_t elapsed_ns)
{
	return (double)elapsed_ns * 1e-9 * rate + 1;
}

/* Sends as a thread does until `until`; a call costs `call_ns`. Returns the time. */
static uint64_t drive(struct pace *p, uint64_t now, uint64_t until, unsigned max, uint64_t call_ns)
{
	while (now < until) {
		uint64_t wait;
		unsigned n = pace_due(p, now, max, &wait);

		assert_true(n <= max);
		assert_true(!n == !!wait);
		assert_true((double)(p->done + n) <=
			    schedule(profile_peak(p->profile), now - p->start_ns) + 1e-3);
		pace_sent(p, n);
		now += n ? call_ns : wait;
	}
	return now;
}

/* No drift: after a second the number of sent packets equals the schedule exactly. */
CASE(rate_is_exact)
{
	for (unsigned i = 0; i < N_RATES; i++) {
		struct pace p;
		uint64_t now, wait;

		begin(&p, rates[i], BEGIN);
		now = drive(&p, BEGIN, BEGIN + SECOND, 64, 5000);
		pace_sent(&p, pace_due(&p, now, 64, &wait));
		assert_int_equal(p.slipped_ns, 0);
		assert_true(fabs((double)p.done - schedule(rates[i], now - BEGIN)) <= 1);
	}
}

/* An hour at 10 M packets/s, looked at every 5 ms. */
CASE(rate_is_exact_for_long)
{
	struct pace p;
	uint64_t wait;
	double due;

	begin(&p, 1e7, BEGIN);
	for (uint64_t ms = 0; ms <= 3600000; ms += 5)
		pace_sent(&p, pace_due(&p, BEGIN + ms * 1000000, 1 << 20, &wait));
	assert_int_equal(p.slipped_ns, 0);
	due = schedule(1e7, 3600 * SECOND);
	assert_true(fabs((double)p.done - due) <= 1);
}

CASE(first_packet_is_due_at_once)
{
	for (unsigned i = 0; i < N_RATES; i++) {
		struct pace p;
		uint64_t wait;

		begin(&p, rates[i], BEGIN);
		assert_int_equal(pace_due(&p, BEGIN, 64, &wait), 1);
		pace_sent(&p, 1);
		assert_int_equal(pace_due(&p, BEGIN, 64, &wait), 0);
	}
}

/* A packet is due after the wait, and no packet is due shortly before its end. */
CASE(wait_ends_when_one_is_due)
{
	for (unsigned i = 0; i < N_RATES; i++) {
		struct pace p;
		uint64_t wait, none;
		uint64_t now = BEGIN;

		begin(&p, rates[i], BEGIN);
		for (int k = 0; k < 1000; k++) {
			pace_sent(&p, 1);
			assert_int_equal(pace_due(&p, now, 64, &wait), 0);
			assert_true(wait > 2);
			assert_int_equal(pace_due(&p, now + wait - 2, 64, &none), 0);
			now += wait;
			assert_int_equal(pace_due(&p, now, 64, &none), 1);
			assert_int_equal(none, 0);
		}
	}
}

CASE(unthrottled_is_always_due)
{
	struct pace p;
	uint64_t wait = 1;

	begin(&p, 0, BEGIN);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(pace_due(&p, BEGIN, 7, &wait), 7);
		assert_int_equal(wait, 0);
		pace_sent(&p, 7);
	}
	assert_int_equal(p.done, 70);
	assert_int_equal(p.slipped_ns, 0);
}

/* A hiccup within the debt is caught up in full: nothing slips, the schedule holds. */
CASE(short_stall_is_caught_up)
{
	for (unsigned i = 0; i < N_RATES; i++) {
		struct pace p;
		uint64_t now, wait;

		begin(&p, rates[i], BEGIN);
		now = drive(&p, BEGIN, BEGIN + SECOND, 64, 500) + PACE_DEBT_NS;
		now = drive(&p, now, now + SECOND, 64, 500);
		pace_sent(&p, pace_due(&p, now, 64, &wait));
		assert_int_equal(p.slipped_ns, 0);
		assert_true(fabs((double)p.late_ns - PACE_DEBT_NS) <= 2e9 / rates[i] + 1000);
		assert_true(fabs((double)p.done - schedule(rates[i], now - BEGIN)) <= 1);
	}
}

/*
 * After a long stall: a bounded burst, then a slightly higher rate. Packets that are too late are
 * skipped and reported.
 */
CASE(long_stall_slips)
{
	const unsigned max = 64;

	for (unsigned i = 0; i < N_RATES; i++) {
		double depth = PACE_DEPTH_NS * 1e-9 * rates[i] + max, late;
		double debt = PACE_DEBT_NS * 1e-9 * rates[i] + max + 1;
		struct pace p;
		uint64_t now, wait, before, burst;
		unsigned n;

		begin(&p, rates[i], BEGIN);
		now = drive(&p, BEGIN, BEGIN + SECOND, max, 2000);
		pace_sent(&p, pace_due(&p, now, max, &wait));
		before = p.done;
		now += SECOND;
		late = schedule(rates[i], now - BEGIN) - (double)before;
		while ((n = pace_due(&p, now, max, &wait)))
			pace_sent(&p, n);
		burst = p.done - before;
		assert_true((double)burst <= depth + 1);
		assert_true((double)burst >= (depth < debt ? depth : debt) - 1);
		assert_true(fabs((double)p.slipped_ns - (late - debt) / rates[i] * 1e9) <=
			    2e9 / rates[i] + 10); /* whole packets */

		/* Then the normal rate, without the skipped packets. */
		now = drive(&p, now, now + SECOND, max, 2000);
		pace_sent(&p, pace_due(&p, now, max, &wait));
		assert_true(fabs((double)(p.done + p.given_up) - schedule(rates[i], now - BEGIN)) <=
			    1);
	}
}

/* A sender that cannot keep up never sends more than it can, and says by how much it slips. */
CASE(too_slow_a_sender)
{
	const uint64_t call_ns = 128000; /* 64 packets in 128 us: half of 1 M/s */
	struct pace p;
	uint64_t now;

	begin(&p, 1e6, BEGIN);
	now = drive(&p, BEGIN, BEGIN + 10 * SECOND, 64, call_ns);
	assert_in_range(p.done, 4990000, 5010000);
	assert_in_range(p.slipped_ns, 5 * SECOND - PACE_DEBT_NS - 10000000, 5 * SECOND);
	assert_true(now >= BEGIN + 10 * SECOND);
}

CASE(start_forgets_the_past)
{
	struct pace p;
	uint64_t wait;

	begin(&p, 1e6, BEGIN);
	pace_due(&p, BEGIN + SECOND, 64, &wait);
	assert_int_not_equal(p.slipped_ns, 0);
	begin(&p, 1e3, BEGIN + SECOND);
	assert_int_equal(p.slipped_ns, 0);
	assert_int_equal(p.done, 0);
	assert_int_equal(pace_due(&p, BEGIN + SECOND, 64, &wait), 1);
}
