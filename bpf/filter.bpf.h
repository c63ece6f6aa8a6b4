/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet filter for a tracing program: a placeholder for code that user space inserts before the
 * program is loaded (user/drops/filter.h). Call it from the main program or from inlined code, not
 * from a callback or a separate function, because those are only copied while the object is loaded.
 *
 * If no code is inserted, the switch is a constant and the verifier removes all but one
 * instruction.
 */
#ifndef PKTLEDGER_FILTER_BPF_H
#define PKTLEDGER_FILTER_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "filter_abi.h"
#include "kernel.h"
#include "skb.bpf.h"
#include "watch_abi.h"

#define FILTER_MACS 12 /* bytes before the EtherType in an Ethernet frame */

/*
 * One element per program with a filter. Programs may interrupt each other, but never themselves.
 */
MAP(filter_scratch, PERCPU_ARRAY, 1, __u32, struct filter_scratch);

/* Whether EXPR is applied inside tunnels. In rodata, so that unneeded code is removed. */
const volatile struct filter_inner inner = {};

/* Returns the VLAN tag (TPID, TCI) that an skb stores outside its bytes: skb_vlan_tag_present(). */
static __always_inline __u32 filter_tag(const struct sk_buff *skb)
{
	const struct sk_buff___before_6_2 *old = (const void *)skb;

	if (bpf_core_field_exists(old->vlan_present) && !BPF_CORE_READ_BITFIELD(old, vlan_present))
		return 0;
	return (__u32)bpf_ntohs(skb->vlan_proto) << 16 | skb->vlan_tci;
}

/*
 * Returns the offset of data from head. In a tracing program the verifier treats both as pointers
 * and does not allow 32-bit arithmetic, so the compiler must not see that fewer bits are used.
 */
static __always_inline __u32 filter_data(const struct linear *at)
{
	__u64 offset = at->data - at->head;

	barrier_var(offset);
	return offset;
}

/*
 * Returns the start of the packet as an offset from head. It starts at the Ethernet header if that
 * precedes the network header directly or with only VLAN tags in between.
 */
static __always_inline __u32 filter_start(const struct linear *at, __u32 *layer)
{
	bool mac = at->mac_header != HEADER_UNSET && at->mac_header < at->tail;
	bool net = at->network_header && at->network_header < at->tail &&
		   !(mac && at->network_header < at->mac_header);
	__u32 l3 = net ? at->network_header : filter_data(at), before = l3 - at->mac_header;

	*layer = FILTER_L2;
	if (mac &&
	    (before == ETHERNET_HLEN || before == ETHERNET_HLEN + 4 || before == ETHERNET_HLEN + 8))
		return at->mac_header;
	if (net || at->protocol)
		*layer = FILTER_L3;
	return l3;
}

/* The filter itself. Code inserted by user space may use these registers. */
static __always_inline int filter_run(struct filter_scratch *scratch)
{
	register struct filter_scratch *in asm("r1") = scratch;
	register __u32 verdict asm("r0");

	asm volatile(
		"w0 = %[begin]\n"
		".rept %[room]\n"
		"goto +0\n"
		".endr\n"
		"w0 = %[end]\n"
		: "=r"(verdict)
		: "r"(in), [begin] "i"(FILTER_BEGIN), [room] "i"(FILTER_ROOM), [end] "i"(FILTER_END)
		: "r2", "r3", "r4", "r5", "memory");
	return verdict;
}

/* A constant that the compiler does not know and that user space changes. */
#define FILTER_CONSTANT(value)                                                                     \
	({                                                                                         \
		__u32 constant;                                                                    \
		asm volatile("%0 = %1" : "=r"(constant) : "i"(value));                             \
		constant;                                                                          \
	})

/*
 * Returns the number of bytes that could be read, up to `room`, a constant. Linux 6.1 does not
 * propagate bounds from a register to its copy, so the register that is compared must be the one
 * that is used.
 */
static __always_inline __u32 filter_read(void *to, const __u64 room, const void *from, __u64 there)
{
	asm volatile("if %[there] < %[room] goto +1\n"
		     "%[there] = %[room]\n"
		     : [there] "+r"(there)
		     : [room] "i"(room));
	return bpf_probe_read_kernel(to, there, from) ? 0 : there;
}

/* Reads the packet and inserts its VLAN tag after the addresses again. */
static __always_inline __u32 filter_read_tagged(struct filter_scratch *scratch, __u32 tag,
						const void *from, __u32 there)
{
	__be32 *at = (void *)scratch->bytes + FILTER_MACS;

	if (there < FILTER_MACS || bpf_probe_read_kernel(scratch->bytes, FILTER_MACS, from))
		return 0;
	*at++ = bpf_htonl(tag);
	return FILTER_MACS + sizeof(*at) +
	       filter_read(at, FILTER_BYTES - FILTER_MACS - sizeof(*at), from + FILTER_MACS,
			   there - FILTER_MACS);
}

/* IPv6 extension headers to hide from the filter. libpcap expects ports right after IPv6. */
struct filter_gap {
	__u32 l3;    /* offset of the IP header from head */
	__u32 skip;  /* bytes to leave out after the IP header; 0: no gap */
	__u32 proto; /* protocol after the skipped bytes */
};

/* `before`: number of bytes before the gap, a constant. */
static __always_inline __u32 filter_read_around(__u8 *to, const __u32 before,
						const struct linear *at, __u32 start,
						const struct filter_gap *gap)
{
	__u32 from = start + before + gap->skip, there = from < at->tail ? at->tail - from : 0;

	if (bpf_probe_read_kernel(to, before, at->head + start))
		return 0;
	to[before - IP6_HLEN + 6] = gap->proto;
	return before + filter_read(to + before, FILTER_BYTES - before, at->head + from, there);
}

/* Copies the bytes for the filter from `start`, up to FILTER_BYTES. `gap`: NULL if unused. */
static __always_inline __u32 filter_fetch(__u8 *to, const struct linear *at, __u32 start,
					  const struct filter_gap *gap)
{
	if (gap && gap->skip && gap->l3 == start)
		return filter_read_around(to, IP6_HLEN, at, start, gap);
	if (gap && gap->skip && gap->l3 == start + ETHERNET_HLEN)
		return filter_read_around(to, ETHERNET_HLEN + IP6_HLEN, at, start, gap);
	return filter_read(to, FILTER_BYTES, at->head + start,
			   start < at->tail ? at->tail - start : 0);
}

/* Addresses and ports that the filter sees in place of the packet's. */
struct filter_name {
	struct watch_flow flow;
	__u32 l3, l4; /* offsets of the packet's headers from head */
};

#define FILTER_L3_MAX 32 /* a frame with two tags plus an inserted one */
#define FILTER_L4_MAX 128

static __always_inline void filter_rename(struct filter_scratch *scratch, __u32 start,
					  const struct filter_name *name, __u32 skip)
{
	__u32 l3 = name->l3 - start, l4 = name->l4 - skip - start;

	if (l3 > FILTER_L3_MAX || l4 > FILTER_L4_MAX)
		return;
	if (name->flow.family == AF_INET) {
		__builtin_memcpy(scratch->bytes + l3 + 12, name->flow.src, 4);
		__builtin_memcpy(scratch->bytes + l3 + 16, name->flow.dst, 4);
	} else {
		__builtin_memcpy(scratch->bytes + l3 + 8, name->flow.src, 16);
		__builtin_memcpy(scratch->bytes + l3 + 24, name->flow.dst, 16);
	}
	__builtin_memcpy(scratch->bytes + l4, &name->flow.src_port, 4); /* both ports */
}

/* Counts a packet that does not match because its bytes cannot be read. */
static __always_inline void filter_could_not_read(void)
{
	__u32 slot = FILTER_CONSTANT(FILTER_SLOT);
	struct filter_scratch *scratch = bpf_map_lookup_elem(&filter_scratch, &slot);

	if (scratch)
		scratch->unread++;
}

/* Verdict based on a packet's ports alone, without copying its bytes. */
enum filter_look { LOOK_NO, LOOK_YES, LOOK_ASK };

static __always_inline enum filter_look
filter_look_at(const struct linear *at, const struct headers *h, __u16 port, __u32 is_port)
{
	const __u8 *type;

	if (h->next != HEADER_PAYLOAD || !headers_are_plain(h) ||
	    (h->proto != PROTO_UDP && h->proto != PROTO_TCP))
		return LOOK_ASK;
	if (h->src_port != port && h->dst_port != port)
		return LOOK_NO;
	if (!is_port || h->proto != PROTO_UDP)
		return LOOK_ASK;
	if (at->mac_header == HEADER_UNSET)
		return LOOK_YES;
	/* for a frame the filter also tests the EtherType */
	type = (const __u8 *)CAST(at->head + h->l3 - 2, udphdr);
	return h->l3 == at->mac_header + ETHERNET_HLEN &&
			       be16_at(type) == (h->version == 4 ? TYPE_IP4 : TYPE_IP6)
		       ? LOOK_YES
		       : LOOK_ASK;
}

/*
 * Checks the ports first. Most packets of other flows have ports that do not match, and if EXPR is
 * just a UDP port, every packet of the flow matches. In both cases the filter need not run.
 */
static __always_inline __u32 filter_look(const struct linear *at)
{
	const __u32 port = FILTER_CONSTANT(FILTER_PORT);
	struct headers h;

	if (!KFUNCS || inner.wanted || FILTER_CONSTANT(FILTER_OFF) || !port)
		return LOOK_ASK;
	headers_read(at, 0, &h);
	return filter_look_at(at, &h, port, FILTER_CONSTANT(FILTER_IS_PORT)) ^ no_bits;
}

/* Variant for a plain UDP packet that the filter sees from its IP header on. */
static __always_inline enum filter_look filter_look_udp(__u16 src_port, __u16 dst_port)
{
	const __u32 port = FILTER_CONSTANT(FILTER_PORT);

	if (FILTER_CONSTANT(FILTER_OFF) || !port)
		return LOOK_ASK;
	if (src_port != port && dst_port != port)
		return LOOK_NO;
	return FILTER_CONSTANT(FILTER_IS_PORT) ? LOOK_YES : LOOK_ASK;
}

/*
 * Copies the packet as the filter sees it into element `slot`. `tags`: FILTER_TAGS. Returns the
 * offset of its start from head, or -1.
 */
GLOBAL int filter_see(const struct linear *at, __u32 len, const struct filter_gap *gap, __u32 slot,
		      __u32 tags)
{
	struct filter_scratch *scratch = bpf_map_lookup_elem(&filter_scratch, &slot);
	__u32 start;

	if (!scratch || !at)
		return -1;
	start = filter_start(at, &scratch->layer);
	scratch->length = len + filter_data(at) - start - (gap ? gap->skip : 0);
	if (tags && at->tag && scratch->layer == FILTER_L2) {
		scratch->have = filter_read_tagged(scratch, at->tag, at->head + start,
						   start < at->tail ? at->tail - start : 0);
		scratch->length += sizeof(at->tag);
		return start - sizeof(at->tag);
	}
	scratch->have = filter_fetch(scratch->bytes, at, start, gap);
	return start;
}

/*
 * Returns true if this packet matches the filter. `len`: skb->len, counted from at->data. For a
 * frame without an skb, head and data are its start, tail and len its length, mac_header is 0 and
 * network_header is ETHERNET_HLEN. `gap`, `name`: may be NULL.
 */
static __always_inline bool filter_matches(const struct linear *at, __u32 len,
					   const struct filter_gap *gap,
					   const struct filter_name *name)
{
	struct filter_scratch *scratch;
	__u32 slot;
	int start;

	if (FILTER_CONSTANT(FILTER_OFF))
		return true;
	slot = FILTER_CONSTANT(FILTER_SLOT);
	start = filter_see(at, len, gap, slot, FILTER_CONSTANT(FILTER_TAGS));
	scratch = bpf_map_lookup_elem(&filter_scratch, &slot);
	if (start < 0 || !scratch)
		return false;
	if (name)
		filter_rename(scratch, start, name, gap ? gap->skip : 0);
	switch (filter_run(scratch)) {
	case FILTER_YES:
		return true;
	case FILTER_UNREAD:
		scratch->unread++;
	}
	return false;
}

#endif
