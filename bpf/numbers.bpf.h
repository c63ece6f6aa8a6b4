/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognizes this run's numbers and finds their bytes in a map of pages. */
#ifndef PKTLEDGER_NUMBERS_BPF_H
#define PKTLEDGER_NUMBERS_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "stamp.h"
#include "trace_abi.h"

const volatile struct trace_config cfg;

/* One byte per number, in pages. User space sets the number of pages. */
#define NUMBER_MAP(name) MAPPED(name, 1, struct trace_page)

/* Shared by all programs of a run. */
MAPPED(tails, 1, struct trace_tails);

/*
 * Returns a stream's slot if streams are learned, or TRACE_STREAMS if all slots are in use. A new
 * stream gets the first free slot. Slots are assigned in order and never released. Not static, so
 * that it is verified once for all callers.
 */
__noinline __u32 discovered_slot(__u64 word)
{
	__u64 number = STAMP_NUMBER(word), behind = number & 0xffffffff;
	__u32 zero = 0, key = word >> 32, known;
	struct trace_tails *t = bpf_map_lookup_elem(&tails, &zero);

	if (!t || !key)
		return TRACE_STREAMS;
	for (__u32 i = 0; i < TRACE_STREAMS && i < cfg.streams; i++) {
		known = t->key[i];
		if (!known && cfg.learn != LEARN_TAKE)
			break;
		if (!known)
			known = __sync_val_compare_and_swap(&t->key[i], 0, key);
		if (known && !trace_key_fits(known, t->at[i], key))
			continue;
		/* an observer that starts mid-stream cannot go back to its beginning */
		if (!known && behind >= cfg.window / 2)
			t->at[i] = number - cfg.window / 2;
		return i;
	}
	return TRACE_STREAMS;
}

static __always_inline __u32 number_slot(__u64 word)
{
	return cfg.learn ? discovered_slot(word) : (STAMP_STREAM(word) - cfg.stream0) & 0xffff;
}

static __always_inline bool is_ours(__u64 word)
{
	__u32 slot = number_slot(word);

	return slot < cfg.streams && (cfg.learn || STAMP_NUMBER(word) - cfg.base < STAMP_SPAN);
}

/*
 * Returns the byte for a number in the stream in `slot`, or NULL if the number is not from this run
 * or is outside the window (counted in `loss`).
 */
static __always_inline __u8 *number_byte_of(void *map, __u32 slot, __u64 number,
					    struct trace_loss *loss)
{
	__u32 key = 0;
	struct trace_tails *known = bpf_map_lookup_elem(&tails, &key);
	struct trace_page *page;
	__u64 index, tail;

	barrier_var(slot); /* shows the verifier the bound of the register used as an index */
	if (slot >= TRACE_STREAMS || slot >= cfg.streams || !known) {
		if (loss)
			loss->foreign++;
		return NULL;
	}
	tail = known->at[slot];
	if (cfg.learn && !tail) /* base of the stream: `number` may be from a later 2^32 */
		tail = (__u64)(known->key[slot] & 0xffff) << 32;
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
	return number_byte_of(map, number_slot(word), STAMP_NUMBER(word), loss);
}

#endif
