// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A bottleneck for test_search.py: an XDP program that drops what comes faster than RATE packets/s,
 * with BURST packets of credit. A GCRA: each packet moves the theoretical arrival of the next.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define INTERVAL (1000000000ULL / RATE)

static __u64 next;

SEC("xdp")
int police(struct xdp_md *ctx)
{
	__u64 now = bpf_ktime_get_ns(), from = next > now ? next : now;

	if (from - now > (BURST - 1) * INTERVAL)
		return XDP_DROP;
	next = from + INTERVAL;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
