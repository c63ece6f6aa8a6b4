/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an observer costs, by a clock of its own: that of the kernel (BPF_ENABLE_STATS) takes the
 * time of each run of every program on the host, which halves what a short XDP program can do.
 */
#ifndef PKTLEDGER_WORK_BPF_H
#define PKTLEDGER_WORK_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "trace_abi.h"

ONE_PER_CPU(work, struct trace_work);

/*
 * For work_end(); 0: this run is not timed. Two readings, one after the other: what the clock takes
 * is not counted as work. Inline, for a call costs as much as all of it where returns are guarded
 * against speculation; w->none is what the verifier does not know to be 0, or it would follow the
 * program in both ways.
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
