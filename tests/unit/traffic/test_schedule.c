// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Schedules that threads share, and bursts, against a clock that is a variable. */
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

			for (unsigned t = 0; t < threads; t++) {
				const struct schedule s = schedule_of(rates[r], 1, t, threads);
				struct pace p;

				pace_start(&p, &s, start);
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
	const struct schedule s = schedule_of(1000, 1, 1, 2);
	struct pace p;
	uint64_t now = 0, wait;

	pace_start(&p, &s, 0);
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
	const struct schedule s = schedule_of(10000, 50, 0, 1);
	unsigned n = 0, bursts = 0;
	uint64_t wait, now = 0;
	struct pace p;

	pace_start(&p, &s, 0);
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
	uint64_t sent = 0, wait;

	for (unsigned t = 0; t < 5; t++) {
		const struct schedule s = schedule_of(10000, 50, t, 5);
		struct pace p;

		pace_start(&p, &s, 0);
		sent += pace_due(&p, 1000, BATCH, &wait);
	}
	assert_int_equal(sent, 50);
}

/* Packet c of all threads is due at the time of the first packet of its burst. */
CASE(test_packets_of_bursts)
{
	static const unsigned sharing[][2] = {{1, 1},  {1, 3}, {32, 1}, {32, 4},
					      {12, 3}, {2, 6}, {6, 6}};

	for (unsigned i = 0; i < LENGTH(sharing) * 7; i++) {
		const unsigned burst = sharing[i / 7][0], threads = sharing[i / 7][1], slot = i % 7;
		const struct schedule s = schedule_of(33333, burst, slot, threads);

		assert_true(schedule_shares(burst, threads));
		for (uint64_t k = 0; slot < threads && k < 2000; k++) {
			uint64_t c = k * threads + slot;
			double due = (double)(c - c % burst) / 33333;

			assert_true(fabs(schedule_time(&s, k) - due) < 1e-9);
			assert_true(schedule_packets(&s, due + 1e-9) > k);
			assert_true(schedule_packets(&s, due - 1e-9) <= k || due < 1e-9);
		}
	}
	assert_false(schedule_shares(10, 3) || schedule_shares(3, 10));
}

/*
 * Packets due before the end are sent even if the thread is late. Packets due at the end are not.
 */
CASE(test_end)
{
	for (unsigned t = 0; t < 2; t++) {
		const struct schedule s = schedule_of(1000, 1, t, 2);
		uint64_t wait = 0, now = SECOND - 5000000;
		struct pace p;

		pace_start(&p, &s, 0);
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
