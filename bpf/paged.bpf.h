/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Payload that is not in the linear part of an skb: a GSO message has only headers there, and so
 * have the segments it is cut into. bpf_dynptr_from_skb() takes skbs of tp_btf programs since Linux
 * 6.12; before, such a stamp stays unreadable and is counted.
 */
#ifndef PKTLEDGER_PAGED_BPF_H
#define PKTLEDGER_PAGED_BPF_H

#include <bpf/bpf_helpers.h>

#include "kfunc.bpf.h"
#include "packet.bpf.h"

/* Where stamps of one skb are read. */
struct stamp_reader {
	struct sk_buff *skb;
	const struct packet_place *at;
};

/* Not inline: the verifier wants the stack slots of a dynptr for itself. */
static __noinline int stamp_in_pages(struct sk_buff *skb, __u32 from_data, struct stamp *stamp)
{
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(skb, 0, &ptr))
		return -1;
	return bpf_dynptr_read(stamp, sizeof(*stamp), &ptr, from_data, 0);
}

/* The word of the stamp at `offset` from head; 0: there is none, or it cannot be read. */
static __always_inline __u64 stamp_at(const struct stamp_reader *r, __u32 offset)
{
	__s64 from_data = r->at->head + offset - r->at->data;
	struct stamp stamp;

	if (offset + STAMP_LEN <= r->at->tail) {
		if (bpf_probe_read_kernel(&stamp, sizeof(stamp), r->at->head + offset))
			return 0;
	} else {
		if (!KFUNCS || from_data < 0 || stamp_in_pages(r->skb, (__u32)from_data, &stamp))
			return 0;
	}
	if (stamp.magic != bpf_htons(STAMP_MAGIC) || stamp.check != ~stamp.word)
		return 0;
	return bpf_be64_to_cpu(stamp.word);
}

/* What packet_parse() found, where a payload that it cannot reach may be in pages. */
static __always_inline int found_in_pages(const struct stamp_reader *r, int found, struct packet *p)
{
	if (found != PACKET_UNREADABLE || !KFUNCS)
		return found;
	p->word = stamp_at(r, p->payload);
	return p->word ? PACKET_STAMPED : PACKET_UNREADABLE;
}

#endif
