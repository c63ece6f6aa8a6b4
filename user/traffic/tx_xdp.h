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

#include "traffic/tx.h"
#include "gen_abi.h"

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

#endif
