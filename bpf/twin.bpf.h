/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Nested events. The kernel does not run a tracing program recursively (prog->active in
 * __bpf_trace_run()), so a program misses the events of a softirq that interrupts it. A program
 * that keeps an outcome therefore has a twin, attached and called after it (func_add()): the
 * program notes each event on this CPU, and the twin handles the events without a note. A tail call
 * to the program would need less code, but its private stack (6.13) is in use.
 */
#ifndef PKTLEDGER_TWIN_BPF_H
#define PKTLEDGER_TWIN_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "trace_abi.h"

ONE_PER_CPU(twins, struct trace_twins);

/*
 * Returns true if this program has to handle the event. Called first for every event, because
 * events that the twin takes are subtracted from the kernel's count of missed runs. A note that the
 * twin missed stays until the skb's address returns or newer notes replace it. `pair`, `second`:
 * constants.
 */
static __always_inline bool is_my_turn(__u32 pair, __u64 skb, bool second)
{
	const __u32 zero = 0;
	struct trace_twins *t = bpf_map_lookup_elem(&twins, &zero);
	volatile __u64 *note;
	bool mine = true;

	if (!t)
		return !second;
	note = t->note[pair];
	if (!second) {
		if (note[0]) {
#pragma unroll
			for (int i = TRACE_NOTES - 1; i > 0; i--)
				note[i] = note[i - 1];
		}
		note[0] = skb;
		return true;
	}
#pragma unroll
	for (int i = 0; i < TRACE_NOTES; i++) {
		if (note[i] == skb) {
			note[i] = 0;
			mine = false;
		}
	}
	t->taken[pair] += mine;
	return mine;
}

#endif
