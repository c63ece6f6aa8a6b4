/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose number a packet has that ended: behind its headers, in a tunnel's packet, by the datagram
 * of a fragment; and those of all segments of a merged one.
 */
#ifndef PKTLEDGER_FIND_BPF_H
#define PKTLEDGER_FIND_BPF_H

#include <bpf/bpf_helpers.h>

#include "fate.bpf.h"
#include "fragment.bpf.h"
#include "packet.bpf.h"
#include "paged.bpf.h"

#define VXLAN_HLEN   8
#define MAX_SEGMENTS 128 /* UDP_MAX_SEGMENTS since 6.9; 64 before */

static __always_inline bool is_within(const volatile struct trace_range *range, __u64 location)
{
	return location - range->start < range->end - range->start;
}

struct settle_range {
	__u64 word;
	__u32 index;
};

static long settle_next(__u32 n, struct settle_range *r)
{
	settle(r->word + n, r->index);
	return 0;
}

struct segment_walk {
	struct sk_buff *skb;
	__u32 from_data, size, index;
};

/* Segments of different numbers: each has its own stamp. */
static long settle_segment(__u32 n, struct segment_walk *w)
{
	struct stamp stamp;

	if (stamp_in_pages(w->skb, w->from_data + n * w->size, &stamp) ||
	    stamp.check != ~stamp.word)
		LOSS(gso_split, 1);
	else
		settle(bpf_be64_to_cpu(stamp.word), w->index);
	return 0;
}

/*
 * A merged skb stands for a range of numbers if its first and last stamps span exactly its
 * segments; else each is read.
 */
static __always_inline void settle_segments(const struct stamp_reader *r, const struct packet *p,
					    __u32 index, __u16 size, __u16 segments)
{
	__s64 from_data = r->at->head + p->payload - r->at->data;
	struct settle_range range = {p->word, index};
	struct segment_walk walk = {r->skb, (__u32)from_data, size, index};

	if (segments <= MAX_SEGMENTS &&
	    stamp_at(r, p->payload + (segments - 1) * size) == p->word + segments - 1) {
		bpf_loop(segments, settle_next, &range, 0);
		return;
	}
	if (KFUNCS && from_data >= 0) {
		bpf_loop(segments, settle_segment, &walk, 0);
		return;
	}
	settle(p->word, index);
	LOSS(gso_split, segments - 1);
}

/* Where the packet in a tunnel's packet is. False: this is none. */
static __always_inline bool find_inner(const struct packet_place *at, struct packet_place *inner)
{
	__u8 l3[20] WIDE, ports[4] WIDE;
	__u16 proto;
	__u32 udp;
	int from;

	from = packet_l3(at, &proto);
	if (from < 0 || bpf_probe_read_kernel(l3, sizeof(l3), at->head + from) || l3[0] >> 4 != 4 ||
	    l3[9] != IPPROTO_UDP)
		return false;
	udp = from + (l3[0] & 0x0f) * 4;
	if (bpf_probe_read_kernel(ports, sizeof(ports), at->head + udp) ||
	    be16_at(ports + 2) != cfg.tunnel)
		return false;
	*inner = *at;
	inner->network_header = 0;
	inner->mac_header = udp + UDP_HLEN + VXLAN_HLEN;
	return inner->mac_header < at->tail;
}

/* packet_parse(), verified once: not static. */
__noinline int parse(const struct packet_place *at, struct packet *p)
{
	return at && p ? packet_parse(at, cfg.port, p) : PACKET_OTHER;
}

/* The stamp's word is in `p`, wherever the kernel keeps the payload. */
static __always_inline int find_stamp(const struct stamp_reader *r, struct packet *p)
{
	int found = parse(r->at, p);
	struct packet_place inner;

	if (found == PACKET_OTHER && cfg.tunnel && find_inner(r->at, &inner))
		found = parse(&inner, p);
	return found_in_pages(r, found, p);
}

/* The stamp in the first fragment of a datagram to our port; 0: it cannot be read. */
static __always_inline __u64 first_word(const struct stamp_reader *r, __u32 udp)
{
	__u8 ports[4] WIDE;

	if (udp + UDP_HLEN > r->at->tail ||
	    bpf_probe_read_kernel(ports, sizeof(ports), r->at->head + udp) ||
	    be16_at(ports + 2) != cfg.port)
		return 0;
	return stamp_at(r, udp + UDP_HLEN);
}

/*
 * A fragment's number is that of its datagram; one whose first fragment no checkpoint saw settles
 * nothing, unless it is the first itself: that one may have an id for which the map still has an
 * older datagram, so its own stamp comes first, and is noted for those after it. When a fragment
 * cannot be sent, the rest of its datagram is freed where fragments are made, without having been a
 * packet.
 */
static __always_inline int find_fragment(const struct stamp_reader *r, __u64 location,
					 struct packet *p)
{
	const struct packet_place *at = r->at;
	bool abandoned = is_within(&cfg.fragmenting[0], location) ||
			 is_within(&cfg.fragmenting[1], location);
	__u8 l3[IP6_HLEN + FRAG_HLEN] WIDE;
	struct fragment_key key;
	__u32 offset, l4;
	struct fragmented *known;
	__u64 word = 0;
	__u16 proto;
	int from;

	from = packet_l3(at, &proto);
	if (from < 0 || bpf_probe_read_kernel(l3, sizeof(l3), at->head + from) ||
	    !fragment_parse(l3, &key, &offset, &l4) || from + l4 > at->tail)
		return PACKET_OTHER;
	if (!offset)
		word = first_word(r, from + l4);
	if (word && !is_counted(word))
		return PACKET_OTHER; /* of another run, in another namespace perhaps */
	if (word) {
		fragment_first(&key, word);
	} else {
		known = bpf_map_lookup_elem(&fragments, &key);
		if (!known) {
			FRAGMENT_COUNT(unmatched);
			return PACKET_OTHER;
		}
		word = known->word;
	}
	if (abandoned) {
		FRAGMENT_COUNT(abandoned);
		return PACKET_NONE;
	}
	FRAGMENT_COUNT(dropped);
	p->word = word;
	p->l3_bytes = key.version == 4 ? be16_at(l3 + 2) : IP6_HLEN + be16_at(l3 + 4);
	return PACKET_STAMPED;
}

/* The number of what ended: of a fragment, or behind the headers. */
static __always_inline int find_number(const struct stamp_reader *r, __u64 location,
				       struct packet *p)
{
	int found = cfg.fragments ? find_fragment(r, location, p) : PACKET_OTHER;

	return found == PACKET_OTHER ? find_stamp(r, p) : found;
}

#endif
