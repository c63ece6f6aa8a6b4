// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers leave the window when they had time to settle, and never before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "drops/fates.h"
#include "experiment/window.h"

#define SECOND	1000000000ULL
#define STREAMS 3
#define TICK	5000000ULL

static void small_counts_are_kept_whole(void **state)
{
	(void)state;
	assert_int_equal(window_size(1, 12e6, 5 * SECOND, 1), TRACE_PAGE_SIZE);
	assert_int_equal(window_size(1000000, 12e6, 5 * SECOND, 1), 1 << 20);
	assert_int_equal(window_size(1000000, 12e6, 5 * SECOND, 64), 1 << 20);
}

static void size_follows_rate_and_time(void **state)
{
	uint64_t slow, fast, longer;

	(void)state;
	slow = window_size(UINT64_MAX, 1e3, 5 * SECOND, 1);
	fast = window_size(UINT64_MAX, 1e6, 5 * SECOND, 1);
	longer = window_size(UINT64_MAX, 1e3, 50 * SECOND, 1);
	assert_true(slow >= 5000 && slow <= 16384);
	assert_true(fast >= 5000000 && fast <= 1 << 23);
	assert_true(longer >= 50000 && longer <= 1 << 17);
	assert_int_equal(slow & (slow - 1), 0);
}

/* However much is asked for. */
static void memory_is_the_limit(void **state)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	(void)state;
	for (unsigned streams = 1; streams <= TRACE_STREAMS; streams *= 2)
		assert_true(window_size(UINT64_MAX, 1e9, 3600 * SECOND, streams) * streams * 3 <=
			    bytes / 8);
}

/* Each stream sends `streams index + 1` numbers a tick; the loop may turn late. */
static void run(uint64_t settle, uint64_t late_every, uint64_t late)
{
	uint64_t next[STREAMS] = {}, left[STREAMS] = {}, now = 7 * SECOND, most = 0;
	struct window w;

	window_init(&w, STREAMS, settle);
	for (unsigned tick = 1; tick < 20000; tick++) {
		const uint64_t *leaving;

		now += late_every && tick % late_every == 0 ? late : TICK;
		for (unsigned s = 0; s < STREAMS; s++)
			next[s] = (now - 7 * SECOND) / TICK * (s + 1);
		if (!window_is_due(&w, now))
			continue;
		leaving = window_move(&w, now, next);
		for (unsigned s = 0; leaving && s < STREAMS; s++) {
			assert_true(leaving[s] >= left[s]);
			left[s] = leaving[s];
			/* sent at least `settle` ago */
			assert_true(leaving[s] * TICK / (s + 1) + settle <= now - 7 * SECOND);
		}
		if (now - 7 * SECOND > settle + late && next[0] - left[0] > most)
			most = next[0] - left[0];
	}
	assert_true(left[0] > 0);
	/* and not much later */
	assert_true(most * TICK <= settle + settle / 10 + late + 100000000);
}

static void old_numbers_leave(void **state)
{
	(void)state;
	run(5 * SECOND, 0, 0);
	run(SECOND / 2, 0, 0);
	run(20 * SECOND, 0, 0);
	run(0, 0, 0);
}

static void a_late_loop_loses_nothing(void **state)
{
	(void)state;
	run(5 * SECOND, 100, 7 * SECOND);
	run(5 * SECOND, 10, SECOND / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_counts_are_kept_whole),
		cmocka_unit_test(size_follows_rate_and_time),
		cmocka_unit_test(memory_is_the_limit),
		cmocka_unit_test(old_numbers_leave),
		cmocka_unit_test(a_late_loop_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
