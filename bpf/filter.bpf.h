/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The packet filter of a tracing program: a place for code that user space fills before the program
 * is loaded (user/trace/filter.h). To be called in the main program or what is inlined there, not
 * in a callback or a function of its own: those are copied only while the object is loaded.
 *
 * Not filled, the switch is a constant, and the verifier removes all but one instruction.
 */
#ifndef PKTLEDGER_FILTER_BPF_H
#define PKTLEDGER_FILTER_BPF_H

#include <bpf/bpf_helpers.h>

#include "filter_abi.h"
#include "kernel.h"
#include "packet.bpf.h"

#define FILTER_STRING(x)  #x
#define FILTER_LITERAL(x) FILTER_STRING(x)

/*
 * An element for each program that was filled: one program may interrupt another, but never itself
 * on the same CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32);
	__type(value, struct filter_scratch);
} filter_scratch SEC(".maps");

/*
 * Where the packet begins: at its Ethernet header if that is there, directly or with VLAN tags
 * before the network header. Offset from head.
 */
static __always_inline __u32 filter_start(const struct packet_place *at, __u32 *layer)
{
	bool mac = at->mac_header != HEADER_UNSET && at->mac_header < at->tail;
	bool net = at->network_header && at->network_header < at->tail &&
		   !(mac && at->network_header < at->mac_header);
	__u32 l3 = net ? at->network_header : at->data - at->head, before = l3 - at->mac_header;

	*layer = FILTER_L2;
	if (mac && (before == ETH_HLEN || before == ETH_HLEN + 4 || before == ETH_HLEN + 8))
		return at->mac_header;
	if (net || at->protocol)
		*layer = FILTER_L3;
	return l3;
}

/* The filter itself. What user space puts there may use these registers. */
static __always_inline int filter_run(struct filter_scratch *scratch)
{
	register struct filter_scratch *in asm("r1") = scratch;
	register __u32 verdict asm("r0");

	asm volatile(
		"w0 = " FILTER_LITERAL(FILTER_BEGIN) "\n"
						     ".rept " FILTER_LITERAL(
							     FILTER_ROOM) "\n"
									  "goto +0\n"
									  ".endr\n"
									  "w0 = " FILTER_LITERAL(
										  FILTER_END) "\n"
		: "=r"(verdict)
		: "r"(in)
		: "r2", "r3", "r4", "r5", "memory");
	return verdict;
}

/* A constant that the compiler does not know, and user space changes. */
#define FILTER_CONSTANT(value)                                                                     \
	({                                                                                         \
		__u32 constant;                                                                    \
		asm volatile("%0 = " FILTER_LITERAL(value) : "=r"(constant));                      \
		constant;                                                                          \
	})

/*
 * Whether the filter wants this packet. `len`: skb->len, which counts from at->data. For a frame
 * without an skb: head and data are its begin, tail and len its length, mac_header 0 and
 * network_header ETH_HLEN.
 */
static __always_inline bool filter_matches(const struct packet_place *at, __u32 len)
{
	struct filter_scratch *scratch;
	__u32 slot, start, have;

	if (FILTER_CONSTANT(FILTER_OFF))
		return true;
	slot = FILTER_CONSTANT(FILTER_SLOT);
	scratch = bpf_map_lookup_elem(&filter_scratch, &slot);
	if (!scratch)
		return false;
	start = filter_start(at, &scratch->layer);
	have = start < at->tail ? at->tail - start : 0;
	if (have > FILTER_BYTES)
		have = FILTER_BYTES;
	if (bpf_probe_read_kernel(scratch->bytes, have, at->head + start))
		have = 0;
	scratch->have = have;
	scratch->length = len + (at->data - at->head) - start;
	switch (filter_run(scratch)) {
	case FILTER_YES:
		return true;
	case FILTER_UNREAD:
		scratch->unread++;
	}
	return false;
}

#endif
