/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames that wait in batches to be handed over, by a sender's live frames or by a fault's
 * redirect: of what is refused only the number is told.
 */
#ifndef PKTLEDGER_BATCH_BPF_H
#define PKTLEDGER_BATCH_BPF_H

#include <bpf/bpf_helpers.h>

#include "fate.bpf.h"
#include "maps.bpf.h"

/* Shared with gen.bpf.c and fault.bpf.c: what waits in the batch of the sender's device on this
 * CPU. */
ONE_PER_CPU(batch, struct trace_batch);

/*
 * Which frames are in a batch of `n`: the first of them in b->word. Frames are handed over in
 * order, when `bulk` wait and one more comes (it is stamped already, but not among them), and at
 * the end of a run. So with fewer than that nothing is left behind, which also finds the place
 * again after a batch that this program missed. False: not known.
 */
static __always_inline bool batch_begin(struct trace_batch *b, __u32 n, __u32 bulk, __u32 *first)
{
	__u32 waiting = b->tail - b->head;

	if (n < bulk) {
		b->lost = 0;
		*first = b->tail - n;
		b->head = b->tail;
		return true;
	}
	b->lost |= n != bulk || waiting - n > 1;
	*first = b->head;
	b->head += n;
	return !b->lost;
}

struct tail_walk {
	struct trace_batch *batch;
	__u32 first, index;
};

static long tail_step(__u32 n, struct tail_walk *w)
{
	settle(w->batch->word[(w->first + n) % TRACE_BATCH], w->index);
	return 0;
}

/* The first `sent` frames of a batch were taken; the tail died. */
static __always_inline int end_of_batch(const struct trace_cause *cause, __u32 sent, __u32 drops,
					__u32 bulk)
{
	__u32 zero = 0, first;
	struct trace_batch *b = bpf_map_lookup_elem(&batch, &zero);
	struct tail_walk walk;

	if (!b)
		return 0;
	if (!batch_begin(b, sent + drops, bulk, &first)) {
		LOSS(cell_empty, drops);
		return 0;
	}
	if (!drops)
		return 0;
	walk = (struct tail_walk){b, first + sent, cause_index(cause)};
	/* a loop written out would take the verifier 0.2 s */
	bpf_loop(drops < bulk ? drops : bulk, tail_step, &walk, 0);
	count_frames(walk.index, drops);
	return 0;
}

#endif
