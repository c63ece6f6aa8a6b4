/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ends while its observer runs on the same CPU. The kernel does not run a tracing program on
 * top of itself (prog->active in __bpf_trace_run()), so of a softirq that interrupts an observer
 * all packets would be passed over. Each observer has a second program, which is attached and so
 * called behind it (func_add()), and takes what the first has not begun. Should both be at work on
 * one packet, as a softirq between them makes it look, the fate is the same and is counted once.
 * A tail call to the first would do it with less code, but its private stack (6.13) is in use.
 */
#ifndef PKTLEDGER_SECOND_BPF_H
#define PKTLEDGER_SECOND_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "maps.bpf.h"
#include "trace_abi.h"

ONE_PER_CPU(begun, struct trace_begun);

/*
 * Whether this program is to look at `skb`. To be asked first, of every packet: what is taken here
 * is subtracted from what the kernel says that the first has missed. `observer` and `second` are
 * constants.
 */
static __always_inline bool is_my_turn(struct sk_buff *skb, enum trace_observer observer,
				       bool second)
{
	__u32 zero = 0;
	struct trace_begun *b = bpf_map_lookup_elem(&begun, &zero);
	bool known;

	if (!b)
		return !second;
	known = second && b->skb[observer] == (__u64)skb;
	b->skb[observer] = second ? 0 : (__u64)skb;
	b->taken += second && !known;
	return !known;
}

#endif
