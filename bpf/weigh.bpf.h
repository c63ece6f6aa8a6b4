/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many packets an skb is, and how many bytes. */
#ifndef PKTLEDGER_WEIGH_BPF_H
#define PKTLEDGER_WEIGH_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "flow.bpf.h"
#include "watch_abi.h"

#define SKB_GSO_UDP_L4 (1 << 17)
#define SKB_GSO_TCP    (1 << 0 | 1 << 4) /* SKB_GSO_TCPV4, SKB_GSO_TCPV6 */

/* Headers that each segment of a merged skb has: IP and UDP or TCP; 0 if unknown. */
static __always_inline __u32 headers_of(struct sk_buff *skb, __u32 gso_type)
{
	__u32 l3 = skb->network_header, l4 = skb->transport_header, len = 0;
	__u8 offset;

	if (!l3 || l4 <= l3 || l4 >= skb->tail)
		return 0;
	if (gso_type & SKB_GSO_UDP_L4)
		len = UDP_HLEN;
	else if (gso_type & SKB_GSO_TCP &&
		 !bpf_probe_read_kernel(&offset, sizeof(offset), skb->head + l4 + 12))
		len = (offset >> 4) * 4;
	return len ? l4 - l3 + len : 0;
}

static __noinline __u32 weigh_segments(struct sk_buff *skb, struct watch_count *sum)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u32 segments = BPF_CORE_READ(shared, gso_segs), more = segments - 1;

	if (segments < 2)
		return 1;
	sum->more += more;
	sum->bytes += (__u64)more * headers_of(skb, BPF_CORE_READ(shared, gso_type));
	return segments;
}

/*
 * L3 bytes: from the network header on, if it is set and was not moved unset (packet_l3()). Where
 * there is no MAC header both are the same: tun, tunnels.
 */
static __always_inline __u32 bytes_of(struct sk_buff *skb)
{
	__u16 l3 = skb->network_header, mac = skb->mac_header;
	__u32 tail = skb->tail;

	if (!l3 || l3 >= tail || (l3 < mac && mac != HEADER_UNSET))
		return skb->len;
	return tail - l3 + skb->data_len;
}

/* Adds to `sum`, and returns the packets. */
static __always_inline __u32 weigh(struct sk_buff *skb, struct watch_count *sum)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 gso_size;

	sum->events++;
	sum->bytes += bytes_of(skb);
	sum->memory += skb->truesize;
	gso_size =
		KFUNCS ? CAST(shared, skb_shared_info)->gso_size : BPF_CORE_READ(shared, gso_size);
	return gso_size ? weigh_segments(skb, sum) : 1;
}

#endif
