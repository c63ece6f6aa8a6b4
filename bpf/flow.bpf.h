/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From an skb of any protocol to where its IP header is, how long it is, and its 5-tuple. */
#ifndef PKTLEDGER_FLOW_BPF_H
#define PKTLEDGER_FLOW_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kfunc.bpf.h"
#include "packet.bpf.h"
#include "watch_abi.h"

#define AF_INET	     2
#define AF_INET6     10
#define IP_HLEN_MIN  20
#define PORTS_LEN    4
#define IPPROTO_TCP  6
#define IPPROTO_DCCP 33
#define IPPROTO_SCTP 132
#define IPPROTO_LITE 136 /* UDP-Lite */

/* Offset of the L3 header from skb->head, or -1. */
static __always_inline int skb_l3(struct sk_buff *skb)
{
	const struct packet_place at = place_of(skb);
	__u16 proto;

	return packet_l3(&at, &proto);
}

static __always_inline bool has_ports(__u8 proto)
{
	return proto == IPPROTO_UDP || proto == IPPROTO_TCP || proto == IPPROTO_SCTP ||
	       proto == IPPROTO_LITE || proto == IPPROTO_DCCP;
}

static __always_inline void flow_ports(struct watch_flow *f, const void *ports)
{
	const __be16 *p = ports;

	f->src_port = p[0];
	f->dst_port = p[1];
}

/* Ports only of a whole packet or a first fragment, in IPv6 only without extension
 * headers. */
static __always_inline void flow_read(struct sk_buff *skb, int l3, struct watch_flow *f)
{
	unsigned char *at = skb->head + l3;
	__u8 b[IP6_HLEN + PORTS_LEN] WIDE, ports[PORTS_LEN] WIDE;
	__u32 ihl;

	__builtin_memset(f, 0, sizeof(*f));
	if (l3 < 0 || l3 + IP_HLEN_MIN > skb->tail || bpf_probe_read_kernel(b, sizeof(b), at))
		return;
	ihl = (b[0] & 0x0f) * 4;
	if (b[0] >> 4 == 4 && ihl >= IP_HLEN_MIN) {
		f->family = AF_INET;
		f->proto = b[9];
		__builtin_memcpy(f->src, b + 12, 4);
		__builtin_memcpy(f->dst, b + 16, 4);
		if (be16_at(b + 6) & IP_OFFSET_MASK || !has_ports(f->proto))
			return;
		if (ihl == IP_HLEN_MIN)
			flow_ports(f, b + IP_HLEN_MIN);
		else if (!bpf_probe_read_kernel(ports, sizeof(ports), at + ihl))
			flow_ports(f, ports);
	} else if (b[0] >> 4 == 6) {
		f->family = AF_INET6;
		f->proto = b[6];
		__builtin_memcpy(f->src, b + 8, 16);
		__builtin_memcpy(f->dst, b + 24, 16);
		if (has_ports(f->proto))
			flow_ports(f, b + IP6_HLEN);
	}
}

/* The same by plain loads, for programs that tell flows apart. */
static __always_inline void flow_load(struct sk_buff *skb, int l3, struct watch_flow *f)
{
	unsigned char *at = skb->head + l3, *l4 = at + IP6_HLEN;
	const struct ipv6hdr *ip6;
	const struct udphdr *ports;
	const struct iphdr *ip;
	__u8 version;

	__builtin_memset(f, 0, sizeof(*f));
	if (l3 < 0 || l3 + IP_HLEN_MIN > skb->tail)
		return;
	ip = CAST(at, iphdr);
	version = BPF_CORE_READ_BITFIELD(ip, version);
	if (version == 4) {
		f->family = AF_INET;
		f->proto = ip->protocol;
		*(__be32 *)f->src = ip->saddr;
		*(__be32 *)f->dst = ip->daddr;
		if (ip->frag_off & bpf_htons(IP_OFFSET_MASK))
			return;
		l4 = at + BPF_CORE_READ_BITFIELD(ip, ihl) * 4;
	} else if (version == 6) {
		ip6 = CAST(at, ipv6hdr);
		f->family = AF_INET6;
		f->proto = ip6->nexthdr;
		for (int i = 0; i < 4; i++) {
			((__be32 *)f->src)[i] = ip6->saddr.in6_u.u6_addr32[i];
			((__be32 *)f->dst)[i] = ip6->daddr.in6_u.u6_addr32[i];
		}
	} else {
		return;
	}
	if (!has_ports(f->proto))
		return;
	ports = CAST(l4, udphdr);
	f->src_port = ports->source;
	f->dst_port = ports->dest;
}

#endif
