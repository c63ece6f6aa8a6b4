/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The schedule of a stream in pieces that a BPF program can follow. It is the schedule of pace.h:
 * thread t of n sends the packets t, t + n, t + 2n ... of all, and packets leave in groups of
 * `burst`. A time in the plan is at most PLAN_ERROR_NS beside that of the profile.
 */
#ifndef PKTLEDGER_TRAFFIC_TX_XDP_PLAN_H
#define PKTLEDGER_TRAFFIC_TX_XDP_PLAN_H

#include <stdint.h>

#include "traffic/profile.h"
#include "gen_abi.h"

#define PLAN_ERROR_NS 2000

#define PLAN_NEVER UINT64_MAX

struct plan {
	const struct profile *profile;
	unsigned burst, slot, threads; /* each but slot at least 1 */
	double origin_s;	       /* times are since then: 78 hours of them can be told */
};

/*
 * Plans this thread's packets from number `k` of it (from 0) on, `n` of them at most; `first` is
 * the stamped number of k. Returns how many the segments cover: less than `n` where there are not
 * enough of them, or where the profile ends in silence.
 */
uint64_t plan_segments(const struct plan *p, uint64_t k, uint64_t n, uint64_t first,
		       struct gen_segment out[GEN_SEGMENTS]);

/* When packet k of this thread is due, since the start of the profile; HUGE_VAL: never. */
double plan_seconds(const struct plan *p, uint64_t k);

/* The same since the origin, ns << GEN_PERIOD_SHIFT; PLAN_NEVER: not in the next 78 hours. */
uint64_t plan_due(const struct plan *p, uint64_t k);

/* Packets of this thread that are due before `ns` since the origin. */
uint64_t plan_packets(const struct plan *p, uint64_t ns);

#endif
