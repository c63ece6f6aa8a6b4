// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/hist.h"

#define SUB_BITS 6 /* 64 sub-buckets per power of two */
#define SUB	 (1u << SUB_BITS)
#define BUCKETS	 ((64 - SUB_BITS + 1) * SUB)
#define QUARTER	 (SUB / 4)

_Static_assert(sizeof(((struct hist *)0)->bucket) == BUCKETS * sizeof(uint64_t) &&
		       HIST_QUARTERS == BUCKETS / QUARTER,
	       "each bucket is within a quarter");

/*
 * Returns the bucket of a value. Values below SUB have one bucket each. Larger values are assigned
 * by their top SUB_BITS + 1 bits.
 */
static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < SUB)
		return (unsigned)value;
	shift = 63 - SUB_BITS - (unsigned)__builtin_clzll(value);
	return (shift + 1) * SUB + (unsigned)((value >> shift) & (SUB - 1));
}

/* Returns the largest value in the bucket. */
static uint64_t bucket_top(unsigned bucket)
{
	unsigned shift;

	if (bucket < SUB)
		return bucket;
	shift = bucket / SUB - 1;
	return (((uint64_t)(bucket % SUB) + SUB + 1) << shift) - 1;
}

void hist_add(struct hist *h, uint64_t value)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count++;
	h->sum += value;
	h->bucket[bucket_of(value)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	if (!from->count)
		return;
	if (!into->count || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum += from->sum;
	for (unsigned i = 0; i < BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t hist_mean(const struct hist *h)
{
	return h->count ? h->sum / h->count : 0;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	double want = q * (double)h->count;
	uint64_t seen = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen && (double)seen >= want) {
			uint64_t top = bucket_top(i);

			return top < h->max ? top : h->max;
		}
	}
	return h->max;
}

void hist_quarters(const struct hist *h, uint64_t count[HIST_QUARTERS])
{
	for (unsigned i = 0; i < HIST_QUARTERS; i++) {
		count[i] = 0;
		for (unsigned k = 0; k < QUARTER; k++)
			count[i] += h->bucket[i * QUARTER + k];
	}
}

uint64_t hist_quarter_from(unsigned i)
{
	return i ? bucket_top(i * QUARTER - 1) + 1 : 0;
}

uint64_t hist_quarter_to(unsigned i)
{
	return bucket_top(i * QUARTER + QUARTER - 1);
}
