/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When packets were lost, in windows of a millisecond or so: which windows were the worst, and
 * whether the loss came all at once. Of an interval and of the whole, for each stage. A window
 * belongs to the interval in which it ends.
 */
#ifndef PKTLEDGER_MONITOR_BURSTS_H
#define PKTLEDGER_MONITOR_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "watch_abi.h"
#include "stages.h"

#define BURSTS_WORST 10
#define BURSTS_DENSE 0.9 /* see struct burst_stage */

struct bursts;

/* A window of a stage. Begins at number * window_ns of CLOCK_MONOTONIC. */
struct burst_window {
	uint64_t number, packets;
};

struct burst_stage {
	uint64_t packets; /* the sum over its windows */
	uint64_t windows; /* in which some were lost */
	/* The fewest windows that hold BURSTS_DENSE of the packets, and how many those hold.
	 * Windows whose sizes differ by less than 3 % count as equal. */
	uint64_t dense_windows, dense_packets;
	struct burst_window worst[BURSTS_WORST]; /* most packets first */
	unsigned n_worst;
};

struct burst_report {
	uint64_t window_ns;
	uint64_t length_ns;  /* of the interval, or of the whole */
	int64_t realtime_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t start_ns;   /* CLOCK_MONOTONIC, where times of the report count from */
	struct burst_stage stage[STAGE_COUNT];
};

/* The stage whose loss a key is; STAGE_NONE: it is none, or not among those that are shown. */
typedef enum stage burst_judge(void *arg, const struct watch_key *key);

/* NULL: no memory. `window_ns`: as watch_spec.burst_ns. */
struct bursts *bursts_new(uint64_t window_ns);
void bursts_free(struct bursts *b);

/* False: no memory; it is not in the reports. */
bool bursts_add(struct bursts *b, const struct burst *from);

/* There is so much to judge that bursts_settle() should not wait for the end of the interval. */
bool bursts_waiting(const struct bursts *b);

/* Begins an interval. */
void bursts_begin(struct bursts *b);

/* All windows that have ended by `now_ns` (CLOCK_MONOTONIC) go to interval and whole. */
void bursts_settle(struct bursts *b, uint64_t now_ns, burst_judge *judge, void *arg);

/* Fills `stage` and `window_ns` of the report, of the interval or of the whole. */
void bursts_report(const struct bursts *b, bool whole, struct burst_report *out);

#endif
