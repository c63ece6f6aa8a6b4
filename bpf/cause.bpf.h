/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Roles of devices, and causes of drops: what the side of a drop follows from (drops/side.h). */
#ifndef PKTLEDGER_CAUSE_BPF_H
#define PKTLEDGER_CAUSE_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "tally.bpf.h"

#include "copy.bpf.h"

#define IFF_LOOPBACK 0x8

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BALANCE_CAUSES);
	__type(key, struct balance_cause);
	__type(value, __u32);
} causes SEC(".maps");

__u32 cause_next;
__u8 sides[BALANCE_CAUSES];    /* enum balance_side, written by user space */
__u64 waiting[BALANCE_CAUSES]; /* datagrams of each cause that came before it was judged */
__u64 causes_full;	       /* packets whose cause found no room */

/* By the kind of link, dev->rtnl_link_ops->kind; NICs have none. */
static __always_inline enum balance_role role_of(struct net_device *dev)
{
	union balance_kind kind = {};

	if (dev->flags & IFF_LOOPBACK)
		return ROLE_INSIDE;
	if (!dev->rtnl_link_ops)
		return ROLE_EDGE;
	bpf_probe_read_kernel_str(kind.name, sizeof(kind.name), dev->rtnl_link_ops->kind);
	for (int i = 0; i < BALANCE_KINDS; i++) {
		if (cfg.kinds[i].word == kind.word)
			return i < BALANCE_KINDS_INSIDE ? ROLE_INSIDE : ROLE_STACKED;
	}
	return ROLE_EDGE;
}

/* In a UDP receive queue skb->dev is `dev_scratch`, no pointer: nothing then tells a namespace. */
static __always_inline void cause_device(struct balance_cause *cause, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	int ifindex = dev ? BPF_CORE_READ(dev, ifindex) : 0;
	struct net *net = dev ? BPF_CORE_READ(dev, nd_net.net) : NULL;
	struct sock *sk = skb->sk;
	bool known = ifindex > 0 && net && BPF_CORE_READ(net, ns.inum);

	cause->role = known ? role_of(dev) : ROLE_INSIDE;
	if (!known)
		cause->flags |= BALANCE_NO_DEV;
	if (!sk)
		return;
	cause->flags |= BALANCE_SK;
	if (!known || BPF_CORE_READ(sk, __sk_common.skc_net.net) == net)
		cause->flags |= BALANCE_OWN;
}

static __always_inline void cause_route(struct balance_cause *cause, struct sk_buff *skb)
{
	struct dst_entry *dst = (void *)(skb->_skb_refdst & SKB_DST_PTRMASK);

	if (!dst)
		return;
	cause->flags |= BALANCE_DST;
	if (cause->reason == cfg.reason_netfilter)
		cause->aux = (__u64)BPF_CORE_READ(dst, input);
}

static __always_inline __u32 cause_index(const struct balance_cause *cause)
{
	__u32 *known = bpf_map_lookup_elem(&causes, cause), index;

	if (known)
		return *known;
	index = __sync_fetch_and_add(&cause_next, 1);
	if (index >= BALANCE_CAUSES)
		return BALANCE_CAUSES;
	if (!bpf_map_update_elem(&causes, cause, &index, BPF_NOEXIST))
		return index;
	known = bpf_map_lookup_elem(&causes, cause); /* another CPU was first */
	return known ? *known : BALANCE_CAUSES;
}

#endif
