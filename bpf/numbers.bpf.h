/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which numbers are this run's, and where their byte is in a map of pages. */
#ifndef PKTLEDGER_NUMBERS_BPF_H
#define PKTLEDGER_NUMBERS_BPF_H

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "stamp.h"
#include "trace_abi.h"

const volatile struct trace_config cfg;

__u64 tails[TRACE_STREAMS]; /* numbers below have left the window */

static __always_inline bool is_ours(__u64 word)
{
	__u32 slot = (STAMP_STREAM(word) - cfg.stream0) & 0xffff;
	__u64 number = STAMP_NUMBER(word);

	return slot < cfg.streams && number >= cfg.base && number - cfg.base <= 0xffffffffULL;
}

/* The byte of a number, or NULL if it is none of this run's, or left the window: noted in `loss`.
 */
static __always_inline __u8 *number_byte(void *map, __u64 word, struct trace_loss *loss)
{
	__u32 slot = (STAMP_STREAM(word) - cfg.stream0) & 0xffff, key;
	__u64 number = STAMP_NUMBER(word), index;
	struct trace_page *page;

	barrier_var(slot); /* so that the verifier sees the bound on what is used as an index */
	if (slot >= TRACE_STREAMS || !is_ours(word)) {
		if (loss)
			loss->foreign++;
		return NULL;
	}
	if (number < tails[slot]) {
		if (loss)
			loss->late++;
		return NULL;
	}
	index = slot * cfg.window + (number & (cfg.window - 1));
	key = index >> TRACE_PAGE_BITS;
	page = bpf_map_lookup_elem(map, &key);
	return page ? &page->at[index & (TRACE_PAGE_SIZE - 1)] : NULL;
}

#endif
