/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Log-linear histogram of durations. It has 64 sub-buckets per power of two, so every value is
 * reported to within 1.6 %. Uses a fixed amount of memory and does not allocate.
 */
#ifndef PKTLEDGER_BASE_HIST_H
#define PKTLEDGER_BASE_HIST_H

#include <stdint.h>

/*
 * Counts per quarter of a power of two. count[i] is the number of values between `from` and `to` of
 * row i.
 */
#define HIST_QUARTERS 236

/* Zero-initialise. */
struct hist {
	uint64_t count, sum, min, max; /* exact, all 0 if the histogram is empty */
	uint64_t bucket[HIST_QUARTERS * 16];
};

void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);
/*
 * Returns the smallest value v such that a fraction q (0..1) of all values is <= v, rounded to the
 * upper edge of its bucket.
 */
uint64_t hist_quantile(const struct hist *h, double q);

/* Returns the mean, or 0 if the histogram is empty. */
uint64_t hist_mean(const struct hist *h);

void hist_quarters(const struct hist *h, uint64_t count[HIST_QUARTERS]);
uint64_t hist_quarter_from(unsigned i);
uint64_t hist_quarter_to(unsigned i);

#endif
