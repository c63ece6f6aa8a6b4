/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When packets were lost, finer than intervals: how many of a key in each window of time. Windows
 * without a loss take no room. Each CPU has a list for each set of include/watch_abi.h; it changes
 * over with the slots, so what user space reads of a key adds up to what its slot has counted.
 */
#ifndef PKTLEDGER_BURST_ABI_H
#define PKTLEDGER_BURST_ABI_H

#include <linux/types.h>

#include "watch_abi.h"

#define BURST_NS_MIN   100000 /* length of a window */
#define BURST_NS_MAX   1000000000
#define BURST_WAYS     256  /* last ones that are found again, a power of two */
#define BURST_LIST     8192 /* windows of keys in a list, a power of two, at most */
#define BURST_PROGRAMS 2    /* one on kfree_skb, one on consume_skb, which it may interrupt */

struct burst {
	struct watch_key key;
	__u64 window; /* CLOCK_MONOTONIC / watch_config.burst_ns */
	__u64 packets;
};

/* Of a CPU: number (program * WATCH_SETS + set) * CPUs + CPU. */
struct burst_list {
	__u32 used;
	__u32 pad;
	__u16 last[BURST_WAYS]; /* number of the burst that a key added to last */
	struct burst at[];	/* watch_config.burst_room of them */
};

_Static_assert(sizeof(struct burst) == 48, "no holes");
_Static_assert(BURST_LIST <= 65536, "numbers of bursts are 16 bits");

#endif
