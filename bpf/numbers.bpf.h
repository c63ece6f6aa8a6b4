/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which numbers are this run's, and where their byte is in a map of pages. */
#ifndef PKTLEDGER_NUMBERS_BPF_H
#define PKTLEDGER_NUMBERS_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "stamp.h"
#include "trace_abi.h"

const volatile struct trace_config cfg;

/* A byte a number, in pages; user space sets how many. */
#define NUMBER_MAP(name)                                                                           \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1);                                                            \
		__type(key, __u32);                                                                \
		__type(value, struct trace_page);                                                  \
	} name SEC(".maps")

/* Shared by all programs of a run. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trace_tails);
} tails SEC(".maps");

static __always_inline bool is_ours(__u64 word)
{
	__u32 slot = (STAMP_STREAM(word) - cfg.stream0) & 0xffff;

	return slot < cfg.streams && STAMP_NUMBER(word) - cfg.base < STAMP_SPAN;
}

/*
 * The byte of a number of the stream in `slot`, or NULL if it is none of this run's, or left the
 * window: noted in `loss`.
 */
static __always_inline __u8 *number_byte_of(void *map, __u32 slot, __u64 number,
					    struct trace_loss *loss)
{
	__u32 key = 0;
	struct trace_tails *known = bpf_map_lookup_elem(&tails, &key);
	struct trace_page *page;
	__u64 index, tail;

	barrier_var(slot); /* so that the verifier sees the bound on what is used as an index */
	if (slot >= TRACE_STREAMS || slot >= cfg.streams || !known) {
		if (loss)
			loss->foreign++;
		return NULL;
	}
	tail = known->at[slot];
	if (number - tail >= cfg.window) {
		if (loss && number < tail && number >= cfg.base)
			loss->late++;
		else if (loss)
			loss->foreign++;
		return NULL;
	}
	index = slot * cfg.window + (number & (cfg.window - 1));
	key = index >> TRACE_PAGE_BITS;
	page = bpf_map_lookup_elem(map, &key);
	return page ? &page->at[index & (TRACE_PAGE_SIZE - 1)] : NULL;
}

static __always_inline __u8 *number_byte(void *map, __u64 word, struct trace_loss *loss)
{
	__u32 slot = (STAMP_STREAM(word) - cfg.stream0) & 0xffff;

	return number_byte_of(map, slot, STAMP_NUMBER(word), loss);
}

#endif
