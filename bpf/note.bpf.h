/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is told of a socket or a device beside its number: read once an interval, so with probing
 * reads, which cost more but take any pointer.
 */
#ifndef PKTLEDGER_NOTE_BPF_H
#define PKTLEDGER_NOTE_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "watch_abi.h"

#define AF_INET		 2
#define AF_INET6	 10
#define TCP_TIME_WAIT	 6
#define TCP_NEW_SYN_RECV 12

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct watch_sock);
} socks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct watch_dev_key);
	__type(value, struct watch_dev);
} devs SEC(".maps");

static __always_inline void note_addresses(struct watch_sock *n, struct sock *sk)
{
	n->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	n->remote_port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	n->bound_dev = BPF_CORE_READ(sk, __sk_common.skc_bound_dev_if);
	if (n->family == AF_INET) {
		__be32 local = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		__be32 remote = BPF_CORE_READ(sk, __sk_common.skc_daddr);

		__builtin_memcpy(n->local, &local, 4);
		__builtin_memcpy(n->remote, &remote, 4);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_rcv_saddr)) {
		BPF_CORE_READ_INTO(&n->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&n->remote, sk, __sk_common.skc_v6_daddr);
	}
}

/* SOCK_INODE(): the inode lies behind the socket in one object. */
static __always_inline __u64 inode_of(struct sock *sk)
{
	struct socket_alloc *s = (void *)BPF_CORE_READ(sk, sk_socket);

	return s ? BPF_CORE_READ(s, vfs_inode.i_ino) : 0;
}

/* Since 6.18 UDP keeps them apart, by NUMA node (struct numa_drop_counters). */
static __always_inline __u64 drops_of(struct sock *sk)
{
	__u64 drops = (__u32)BPF_CORE_READ(sk, sk_drops.counter);

	if (bpf_core_field_exists(sk->sk_drop_counters)) {
		struct numa_drop_counters *c = BPF_CORE_READ(sk, sk_drop_counters);

		if (c)
			drops += (__u32)BPF_CORE_READ(c, drops0.counter) +
				 (__u32)BPF_CORE_READ(c, drops1.counter);
	}
	return drops;
}

static __always_inline void note_full(struct watch_sock *n, struct sock *sk)
{
	n->type = BPF_CORE_READ(sk, sk_type);
	n->protocol = BPF_CORE_READ(sk, sk_protocol);
	n->inode = inode_of(sk);
	n->drops = drops_of(sk);
	n->rcvbuf = BPF_CORE_READ(sk, sk_rcvbuf);
	n->rmem = BPF_CORE_READ(sk, sk_backlog.rmem_alloc.counter);
	n->queued = BPF_CORE_READ(sk, sk_receive_queue.qlen);
	if (bpf_core_field_exists(sk->sk_cgrp_data.cgroup))
		n->cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id);
}

static __always_inline void note_sock(__u64 cookie, struct sock *sk)
{
	struct watch_sock n = {};

	n.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	n.state = BPF_CORE_READ(sk, __sk_common.skc_state);
	n.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (n.family == AF_INET || n.family == AF_INET6)
		note_addresses(&n, sk);
	if (n.state != TCP_TIME_WAIT && n.state != TCP_NEW_SYN_RECV) /* sk_fullsock() */
		note_full(&n, sk);
	bpf_map_update_elem(&socks, &cookie, &n, BPF_ANY);
}

/* All that is left of a socket that has closed: where its packets went. */
static __always_inline void note_port(__u64 id, const struct watch_flow *f)
{
	struct watch_sock n = {
		.family = f->family,
		.protocol = f->proto,
		.local_port = bpf_ntohs(f->dst_port),
	};

	__builtin_memcpy(n.local, f->dst, sizeof(n.local));
	bpf_map_update_elem(&socks, &id, &n, BPF_ANY);
}

static __always_inline void note_dev(__u32 netns, __u32 ifindex, struct net_device *dev)
{
	struct watch_dev_key key = {netns, ifindex};
	struct watch_dev n = {};

	bpf_probe_read_kernel_str(n.name, sizeof(n.name), dev->name);
	bpf_map_update_elem(&devs, &key, &n, BPF_ANY);
}

#endif
