/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of the faults do to packets that are merged, or in fragments. */
#ifndef PKTLEDGER_HURT_BPF_H
#define PKTLEDGER_HURT_BPF_H

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "fault_abi.h"
#include "packet.bpf.h"

#define TC_ACT_UNSPEC  (-1) /* on to the next filter */
#define IP4_LENGTH_OFF 2
#define IP4_CSUM_OFF   10
#define IP4_FRAG_OFF   6
#define IP4_SOURCE_END 16
#define IP6_SOURCE_END 24
#define IP6_FRAG_OFF   (IP6_HLEN + 2)
#define IP6_MF	       1
#define OTHER_SENDER   0x80 /* in the last byte of the address */
#define IP6_LENGTH_OFF 4
#define UDP_LENGTH_OFF 4

/* The clone comes here again; its mark says so. */
static __always_inline void come_twice(struct __sk_buff *skb)
{
	skb->mark |= FAULT_MARK_AGAIN;
	bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	skb->mark &= ~FAULT_MARK_AGAIN;
}

static __always_inline void hurt_fragment4(struct __sk_buff *skb, const __u8 *l3, __u32 way)
{
	__be16 field = bpf_htons(be16_at(l3 + IP4_FRAG_OFF));
	__be16 earlier = bpf_htons(be16_at(l3 + IP4_FRAG_OFF) - 1);
	__be16 from = bpf_htons(be16_at(l3 + IP4_SOURCE_END - 2));
	__be16 other = from ^ bpf_htons(OTHER_SENDER);

	if (way == FAULT_FRAG_OVERLAP) {
		bpf_l3_csum_replace(skb, ETH_HLEN + IP4_CSUM_OFF, field, earlier, sizeof(field));
		bpf_skb_store_bytes(skb, ETH_HLEN + IP4_FRAG_OFF, &earlier, sizeof(earlier), 0);
	} else if (way == FAULT_FRAG_MISSING) {
		bpf_l3_csum_replace(skb, ETH_HLEN + IP4_CSUM_OFF, from, other, sizeof(from));
		bpf_skb_store_bytes(skb, ETH_HLEN + IP4_SOURCE_END - 2, &other, sizeof(other), 0);
	} else {
		come_twice(skb);
	}
}

static __always_inline void hurt_fragment6(struct __sk_buff *skb, __u16 field, __u8 host, __u32 way)
{
	__be16 earlier = bpf_htons(field - 8);

	host ^= OTHER_SENDER;
	if (way == FAULT_FRAG_OVERLAP)
		bpf_skb_store_bytes(skb, ETH_HLEN + IP6_FRAG_OFF, &earlier, sizeof(earlier), 0);
	else if (way == FAULT_FRAG_MISSING)
		bpf_skb_store_bytes(skb, ETH_HLEN + IP6_SOURCE_END - 1, &host, sizeof(host), 0);
	else
		come_twice(skb);
}

static __always_inline void lengthen(struct __sk_buff *skb, const __u8 *front, __u32 at, __u32 by)
{
	__be16 length = bpf_htons(be16_at(front + at) + by);

	bpf_skb_store_bytes(skb, at, &length, sizeof(length), 0);
}

/*
 * A datagram is put before those of a merged packet. With that the headers move, but not where the
 * checksum is to begin, and such a packet cannot be taken apart (__udp_gso_segment()). It has the
 * number of the last one, which is behind the end now: how many they are stays as it was. The
 * packet comes in again, as only that tells the kernel where its headers are. `headers`, before the
 * payload, is a constant.
 */
static __always_inline int push_datagram(struct __sk_buff *skb, __u32 headers, __u32 ip_length)
{
	__u32 size = skb->gso_size, last = headers + (skb->gso_segs - 1) * size;
	__u8 front[ETH_HLEN + IP6_HLEN + UDP_HLEN];
	struct stamp stamp;
	__u16 before;

	if (skb->len != last + size || skb->len + size > 0xffff ||
	    bpf_skb_load_bytes(skb, 0, front, headers) ||
	    bpf_skb_load_bytes(skb, last, &stamp, sizeof(stamp)) ||
	    bpf_skb_change_head(skb, size, 0))
		return TC_ACT_UNSPEC;
	bpf_skb_store_bytes(skb, 0, front, headers, 0);
	bpf_skb_store_bytes(skb, headers, &stamp, sizeof(stamp), 0);
	lengthen(skb, front, headers - UDP_HLEN + UDP_LENGTH_OFF, size);
	lengthen(skb, front, ip_length, size);
	before = be16_at(front + ip_length);
	if (skb->protocol == bpf_htons(ETH_P_IP))
		bpf_l3_csum_replace(skb, ETH_HLEN + IP4_CSUM_OFF, bpf_htons(before),
				    bpf_htons(before + size), sizeof(before));
	skb->mark |= FAULT_MARK_AGAIN;
	return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
}

#endif
