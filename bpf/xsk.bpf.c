// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Steers the flow's packets, and nothing else, into the AF_XDP socket of the queue they came in
 * on. All other traffic (ARP, neighbour discovery, whatever keeps the host reachable), and our
 * own where no socket stands, goes on into the stack.
 *
 * xdp:xdp_redirect_err has no packet, so the number is left in `cell` for the tracer: an AF_XDP
 * redirect is carried out, or fails, right after this program on the same CPU.
 */
#include "kernel.h"

#include "packet.bpf.h"
#include "trace_abi.h"

#define XSK_QUEUES_MAX 64
#define VLAN_TAGS_MAX  2
#define IP_MF	       0x2000

const volatile struct trace_config cfg;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, XSK_QUEUES_MAX);
	__type(key, __u32); /* rx queue */
	__type(value, __u32);
} xsks SEC(".maps");

/* The word of the packet that is being redirected; 0: it has none. Shared with the tracer. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cell SEC(".maps");

/* The payload of a UDP packet to our port, with at least a stamp's length in bounds, or NULL. */
static __always_inline __u8 *flow_payload(void *data, void *data_end)
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
	if ((void *)(udp + UDP_HLEN + STAMP_LEN) > data_end || be16_at(udp + 2) != cfg.port)
		return NULL;
	return udp + UDP_HLEN;
}

SEC("xdp")
int xsk_steer(struct xdp_md *ctx)
{
	__u8 *payload = flow_payload((void *)(long)ctx->data, (void *)(long)ctx->data_end);
	__u64 word = 0, *slot;
	__u32 zero = 0;

	if (!payload)
		return XDP_PASS;
	switch (be16_at(payload)) {
	case STAMP_MAGIC:
		word = be64_at(payload + 2);
		if (be64_at(payload + 10) != ~word)
			return XDP_PASS;
		break;
	case END_MAGIC: /* no packet of the ledger: its loss must settle no number */
		break;
	default:
		return XDP_PASS;
	}
	slot = bpf_map_lookup_elem(&cell, &zero);
	if (slot)
		*slot = word;
	return bpf_redirect_map(&xsks, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
