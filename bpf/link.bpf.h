/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tells from an interface's kind whether it leads out of this host. */
#ifndef PKTLEDGER_LINK_BPF_H
#define PKTLEDGER_LINK_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "balance_abi.h"
#include "kernel.h"
#include "skb.bpf.h"

const volatile struct link_kind link_kinds[LINK_KINDS];

/* By role: the kind that was found last, because most packets pass interfaces of a few kinds. */
__u64 link_last[LINK_ROLES];

/* Not static, so that it is verified once. `ops`: address of a struct rtnl_link_ops. */
__noinline __u32 link_look_up(__u64 ops, __u32 edge)
{
	void *name = (void *)BPF_CORE_READ((struct rtnl_link_ops *)ops, kind);
	union link_name kind = {};

	bpf_probe_read_kernel(&kind, sizeof(kind), name);
	for (int i = 0; i < LINK_KINDS; i++) {
		if ((kind.word & link_kinds[i].mask.word) == link_kinds[i].is.word)
			return link_kinds[i].role;
	}
	return edge;
}

/*
 * Returns the role that user space has chosen for the kind (dev->rtnl_link_ops->kind), which NICs
 * do not have. `inside`, `edge`: roles of loopback and of all other interfaces.
 */
static __always_inline __u32 link_role(struct net_device *dev, __u32 inside, __u32 edge)
{
	struct rtnl_link_ops *ops = (void *)FIELD_OF(dev, net_device, rtnl_link_ops);
	__u64 address;
	__u32 role;

	if (FIELD_OF(dev, net_device, flags) & IFF_LOOPBACK)
		return inside;
	if (!ops)
		return edge;
	for (int i = 0; i < LINK_ROLES; i++) {
		if (link_last[i] == (__u64)ops)
			return i ^ no_bits;
	}
	bpf_probe_read_kernel(&address, sizeof(address), &dev->rtnl_link_ops);
	role = link_look_up(address, edge);
	link_last[role % LINK_ROLES] = (__u64)ops;
	return role;
}

#endif
