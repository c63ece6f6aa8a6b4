/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fills in a struct watch_sock from a socket with probing reads, which accept any pointer. */
#ifndef PKTLEDGER_SOCK_BPF_H
#define PKTLEDGER_SOCK_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "headers.h"
#include "kernel.h"
#include "watch_abi.h"

#define TCP_TIME_WAIT	 6
#define TCP_CLOSE	 7
#define TCP_LISTEN	 10
#define TCP_NEW_SYN_RECV 12

/* Returns the socket behind an open file, or NULL if the file is not a socket. */
static __always_inline struct sock *sock_of_file(struct file *file)
{
	struct socket *socket = file ? bpf_sock_from_file(file) : NULL;

	return socket ? socket->sk : NULL;
}

/*
 * Returns SOCK_INODE(): the inode follows the socket in one object. 0: closed, or the kernel's own.
 */
static __always_inline __u64 sock_inode(struct sock *sk)
{
	struct socket_alloc *s = (void *)BPF_CORE_READ(sk, sk_socket);

	return s ? BPF_CORE_READ(s, vfs_inode.i_ino) : 0;
}

static __always_inline void sock_addresses(struct watch_sock *n, struct sock *sk)
{
	n->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (n->family == AF_INET) {
		__be32 local = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);

		__builtin_memcpy(n->local, &local, 4);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_rcv_saddr)) {
		BPF_CORE_READ_INTO(&n->local, sk, __sk_common.skc_v6_rcv_saddr);
	}
}

/* Since Linux 6.18 UDP counts drops separately, by NUMA node (struct numa_drop_counters). */
static __always_inline __u64 sock_drops(struct sock *sk)
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

static __always_inline void sock_full(struct watch_sock *n, struct sock *sk)
{
	n->type = BPF_CORE_READ(sk, sk_type);
	n->protocol = BPF_CORE_READ(sk, sk_protocol);
	n->inode = sock_inode(sk);
	n->drops = sock_drops(sk);
	n->rcvbuf = BPF_CORE_READ(sk, sk_rcvbuf);
	if (bpf_core_field_exists(sk->sk_cgrp_data.cgroup))
		n->cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id);
}

static __always_inline void sock_read(struct watch_sock *n, struct sock *sk)
{
	__builtin_memset(n, 0, sizeof(*n));
	n->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	n->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	n->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (n->family == AF_INET || n->family == AF_INET6)
		sock_addresses(n, sk);
	if (n->state != TCP_TIME_WAIT && n->state != TCP_NEW_SYN_RECV) /* sk_fullsock() */
		sock_full(n, sk);
}

/* Returns the flow of the packets that the socket sends. An IPv6 socket may use IPv4 addresses. */
static __always_inline void flow_of(struct watch_flow *f, const struct sock *sk)
{
	struct in6_addr to = BPF_CORE_READ(sk, __sk_common.skc_v6_daddr);
	bool six = BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET6;

	__builtin_memset(f, 0, sizeof(*f));
	f->proto = PROTO_TCP;
	f->src_port = bpf_htons(BPF_CORE_READ(sk, __sk_common.skc_num));
	f->dst_port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	if (six && !(!to.in6_u.u6_addr32[0] && !to.in6_u.u6_addr32[1] &&
		     to.in6_u.u6_addr32[2] == bpf_htonl(0xffff))) {
		f->family = AF_INET6;
		BPF_CORE_READ_INTO(&f->src, sk, __sk_common.skc_v6_rcv_saddr);
		__builtin_memcpy(f->dst, &to, sizeof(f->dst));
	} else {
		f->family = AF_INET;
		BPF_CORE_READ_INTO((__be32 *)f->src, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__be32 *)f->dst, sk, __sk_common.skc_daddr);
	}
}

#endif
