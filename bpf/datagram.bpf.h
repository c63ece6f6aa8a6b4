/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From an skb to the UDP datagrams that it is: how many, how long, to which port. */
#ifndef PKTLEDGER_DATAGRAM_BPF_H
#define PKTLEDGER_DATAGRAM_BPF_H

#include <bpf/bpf_core_read.h>

#include "kfunc.bpf.h"
#include "packet.bpf.h"

#define SKB_GSO_UDP (1 << 16) /* one datagram, to be fragmented by hardware */

/* An IPv6 header with a fragment header, and a UDP header. */
#define DATAGRAM_HEADERS (IP6_HLEN + FRAG_HLEN + UDP_HLEN)

struct datagram {
	__u32 l3;	/* offset of the IP header from head */
	__u32 payload;	/* of the UDP payload */
	__u32 bytes;	/* of payload; of all segments together */
	__u32 headers;	/* from skb->data to the payload */
	__u32 size;	/* payload of a segment; 0: not merged */
	__u32 segments; /* 1, or how many datagrams are merged */
	__u16 src_port, dst_port;
	__u8 headers_at[IP6_HLEN]; /* the IP header, IPv4's without options */
};

/* What is needed of an skb to tell its datagrams. */
struct skb_view {
	struct packet_place at;
	__u32 len, end;
	__u64 data; /* offset from head */
};

static __always_inline void skb_view(struct skb_view *v, struct sk_buff *skb)
{
	v->at = place_of(skb);
	v->len = skb->len;
	v->end = skb->end;
	v->data = v->at.data - v->at.head;
	barrier_var(v->data); /* the verifier takes no difference of pointers in 32 bits */
	v->at.data = v->at.head + v->data;
}

/* The same where the verifier does not know that it is an skb. */
static __always_inline void skb_view_probed(struct skb_view *v, struct sk_buff *skb)
{
	v->at = place_probed(skb);
	v->len = BPF_CORE_READ(skb, len);
	v->end = BPF_CORE_READ(skb, end);
	v->data = v->at.data - v->at.head;
}

/* Offset of the UDP header from that of IP; 0: not UDP, or a fragment but the first. */
static __always_inline __u32 datagram_l4(const __u8 *l3, __u16 proto)
{
	__u32 ihl = (l3[0] & 0x0f) * 4;

	switch (l3[0] >> 4) {
	case 4:
		if ((proto && proto != ETH_P_IP) || ihl < 20 || l3[9] != IPPROTO_UDP ||
		    be16_at(l3 + 6) & IP_OFFSET_MASK)
			return 0;
		return ihl;
	case 6:
		if (proto && proto != ETH_P_IPV6)
			return 0;
		if (l3[6] == IPPROTO_UDP)
			return IP6_HLEN;
		if (l3[6] != IPPROTO_FRAGMENT || l3[IP6_HLEN] != IPPROTO_UDP ||
		    be16_at(l3 + IP6_HLEN + 2) & ~7)
			return 0;
		return IP6_HLEN + FRAG_HLEN;
	}
	return 0;
}

/* What was merged by GRO, or is to be cut by GSO, is several datagrams. */
static __always_inline void datagram_segments(struct datagram *d, const struct skb_view *v)
{
	struct skb_shared_info *shared = CAST(v->at.head + v->end, skb_shared_info);
	__u32 size = shared->gso_size, segments;

	if (!size || shared->gso_type & SKB_GSO_UDP)
		return;
	d->bytes = v->len - d->headers;
	segments = shared->gso_segs;
	if (!segments) /* injected by a guest (SKB_GSO_DODGY) */
		segments = (d->bytes + size - 1) / size;
	if (segments < 2)
		return;
	d->size = size;
	d->segments = segments;
}

enum datagram_result {
	DATAGRAM_NONE, /* not UDP, or a fragment but the first, or cut short */
	DATAGRAM_HERE,
	DATAGRAM_HIDDEN, /* its header is in pages: a driver has not pulled it (napi_gro_frags) */
};

static __always_inline enum datagram_result datagram_parse(const struct skb_view *v,
							   struct datagram *d)
{
	const struct packet_place *at = &v->at;
	__u8 b[DATAGRAM_HEADERS] WIDE, udp[UDP_HLEN] WIDE;
	__u32 l4;
	__u16 proto;
	int l3 = packet_l3(at, &proto);

	if (l3 < 0 || bpf_probe_read_kernel(b, sizeof(b), at->head + l3))
		return DATAGRAM_NONE;
	l4 = datagram_l4(b, proto);
	if (!l4)
		return DATAGRAM_NONE;
	if (l3 + l4 + UDP_HLEN > at->tail)
		return v->len > at->tail - v->data ? DATAGRAM_HIDDEN : DATAGRAM_NONE;
	switch (l4) {
	case 20:
		__builtin_memcpy(udp, b + 20, UDP_HLEN);
		break;
	case IP6_HLEN:
		__builtin_memcpy(udp, b + IP6_HLEN, UDP_HLEN);
		break;
	default:
		if (bpf_probe_read_kernel(udp, UDP_HLEN, at->head + l3 + l4))
			return DATAGRAM_NONE;
	}
	__builtin_memcpy(d->headers_at, b, IP6_HLEN);
	d->src_port = be16_at(udp);
	d->dst_port = be16_at(udp + 2);
	d->l3 = l3;
	d->payload = l3 + l4 + UDP_HLEN;
	d->headers = d->payload - v->data;
	d->bytes = be16_at(udp + 4) - UDP_HLEN;
	d->size = 0;
	d->segments = 1;
	datagram_segments(d, v);
	return DATAGRAM_HERE;
}

#endif
