// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts the verdicts of an XDP program that is not ours, as it returns: for devices whose driver
 * does not count them. It runs for each packet that the program sees.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "xdpverdicts_abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xdp_rxq_info {
	struct net_device *dev;
};

struct xdp_buff {
	struct xdp_rxq_info *rxq;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, XDPVERDICT_DEVICES);
	__type(key, struct xdpverdict_key);
	__type(value, struct xdpverdict_count);
} verdicts SEC(".maps");

SEC("fexit/program")
int xdpverdicts(__u64 *ctx)
{
	struct xdp_buff *xdp = (void *)ctx[0];
	struct net_device *dev = xdp->rxq->dev;
	struct xdpverdict_key key = {dev->nd_net.net->ns.inum, dev->ifindex};
	struct xdpverdict_count *c = bpf_map_lookup_elem(&verdicts, &key), none = {};
	__u32 verdict = ctx[1];

	if (!c) {
		bpf_map_update_elem(&verdicts, &key, &none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&verdicts, &key);
		if (!c)
			return 0;
	}
	if (verdict > XDP_REDIRECT)
		verdict = XDPVERDICT_INVALID;
	c->packets[verdict & (XDPVERDICTS - 1)]++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
