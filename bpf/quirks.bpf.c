// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What user/drops/quirks.c asks this host: may fentry be used, is tracing off while PID 1 runs? */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

__u64 init_switches;

/* A function that the kernel has for tests, and calls for nothing else. */
SEC("?fentry/bpf_fentry_test1")
int quirk_fentry(__u64 *ctx)
{
	return 0;
}

/* `current` is still the thread that leaves the CPU. */
SEC("?tp_btf/sched_switch")
int quirk_switch(__u64 *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == 1)
		__sync_fetch_and_add(&init_switches, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
