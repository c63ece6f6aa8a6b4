/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a packet was dropped. */
#ifndef PKTLEDGER_PLACE_BPF_H
#define PKTLEDGER_PLACE_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"

#define PLACE_FRAMES                                                                               \
	12 /* of BPF, of the tracepoint, of who frees, and the one that is looked for */

static __noinline __u64 place_of_caller(__u64 *ctx, __u64 start, __u64 end)
{
	__u64 stack[PLACE_FRAMES] = {}, place = ctx[1];

	if (bpf_get_stack(ctx, stack, sizeof(stack), 0) < 0)
		return place;
	for (int i = 0; i + 1 < PLACE_FRAMES; i++) {
		if (stack[i] - start < end - start && stack[i + 1])
			place = stack[i + 1];
	}
	return place;
}

/*
 * kfree_skb tells who called the one that frees. Where compilers make no jumps of calls, as on
 * arm64, that may be a function which frees for others, in [start, end): then it is the caller of
 * that.
 */
static __always_inline __u64 drop_place(__u64 *ctx, __u64 start, __u64 end)
{
	return ctx[1] - start < end - start ? place_of_caller(ctx, start, end) : ctx[1];
}

#endif
