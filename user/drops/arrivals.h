/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the receiver saw beside the books: order, gaps, delay, by flow and in all. Plain data. */
#ifndef PKTLEDGER_DROPS_ARRIVALS_H
#define PKTLEDGER_DROPS_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hist.h"
#include "trace_abi.h"

#define ARRIVALS_BUCKETS 32 /* by powers of two: 1, 2, 3-4, 5-8 .. */
#define ARRIVALS_FLOWS	 64 /* shown */
#define ARRIVALS_CLOCK	 "CLOCK_TAI"

/* The bucket of a value from 1 on, and the values that fall in it. */
unsigned arrivals_bucket(uint64_t value);
uint64_t arrivals_bucket_from(unsigned bucket);
uint64_t arrivals_bucket_to(unsigned bucket);

/* RFC 4737: what arrived below the highest number of its line, and how far it was displaced. */
struct reordering {
	uint64_t packets;
	uint64_t extent_max; /* arrivals since the first one that should have come later */
	uint64_t extent[ARRIVALS_BUCKETS]; /* packets */
	uint64_t extent_unknown;	   /* so late that the jump over them is forgotten */
};

void reordering_note(struct reordering *r, uint64_t extent);
void reordering_add(struct reordering *into, const struct reordering *from);

/* Runs of numbers of one stream that were sent and not delivered. */
struct gaps {
	uint64_t count, packets, longest;
	uint64_t length[ARRIVALS_BUCKETS]; /* gaps */
};

/* A run of `length` numbers; 0: none. */
void gaps_note(struct gaps *g, uint64_t length);
void gaps_add(struct gaps *into, const struct gaps *from);

struct result_latency {
	bool measured;
	uint64_t min, p50, p90, p99, p999, p9999, max; /* ns */
};

/* From a histogram of one-way delays; NULL or empty: not measured. */
void result_latency_fill(struct result_latency *l, const struct hist *delay);

struct arrivals_flow {
	uint16_t stream; /* as stamped */
	char source[64]; /* ADDR:PORT; "": flows were not told apart */
	uint64_t delivered, bytes, duplicated;
	struct reordering order;
	uint64_t jitter_ns, negative;
	struct result_latency latency;
};

struct arrivals {
	struct reordering order;
	struct gaps gaps;
	struct result_latency latency;
	uint64_t delay[HIST_QUARTERS]; /* packets by one-way delay: hist_quarters() */
	uint64_t jitter_ns;	       /* RFC 3550, mean of the flows by packets */
	uint64_t negative;	       /* packets that arrived before they were sent */
	struct arrivals_flow flow[ARRIVALS_FLOWS];
	unsigned flows;
	uint64_t flows_more; /* not in `flow`, but in the sums */
};

/* Why the clocks of both ends cannot be trusted to agree, or NULL. */
const char *arrivals_clock_doubt(const struct arrivals *a);

#endif
