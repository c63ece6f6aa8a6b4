/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records how far a number got. Our tc programs on the path are never suppressed, unlike tracing
 * programs. Each of them records whether it ran in the context of PID 1, where tracing is
 * suppressed.
 */
#ifndef PKTLEDGER_SEEN_BPF_H
#define PKTLEDGER_SEEN_BPF_H

#include <bpf/bpf_core_read.h>

#include "numbers.bpf.h"

NUMBER_MAP(seen);

/*
 * Returns true if this runs in the context of PID 1. A pointer that the verifier trusts is read
 * directly.
 */
static __always_inline bool is_on_init(void)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	return task->tgid == 1;
}

static __always_inline void mark_seen(__u64 word, __u8 where)
{
	__u8 *byte = number_byte(&seen, word, NULL);

	if (!byte)
		return;
	if (is_on_init())
		where |= SEEN_ON_INIT;
	if ((*byte & SEEN_MASK) < (where & SEEN_MASK))
		*byte = where | (*byte & ~SEEN_MASK);
	else
		*byte |= where & SEEN_BRIDGE;
}

struct mark_range {
	__u64 word;
	__u8 where;
};

static long mark_next(__u32 n, struct mark_range *r)
{
	mark_seen(r->word + n, r->where);
	return 0;
}

/* Marks the numbers in a merged skb, which are consecutive. */
static __always_inline void mark_seen_range(__u64 word, __u32 n, __u8 where)
{
	struct mark_range range = {word, where};

	bpf_loop(n, mark_next, &range, 0);
}

#endif
