// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/arrivals.h"

#include <stddef.h>

#define DELAY_DOUBT_NS 10000000000ULL /* no queue of a network holds a packet for so long */
#define TAI_OFFSET_NS  37000000000ULL /* TAI - UTC since 2017 */
#define TAI_NEAR_NS    1000000000ULL

unsigned arrivals_bucket(uint64_t value)
{
	unsigned bucket = value > 1 ? 64 - (unsigned)__builtin_clzll(value - 1) : 0;

	return bucket < ARRIVALS_BUCKETS ? bucket : ARRIVALS_BUCKETS - 1;
}

uint64_t arrivals_bucket_from(unsigned bucket)
{
	return bucket ? (1ULL << (bucket - 1)) + 1 : 1;
}

uint64_t arrivals_bucket_to(unsigned bucket)
{
	return bucket < ARRIVALS_BUCKETS - 1 ? 1ULL << bucket : UINT64_MAX;
}

void reordering_note(struct reordering *r, uint64_t extent)
{
	r->extent[arrivals_bucket(extent)]++;
	if (extent > r->extent_max)
		r->extent_max = extent;
}

void reordering_add(struct reordering *into, const struct reordering *from)
{
	into->packets += from->packets;
	into->extent_unknown += from->extent_unknown;
	if (from->extent_max > into->extent_max)
		into->extent_max = from->extent_max;
	for (unsigned b = 0; b < ARRIVALS_BUCKETS; b++)
		into->extent[b] += from->extent[b];
}

void gaps_note(struct gaps *g, uint64_t length)
{
	if (!length)
		return;
	g->count++;
	g->packets += length;
	g->length[arrivals_bucket(length)]++;
	if (length > g->longest)
		g->longest = length;
}

void gaps_add(struct gaps *into, const struct gaps *from)
{
	into->count += from->count;
	into->packets += from->packets;
	if (from->longest > into->longest)
		into->longest = from->longest;
	for (unsigned b = 0; b < ARRIVALS_BUCKETS; b++)
		into->length[b] += from->length[b];
}

void result_latency_fill(struct result_latency *l, const struct hist *delay)
{
	*l = (struct result_latency){};
	if (!delay || !hist_count(delay))
		return;
	*l = (struct result_latency){
		.measured = true,
		.min = hist_min(delay),
		.p50 = hist_quantile(delay, 0.5),
		.p90 = hist_quantile(delay, 0.9),
		.p99 = hist_quantile(delay, 0.99),
		.p999 = hist_quantile(delay, 0.999),
		.p9999 = hist_quantile(delay, 0.9999),
		.max = hist_max(delay),
	};
}

const char *arrivals_clock_doubt(const struct arrivals *a)
{
	const struct result_latency *l = &a->latency;

	if (a->negative)
		return "packets arrived before they were sent: the clocks of both ends differ";
	if (!l->measured || (l->min < DELAY_DOUBT_NS && l->max < DELAY_DOUBT_NS))
		return NULL;
	if (l->min < DELAY_DOUBT_NS)
		return "some delays are above 10 s: either a clock was set meanwhile, or something "
		       "held packets for so long";
	if (l->min > TAI_OFFSET_NS - TAI_NEAR_NS && l->min < TAI_OFFSET_NS + TAI_NEAR_NS)
		return "every delay is about 37 s: one end's kernel does not know the offset of "
		       "TAI";
	return "even the shortest delay is above 10 s: the clocks of both ends differ";
}
