// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/tx_xdp_plan.h"

#include <math.h>

#define GROUPS_MAX (1ULL << 30) /* in a segment */
#define PROBES	   16
#define GOLDEN	   0x9e3779b97f4a7c15ULL /* 2^64 by the golden ratio: multiples lie far apart */

double plan_seconds(const struct plan *p, uint64_t k)
{
	uint64_t c = k * p->threads + p->slot;

	return profile_time(p->profile, (double)(c - c % p->burst));
}

uint64_t plan_due(const struct plan *p, uint64_t k)
{
	double seconds = plan_seconds(p, k) - p->origin_s;

	if (seconds * 1e9 >= (double)(PLAN_NEVER >> GEN_PERIOD_SHIFT))
		return PLAN_NEVER;
	return (uint64_t)(seconds * 1e9 * (1 << GEN_PERIOD_SHIFT) + 0.5);
}

/* Packets of this thread from k on that leave together. */
static uint64_t group_of(const struct plan *p, uint64_t k)
{
	uint64_t c = k * p->threads + p->slot;

	return (c - c % p->burst + p->burst - 1 - p->slot) / p->threads - k + 1;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= (uint64_t)PLAN_ERROR_NS << GEN_PERIOD_SHIFT;
}

/*
 * `groups` of `size` packets from k on, and the one behind them, are evenly spaced. Looked at in
 * places all over, at the ends too: a silence moves everything behind it.
 */
static bool is_even(const struct plan *p, uint64_t k, uint64_t size, uint64_t groups,
		    uint64_t *period)
{
	uint64_t from = plan_due(p, k), end = plan_due(p, k + groups * size);

	if (end == PLAN_NEVER)
		return false;
	*period = (end - from) / groups;
	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t g = i == 0 ? groups - 1 : i == 1 ? 1 : (uint64_t)(i * GOLDEN) % groups;

		if (!is_near(plan_due(p, k + g * size), from + g * *period) ||
		    group_of(p, k + g * size) != size)
			return false;
	}
	return true;
}

/* The longest piece from k on; returns its packets. */
static uint64_t plan_one(const struct plan *p, uint64_t k, uint64_t n, uint64_t guess,
			 struct gen_segment *s)
{
	uint64_t size = group_of(p, k), groups = guess, most = n / size + 1, period = 0, next;

	if (groups > most)
		groups = most;
	while (groups > 1 && !is_even(p, k, size, groups, &period))
		groups /= 2;
	if (groups <= 1) {
		groups = 1;
		next = plan_due(p, k + size);
		period = next == PLAN_NEVER ? 0 : next - plan_due(p, k);
	}
	s->due = plan_due(p, k);
	s->period = period;
	s->group = (uint32_t)size;
	return groups * size;
}

uint64_t plan_segments(const struct plan *p, uint64_t k, uint64_t n, uint64_t first,
		       struct gen_segment out[GEN_SEGMENTS])
{
	uint64_t done = 0, guess = GROUPS_MAX;

	for (unsigned i = 0; i < GEN_SEGMENTS && done < n && plan_due(p, k + done) != PLAN_NEVER;
	     i++) {
		uint64_t covered = plan_one(p, k + done, n - done, guess, &out[i]);

		done += covered < n - done ? covered : n - done;
		out[i].until = first + done;
		guess = 4 * (covered / out[i].group);
	}
	return done;
}

uint64_t plan_packets(const struct plan *p, uint64_t ns)
{
	uint64_t end = ns << GEN_PERIOD_SHIFT, low = 0, high = 1;

	while (high < (1ULL << 50) && plan_due(p, high) < end)
		high *= 2;
	if (plan_due(p, 0) >= end)
		return 0;
	while (high - low > 1) { /* low is due before the end, high is not */
		uint64_t middle = low + (high - low) / 2;

		if (plan_due(p, middle) < end)
			low = middle;
		else
			high = middle;
	}
	return high;
}
