// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Steers only the flow's packets into the AF_XDP socket of their receive queue. All other traffic
 * continues into the stack: ARP, neighbour discovery, everything else that keeps the host
 * reachable, and our own traffic if there is no socket for it. xdp:xdp_redirect_err does not report
 * the packet, so the number is left in `cell` for the tracer. An AF_XDP redirect is carried out, or
 * fails, right after this program on the same CPU.
 */
#include "kernel.h"

#include "skb.bpf.h"
#include "seen.bpf.h"
#include "trace_abi.h"

#define XSK_QUEUES_MAX 64

MAP(xsks, XSKMAP, XSK_QUEUES_MAX, __u32, __u32); /* key: rx queue */

/* The word of the packet being redirected; 0: not one of ours. Shared with the tracer. */
ONE_PER_CPU(cell, __u64);

SEC("xdp")
int xsk_steer(struct xdp_md *ctx)
{
	__u8 *payload =
		packet_payload((void *)(long)ctx->data, (void *)(long)ctx->data_end, cfg.port);
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
	case END_MAGIC: /* not a ledger packet, so its loss must not resolve a number */
		break;
	default:
		return XDP_PASS;
	}
	slot = bpf_map_lookup_elem(&cell, &zero);
	if (slot)
		*slot = word;
	/* a tracepoint reports a full ring, and is suppressed in the context of PID 1 */
	if (word && is_on_init())
		mark_seen(word, SEEN_XDP);
	return bpf_redirect_map(&xsks, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
