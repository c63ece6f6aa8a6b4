/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Losses by windows of time: include/burst_abi.h. Without cfg.burst_ns there is neither code nor
 * map. */
#ifndef PKTLEDGER_BURST_BPF_H
#define PKTLEDGER_BURST_BPF_H

#include <bpf/bpf_helpers.h>

#include "burst_abi.h"
#include "table.bpf.h"

/* User space sets how many lists there are, and how large one is. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct burst_list) + BURST_LIST * sizeof(struct burst));
	__uint(max_entries, 1);
} bursts SEC(".maps");

static __always_inline bool is_burst(const struct burst *b, const __u64 *word, __u64 window)
{
	const __u64 *w = (const void *)&b->key;

	return b->window == window && w[0] == word[0] && w[1] == word[1] && w[2] == word[2] &&
	       w[3] == word[3];
}

/*
 * Called after the key was counted: `cpu` is that of its slot. The copy is for the verifier: the
 * hash becomes an index, so it would follow every way on which the key can have come about.
 */
static __noinline int burst_count(const __u64 *key, __u32 cpu, __u64 packets)
{
	__u64 word[sizeof(struct watch_key) / sizeof(__u64)];
	struct burst_list *list = bpf_map_lookup_elem(&bursts, &cpu);
	__u64 window = bpf_ktime_get_ns() / cfg.burst_ns;
	const __u32 mask = cfg.burst_room - 1;
	struct burst *b;
	__u32 way, n;

	if (!list || bpf_probe_read_kernel(word, sizeof(word), key))
		return 0;
	way = hash(word, NULL, false) & (BURST_WAYS - 1);
	b = &list->at[list->last[way] & mask];
	if (is_burst(b, word, window)) {
		b->packets += packets;
		return 0;
	}
	b = &list->at[list->last[way ^ 1] & mask];
	if (is_burst(b, word, window)) {
		b->packets += packets;
		return 0;
	}
	n = list->used;
	if (n > mask) {
		LOSS(unwindowed, packets);
		return 0;
	}
	list->used = n + 1;
	list->last[way ^ 1] = list->last[way];
	list->last[way] = n;
	b = &list->at[n & mask];
	__builtin_memcpy(&b->key, word, sizeof(b->key));
	b->window = window;
	b->packets = packets;
	return 0;
}

#endif
