/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes in a test network: tc programs on its interfaces and bridge ports. They record how far a
 * number got, and let every packet pass.
 */
#ifndef PKTLEDGER_MARK_BPF_H
#define PKTLEDGER_MARK_BPF_H

#include "fragment.bpf.h"
#include "seen.bpf.h"

#define MAX_SEGMENTS 128 /* UDP_MAX_SEGMENTS since 6.9; 64 before */

/*
 * Records a passing fragment. The first fragment has the number of the whole datagram, which is
 * kept in case later fragments are lost. `word`: from its sequence header; 0: not ours, or not the
 * first fragment. Returns true if the fragment is ours and was recorded.
 */
static __always_inline bool mark_fragment(const struct headers *h, const __u8 *l3, __u64 word,
					  bool learns, __u8 where)
{
	struct fragment_key key;
	struct fragmented *known;

	if (!h->fragment && !word)
		return false;
	fragment_key(h, l3, &key);
	if (word && learns)
		fragment_first(&key, word);
	known = bpf_map_lookup_elem(&fragments, &key);
	if (where & SEEN_BRIDGE) {
		if (word)
			mark_seen(word, where);
		return word;
	}
	if (!known)
		return false;
	if (fragment_completes(known, h, where))
		mark_seen(known->word, where);
	if (where == SEEN_TX_DEVICE)
		FRAGMENT_COUNT(made);
	else
		FRAGMENT_COUNT(seen);
	return true;
}

/* Programs that receive the packet itself */

/*
 * Marks the numbers in a merged skb, which are normally consecutive. If the last number shows that
 * they are not, only the first is marked, because a probe only shows how far a packet got.
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

static __always_inline int mark(struct __sk_buff *skb, __u8 where)
{
	__u64 word =
		packet_word_direct((void *)(long)skb->data, (void *)(long)skb->data_end, cfg.port);
	__u8 l3[IP6_HLEN] WIDE = {};
	struct headers h;

	if (word && skb->gso_segs < 2) {
		mark_seen(word, where);
		return TC_ACT_UNSPEC;
	}
	headers_loaded(skb, true, &h);
	word = word_loaded(skb, &h, cfg.port);
	if (!h.fragmented) {
		if (word)
			mark_segments(skb, word, h.at, where);
	} else if (cfg.fragments && is_fragment(&h) && (!word || is_ours(word)) &&
		   !bpf_skb_load_bytes(skb, h.l3, l3, h.version == 4 ? IP4_HLEN : IP6_HLEN)) {
		mark_fragment(&h, l3, word, where == SEEN_TX_DEVICE, where);
	}
	return TC_ACT_UNSPEC;
}

SEC("?tc")
int tx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_TX_DEVICE);
}

SEC("?tc")
int rx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_RX_DEVICE);
}

SEC("?tc")
int bridge_in(struct __sk_buff *skb)
{
	return mark(skb, SEEN_BRIDGE_IN);
}

SEC("?tc")
int bridge_out(struct __sk_buff *skb)
{
	return mark(skb, SEEN_BRIDGE_OUT);
}

#endif
