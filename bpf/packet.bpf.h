/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From an skb to its stamp. Where the headers are depends on where the packet died (STAGES 7):
 * the network header if it is set, else the MAC header, else skb->data by skb->protocol. The
 * stamp is accepted only behind a UDP header found that way, never by scanning.
 */
#ifndef PKTLEDGER_PACKET_BPF_H
#define PKTLEDGER_PACKET_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "stamp.h"

#define HEADER_UNSET  0xffff /* mac_header before skb_reset_mac_header() */
#define IP6_HLEN      40
#define UDP_HLEN      8
#define FRAG_HLEN     8 /* IPv6 fragment header */
#define VLAN_TAGS_MAX 2
#define IP_MF	      0x2000

#define IPPROTO_FRAGMENT 44

/* What is needed of an skb to find its headers; offsets count from `head`. */
struct packet_place {
	unsigned char *head;
	unsigned char *data;
	__u32 tail; /* offset of the end of the linear part */
	__u16 network_header;
	__u16 mac_header;
	__be16 protocol;
	__u32 tag; /* VLAN tag kept beside the packet, filter_tag(); 0: none. For filters only */
};

struct packet {
	__u64 word;	/* of the stamp */
	__u32 payload;	/* offset of the UDP payload from head */
	__u32 l3_bytes; /* length that the IP header tells */
};

enum packet_result {
	PACKET_OTHER, /* not of our flow */
	PACKET_STAMPED,
	PACKET_NONE,	   /* ours, but never was a packet */
	PACKET_UNREADABLE, /* UDP to our port, but the payload is not in the linear part */
};

/* Of an skb that the verifier knows, as an argument of a tracepoint. */
static __always_inline struct packet_place place_of(struct sk_buff *skb)
{
	return (struct packet_place){
		.head = skb->head,
		.data = skb->data,
		.tail = skb->tail,
		.network_header = skb->network_header,
		.mac_header = skb->mac_header,
		.protocol = skb->protocol,
	};
}

/* The same where it does not know that it is an skb. */
static __always_inline struct packet_place place_probed(struct sk_buff *skb)
{
	return (struct packet_place){
		.head = BPF_CORE_READ(skb, head),
		.data = BPF_CORE_READ(skb, data),
		.tail = BPF_CORE_READ(skb, tail),
		.network_header = BPF_CORE_READ(skb, network_header),
		.mac_header = BPF_CORE_READ(skb, mac_header),
		.protocol = BPF_CORE_READ(skb, protocol),
	};
}

/* Of header bytes on the stack. */
#define WIDE __attribute__((aligned(8)))

/* An IPv6 header, a UDP header and a stamp fit; an IPv4 header with options may need a 2nd read. */
struct packet_bytes {
	__u8 pad[2]; /* so that a stamp's words are aligned: in IPv4 to 8, in IPv6 to 4 bytes */
	__u8 at[IP6_HLEN + UDP_HLEN + STAMP_LEN];
} WIDE;

/*
 * A packet may be read at any offset where the CPU can (check_pkt_ptr_alignment()); clang would
 * read what it takes for unaligned byte by byte. The stack has to be aligned: see WIDE.
 */
static __always_inline __u16 be16_at(const void *p)
{
	return bpf_ntohs(*(const __be16 *)p);
}

static __always_inline __u64 be64_at(const void *p)
{
	return bpf_be64_to_cpu(*(const __be64 *)p);
}

/* Aligned to 4 bytes only. */
static __always_inline __u64 be64_halves(const void *p)
{
	const __be32 *half = p;

	return (__u64)bpf_ntohl(half[0]) << 32 | bpf_ntohl(half[1]);
}

/* Offset of the IP header from head, or -1. */
static __always_inline int packet_l3(const struct packet_place *at, __u16 *proto)
{
	bool mac = at->mac_header != HEADER_UNSET && at->mac_header < at->tail;
	__u8 type[8] WIDE;
	__u32 link;

	/*
	 * An unset network header that was moved with the others (skb_headers_offset_update(), in
	 * veth's copy for XDP) lies before the MAC header, in memory that may hold an old packet.
	 * Both are the same where there is no MAC header: tun, tunnels.
	 */
	if (at->network_header && at->network_header < at->tail &&
	    !(mac && at->network_header < at->mac_header)) {
		*proto = 0; /* by the version nibble */
		return at->network_header;
	}
	/* AF_XDP sets no header, no protocol: its frame begins at skb->data (xsk_build_skb()). */
	if (mac || !at->protocol) {
		link = mac ? at->mac_header : at->data - at->head;
		if (bpf_probe_read_kernel(type, 6, at->head + link + 12))
			return -1;
		*proto = be16_at(type);
		if (*proto == ETH_P_8021Q || *proto == ETH_P_8021AD) {
			*proto = be16_at(type + 4);
			return link + ETH_HLEN + 4;
		}
		return link + ETH_HLEN;
	}
	*proto = bpf_ntohs(at->protocol);
	return at->data - at->head;
}

/*
 * The linear part ends before a stamp does: as it was sent, or because the rest is in pages. If it
 * ends before the payload, what was read as headers is memory that held another packet.
 */
static __always_inline int packet_short(const struct packet_place *at, const struct packet *p,
					const __u8 *udp)
{
	if (p->payload > at->tail || be16_at(udp + 4) < UDP_HLEN + STAMP_LEN)
		return PACKET_OTHER;
	return PACKET_UNREADABLE;
}

static __always_inline int packet_parse(const struct packet_place *at, __u16 port, struct packet *p)
{
	struct packet_bytes b;
	__u16 proto, l4;
	__u8 version;
	int l3;

	l3 = packet_l3(at, &proto);
	if (l3 < 0 || bpf_probe_read_kernel(b.at, sizeof(b.at), at->head + l3))
		return PACKET_OTHER;

	version = b.at[0] >> 4;
	if (version == 4 && (!proto || proto == ETH_P_IP)) {
		l4 = (b.at[0] & 0x0f) * 4;
		if (l4 < 20 || b.at[9] != IPPROTO_UDP || be16_at(b.at + 6) & IP_OFFSET_MASK)
			return PACKET_OTHER;
		p->l3_bytes = be16_at(b.at + 2);
		if (l4 != 20 &&
		    bpf_probe_read_kernel(b.at + 20, UDP_HLEN + STAMP_LEN, at->head + l3 + l4))
			return PACKET_OTHER;
		p->payload = l3 + l4 + UDP_HLEN;
		if (port && be16_at(b.at + 22) != port)
			return PACKET_OTHER;
		if (p->payload + STAMP_LEN > at->tail)
			return packet_short(at, p, b.at + 20);
		if (be16_at(b.at + 28) != STAMP_MAGIC)
			return PACKET_OTHER;
		p->word = be64_at(b.at + 30);
		return be64_at(b.at + 38) == ~p->word ? PACKET_STAMPED : PACKET_OTHER;
	}
	if (version == 6 && (!proto || proto == ETH_P_IPV6)) {
		if (b.at[6] != IPPROTO_UDP || (port && be16_at(b.at + 42) != port))
			return PACKET_OTHER;
		p->l3_bytes = IP6_HLEN + be16_at(b.at + 4);
		p->payload = l3 + IP6_HLEN + UDP_HLEN;
		if (p->payload + STAMP_LEN > at->tail)
			return packet_short(at, p, b.at + IP6_HLEN);
		if (be16_at(b.at + 48) != STAMP_MAGIC)
			return PACKET_OTHER;
		p->word = be64_halves(b.at + 50);
		return be64_halves(b.at + 58) == ~p->word ? PACKET_STAMPED : PACKET_OTHER;
	}
	return PACKET_OTHER;
}

/*
 * The same for programs that see the packet itself (tc, XDP): direct access, bounds by the
 * verifier. The payload of an unfragmented UDP packet to `port`, with a stamp's length in bounds,
 * or NULL.
 */
static __always_inline __u8 *packet_payload(void *data, void *data_end, __u16 port)
{
	__u8 *type = data + ETH_HLEN - 2, *l3, *udp;
	__u16 proto;

	if ((void *)(type + 2) > data_end)
		return NULL;
	proto = be16_at(type);
#pragma unroll
	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		if (proto != ETH_P_8021Q && proto != ETH_P_8021AD)
			break;
		type += 4;
		if ((void *)(type + 2) > data_end)
			return NULL;
		proto = be16_at(type);
	}

	l3 = type + 2;
	if (proto == ETH_P_IP) {
		if ((void *)(l3 + 20) > data_end || l3[9] != IPPROTO_UDP || (l3[0] & 0x0f) < 5 ||
		    be16_at(l3 + 6) & (IP_MF | IP_OFFSET_MASK))
			return NULL;
		udp = l3 + (l3[0] & 0x0f) * 4;
	} else if (proto == ETH_P_IPV6) {
		if ((void *)(l3 + IP6_HLEN) > data_end || l3[6] != IPPROTO_UDP)
			return NULL;
		udp = l3 + IP6_HLEN;
	} else {
		return NULL;
	}
	if ((void *)(udp + UDP_HLEN + STAMP_LEN) > data_end || (port && be16_at(udp + 2) != port))
		return NULL;
	return udp + UDP_HLEN;
}

/* The word of the stamp that a payload begins with, or 0. That is no word: no stream is 0. */
static __always_inline __u64 payload_word(const __u8 *payload)
{
	__u64 word = be64_at(payload + 2);

	return be16_at(payload) == STAMP_MAGIC && be64_at(payload + 10) == ~word ? word : 0;
}

/* The word of a packet of the flow, or 0. */
static __always_inline __u64 packet_word_direct(void *data, void *data_end, __u16 port)
{
	__u8 *payload = packet_payload(data, data_end, port);

	return payload ? payload_word(payload) : 0;
}

/*
 * The same where the payload may be in pages, as that of a GSO message is. The word, or 0;
 * `at`: offset of the IP header; `payload`: that of the payload. No VLAN tags.
 */
static __always_inline __u64 packet_word_loaded_at(struct __sk_buff *skb, __u32 at, __u16 port,
						   __u32 *payload)
{
	__u32 l4 = at + IP6_HLEN;
	struct stamp stamp;
	__u8 l3[IP6_HLEN] WIDE, udp[UDP_HLEN] WIDE;

	if (bpf_skb_load_bytes(skb, at, l3, sizeof(l3)))
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (l3[9] != IPPROTO_UDP || be16_at(l3 + 6) & (IP_MF | IP_OFFSET_MASK))
			return 0;
		l4 = at + (l3[0] & 0x0f) * 4;
	} else if (skb->protocol != bpf_htons(ETH_P_IPV6) || l3[6] != IPPROTO_UDP) {
		return 0;
	}
	if (bpf_skb_load_bytes(skb, l4, udp, sizeof(udp)) || be16_at(udp + 2) != port)
		return 0;
	*payload = l4 + UDP_HLEN;
	if (bpf_skb_load_bytes(skb, *payload, &stamp, sizeof(stamp)) ||
	    stamp.magic != bpf_htons(STAMP_MAGIC) || stamp.check != ~stamp.word)
		return 0;
	return bpf_be64_to_cpu(stamp.word);
}

static __always_inline __u64 packet_word_loaded(struct __sk_buff *skb, __u16 port, __u32 *payload)
{
	return packet_word_loaded_at(skb, ETH_HLEN, port, payload);
}

#endif
