// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The plan of the engine `xdp` is the schedule of pace.h, in pieces. */
#include "cases.h"
#include <math.h>
#include <stdlib.h>

#include "traffic/shape.h"

#define SECOND 1000000000ULL
#define FIRST  (7ULL << 32) /* stamped number of a plan's first packet */

static struct gen_segment segments[GEN_SEGMENTS];

/* When the program sends each of n packets, as bpf/gen.bpf.c reads the segments. */
static void follow(const struct plan *p, uint64_t k, uint64_t n)
{
	uint64_t due = segments[0].due;
	unsigned s = 0, left = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t expected = plan_due(p, k + i), error;

		if (FIRST + i >= segments[s].until) {
			due = segments[++s].due;
			left = 0;
		}
		if (left) {
			left--;
		} else {
			left = segments[s].group - 1;
			due += segments[s].period;
		}
		error = due - segments[s].period > expected ? due - segments[s].period - expected
							    : expected - (due - segments[s].period);
		if (error >> GEN_PERIOD_SHIFT > 2 * PLAN_ERROR_NS)
			fail_msg("packet %llu of %llu, segment %u: %llu ns beside",
				 (unsigned long long)(k + i), (unsigned long long)n, s,
				 (unsigned long long)(error >> GEN_PERIOD_SHIFT));
	}
}

static void check(const struct profile *profile, unsigned burst, unsigned threads, uint64_t n)
{
	for (unsigned slot = 0; slot < threads; slot++) {
		const struct plan p = {profile, burst, slot, threads, 0};

		for (uint64_t k = 0; k < n;) {
			uint64_t covered = plan_segments(&p, k, n - k, FIRST, segments);

			assert_true(covered > 0 && covered <= n - k);
			follow(&p, k, covered);
			k += covered;
		}
	}
}

static void check_all(const struct profile *profile, uint64_t n)
{
	check(profile, 1, 1, n);
	check(profile, 1, 3, n);
	check(profile, 32, 1, n);
	check(profile, 32, 4, n);
	check(profile, 10, 3, n);
}

CASE(even_rates)
{
	const double rates[] = {17, 1000, 333333, 1e6, 7.7e6};
	struct profile p;

	for (unsigned i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		profile_constant(&p, rates[i]);
		check_all(&p, 100000);
	}
}

/* One segment is all that an even rate needs, however long it lasts. */
CASE(an_even_rate_is_one_piece)
{
	struct profile p;
	const struct plan plan = {&p, 1, 1, 2, 0};

	profile_constant(&p, 1e6);
	assert_int_equal(plan_segments(&plan, 12345, 1 << 30, FIRST, segments), 1 << 30);
	assert_true(segments[0].until == FIRST + (1 << 30));
	assert_int_equal(segments[0].group, 1);
	assert_true(segments[0].period == 2000ULL << GEN_PERIOD_SHIFT);
}

CASE(ramps)
{
	struct profile p = {.parts = 1, .part = {{2, 1000, 200000}}};

	check_all(&p, 150000);
	p.part[0] = (struct profile_part){2, 200000, 0};
	p.part[1] = (struct profile_part){1, 100, 100};
	p.parts = 2;
	check_all(&p, 100000);
}

CASE(steps_and_pulses)
{
	struct profile p = {
		.parts = 3,
		.part = {{0.1, 10000, 10000}, {0.1, 1000, 1000}, {0.1, 100000, 100000}}};

	check_all(&p, 100000);
	p = (struct profile){
		.parts = 2, .repeat = true, .part = {{0.001, 1e6, 1e6}, {0.009, 0, 0}}};
	check_all(&p, 100000);
	p.part[0] = (struct profile_part){0.02, 50000, 50000};
	p.part[1].seconds = 0.0001;
	check_all(&p, 100000);
}

/* Parts of every kind, one after another. */
CASE(random_profiles)
{
	srandom(1);
	for (unsigned i = 0; i < 200; i++) {
		struct profile p = {.parts = 1 + random() % 8, .repeat = random() % 2};

		for (unsigned n = 0; n < p.parts; n++) {
			double a = exp(random() % 1000 / 1000.0 * 14);
			double b = exp(random() % 1000 / 1000.0 * 14);

			p.part[n] = (struct profile_part){(1 + random() % 1000) * 1e-4, a,
							  random() % 2 ? a : b};
			if (n && random() % 4 == 0)
				p.part[n].from = p.part[n].to = 0;
		}
		p.part[p.parts - 1].to += 1; /* goes on for ever */
		check(&p, 1 + random() % 40, 1 + random() % 4, 3000);
	}
}

/* Times far from the start are as exact as those at it. */
CASE(a_later_origin)
{
	const uint64_t k = 1000000ULL * 86400 * 30;
	struct plan plan;
	struct profile p;

	profile_constant(&p, 1e6);
	plan = (struct plan){&p, 1, 0, 1, 0};
	assert_true(plan_due(&plan, k) == PLAN_NEVER);
	plan.origin_s = plan_seconds(&plan, k);
	assert_int_equal(plan_segments(&plan, k, 1000000, FIRST, segments), 1000000);
	assert_int_equal(segments[0].due, 0);
	assert_in_range(segments[0].period, 999 << GEN_PERIOD_SHIFT, 1001 << GEN_PERIOD_SHIFT);
}

CASE(silence_ends_the_plan)
{
	struct profile p = {.parts = 2, .part = {{1, 100, 100}, {1, 0, 0}}};
	const struct plan plan = {&p, 1, 0, 1, 0};

	assert_int_equal(plan_segments(&plan, 0, 1000, FIRST, segments), 100);
	assert_int_equal(plan_segments(&plan, 100, 900, FIRST, segments), 0);
}

/* As many as have their time before the end: those at the end itself have not. */
CASE(packets_of_a_time)
{
	struct profile p;
	struct plan plan = {&p, 1, 0, 1, 0};

	profile_constant(&p, 1000);
	assert_int_equal(plan_packets(&plan, SECOND), 1000);
	assert_int_equal(plan_packets(&plan, SECOND + 1), 1001);
	assert_int_equal(plan_packets(&plan, 1), 1);
	assert_int_equal(plan_packets(&plan, 0), 0);
	plan.threads = 3;
	assert_int_equal(plan_packets(&plan, SECOND), 334);
	plan.slot = 1;
	assert_int_equal(plan_packets(&plan, SECOND), 333);
	plan = (struct plan){&p, 16, 0, 1, 0};
	assert_int_equal(plan_packets(&plan, SECOND), 1008);
}
