/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the checkpoints are told, and what they count. */
#ifndef PKTLEDGER_TALLY_BPF_H
#define PKTLEDGER_TALLY_BPF_H

#include <bpf/bpf_helpers.h>

#include "balance_abi.h"
#include "kernel.h"

const volatile struct balance_config cfg;

/* Of this CPU; whether another task can come in between depends on the kernel. */
#define TALLY(field, n) __sync_fetch_and_add(&(field), n)

/* Element n is that of CPU n. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32);
	__type(value, struct balance_tally);
} tallies SEC(".maps");

static __always_inline struct balance_tally *tally(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&tallies, &cpu);
}

#endif
