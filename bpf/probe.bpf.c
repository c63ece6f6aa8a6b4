// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes at the edge of a host. They record how far a number got, and let every packet pass.
 *
 * In experiments between two hosts they are tracepoints. A packet handed to a driver has left
 * (net_dev_start_xmit, after the queueing discipline), and a packet that the stack gets from a
 * driver has arrived (netif_receive_skb, before generic XDP, taps and tc). Tracepoints see every
 * interface in the namespace and do not change the host's configuration. User space loads only the
 * programs it needs. The probes of a test network (mark.bpf.h) are loaded from drops.bpf.c.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "mark.bpf.h"

struct segment_walk {
	struct sk_buff *skb;
	__u32 from_data, size;
	__u8 where;
};

static long edge_segment(__u32 n, struct segment_walk *w)
{
	struct stamp stamp;
	__u64 word = 0;

	if (!stamp_in_pages(w->skb, w->from_data + n * w->size, &stamp))
		word = stamp_word(&stamp);
	if (word)
		mark_seen(word, w->where);
	return 0;
}

/* Marks only the first segment if segments cannot be read one by one. */
static __always_inline void edge_segments(const struct stamp_reader *r, const struct packet *p,
					  __u16 size, __u16 segments, __u8 where)
{
	__s64 from_data = r->at->head + p->payload - r->at->data;
	struct segment_walk walk = {r->skb, (__u32)from_data, size, where};

	if (segments > MAX_SEGMENTS)
		segments = MAX_SEGMENTS;
	if (stamp_at(r, p->payload + (segments - 1) * size) == p->word + segments - 1)
		mark_seen_range(p->word, segments, where);
	else if (KFUNCS && from_data >= 0)
		bpf_loop(segments, edge_segment, &walk, 0);
	else
		mark_seen(p->word, where);
}

/* Returns true if this is one of our fragments and was recorded. */
static __always_inline bool edge_fragment(const struct stamp_reader *r, __u8 where)
{
	__u8 l3[IP6_HLEN] WIDE;
	struct headers h;
	__u64 word;

	return fragment_read(r, cfg.port, &h, l3, &word) && (!word || is_ours(word)) &&
	       mark_fragment(&h, l3, word, true, where);
}

/* Sender and receiver namespaces. One of them may not be part of this run. */
const volatile __u32 leave_netns, enter_netns;

static __always_inline int edge(struct sk_buff *skb, __u8 where)
{
	struct linear at = linear_of(skb);
	const struct stamp_reader reader = {skb, &at};
	struct skb_shared_info *shared;
	struct packet p = {};
	__u16 size;
	int found;

	if (skb->dev->nd_net.net->ns.inum != (where == SEEN_TX_DEVICE ? leave_netns : enter_netns))
		return 0;
	found = found_in_pages(&reader, packet_parse(&at, cfg.port, &p), &p);
	if (cfg.fragments && edge_fragment(&reader, where))
		return 0;
	if (found != PACKET_STAMPED || !is_ours(p.word))
		return 0;
	shared = (void *)(at.head + skb->end);
	size = BPF_CORE_READ(shared, gso_size);
	if (size)
		edge_segments(&reader, &p, size, BPF_CORE_READ(shared, gso_segs), where);
	else
		mark_seen(p.word, where);
	return 0;
}

SEC("?tp_btf/net_dev_start_xmit")
int leave(__u64 *ctx)
{
	return edge((void *)ctx[0], SEEN_TX_DEVICE);
}

SEC("?tp_btf/netif_receive_skb")
int enter(__u64 *ctx)
{
	return edge((void *)ctx[0], SEEN_RX_DEVICE);
}

/*
 * Additional probes for hosts where tracing can be suppressed (seen.bpf.h), because tc programs are
 * not tracing programs.
 */
SEC("?tc")
int enter_tc(struct __sk_buff *skb)
{
	__u64 word =
		packet_word_direct((void *)(long)skb->data, (void *)(long)skb->data_end, cfg.port);

	if (word)
		mark_seen(word, SEEN_RX_DEVICE);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
