/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Log-linear histogram of durations: 64 sub-buckets per power of two, so that any value is
 * reported within 1.6 %. Fixed memory, no allocation after hist_new().
 */
#ifndef PKTLEDGER_BASE_HIST_H
#define PKTLEDGER_BASE_HIST_H

#include <stdint.h>

struct hist;

struct hist *hist_new(void); /* NULL: no memory */
void hist_free(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);
uint64_t hist_count(const struct hist *h);
uint64_t hist_min(const struct hist *h); /* exact; 0 if empty */
uint64_t hist_max(const struct hist *h); /* exact; 0 if empty */
/* Smallest value v such that a share q (0..1) of all is <= v; upper edge of its bucket. */
uint64_t hist_quantile(const struct hist *h, double q);

/* Counts by quarters of a power of two: count[i] are the values from .. to of the i-th. */
#define HIST_QUARTERS 236
void hist_quarters(const struct hist *h, uint64_t count[HIST_QUARTERS]);
uint64_t hist_quarter_from(unsigned i);
uint64_t hist_quarter_to(unsigned i);

#endif
