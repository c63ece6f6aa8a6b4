/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a packet to its headers and its stamp: who fetches bytes for the parser of headers
 * (include/headers.h). In tracing programs by bpf_probe_read_kernel(), or plain loads where the
 * kernel has the function for it; in programs that see the packet itself directly, or by
 * bpf_skb_load_bytes().
 *
 * Where the headers of an skb are depends on where it died (STAGES 7): the network header if it is
 * set, else the MAC header, else skb->data by skb->protocol. The stamp is accepted only behind a
 * UDP header found that way, never by scanning.
 *
 * The plain case, no options and no extension headers, is one wide read; all else goes the way of
 * headers_walk(), which is verified once.
 */
#ifndef PKTLEDGER_SKB_BPF_H
#define PKTLEDGER_SKB_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "headers.h"
#include "kernel.h"
#include "stamp.h"
#include "trace_abi.h"

/*
 * Functions of the kernel itself that our programs call. For one that the kernel has not, weak or
 * not, libbpf 1.1 looks into the BTF of every module, which takes CAP_SYS_ADMIN; not to load the
 * programs that call it does not help. So objects that can do without are built a second time, as
 * NAME_old.bpf.o, without any such symbol.
 */
#ifdef WITHOUT_KFUNCS
#define KFUNCS false
#else
#define KFUNCS true
#endif

/* Plain loads from any address; Linux 6.2. */
extern void *bpf_rdonly_cast(void *obj, __u32 btf_id) __ksym;

#define CAST(at, type) ((struct type *)bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct type)))

/* A field of what lies at any address. */
#define FIELD_OF(at, type, field)                                                                  \
	(KFUNCS ? CAST(at, type)->field : BPF_CORE_READ((struct type *)(at), field))

/*
 * For pointers in what a tracepoint gives. The verifier trusts that, and at each load of a pointer
 * from it, on each path, looks for types by their names in all of the kernel's BTF
 * (btf_nested_type_is_trusted()): half of the time that loading took. What is cast is not trusted.
 */
#define IN(p, type) (KFUNCS ? CAST(p, type) : (p))

/* Bytes of an skb wherever they are. Linux 6.4; of the skbs of tracing programs 6.12. */
extern int bpf_dynptr_from_skb(struct sk_buff *skb, __u64 flags,
			       struct bpf_dynptr *ptr) __ksym __weak;

#define HEADER_UNSET 0xffff /* mac_header before skb_reset_mac_header() */

/* Header bytes on the stack: they are read in words. */
#define WIDE __attribute__((aligned(8)))

/*
 * 0, which the verifier does not know: what it is XORed with is one unknown for all that follows,
 * and not a way of its own for each value that it can have. A function that is not inline would do
 * so, too, but where returns are guarded against speculation, each call takes some 10 ns.
 */
volatile __u32 no_bits;

/* The linear part of an skb, and what shows where headers are in it; offsets from `head`. */
struct linear {
	unsigned char *head;
	unsigned char *data;
	__u32 tail; /* of its end */
	__u16 network_header;
	__u16 mac_header;
	__be16 protocol;
	__u16 outer; /* of a packet in a tunnel's first fragment: that one's IP header; 0: none */
	__u32 tag;   /* VLAN tag kept beside the packet, filter_tag(); 0: none. For filters only */
};

/* Of an skb that the verifier knows, as an argument of a tracepoint. */
static __always_inline struct linear linear_of(struct sk_buff *skb)
{
	return (struct linear){
		.head = skb->head,
		.data = skb->data,
		.tail = skb->tail,
		.network_header = skb->network_header,
		.mac_header = skb->mac_header,
		.protocol = skb->protocol,
	};
}

/* The same where it does not know that it is an skb. */
static __always_inline struct linear linear_probed(struct sk_buff *skb)
{
	return (struct linear){
		.head = BPF_CORE_READ(skb, head),
		.data = BPF_CORE_READ(skb, data),
		.tail = BPF_CORE_READ(skb, tail),
		.network_header = BPF_CORE_READ(skb, network_header),
		.mac_header = BPF_CORE_READ(skb, mac_header),
		.protocol = BPF_CORE_READ(skb, protocol),
	};
}

/* Headers of an skb */

/*
 * Offset of the network header, which of a packet that a driver has just given to the stack is set
 * a little later; 0: none.
 */
static __always_inline __u16 skb_l3(const struct sk_buff *skb)
{
	__u64 data = skb->data - skb->head;
	__u16 l3 = skb->network_header, mac = skb->mac_header;

	barrier_var(data); /* the verifier takes no difference of pointers in 32 bits */
	if (!l3 && mac != HEADER_UNSET && data == mac + ETHERNET_HLEN &&
	    (skb->protocol == bpf_htons(TYPE_IP4) || skb->protocol == bpf_htons(TYPE_IP6)))
		l3 = data;
	return l3;
}

/* Offset of the IP header from head, or -1. `type`: its EtherType; 0: by the version. */
static __always_inline int linear_l3(const struct linear *at, __u16 *type)
{
	bool mac = at->mac_header != HEADER_UNSET && at->mac_header < at->tail;
	__u8 frame[HEADERS_FRAME + 2] WIDE;
	__u64 data = at->data - at->head;
	__u32 link;

	barrier_var(data); /* the verifier takes no difference of pointers in 32 bits */
	/*
	 * An unset network header that was moved with the others (skb_headers_offset_update(), in
	 * veth's copy for XDP) lies before the MAC header, in memory that may hold an old packet.
	 * Both are the same where there is no MAC header: tun, tunnels. What a tunnel sends begins
	 * at its network header, and its MAC header is still that of the frame inside.
	 */
	if (at->network_header && at->network_header < at->tail &&
	    !(mac && at->network_header < at->mac_header && at->network_header != data)) {
		*type = 0;
		return at->network_header;
	}
	/* AF_XDP sets no header, no protocol: its frame begins at skb->data (xsk_build_skb()). */
	if (mac || !at->protocol) {
		link = mac ? at->mac_header : data;
		if (KFUNCS) /* loads within a structure that is as long as that */
			return link +
			       headers_frame((const __u8 *)CAST(at->head + link, ipv6hdr), type);
		if (bpf_probe_read_kernel(frame, HEADERS_FRAME, at->head + link))
			return -1;
		return link + headers_frame(frame, type);
	}
	*type = bpf_ntohs(at->protocol);
	return data;
}

/*
 * The steps of a walk are a callback, not a loop: what the verifier has seen of one step holds for
 * all of them, which makes it 10 times as fast as with a counter.
 */
struct headers_walk {
	void *from; /* struct linear; struct __sk_buff, which clang 14 leaves out of BTF */
	struct headers *h;
};

static long linear_step(__u32 n, struct headers_walk *w)
{
	const struct linear *at = w->from;
	struct headers *h = w->h;
	__u8 b[24] WIDE; /* no step reads addresses; on 6.1 all frames together fill the stack */

	return bpf_probe_read_kernel(b, sizeof(b), at->head + h->at) ||
	       !headers_step(h, b, h->at < at->tail ? at->tail - h->at : 0);
}

/* From `h` on, wherever its bytes are in the linear part. Not static: verified once a program. */
__noinline int headers_walk(const struct linear *at, struct headers *h)
{
	struct headers_walk walk = {(void *)at, h};

	if (at && h)
		bpf_loop(HEADERS_STEPS, linear_step, &walk, 0);
	return 0;
}

/* The headers of an IP packet at `l3`, or what of them there is. */
static __always_inline void headers_from(const struct linear *at, int l3, __u16 type,
					 struct headers *h)
{
	*h = (struct headers){.at = l3, .type = type, .next = HEADER_IP};
	headers_walk(at, h);
}

/* Whether the walk may find more behind what one read has shown. */
static __always_inline bool has_more_headers(const struct headers *h)
{
	return h->next == HEADER_PROTOCOL &&
	       (h->proto == PROTO_UDP || headers_is_extension(h->version, h->proto));
}

/* Stamps */

struct packet {
	__u64 word;	/* of the stamp */
	__u32 payload;	/* offset of the UDP payload from head */
	__u32 l3_bytes; /* length by the IP header */
};

enum packet_result {
	PACKET_OTHER, /* not of our flow */
	PACKET_STAMPED,
	PACKET_NONE,	   /* ours, but never was a packet */
	PACKET_UNREADABLE, /* UDP to our port, but the payload is not in the linear part */
};

/* An IPv6 header, a UDP header and a stamp. */
struct packet_bytes {
	__u8 pad[2]; /* so that a stamp's words are aligned: in IPv4 to 8, in IPv6 to 4 bytes */
	__u8 at[IP6_HLEN + UDP_HLEN + STAMP_LEN];
} WIDE;

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

/* The word of a stamp, or 0. That is no word: no stream is 0. */
static __always_inline __u64 stamp_word(const struct stamp *stamp)
{
	return stamp->magic == bpf_htons(STAMP_MAGIC) && stamp->check == ~stamp->word
		       ? bpf_be64_to_cpu(stamp->word)
		       : 0;
}

/* The same of the bytes that a payload begins with. */
static __always_inline __u64 payload_word(const __u8 *payload)
{
	__u64 word = be64_at(payload + 2);

	return be16_at(payload) == STAMP_MAGIC && be64_at(payload + 10) == ~word ? word : 0;
}

/*
 * The linear part ends before a stamp does: as it was sent, or because the rest is in pages. If it
 * ends before the payload, what was read as headers is memory that held another packet. `length`:
 * by UDP.
 */
static __always_inline int packet_short(const struct linear *at, const struct packet *p,
					__u16 length)
{
	return p->payload > at->tail || length < UDP_HLEN + STAMP_LEN ? PACKET_OTHER
								      : PACKET_UNREADABLE;
}

/* What headers_walk() has found. */
static __always_inline int packet_behind(const struct linear *at, const struct headers *h,
					 __u16 port, struct packet *p)
{
	struct stamp stamp;

	if (h->next != HEADER_PAYLOAD || h->proto != PROTO_UDP || (port && h->dst_port != port))
		return PACKET_OTHER;
	p->l3_bytes = h->bytes;
	p->payload = h->at;
	if (h->at + STAMP_LEN > at->tail)
		return packet_short(at, p, h->length);
	if (bpf_probe_read_kernel(&stamp, sizeof(stamp), at->head + h->at))
		return PACKET_OTHER;
	p->word = stamp_word(&stamp);
	return p->word ? PACKET_STAMPED : PACKET_OTHER;
}

/* The plain case: `b` from `l3` on, where the IP header takes `length`, a constant. */
static __always_inline int packet_plain(const struct linear *at, const struct packet_bytes *b,
					int l3, const struct headers *h, __u32 length, __u16 port,
					struct packet *p)
{
	const __u8 *udp = b->at + length, *stamp = udp + UDP_HLEN;

	if (port && be16_at(udp + 2) != port)
		return PACKET_OTHER;
	p->l3_bytes = h->bytes;
	p->payload = l3 + length + UDP_HLEN;
	if (p->payload + STAMP_LEN > at->tail)
		return packet_short(at, p, be16_at(udp + 4));
	if (length == IP4_HLEN) {
		p->word = payload_word(stamp);
		return p->word ? PACKET_STAMPED : PACKET_OTHER;
	}
	if (be16_at(stamp) != STAMP_MAGIC)
		return PACKET_OTHER;
	p->word = be64_halves(stamp + 2);
	return be64_halves(stamp + 10) == ~p->word ? PACKET_STAMPED : PACKET_OTHER;
}

/* A packet, whole or a first fragment, to `port` (0: to any). */
static __always_inline int packet_parse(const struct linear *at, __u16 port, struct packet *p)
{
	struct headers h = {}, all;
	struct packet_bytes b;
	__u16 type;
	int l3;

	l3 = linear_l3(at, &type);
	if (l3 < 0 || bpf_probe_read_kernel(b.at, sizeof(b.at), at->head + l3))
		return PACKET_OTHER;
	switch (b.at[0] >> 4) {
	case 4:
		if ((type && type != TYPE_IP4) || !headers_ip4(&h, b.at))
			return PACKET_OTHER;
		if (h.at == IP4_HLEN && h.proto == PROTO_UDP)
			return packet_plain(at, &b, l3, &h, IP4_HLEN, port, p);
		break;
	case 6:
		if ((type && type != TYPE_IP6) || !headers_ip6(&h, b.at))
			return PACKET_OTHER;
		if (h.proto == PROTO_UDP)
			return packet_plain(at, &b, l3, &h, IP6_HLEN, port, p);
		break;
	}
	if (!has_more_headers(&h))
		return PACKET_OTHER;
	headers_from(at, l3, type, &all);
	return packet_behind(at, &all, port, p);
}

/*
 * Payload in pages: a GSO message has only headers in the linear part, and so have the segments it
 * is cut into. bpf_dynptr_from_skb() takes skbs of tp_btf programs since Linux 6.12; before, such a
 * stamp stays unreadable and is counted.
 */
struct stamp_reader {
	struct sk_buff *skb;
	const struct linear *at;
};

/* Not inline: the verifier wants the stack slots of a dynptr for itself. */
static __noinline int stamp_in_pages(struct sk_buff *skb, __u32 from_data, struct stamp *stamp)
{
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(skb, 0, &ptr))
		return -1;
	return bpf_dynptr_read(stamp, sizeof(*stamp), &ptr, from_data, 0);
}

/* The word of the stamp at `offset` from head; 0: there is none, or it cannot be read. */
static __always_inline __u64 stamp_at(const struct stamp_reader *r, __u32 offset)
{
	__s64 from_data = r->at->head + offset - r->at->data;
	struct stamp stamp;

	if (offset + STAMP_LEN <= r->at->tail) {
		if (bpf_probe_read_kernel(&stamp, sizeof(stamp), r->at->head + offset))
			return 0;
	} else {
		if (!KFUNCS || from_data < 0 || stamp_in_pages(r->skb, (__u32)from_data, &stamp))
			return 0;
	}
	return stamp_word(&stamp);
}

/* What packet_parse() found, where a payload that it cannot reach may be in pages. */
static __always_inline int found_in_pages(const struct stamp_reader *r, int found, struct packet *p)
{
	if (found != PACKET_UNREADABLE || !KFUNCS)
		return found;
	p->word = stamp_at(r, p->payload);
	return p->word ? PACKET_STAMPED : PACKET_UNREADABLE;
}

/* Programs that see the packet itself (tc, XDP) */

/*
 * By direct access, bounds by the verifier: the payload of a whole UDP packet to `port`, with a
 * stamp's length in bounds, or NULL. Without IPv6 extension headers: no sender of ours makes any.
 */
static __always_inline __u8 *packet_payload(void *data, void *data_end, __u16 port)
{
	__u8 *type = data + ETHERNET_HLEN - 2, *l3, *udp;
	struct headers h = {};
	__u16 proto;

	if ((void *)(type + 2) > data_end)
		return NULL;
	proto = be16_at(type);
#pragma unroll
	for (int i = 0; i < HEADERS_TAGS; i++) {
		if (!headers_is_tag(proto))
			break;
		type += VLAN_HLEN;
		if ((void *)(type + 2) > data_end)
			return NULL;
		proto = be16_at(type);
	}

	l3 = type + 2;
	if (proto == TYPE_IP4) {
		if ((void *)(l3 + IP4_HLEN) > data_end || !headers_ip4(&h, l3))
			return NULL;
		udp = l3 + h.at;
	} else if (proto == TYPE_IP6) {
		if ((void *)(l3 + IP6_HLEN) > data_end)
			return NULL;
		headers_ip6(&h, l3);
		udp = l3 + IP6_HLEN;
	} else {
		return NULL;
	}
	if (h.proto != PROTO_UDP || h.fragmented ||
	    (void *)(udp + UDP_HLEN + STAMP_LEN) > data_end || (port && be16_at(udp + 2) != port))
		return NULL;
	return udp + UDP_HLEN;
}

/* The word of a packet of the flow, or 0. */
static __always_inline __u64 packet_word_direct(void *data, void *data_end, __u16 port)
{
	__u8 *payload = packet_payload(data, data_end, port);

	return payload ? payload_word(payload) : 0;
}

#define LOADED_MAX 64 /* a power of two, at least HEADERS_STEP */

static long loaded_step(__u32 n, struct headers_walk *w)
{
	struct __sk_buff *skb = w->from;
	__u8 b[LOADED_MAX] WIDE = {};
	struct headers *h = w->h;
	__u32 at = h->at, have = skb->len - at;

	if (at >= skb->len)
		return 1;
	if (have > HEADERS_STEP)
		have = HEADERS_STEP;
	barrier_var(have); /* the verifier wants to see that it is not 0 */
	have = ((have - 1) & (LOADED_MAX - 1)) + 1;
	return bpf_skb_load_bytes(skb, at, b, have) || !headers_step(h, b, have);
}

/* headers_walk() of a packet whose bytes may be in pages, as the payload of a GSO message is. */
__noinline int headers_walk_loaded(struct __sk_buff *skb, struct headers *h)
{
	struct headers_walk walk = {skb, h};

	if (h)
		bpf_loop(HEADERS_STEPS, loaded_step, &walk, 0);
	return 0;
}

/* From the frame's begin, or where there is none from IP. */
static __always_inline void headers_loaded(struct __sk_buff *skb, bool frame, struct headers *h)
{
	*h = (struct headers){.next = frame ? HEADER_ETHERNET : HEADER_IP};
	headers_walk_loaded(skb, h);
}

/* The word of the stamp of a whole UDP packet to `port` with those headers, or 0. */
static __always_inline __u64 word_loaded(struct __sk_buff *skb, const struct headers *h, __u16 port)
{
	struct stamp stamp;

	if (h->next != HEADER_PAYLOAD || h->proto != PROTO_UDP || h->dst_port != port ||
	    bpf_skb_load_bytes(skb, h->at, &stamp, sizeof(stamp)))
		return 0;
	return stamp_word(&stamp);
}

#endif
