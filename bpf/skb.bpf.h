/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gets from a packet to its headers and its sequence header. Contains the byte accessors for the
 * header parser (include/headers.h). Tracing programs read with bpf_probe_read_kernel(), or with
 * plain loads if the kernel supports them. Programs that receive the packet itself read directly or
 * with bpf_skb_load_bytes().
 *
 * Where the headers are in an skb depends on where it was dropped. The parser starts at the network
 * header if that is set, otherwise at the MAC header, otherwise at skb->data according to
 * skb->protocol. A sequence header is accepted only after a UDP header found that way, never by
 * scanning.
 *
 * headers_read() parses the usual case, without options and extension headers, in the calling
 * program. All other cases use headers_walk(), which is verified once.
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
 * Kernel functions (kfuncs) that our programs call. If the kernel lacks one of them, weak or not,
 * libbpf 1.1 searches the BTF of every module, which requires CAP_SYS_ADMIN, even if the programs
 * that call it are not loaded. Objects that also work without kfuncs are therefore built a second
 * time, as NAME_old.bpf.o, without any such symbol.
 */
#ifdef WITHOUT_KFUNCS
#define KFUNCS false
#define SPLIT  __noinline /* on Linux 6.1 the stack has no room for everything in one function */
#else
#define KFUNCS true
#define SPLIT  __always_inline
#endif

/*
 * Before Linux 5.17 there is no bpf_loop(), and before 5.13 a function that is verified once cannot
 * take a pointer. NAME_oldest.bpf.o, for such kernels, parses fewer headers, because the verifier
 * follows each step on every path.
 */
#ifdef WITHOUT_LOOPS
#define GLOBAL	     static __noinline __attribute__((unused))
#define OLDEST_STEPS 2 /* IP, then the ports */
#else
#define GLOBAL __noinline
#endif

/* Plain loads from any address, since Linux 6.2. */
extern void *bpf_rdonly_cast(void *obj, __u32 btf_id) __ksym;

#define CAST(at, type) ((struct type *)bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct type)))

/* Reads a field of the object at any address. */
#define FIELD_OF(at, type, field)                                                                  \
	(KFUNCS ? CAST(at, type)->field : BPF_CORE_READ((struct type *)(at), field))

/*
 * Casts pointers in a tracepoint's arguments. The verifier trusts such pointers, so whenever one of
 * their pointer fields is loaded, on every path, it searches types by name in the whole kernel BTF
 * (btf_nested_type_is_trusted()). That takes half of the load time. A cast pointer is not trusted.
 */
#define IN(p, type) (KFUNCS ? CAST(p, type) : (p))

/*
 * Reads bytes of an skb from the linear part or from pages. Since Linux 6.4, and since 6.12 for the
 * skbs of tracing programs.
 */
extern int bpf_dynptr_from_skb(struct sk_buff *skb, __u64 flags,
			       struct bpf_dynptr *ptr) __ksym __weak;

#define HEADER_UNSET 0xffff /* value of mac_header before skb_reset_mac_header() */

/* For header bytes on the stack, which are read in words. */
#define WIDE __attribute__((aligned(8)))

/*
 * Always 0, but unknown to the verifier. XOR with it turns a value into a single unknown for all
 * following code, instead of one path per possible value. A function that is not inlined has the
 * same effect, but each call takes about 10 ns with mitigations that guard returns against
 * speculation.
 */
volatile __u32 no_bits;

/* The linear part of an skb and its header positions, as offsets from `head`. */
struct linear {
	unsigned char *head;
	unsigned char *data;
	__u32 tail; /* offset of the end of the linear part */
	__u16 network_header;
	__u16 mac_header;
	__be16 protocol;
	__u16 outer; /* outer IP header around the packet, in a tunnel's first fragment; 0: unset */
	__u32 tag;   /* VLAN tag stored outside the packet, filter_tag(), for filters; 0: none */
};

/* For an skb that the verifier trusts, such as a tracepoint argument. */
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

/* For an skb that the verifier does not trust. */
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

/* Headers in an skb */

static __always_inline bool is_ip(__be16 protocol)
{
	return protocol == bpf_htons(TYPE_IP4) || protocol == bpf_htons(TYPE_IP6);
}

/*
 * Returns the offset of the network header; 0: unset. It is only set shortly after a driver hands
 * the packet to the stack.
 */
static __always_inline __u16 skb_l3(const struct sk_buff *skb)
{
	__u64 data = skb->data - skb->head;
	__u16 l3 = skb->network_header, mac = skb->mac_header;

	barrier_var(data); /* the verifier rejects 32-bit pointer differences */
	if (!l3 && mac != HEADER_UNSET && data == mac + ETHERNET_HLEN && is_ip(skb->protocol))
		l3 = data;
	return l3;
}

/*
 * Returns the offset of the IP header from head, or -1. `type`: set to the packet's EtherType; 0:
 * go by the IP version.
 */
static __always_inline int linear_l3(const struct linear *at, __u16 *type)
{
	bool mac = at->mac_header != HEADER_UNSET && at->mac_header < at->tail;
	__u8 frame[HEADERS_FRAME + 2] WIDE;
	__u64 data = at->data - at->head;
	__u32 link;

	barrier_var(data); /* the verifier rejects 32-bit pointer differences */
	/*
	 * An unset network header that was moved along with the others
	 * (skb_headers_offset_update(), in veth's copy for XDP) points before the MAC header, into
	 * memory that may contain an old packet. Both are equal if there is no MAC header (tun,
	 * tunnels). A packet sent by a tunnel begins at its network header, and its MAC header is
	 * still that of the inner frame.
	 */
	if (at->network_header && at->network_header < at->tail &&
	    !(mac && at->network_header < at->mac_header && at->network_header != data)) {
		*type = 0;
		return at->network_header;
	}
	/*
	 * AF_XDP sets neither header nor protocol. Its frames begin at skb->data (xsk_build_skb()).
	 */
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
 * The steps of a walk are a callback instead of a loop. The verifier's result for one step is valid
 * for all of them, which makes verification 10 times as fast as with a counter.
 */
struct headers_walk {
	void *from; /* struct linear, or struct __sk_buff, which clang 14 omits from BTF */
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

/*
 * Parses headers starting at `h`, at any offset in the linear part. Not static, so that it is
 * verified once per program.
 */
GLOBAL int headers_walk(const struct linear *at, struct headers *h)
{
	struct headers_walk walk = {(void *)at, h};

	if (!at || !h)
		return 0;
#ifdef WITHOUT_LOOPS
	for (__u32 i = 0; i < OLDEST_STEPS && !linear_step(i, &walk); i++)
		;
#else
	bpf_loop(HEADERS_STEPS, linear_step, &walk, 0);
#endif
	return 0;
}

/* Parses the headers of an IP packet at `l3`, as far as bytes are available. */
static __always_inline void headers_from(const struct linear *at, int l3, __u16 type,
					 struct headers *h)
{
	*h = (struct headers){.at = l3, .type = type, .next = HEADER_IP};
	headers_walk(at, h);
}

/* Walks a packet's headers from wherever its IP header is. Returns false if that is unknown. */
static __always_inline bool headers_find(const struct linear *at, struct headers *h)
{
	__u16 type;
	int l3 = linear_l3(at, &type);

	if (l3 < 0)
		return false;
	headers_from(at, l3, type, h);
	return true;
}

/* Parses the IP header. `b`: its bytes, unless they can be loaded. */
static __always_inline bool headers_read_ip(const struct linear *at, int l3, __u16 type,
					    const __u8 *b, struct headers *h)
{
	const __u8 *ip4 = KFUNCS ? (const __u8 *)CAST(at->head + l3, iphdr) : b;
	const __u8 *ip6 = KFUNCS ? (const __u8 *)CAST(at->head + l3, ipv6hdr) : b;
	const __u32 have = at->tail - l3;

	switch (*ip4 >> 4) {
	case 4:
		return (!type || type == TYPE_IP4) && have >= IP4_HLEN && headers_ip4(h, ip4);
	case 6:
		return (!type || type == TYPE_IP6) && have >= IP6_HLEN && headers_ip6(h, ip6);
	}
	return false;
}

/*
 * Parses a packet's headers, like headers_find(). Most packets need no call, because this reads the
 * headers of IP, UDP and TCP itself, with plain loads where possible. `only`, a constant: stop at a
 * protocol other than this one; 0: parse all protocols.
 */
static __always_inline void headers_read(const struct linear *at, __u8 only, struct headers *h)
{
	const __u8 *udp = NULL, *tcp = NULL;
	__u8 b[IP6_HLEN + UDP_HLEN] WIDE;
	struct headers walk;
	__u16 type = 0, offset;
	int l3 = linear_l3(at, &type);

	*h = (struct headers){.at = l3, .type = type, .next = HEADER_BAD};
	if (l3 < 0 || l3 >= at->tail)
		return;
	if (!KFUNCS && bpf_probe_read_kernel(b, sizeof(b), at->head + l3))
		return;
	if (!headers_read_ip(at, l3, type, b, h) ||
	    (only && h->proto != only && !headers_is_extension(h->version, h->proto)))
		return;
	if (KFUNCS)
		udp = (const __u8 *)CAST(at->head + h->at, udphdr);
	else if (h->at - l3 == IP4_HLEN)
		udp = b + IP4_HLEN;
	else if (h->at - l3 == IP6_HLEN)
		udp = b + IP6_HLEN;
	if (udp && h->proto == PROTO_UDP && h->at + UDP_HLEN <= at->tail) {
		h->length = be16_at(udp + 4);
		header_ports(h, udp, UDP_HLEN);
		return;
	}
	if (KFUNCS && h->proto == PROTO_TCP && h->at + TCP_HLEN <= at->tail) {
		tcp = (const __u8 *)CAST(at->head + h->at, tcphdr);
		offset = be16_at(tcp + 12) >> 12;
		if (offset >= TCP_HLEN / 4) {
			header_ports(h, tcp, offset * 4);
			return;
		}
	}
	if (!KFUNCS) { /* Linux 6.1 has no stack for a copy */
		headers_from(at, l3, type, h);
		return;
	}
	headers_from(at, l3, type, &walk); /* so that only fields of *h that are used are read */
	*h = walk;
}

/*
 * Variant for a function that a program calls only for packets that are not plain. Its stack frame
 * is smaller without the plain case. On Linux 6.12, all frames of a program share 512 bytes.
 */
static __always_inline void headers_read_again(const struct linear *at, __u8 only,
					       struct headers *h)
{
	*h = (struct headers){.next = HEADER_BAD};
	if (KFUNCS)
		headers_find(at, h);
	else
		headers_read(at, only, h);
}

/*
 * Copies 8 or 16 bytes (`n`, a constant) from any address. A load that may fail takes eight
 * instructions, so one load of 8 bytes costs less than one for each field.
 */
static __always_inline void load_words(__u8 *to, void *from, int n)
{
	const struct timespec64 *pair = CAST(from, timespec64); /* any type with two words */
	__u64 word[2] = {pair->tv_sec, n > 8 ? pair->tv_nsec : 0};

	__builtin_memcpy(to, word, n);
}

/* UDP directly behind an IP header without options and extension headers, and whole. */
struct plain_udp {
	__u32 l3, payload; /* offsets from head */
	__u16 src_port, dst_port, length;
	__u8 version;
};

enum plain { NOT_PLAIN, PLAIN_UDP, PLAIN_OTHER };

/*
 * Reads the packet with few loads if it is plain UDP, like most packets. NOT_PLAIN: it may still be
 * UDP, so headers_read() has to parse it. PLAIN_OTHER: it has another protocol.
 */
static __always_inline enum plain plain_udp(const struct sk_buff *skb, struct plain_udp *p)
{
	__u16 l3 = skb_l3(skb), mac = skb->mac_header;
	__u8 ip[16] WIDE, udp[8] WIDE, proto;

	*p = (struct plain_udp){.l3 = l3};
	if (!KFUNCS || !l3 || (mac != HEADER_UNSET && l3 < mac))
		return NOT_PLAIN;
	load_words(ip, skb->head + l3, 16);
	if (ip[0] == (4 << 4 | IP4_HLEN / 4) && skb->protocol == bpf_htons(TYPE_IP4) &&
	    !(be16_at(ip + 6) & (IP4_MORE_FRAGMENTS | IP4_FRAGMENT_OFFSET))) {
		p->version = 4;
		proto = ip[9];
		p->payload = l3 + IP4_HLEN + UDP_HLEN;
	} else if (ip[0] >> 4 == 6 && skb->protocol == bpf_htons(TYPE_IP6)) {
		p->version = 6;
		proto = ip[6];
		p->payload = l3 + IP6_HLEN + UDP_HLEN;
	} else {
		return NOT_PLAIN;
	}
	if (proto != PROTO_UDP)
		return headers_is_extension(p->version, proto) ? NOT_PLAIN : PLAIN_OTHER;
	if (p->payload > skb->tail)
		return NOT_PLAIN;
	load_words(udp, skb->head + p->payload - UDP_HLEN, 8);
	p->src_port = be16_at(udp);
	p->dst_port = be16_at(udp + 2);
	p->length = be16_at(udp + 4);
	return PLAIN_UDP;
}

/* Returns true if no options or extension headers are between the IP header and the next one. */
static __always_inline bool headers_are_plain(const struct headers *h)
{
	return h->l4 - h->l3 == (h->version == 4 ? IP4_HLEN : IP6_HLEN);
}

/* Sequence headers */

struct packet {
	__u64 word;	/* of the sequence header */
	__u32 payload;	/* offset of the UDP payload from head */
	__u32 l3_bytes; /* length according to the IP header */
};

enum packet_result {
	PACKET_OTHER, /* not from our flow */
	PACKET_STAMPED,
	PACKET_NONE,	   /* ours, but never was a packet */
	PACKET_UNREADABLE, /* UDP to our port, but the payload is not in the linear part */
};

static __always_inline __u64 be64_at(const void *p)
{
	return bpf_be64_to_cpu(*(const __be64 *)p);
}

/* Returns the word of a sequence header, or 0, which is never valid because no stream is 0. */
static __always_inline __u64 stamp_word(const struct stamp *stamp)
{
	return stamp->magic == bpf_htons(STAMP_MAGIC) && stamp->check == ~stamp->word
		       ? bpf_be64_to_cpu(stamp->word)
		       : 0;
}

/* Returns the word of the sequence header at this address in the kernel, or 0. */
static __always_inline __u64 stamp_read(unsigned char *at)
{
	const struct timespec64 *pair; /* any type with two 64-bit numbers */
	struct stamp stamp;

	if (!KFUNCS)
		return bpf_probe_read_kernel(&stamp, sizeof(stamp), at) ? 0 : stamp_word(&stamp);
	pair = CAST(at + 2, timespec64);
	return CAST(at, udphdr)->source == bpf_htons(STAMP_MAGIC) && pair->tv_nsec == ~pair->tv_sec
		       ? bpf_be64_to_cpu(pair->tv_sec)
		       : 0;
}

/* Returns the word of the sequence header at the start of a payload, or 0. */
static __always_inline __u64 payload_word(const __u8 *payload)
{
	__u64 word = be64_at(payload + 2);

	return be16_at(payload) == STAMP_MAGIC && be64_at(payload + 10) == ~word ? word : 0;
}

/*
 * Handles a linear part that ends before the sequence header does. Either the packet was that short
 * or the rest is in pages. If the linear part ends before the payload, the bytes read as headers
 * belong to another packet. `length`: from the UDP header.
 */
static __always_inline int packet_short(const struct linear *at, const struct packet *p,
					__u16 length)
{
	return p->payload > at->tail || length < UDP_HLEN + STAMP_LEN ? PACKET_OTHER
								      : PACKET_UNREADABLE;
}

/* Evaluates parsed headers. */
static __always_inline int packet_behind(const struct linear *at, const struct headers *h,
					 __u16 port, struct packet *p)
{
	if (h->next != HEADER_PAYLOAD || h->proto != PROTO_UDP || (port && h->dst_port != port))
		return PACKET_OTHER;
	p->l3_bytes = h->bytes;
	p->payload = h->at;
	if (h->at + STAMP_LEN > at->tail)
		return packet_short(at, p, h->length);
	p->word = stamp_read(at->head + h->at);
	return p->word ? PACKET_STAMPED : PACKET_OTHER;
}

/* Parses a packet to `port` (0: any port), either whole or a first fragment. */
static __always_inline int packet_parse(const struct linear *at, __u16 port, struct packet *p)
{
	struct headers h;

	headers_read(at, PROTO_UDP, &h);
	return packet_behind(at, &h, port, p);
}

/*
 * Reads payload in pages. A GSO message has only headers in the linear part, and so do its
 * segments. bpf_dynptr_from_skb() accepts skbs from tp_btf programs since Linux 6.12. On older
 * kernels such a sequence header cannot be read and is counted as unread.
 */
struct stamp_reader {
	struct sk_buff *skb;
	const struct linear *at;
};

/* Not inline, because the verifier requires separate stack slots for a dynptr. */
static __noinline int stamp_in_pages(struct sk_buff *skb, __u32 from_data, struct stamp *stamp)
{
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(skb, 0, &ptr))
		return -1;
	return bpf_dynptr_read(stamp, sizeof(*stamp), &ptr, from_data, 0);
}

/* Returns the word of the sequence header at `offset` from head; 0: absent or unreadable. */
static __always_inline __u64 stamp_at(const struct stamp_reader *r, __u32 offset)
{
	__s64 from_data = r->at->head + offset - r->at->data;
	struct stamp stamp;

	if (offset + STAMP_LEN <= r->at->tail)
		return stamp_read(r->at->head + offset);
	if (!KFUNCS || from_data < 0 || stamp_in_pages(r->skb, (__u32)from_data, &stamp))
		return 0;
	return stamp_word(&stamp);
}

/* Completes the result of packet_parse() if the payload may be in pages. */
static __always_inline int found_in_pages(const struct stamp_reader *r, int found, struct packet *p)
{
	if (found != PACKET_UNREADABLE || !KFUNCS)
		return found;
	p->word = stamp_at(r, p->payload);
	return p->word ? PACKET_STAMPED : PACKET_UNREADABLE;
}

/* Programs that receive the packet itself (tc, XDP) */

/*
 * Finds the payload of a whole UDP packet to `port` by direct access, with bounds checked by the
 * verifier. Returns NULL if a sequence header does not fit in the bounds. Does not handle IPv6
 * extension headers, because our senders do not create them.
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

/* Returns the word of a packet if it belongs to the flow, otherwise 0. */
static __always_inline __u64 packet_word_direct(void *data, void *data_end, __u16 port)
{
	__u8 *payload = packet_payload(data, data_end, port);

	return payload ? payload_word(payload) : 0;
}

#ifndef WITHOUT_LOOPS
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
	barrier_var(have); /* shows the verifier that it is not 0 */
	have = ((have - 1) & (LOADED_MAX - 1)) + 1;
	return bpf_skb_load_bytes(skb, at, b, have) || !headers_step(h, b, have);
}

/* Runs headers_walk() on a packet with bytes in pages, such as the payload of a GSO message. */
__noinline int headers_walk_loaded(struct __sk_buff *skb, struct headers *h)
{
	struct headers_walk walk = {skb, h};

	if (h)
		bpf_loop(HEADERS_STEPS, loaded_step, &walk, 0);
	return 0;
}

/* Parses from the start of the frame, or from the IP header if there is no frame. */
static __always_inline void headers_loaded(struct __sk_buff *skb, bool frame, struct headers *h)
{
	*h = (struct headers){.next = frame ? HEADER_ETHERNET : HEADER_IP};
	headers_walk_loaded(skb, h);
}
#endif

/*
 * Returns the word of the sequence header in a whole UDP packet to `port` with those headers, or 0.
 */
static __always_inline __u64 word_loaded(struct __sk_buff *skb, const struct headers *h, __u16 port)
{
	struct stamp stamp;

	if (h->next != HEADER_PAYLOAD || h->proto != PROTO_UDP || h->dst_port != port ||
	    bpf_skb_load_bytes(skb, h->at, &stamp, sizeof(stamp)))
		return 0;
	return stamp_word(&stamp);
}

#endif
