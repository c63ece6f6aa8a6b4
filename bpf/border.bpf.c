// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The borders of a host, for experiments between two: what is handed to a driver has left
 * (net:net_dev_start_xmit, behind the queueing discipline), what the stack gets from one has
 * arrived (net:netif_receive_skb, before generic XDP, taps and tc). Both see all devices of the
 * namespace, and nothing of the host is changed for them.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "fragment.bpf.h"
#include "packet.bpf.h"
#include "paged.bpf.h"
#include "seen.bpf.h"

#define TC_ACT_UNSPEC (-1)
#define MAX_SEGMENTS  128

struct segment_walk {
	struct sk_buff *skb;
	__u32 from_data, size;
	__u8 where;
};

static long mark_segment(__u32 n, struct segment_walk *w)
{
	struct stamp stamp;

	if (!stamp_in_pages(w->skb, w->from_data + n * w->size, &stamp) &&
	    stamp.magic == bpf_htons(STAMP_MAGIC) && stamp.check == ~stamp.word)
		mark_seen(bpf_be64_to_cpu(stamp.word), w->where);
	return 0;
}

/* Where segments cannot be read one by one, no more than the first is marked. */
static __always_inline void mark_segments(const struct stamp_reader *r, const struct packet *p,
					  __u16 size, __u16 segments, __u8 where)
{
	__s64 from_data = r->at->head + p->payload - r->at->data;
	struct segment_walk walk = {r->skb, (__u32)from_data, size, where};

	if (segments > MAX_SEGMENTS)
		segments = MAX_SEGMENTS;
	if (stamp_at(r, p->payload + (segments - 1) * size) == p->word + segments - 1)
		mark_seen_range(p->word, segments, where);
	else if (KFUNCS && from_data >= 0)
		bpf_loop(segments, mark_segment, &walk, 0);
	else
		mark_seen(p->word, where);
}

/*
 * The first fragment tells the number of all, for those that are lost later. True: it is one of
 * ours, and noted.
 */
static __always_inline bool mark_fragment(const struct packet_place *at, __u8 where)
{
	__u8 l3[IP6_HLEN + FRAG_HLEN] WIDE, udp[UDP_HLEN] WIDE;
	struct fragment_key key;
	struct stamp stamp;
	struct fragmented *known;
	__u32 offset, l4;
	__u16 proto;
	__u64 word;
	int from = packet_l3(at, &proto);

	if (from < 0 || bpf_probe_read_kernel(l3, sizeof(l3), at->head + from) ||
	    !fragment_parse(l3, &key, &offset, &l4))
		return false;
	if (!offset) {
		from += l4;
		if (bpf_probe_read_kernel(udp, sizeof(udp), at->head + from) ||
		    (cfg.port && be16_at(udp + 2) != cfg.port) ||
		    bpf_probe_read_kernel(&stamp, sizeof(stamp), at->head + from + UDP_HLEN) ||
		    stamp.magic != bpf_htons(STAMP_MAGIC) || stamp.check != ~stamp.word)
			return false;
		word = bpf_be64_to_cpu(stamp.word);
		if (!is_ours(word))
			return false;
		fragment_first(&key, word);
	}
	known = bpf_map_lookup_elem(&fragments, &key);
	if (!known)
		return false;
	if (fragment_completes(known, l3, offset, l4, where))
		mark_seen(known->word, where);
	if (where == SEEN_TX_DEVICE)
		FRAGMENT_COUNT(made);
	else
		FRAGMENT_COUNT(seen);
	return true;
}

/* The namespaces, of which one may be no part of this: the sender's and the receiver's. */
const volatile __u32 leave_netns, enter_netns;

static __always_inline int mark(struct sk_buff *skb, __u8 where)
{
	struct packet_place at = place_of(skb);
	const struct stamp_reader reader = {skb, &at};
	struct skb_shared_info *shared;
	struct packet p = {};
	__u16 size;
	int found;

	if (skb->dev->nd_net.net->ns.inum != (where == SEEN_TX_DEVICE ? leave_netns : enter_netns))
		return 0;
	found = found_in_pages(&reader, packet_parse(&at, cfg.port, &p), &p);
	if (cfg.fragments && mark_fragment(&at, where))
		return 0;
	if (found != PACKET_STAMPED || !is_ours(p.word))
		return 0;
	shared = (void *)(at.head + skb->end);
	size = BPF_CORE_READ(shared, gso_size);
	if (size)
		mark_segments(&reader, &p, size, BPF_CORE_READ(shared, gso_segs), where);
	else
		mark_seen(p.word, where);
	return 0;
}

SEC("?tp_btf/net_dev_start_xmit")
int leave(__u64 *ctx)
{
	return mark((void *)ctx[0], SEEN_TX_DEVICE);
}

SEC("?tp_btf/netif_receive_skb")
int enter(__u64 *ctx)
{
	return mark((void *)ctx[0], SEEN_RX_DEVICE);
}

/* Beside them where tracing can be suppressed (seen.bpf.h): this is no tracing program. */
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
