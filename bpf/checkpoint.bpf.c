// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Checkpoints on the way: they note how far a packet got, and let everything pass. */
#include "kernel.h"

#include "fragment.bpf.h"
#include "packet.bpf.h"
#include "seen.bpf.h"

#define TC_ACT_UNSPEC (-1)
#define MAX_SEGMENTS  128

/*
 * Numbers of a merged skb follow each other; where the last one says that they do not, no more than
 * the first is marked: a checkpoint only tells how far something came.
 */
static __always_inline void mark_segments(struct __sk_buff *skb, __u64 word, __u32 payload,
					  __u8 where)
{
	__u32 segments = skb->gso_segs;
	struct stamp last;

	if (segments < 2 || segments > MAX_SEGMENTS ||
	    bpf_skb_load_bytes(skb, payload + (segments - 1) * skb->gso_size, &last,
			       sizeof(last)) ||
	    bpf_be64_to_cpu(last.word) != word + segments - 1 || last.check != ~last.word)
		segments = 1;
	mark_seen_range(word, segments, where);
}

/* The first fragment tells the number of all: learned where they are made. */
static __always_inline void mark_fragment(struct __sk_buff *skb, __u8 where)
{
	__u8 l3[IP6_HLEN + FRAG_HLEN] WIDE = {}, udp[UDP_HLEN] WIDE;
	struct fragment_key key;
	struct stamp stamp;
	__u32 offset, l4;
	struct fragmented *known;
	__u64 word = 0;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, l3, 20))
		return;
	if (l3[0] >> 4 == 6 && bpf_skb_load_bytes(skb, ETH_HLEN, l3, sizeof(l3)))
		return;
	if (!fragment_parse(l3, &key, &offset, &l4))
		return;
	if (!offset) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN + l4, udp, sizeof(udp)) ||
		    be16_at(udp + 2) != cfg.port ||
		    bpf_skb_load_bytes(skb, ETH_HLEN + l4 + UDP_HLEN, &stamp, sizeof(stamp)) ||
		    stamp.magic != bpf_htons(STAMP_MAGIC) || stamp.check != ~stamp.word)
			return;
		word = bpf_be64_to_cpu(stamp.word);
		if (!is_ours(word))
			return;
		if (where == SEEN_TX_DEVICE)
			fragment_first(&key, word);
	}
	known = bpf_map_lookup_elem(&fragments, &key);
	if (where & SEEN_BRIDGE) {
		if (word)
			mark_seen(word, where);
		return;
	}
	if (!known)
		return;
	if (fragment_completes(known, l3, offset, l4, where))
		mark_seen(known->word, where);
	if (where == SEEN_TX_DEVICE)
		FRAGMENT_COUNT(made);
	else
		FRAGMENT_COUNT(seen);
}

static __always_inline int mark(struct __sk_buff *skb, __u8 where)
{
	__u64 word =
		packet_word_direct((void *)(long)skb->data, (void *)(long)skb->data_end, cfg.port);
	__u32 payload;

	if (word && skb->gso_segs < 2) {
		mark_seen(word, where);
		return TC_ACT_UNSPEC;
	}
	word = packet_word_loaded(skb, cfg.port, &payload);
	if (word)
		mark_segments(skb, word, payload, where);
	else if (cfg.fragments)
		mark_fragment(skb, where);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int tx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_TX_DEVICE);
}

SEC("tc")
int rx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_RX_DEVICE);
}

SEC("tc")
int bridge_in(struct __sk_buff *skb)
{
	return mark(skb, SEEN_BRIDGE_IN);
}

SEC("tc")
int bridge_out(struct __sk_buff *skb)
{
	return mark(skb, SEEN_BRIDGE_OUT);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
