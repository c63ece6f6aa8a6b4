/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending engine by live frames (BPF_PROG_RUN), behind tx.h: bpf/gen.bpf.c stamps and redirects
 * frames in the kernel. It works into a veth pair and by any driver with ndo_xdp_xmit; the peer of
 * a veth needs NAPI, which GRO or an XDP program gives it.
 *
 * A call costs about 18 ms, most of it for the pool of pages, so there are few, long ones: send()
 * is asked for all that may be sent, the program keeps the pace, and a timer's signal ends the call
 * when the schedule or the time is over. Between the packets of a paced stream the CPU is busy.
 *
 * The first packet goes alone: whether the device takes live frames is told by its fate only.
 */
#ifndef PKTLEDGER_TRAFFIC_TX_XDP_H
#define PKTLEDGER_TRAFFIC_TX_XDP_H

#include <stdint.h>

#include "gen_abi.h"
#include "traffic/pace.h"
#include "traffic/tx.h"

/*
 * Frames of one run of the program, after which the device's queue is flushed and its NAPI woken.
 * No multiple of 16, so that the tracer finds its place again (batch_begin() in drops.bpf.c), and
 * well below the 256 entries of a veth's ring.
 */
#define TX_XDP_BATCH 72

/*
 * What the program needs of a frame made by proto_build() for the stream. `frame`: at least
 * GEN_HEADER_MAX bytes.
 */
void tx_xdp_describe(struct gen_config *gen, const uint8_t *frame, const struct flow *flow,
		     unsigned flows, const struct stream *stream);

/*
 * The schedule of a stream in pieces that a BPF program can follow. It is the schedule of pace.h:
 * thread t of n sends the packets t, t + n, t + 2n ... of all, and packets leave in groups of
 * `burst`. A time in the plan is at most PLAN_ERROR_NS beside that of the profile.
 */

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
