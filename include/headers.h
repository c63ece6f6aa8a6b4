/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parser for packet headers. Each step parses one header and returns the offset and the type of the
 * next one. The caller fetches the bytes, wherever they are. The same code runs in the kernel
 * (bpf/skb.bpf.h has the accessors) and in user space (tests), so it needs no library, allocates no
 * memory, and never reads past the given bytes.
 *
 * 	struct headers h = {.next = HEADER_ETHERNET};
 *
 * 	while (h.at <= n && headers_step(&h, bytes + h.at, n - h.at))
 * 		;
 * 	if (h.next == HEADER_PAYLOAD && h.proto == IPPROTO_UDP) ...
 *
 * A program that needs the plain case to be cheap reads everything at once and calls headers_ip4()
 * or headers_ip6() directly, which are the inlined steps.
 *
 * Lengths in headers are passed on without validation, because a packet that was dropped for wrong
 * lengths must still be recognized.
 */
#ifndef PKTLEDGER_HEADERS_H
#define PKTLEDGER_HEADERS_H

#include <linux/types.h>
#include <stdbool.h>

#ifndef __always_inline /* glibc and libbpf define this */
#define __always_inline inline __attribute__((always_inline))
#endif

#define IP4_HLEN      20 /* without options */
#define IP6_HLEN      40
#define IP6_EXT_HLEN  8 /* minimum length of an extension header, also of the fragment header */
#define UDP_HLEN      8
#define TCP_HLEN      20 /* without options */
#define VLAN_HLEN     4
#define GRE_HLEN      4 /* without checksum, key and number */
#define VXLAN_HLEN    8
#define GENEVE_HLEN   8 /* without options */
#define ETHERNET_HLEN 14

#define IP4_MORE_FRAGMENTS  0x2000
#define IP4_FRAGMENT_OFFSET 0x1fff
#define IP6_MORE_FRAGMENTS  1

#define HEADERS_TAGS	   2 /* maximum number of VLAN tags skipped: QinQ */
#define HEADERS_FRAME	   (ETHERNET_HLEN + HEADERS_TAGS * VLAN_HLEN)
#define HEADERS_EXTENSIONS 8	    /* of IPv6 */
#define HEADERS_STEP	   IP6_HLEN /* maximum number of bytes that a step reads */
/* Maximum steps per packet: frame, tags, IP, extensions, UDP, including a tunnel's headers. */
#define HEADERS_STEPS (HEADERS_TAGS + HEADERS_EXTENSIONS + 4)
#define HEADERS_DEPTH 3 /* maximum depth to which nested tunnels are parsed */
#define TUNNEL_PORTS  8 /* maximum number of known tunnel UDP ports */

/* Type of the next header. */
enum header {
	HEADER_ETHERNET,
	HEADER_VLAN,	 /* a tag, followed by the next type */
	HEADER_IP,	 /* determined by the version in its first byte */
	HEADER_PROTOCOL, /* by `proto` */
	HEADER_VXLAN,
	HEADER_GENEVE,
	HEADER_GRE,
	/* Types at which parsing stops. */
	HEADER_PAYLOAD,	 /* after UDP, TCP, ICMP and other protocols with ports */
	HEADER_FRAGMENT, /* data of a fragment other than the first */
	HEADER_TUNNEL,	 /* an inner packet (IPIP, GRE): continue with headers_enter() */
	HEADER_UNKNOWN,	 /* another protocol, or too many tags or extensions */
	HEADER_CUT,	 /* the bytes end before the header does */
	HEADER_BAD,	 /* its fields contradict each other */
};

enum header_type {
	TYPE_IP4 = 0x0800,
	TYPE_TEB = 0x6558, /* an Ethernet frame inside a tunnel */
	TYPE_VLAN = 0x8100,
	TYPE_IP6 = 0x86dd,
	TYPE_QINQ = 0x88a8,
};

enum header_proto {
	PROTO_HOPOPTS = 0,
	PROTO_ICMP = 1,
	PROTO_IPIP = 4,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_DCCP = 33,
	PROTO_IP6 = 41,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_GRE = 47,
	PROTO_AH = 51,
	PROTO_ICMP6 = 58,
	PROTO_NONE = 59,
	PROTO_DSTOPTS = 60,
	PROTO_SCTP = 132,
	PROTO_MOBILITY = 135,
	PROTO_UDPLITE = 136,
	PROTO_HIP = 139,
	PROTO_SHIM6 = 140,
};

/*
 * Parser state. Zero-initialised, with `at` and `next` set to the start. For nested packets it
 * describes the innermost one. All numbers are in host byte order.
 */
struct headers {
	__u32 at;	/* offset of the next header */
	__u32 l3, l4;	/* offsets of the IP header, and of what follows it and its extensions */
	__u32 bytes;	/* length of the packet from l3, according to its header */
	__u32 id;	/* of a fragmented datagram */
	__u16 type;	/* EtherType; 0: unknown, for example if parsing starts at the IP header */
	__u16 fragment; /* offset in the datagram, in bytes */
	__u16 src_port, dst_port;
	__u16 length;	 /* UDP: length field of the header */
	__u8 next;	 /* enum header */
	__u8 version;	 /* IP version; 0: not IP */
	__u8 proto;	 /* IP protocol of the header at `at`, or of the one before it */
	__u8 passed;	 /* tags and extensions parsed so far */
	__u8 fragmented; /* set for every fragment, including the first */
	__u8 more;	 /* more fragments follow */
	__u8 icmp_type, icmp_code;
	__u8 depth;  /* tunnels entered */
	__u8 tunnel; /* first header of the last tunnel, enum header (HEADER_IP: IP in IP; 0: no
		      * tunnel) */
	__u8 pad[2];
	__u32 tunnel_id; /* VXLAN and Geneve: network (VNI); GRE: key; 0: absent */
};

/* A tunnel's UDP port, known to the caller. */
struct tunnel_port {
	__u16 port;  /* 0: unused entry */
	__u8 tunnel; /* HEADER_VXLAN, HEADER_GENEVE */
	__u8 pad;
};

/*
 * Reads at any offset that the CPU can access (check_pkt_ptr_alignment()). With a pointer that
 * clang considers unaligned, it would read byte by byte. Memory on the stack has to be aligned.
 */
static __always_inline __u16 be16_at(const void *p)
{
	__u16 v;

#ifdef __bpf__
	v = *(const __u16 *)p;
#else
	__builtin_memcpy(&v, p, sizeof(v));
#endif
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(v) : v;
}

static __always_inline bool headers_is_tag(__u16 type)
{
	return type == TYPE_VLAN || type == TYPE_QINQ;
}

/* Returns true if `next` is an extension header, which may be followed by other headers. */
static __always_inline bool headers_is_extension(__u8 version, __u8 proto)
{
	switch (proto) {
	case PROTO_HOPOPTS:
	case PROTO_ROUTING:
	case PROTO_FRAGMENT:
	case PROTO_DSTOPTS:
	case PROTO_MOBILITY:
	case PROTO_HIP:
	case PROTO_SHIM6:
		return version == 6;
	}
	return proto == PROTO_AH; /* IPsec header that IPv4 also has (RFC 4302) */
}

/*
 * Parses the plain case of a frame and returns the packet's offset. `b`: HEADERS_FRAME bytes, even
 * if the frame is shorter. `type`: set to the EtherType.
 */
static __always_inline __u32 headers_frame(const __u8 *b, __u16 *type)
{
	__u32 length = ETHERNET_HLEN;

	*type = be16_at(b + 12);
	if (headers_is_tag(*type)) {
		*type = be16_at(b + 16);
		length += VLAN_HLEN;
		if (headers_is_tag(*type)) {
			*type = be16_at(b + 20);
			length += VLAN_HLEN;
		}
	}
	return length;
}

static __always_inline bool header_ends(struct headers *h, enum header end)
{
	h->next = end;
	return false;
}

static __always_inline bool header_goes_on(struct headers *h, __u32 length, enum header next)
{
	h->at += length;
	h->next = next;
	return true;
}

/* Sets the next header from an EtherType. */
static __always_inline bool header_of_type(struct headers *h, __u32 length, __u16 type)
{
	h->type = type;
	if (headers_is_tag(type) && h->passed < HEADERS_TAGS)
		return header_goes_on(h, length, HEADER_VLAN);
	switch (type) {
	case TYPE_IP4:
	case TYPE_IP6:
		h->passed = 0;
		return header_goes_on(h, length, HEADER_IP);
	case TYPE_TEB:
		if (h->next < HEADER_VXLAN) /* no frame inside a frame, except in a tunnel */
			break;
		return header_goes_on(h, length, HEADER_ETHERNET);
	}
	header_goes_on(h, length, HEADER_UNKNOWN);
	return false;
}

/* Parses an IPv4 header. `b`: at least IP4_HLEN bytes. Returns false if the header is invalid. */
static __always_inline bool headers_ip4(struct headers *h, const __u8 *b)
{
	__u32 length = (b[0] & 0x0f) * 4;
	__u16 field = be16_at(b + 6);

	if (length < IP4_HLEN)
		return header_ends(h, HEADER_BAD);
	h->version = 4;
	h->l3 = h->at;
	h->bytes = be16_at(b + 2);
	h->id = be16_at(b + 4);
	h->fragment = (field & IP4_FRAGMENT_OFFSET) * 8;
	h->more = (field & IP4_MORE_FRAGMENTS) != 0;
	h->fragmented = (field & (IP4_MORE_FRAGMENTS | IP4_FRAGMENT_OFFSET)) != 0;
	h->proto = b[9];
	header_goes_on(h, length, h->fragment ? HEADER_FRAGMENT : HEADER_PROTOCOL);
	return !h->fragment;
}

/* Parses an IPv6 header. `b`: the header, IP6_HLEN bytes. */
static __always_inline bool headers_ip6(struct headers *h, const __u8 *b)
{
	h->version = 6;
	h->l3 = h->at;
	h->bytes = IP6_HLEN + be16_at(b + 4);
	h->proto = b[6];
	return header_goes_on(h, IP6_HLEN, HEADER_PROTOCOL);
}

static __always_inline bool header_ip(struct headers *h, const __u8 *b, __u32 have)
{
	if (have < 1)
		return header_ends(h, HEADER_CUT);
	switch (b[0] >> 4) {
	case 4:
		if (h->type && h->type != TYPE_IP4)
			break;
		return have < IP4_HLEN ? header_ends(h, HEADER_CUT) : headers_ip4(h, b);
	case 6:
		if (h->type && h->type != TYPE_IP6)
			break;
		return have < IP6_HLEN ? header_ends(h, HEADER_CUT) : headers_ip6(h, b);
	}
	return header_ends(h, HEADER_BAD);
}

/* RFC 8200, 4302. */
static __always_inline bool header_extension(struct headers *h, const __u8 *b)
{
	__u32 length = (b[1] + 1) * 8;

	if (h->passed++ == HEADERS_EXTENSIONS)
		return header_ends(h, HEADER_UNKNOWN);
	if (h->proto == PROTO_AH)
		length = (b[1] + 2) * 4;
	if (h->proto == PROTO_FRAGMENT) {
		length = IP6_EXT_HLEN;
		h->fragmented = true;
		h->fragment = be16_at(b + 2) & ~7;
		h->more = b[3] & IP6_MORE_FRAGMENTS;
		h->id = (__u32)be16_at(b + 4) << 16 | be16_at(b + 6);
	}
	h->proto = b[0];
	header_goes_on(h, length, h->fragment ? HEADER_FRAGMENT : HEADER_PROTOCOL);
	return !h->fragment;
}

/* Parses the header, `length` bytes long, of UDP or another protocol with ports. */
static __always_inline bool header_ports(struct headers *h, const __u8 *b, __u32 length)
{
	h->src_port = be16_at(b);
	h->dst_port = be16_at(b + 2);
	h->l4 = h->at;
	header_goes_on(h, length, HEADER_PAYLOAD);
	return false;
}

static __always_inline bool header_protocol(struct headers *h, const __u8 *b, __u32 have)
{
	if (headers_is_extension(h->version, h->proto))
		return have < IP6_EXT_HLEN ? header_ends(h, HEADER_CUT) : header_extension(h, b);
	switch (h->proto) {
	case PROTO_UDP:
	case PROTO_UDPLITE:
		if (have < UDP_HLEN)
			return header_ends(h, HEADER_CUT);
		h->length = be16_at(b + 4);
		return header_ports(h, b, UDP_HLEN);
	case PROTO_TCP:
		if (have < TCP_HLEN)
			return header_ends(h, HEADER_CUT);
		if (b[12] >> 4 < TCP_HLEN / 4)
			return header_ends(h, HEADER_BAD);
		return header_ports(h, b, (b[12] >> 4) * 4);
	case PROTO_SCTP:
		return have < 12 ? header_ends(h, HEADER_CUT) : header_ports(h, b, 12);
	case PROTO_DCCP: /* RFC 4340, 5.1: 12 bytes, and an offset in words */
		if (have < 12)
			return header_ends(h, HEADER_CUT);
		return b[4] < 3 ? header_ends(h, HEADER_BAD) : header_ports(h, b, b[4] * 4);
	case PROTO_ICMP:
	case PROTO_ICMP6:
		if (have < 8)
			return header_ends(h, HEADER_CUT);
		h->icmp_type = b[0];
		h->icmp_code = b[1];
		h->l4 = h->at;
		header_goes_on(h, 8, HEADER_PAYLOAD);
		return false;
	case PROTO_IPIP:
	case PROTO_IP6:
	case PROTO_GRE:
		h->l4 = h->at;
		return header_ends(h, HEADER_TUNNEL);
	}
	return header_ends(h, HEADER_UNKNOWN);
}

static __always_inline __u32 be32_at(const __u8 *b)
{
	return (__u32)be16_at(b) << 16 | be16_at(b + 2);
}

/* RFC 2784, 2890: version 0; checksum, key and sequence number are present if the flags are set. */
static __always_inline bool header_gre(struct headers *h, const __u8 *b, __u32 have)
{
	__u32 sum = b[0] >> 7 & 1, key = b[0] >> 5 & 1, number = b[0] >> 4 & 1;
	__u32 length = GRE_HLEN + (sum + key + number) * 4;

	if (b[1] & 7 || b[0] & 0x40)
		return header_ends(h, HEADER_UNKNOWN);
	if (have < length)
		return header_ends(h, HEADER_CUT);
	if (key)
		h->tunnel_id = sum ? be32_at(b + 8) : be32_at(b + 4);
	return header_of_type(h, length, be16_at(b + 2));
}

/*
 * Parses one header at h->at. `b`: the bytes from that offset, `have` of them. At most HEADERS_STEP
 * bytes are read. Returns true to continue, or false if parsing stops; h->next is the reason.
 */
static __always_inline bool headers_step(struct headers *h, const __u8 *b, __u32 have)
{
	switch (h->next) {
	case HEADER_ETHERNET:
		return have < ETHERNET_HLEN ? header_ends(h, HEADER_CUT)
					    : header_of_type(h, ETHERNET_HLEN, be16_at(b + 12));
	case HEADER_VLAN:
		if (have < VLAN_HLEN)
			return header_ends(h, HEADER_CUT);
		h->passed++;
		return header_of_type(h, VLAN_HLEN, be16_at(b + 2));
	case HEADER_IP:
		return header_ip(h, b, have);
	case HEADER_PROTOCOL:
		return header_protocol(h, b, have);
	case HEADER_VXLAN: /* RFC 7348: there is no VNI without the I flag */
		if (have < VXLAN_HLEN)
			return header_ends(h, HEADER_CUT);
		h->tunnel_id = be32_at(b + 4) >> 8;
		return b[0] & 0x08 ? header_goes_on(h, VXLAN_HLEN, HEADER_ETHERNET)
				   : header_ends(h, HEADER_BAD);
	case HEADER_GENEVE: /* RFC 8926 */
		if (have < GENEVE_HLEN)
			return header_ends(h, HEADER_CUT);
		h->tunnel_id = be32_at(b + 4) >> 8;
		return b[0] >> 6
			       ? header_ends(h, HEADER_UNKNOWN)
			       : header_of_type(h, GENEVE_HLEN + (b[0] & 0x3f) * 4, be16_at(b + 2));
	case HEADER_GRE:
		return have < GRE_HLEN ? header_ends(h, HEADER_CUT) : header_gre(h, b, have);
	}
	return false;
}

/*
 * Enters the inner packet. `tunnel`: HEADER_VXLAN or HEADER_GENEVE at the payload of UDP to their
 * ports, which the caller knows, or HEADER_TUNNEL if parsing stopped at that.
 */
static __always_inline void headers_enter(struct headers *h, enum header tunnel)
{
	struct headers inner = {.at = h->at, .next = tunnel, .depth = h->depth + 1};

	if (tunnel == HEADER_TUNNEL)
		inner.next = h->proto == PROTO_GRE ? HEADER_GRE : HEADER_IP;
	inner.tunnel = inner.next;
	*h = inner;
}

/*
 * Returns the argument to pass to headers_enter() after parsing stopped, or HEADER_PAYLOAD if there
 * is no tunnel or the nesting limit is reached. `ports`: an array of TUNNEL_PORTS entries. A later
 * fragment never has a tunnel header.
 */
static __always_inline enum header headers_tunnel(const struct headers *h,
						  const volatile struct tunnel_port *ports)
{
	if (h->depth == HEADERS_DEPTH)
		return HEADER_PAYLOAD;
	if (h->next == HEADER_TUNNEL)
		return HEADER_TUNNEL;
	if (h->next != HEADER_PAYLOAD || h->proto != PROTO_UDP || !h->dst_port)
		return HEADER_PAYLOAD;
	for (int i = 0; i < TUNNEL_PORTS; i++) {
		if (ports[i].port == h->dst_port)
			return (enum header)ports[i].tunnel;
	}
	return HEADER_PAYLOAD;
}

/*
 * Copies the addresses from the IP header at `l3`, whose length follows from `version`. IPv4
 * addresses use the first 4 bytes of `src` and `dst`; the remaining bytes are not changed.
 */
static __always_inline void headers_addresses(__u8 version, const __u8 *l3, __u8 *src, __u8 *dst)
{
	if (version == 4) {
		__builtin_memcpy(src, l3 + 12, 4);
		__builtin_memcpy(dst, l3 + 16, 4);
	} else {
		__builtin_memcpy(src, l3 + 8, 16);
		__builtin_memcpy(dst, l3 + 24, 16);
	}
}

#endif
