// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Schedules that threads share, profiles and bursts, against a clock that is a variable. */
#include "cases.h"
#include <math.h>
#include <stdlib.h>

#include "traffic/shape.h"

#define BATCH	64
#define SECOND	1000000000ULL
#define THREADS 7

/*
 * Simulates a thread that wakes up `late` ns after each requested time and needs 100 ns per packet.
 * Returns the number of packets sent until `end`.
 */
static uint64_t drive(struct pace *p, uint64_t end, uint64_t late)
{
	uint64_t now = p->start_ns, wait;

	while (now < end) {
		unsigned n = pace_due(p, now, BATCH, &wait);

		assert_true(n <= BATCH);
		if (n)
			pace_sent(p, n);
		else
			assert_true(wait > 0);
		now += n ? 100 * n : wait + late;
	}
	return p->done;
}

CASE(test_rate_is_exact_over_threads)
{
	static const double rates[] = {1000, 1001.7, 33333, 250000, 999999, 1000000};

	for (unsigned r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		for (unsigned threads = 1; threads <= THREADS; threads += 3) {
			uint64_t start = 12345678901234, sent = 0;
			struct profile profile;

			profile_constant(&profile, rates[r]);
			for (unsigned t = 0; t < threads; t++) {
				struct pace p;

				pace_start(&p, &profile, 1, t, threads, start);
				sent += drive(&p, start + 3 * SECOND, 55000);
				assert_int_equal(p.given_up, 0);
			}
			/* one packet per thread, and the packets due while threads are late */
			assert_true(fabs((double)sent - 3 * rates[r]) <
				    threads + 1 + rates[r] * 60e-6);
			assert_true(fabs((double)sent / (3 * rates[r]) - 1) < 0.001);
		}
	}
}

/* No packet before its time, none later than the thread is. */
CASE(test_each_packet_at_its_time)
{
	struct profile profile;
	struct pace p;
	uint64_t now = 0, wait;

	profile_constant(&profile, 1000);
	pace_start(&p, &profile, 1, 1, 2, 0);
	for (unsigned k = 0; k < 500; k++) {
		unsigned n;

		for (n = 0; !n; now += n ? 0 : wait)
			n = pace_due(&p, now, BATCH, &wait);
		assert_int_equal(n, 1);
		assert_true(llabs((long long)now - (2 * k + 1) * 1000000LL) <= 2);
		pace_sent(&p, 1);
	}
}

CASE(test_bursts)
{
	struct profile profile;
	unsigned n = 0, bursts = 0;
	uint64_t wait, now = 0;
	struct pace p;

	profile_constant(&profile, 10000);
	pace_start(&p, &profile, 50, 0, 1, 0);
	while (now < SECOND) {
		n = pace_due(&p, now, BATCH, &wait);
		if (n) {
			assert_int_equal(n, 50);
			assert_true(now % 5000000 <= 2 || 5000000 - now % 5000000 <= 2);
			bursts++;
		}
		pace_sent(&p, n);
		now += n ? 0 : wait;
	}
	assert_int_equal(bursts, 200);
}

CASE(test_a_burst_is_shared)
{
	struct profile profile;
	uint64_t sent = 0, wait;

	profile_constant(&profile, 10000);
	for (unsigned t = 0; t < 3; t++) {
		struct pace p;

		pace_start(&p, &profile, 50, t, 3, 0);
		sent += pace_due(&p, 1000, BATCH, &wait);
	}
	assert_int_equal(sent, 50);
}

static const struct profile ramp = {.parts = 1, .part = {{10, 10000, 1000000}}};
static const struct profile onoff = {
	.parts = 2, .repeat = true, .part = {{0.1, 5000, 5000}, {0.9, 0, 0}}};
static const struct profile steps = {.parts = 3,
				     .part = {{2, 10000, 10000}, {2, 50000, 50000}, {2, 1e5, 1e5}}};

CASE(test_profiles)
{
	assert_true(fabs(profile_packets(&ramp, 10) - 5050000) < 1e-3);
	assert_true(fabs(profile_packets(&ramp, 11) - 6050000) < 1e-3); /* the last rate holds */
	assert_true(fabs(profile_packets(&steps, 5) - 220000) < 1e-6);
	assert_true(fabs(profile_packets(&steps, 7) - 420000) < 1e-6);
	assert_true(fabs(profile_packets(&onoff, 0.05) - 250) < 1e-6);
	assert_true(fabs(profile_packets(&onoff, 0.6) - 500) < 1e-6);
	assert_true(fabs(profile_packets(&onoff, 3.05) - 1750) < 1e-6);
	assert_true(profile_peak(&ramp) == 1e6 && profile_peak(&onoff) == 5000);
}

CASE(test_inverse)
{
	const struct profile *const all[] = {&ramp, &onoff, &steps};

	for (unsigned i = 0; i < 3; i++) {
		double last = 0;

		for (double c = 0.5; c < 400000; c += 997) {
			double at = profile_time(all[i], c);

			assert_true(at >= last);
			assert_true(fabs(profile_packets(all[i], at) - c) < 1e-4);
			last = at;
		}
	}
	/* packets due during a silence are due after it */
	assert_true(fabs(profile_time(&onoff, 500) - 1) < 1e-9);
}

CASE(test_profiles_are_kept)
{
	static const struct {
		const struct profile *profile;
		uint64_t ns;
		double packets;
	} cases[] = {{&ramp, 4 * SECOND, 832000},     {&ramp, 12 * SECOND, 7050000},
		     {&steps, 3 * SECOND, 70000},     {&onoff, SECOND / 10, 500},
		     {&onoff, SECOND - 1000000, 500}, {&onoff, 9 * SECOND + SECOND / 2, 5000}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t sent = 0;

		for (unsigned t = 0; t < 2; t++) {
			struct pace p;

			pace_start(&p, cases[i].profile, 1, t, 2, 0);
			sent += drive(&p, cases[i].ns, 0);
		}
		assert_true(fabs((double)sent - cases[i].packets) < cases[i].packets * 0.001);
	}
}

/* No packet is sent in the silence, and all packets of the pulse are sent. */
CASE(test_silence)
{
	uint64_t wait, now = 0;
	struct pace p;

	pace_start(&p, &onoff, 1, 0, 1, 0);
	while (now < 5 * SECOND) {
		unsigned n = pace_due(&p, now, BATCH, &wait);

		if (n)
			assert_true(now % SECOND <= SECOND / 10);
		pace_sent(&p, n);
		now += n ? 100 * n : wait;
	}
	assert_int_equal(p.done, 2500);
}

CASE(test_schedule)
{
	static const uint64_t due[] = {0, 1000, 1000, 5000000, 9000000};
	const struct profile p = {.due_ns = due, .packets = 5, .pass_ns = 12000000};
	uint64_t wait, now = 0, at[10];
	struct pace pace;

	pace_start(&pace, &p, 1, 0, 1, 0);
	for (unsigned n = 0; n < 10;) {
		unsigned due_now = pace_due(&pace, now, BATCH, &wait);

		for (unsigned i = 0; i < due_now && n < 10; i++)
			at[n++] = now;
		pace_sent(&pace, due_now);
		now += due_now ? 0 : wait;
	}
	for (unsigned n = 0; n < 10; n++)
		assert_true(at[n] - (due[n % 5] + n / 5 * 12000000) <= 2);
	assert_int_equal(pace.given_up, 0);
}

/*
 * Packets due before the end are sent even if the thread is late. Packets due at the end are not.
 */
CASE(test_end)
{
	for (unsigned t = 0; t < 2; t++) {
		struct profile profile;
		uint64_t wait = 0, now = SECOND - 5000000;
		struct pace p;

		profile_constant(&profile, 1000);
		pace_start(&p, &profile, 1, t, 2, 0);
		p.end_ns = SECOND;
		drive(&p, now, 0);
		now += 40000000;
		for (unsigned n = 1; n || wait; now += n ? 100 : wait) {
			n = pace_due(&p, now, BATCH, &wait);
			pace_sent(&p, n);
		}
		assert_int_equal(p.done, 500);
		assert_true(now < SECOND + 60000000);
	}
}
