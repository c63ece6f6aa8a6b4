/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interface between the receiving program of the `xdp` engine (bpf/sink.bpf.c) and user space. */
#ifndef PKTLEDGER_SINK_ABI_H
#define PKTLEDGER_SINK_ABI_H

#include <linux/types.h>

#include "trace_abi.h"

#define SINK_CLOCK_EVERY 64 /* number of deliveries between two clock readings */

/* Capacity if streams are learned: streams, and numbers per stream until they are counted. */
#define SINK_LEARNED 8
#define SINK_WINDOW  (1ULL << 24)

struct sink_config {
	__u32 payload; /* expected length; 0: any */
	__u8 pass;     /* only a probe: all packets continue into the stack */
	__u8 pad[3];
};

/* Counters that every receiver has, whether it is a thread or this program on one CPU. */
struct sink_sums {
	__u64 delivered; /* numbers, each counted once */
	__u64 duplicated;
	__u64 damaged;		 /* wrong length, or wrong content in the bytes that were checked */
	__u64 invalid;		 /* on our port but without a valid sequence header */
	__u64 foreign;		 /* sequence header from another run, or no room for its stream */
	__u64 late;		 /* number no longer in the window */
	__u64 first_ns, last_ns; /* CLOCK_MONOTONIC ns, first and last delivery; 0: unset */
};

/* Per CPU. Invalid, foreign and late packets continue into the stack. */
struct sink_count {
	struct sink_sums sums; /* last_ns lags by up to SINK_CLOCK_EVERY */
	__u64 taken;	       /* frames that XDP_DROP ended here: deliveries and duplicates */
	__u64 reordered;       /* number below the stream's highest number seen on this CPU */
	__u64 next[TRACE_STREAMS]; /* highest number seen per stream + 1; 0: not seen */
};

_Static_assert(sizeof(struct sink_config) == 8, "no holes");
_Static_assert(sizeof(struct sink_count) == 80 + 8 * TRACE_STREAMS, "no holes");

#endif
