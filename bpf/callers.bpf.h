/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the caller, for programs at tracepoints that do not report one. */
#ifndef PKTLEDGER_CALLERS_BPF_H
#define PKTLEDGER_CALLERS_BPF_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

#define STACK_DEPTH 8 /* frames of a BPF program and its tracepoint, plus the function to find */

/* Returns true if code in [start, end) is among the callers of this program. */
static __noinline bool is_called_by(void *ctx, __u64 start, __u64 end)
{
	__u64 stack[STACK_DEPTH] = {};

	if (bpf_get_stack(ctx, stack, sizeof(stack), 0) < 0)
		return false;
	for (int i = 0; i < STACK_DEPTH; i++) {
		if (stack[i] - start < end - start)
			return true;
	}
	return false;
}

#endif
