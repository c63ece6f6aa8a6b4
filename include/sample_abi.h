/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A dropped packet, as the observer of all traffic hands it to people: who, where, and the packet's
 * first bytes. Samples are beside the books: what finds no room in the ring is only counted.
 */
#ifndef PKTLEDGER_SAMPLE_ABI_H
#define PKTLEDGER_SAMPLE_ABI_H

#include <linux/types.h>

#include "watch_abi.h"

#define SAMPLE_SNAPLEN_MAX 65535
#define SAMPLE_PROGRAMS	   2 /* one on kfree_skb, one on consume_skb, which it may interrupt */

#define SAMPLE_FRAMES 32 /* of a stack */

/* Room for `frames_room` addresses of the kernel's stack follows, and then `len` bytes of the
 * packet. */
struct sample {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct watch_key key;
	__u32 len;	/* bytes of the packet, all from the linear part */
	__u32 wire_len; /* of the packet from the same header on */
	__u32 tag;	/* VLAN tag kept beside the packet: TPID << 16 | TCI; 0: none */
	__u16 segments; /* of a merged packet; 1: it was none */
	__u16 layer;	/* enum filter_layer: what the bytes begin with */
	__u32 cpu;
	__u16 frames;	   /* addresses of the stack, innermost first */
	__u16 frames_room; /* SAMPLE_FRAMES; 0: stacks are not asked for */
};

_Static_assert(sizeof(struct sample) == 64, "no holes");

#endif
