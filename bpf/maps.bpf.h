/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_MAPS_BPF_H
#define PKTLEDGER_MAPS_BPF_H

#include <bpf/bpf_helpers.h>

/* A map of one value for each CPU. Programs that share one name it alike. */
#define ONE_PER_CPU(name, kind)                                                                    \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                           \
		__uint(max_entries, 1);                                                            \
		__type(key, __u32);                                                                \
		__type(value, kind);                                                               \
	} name SEC(".maps")

#endif
