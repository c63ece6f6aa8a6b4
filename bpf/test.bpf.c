// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Test programs, which are not part of pktledger. The packet filter appears in two programs. One
 * gets a packet from a map, and BPF_PROG_RUN returns its verdict. The other counts drops that match
 * the filter. There is also a third-party XDP program.
 */
#include "kernel.h"

#include "filter.bpf.h"
#include "filter_abi.h"

MAPPED(test, 1, struct filter_test);

SEC("raw_tp")
int matches(void *ctx)
{
	__u32 zero = 0;
	struct filter_test *t = bpf_map_lookup_elem(&test, &zero);
	struct linear at;

	if (!t)
		return -1;
	at = (struct linear){
		.head = t->head,
		.data = t->head + t->data,
		.tail = t->tail,
		.network_header = t->network_header,
		.mac_header = t->mac_header,
		.protocol = t->protocol,
		.tag = t->tag,
	};
	return filter_matches(&at, t->len, NULL, NULL);
}

__u64 dropped;

SEC("?tp_btf/kfree_skb")
int drop(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct linear at = linear_of(skb);

	at.tag = filter_tag(skb);
	if (filter_matches(&at, skb->len, NULL, NULL))
		__sync_fetch_and_add(&dropped, 1);
	return 0;
}

/* A third-party XDP program, with BTF like clang generates. */
const volatile int verdict;

SEC("?xdp")
int verdict_of_the_test(struct xdp_md *ctx)
{
	return verdict;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
