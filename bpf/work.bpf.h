/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures the overhead of an observer with a separate clock. The kernel's clock (BPF_ENABLE_STATS)
 * takes the time of each run of every program on the host, which halves the maximum rate of a short
 * XDP program.
 */
#ifndef PKTLEDGER_WORK_BPF_H
#define PKTLEDGER_WORK_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "trace_abi.h"

ONE_PER_CPU(work, struct trace_work);

/*
 * Returns the start time for work_end(); 0: this run is not timed. The two readings in sequence
 * exclude the time of the clock itself. Inline, because a call costs as much as the function where
 * returns are guarded against speculation. w->none is a 0 unknown to the verifier, which would
 * otherwise follow the program on both paths.
 */
static __always_inline __u64 work_begin(void)
{
	__u32 zero = 0;
	struct trace_work *w = bpf_map_lookup_elem(&work, &zero);
	__u64 first, second;

	if (!w)
		return 0;
	w->runs++;
	if (w->wait) {
		w->wait--;
		return w->none;
	}
	w->wait = WORK_TIMED - 1;
	first = bpf_ktime_get_ns();
	second = bpf_ktime_get_ns();
	return second + (second - first);
}

static __always_inline void work_end(__u64 begin)
{
	__u32 zero = 0;
	struct trace_work *w;
	__u64 now;

	if (!begin)
		return;
	now = bpf_ktime_get_ns();
	w = bpf_map_lookup_elem(&work, &zero);
	if (!w)
		return;
	w->timed++;
	if (now > begin)
		w->ns += now - begin;
}

#endif
