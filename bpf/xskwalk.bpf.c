// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds the AF_XDP sockets of the host among the open files of all tasks, and writes what their
 * rings lost: for kernels where sock_diag does not tell.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "xskwalk_abi.h"

#define AF_XDP 44

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xsk_queue {
	__u64 invalid_descs;
	__u64 queue_empty_descs;
};

struct xsk_buff_pool {
	struct xsk_queue *fq;
};

struct xdp_sock {
	struct xsk_queue *rx, *tx;
	struct net_device *dev;
	struct xsk_buff_pool *pool;
	__u16 queue_id;
	bool zc;
	__u64 rx_dropped;
	__u64 rx_queue_full;
};

#pragma clang attribute pop

/* Counters of a ring; a socket need not have it. */
static __always_inline __u64 invalid(struct xsk_queue *q)
{
	return q ? BPF_CORE_READ(q, invalid_descs) : 0;
}

static __always_inline __u64 empty(struct xsk_queue *q)
{
	return q ? BPF_CORE_READ(q, queue_empty_descs) : 0;
}

SEC("iter/task_file")
int xskwalk(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct xskwalk_record r = {};
	struct socket *socket;
	struct xdp_sock *xs;
	struct net_device *dev;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = (void *)bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || BPF_CORE_READ(sk, __sk_common.skc_family) != AF_XDP)
		return 0;
	xs = (struct xdp_sock *)sk;
	dev = BPF_CORE_READ(xs, dev);
	if (!dev)
		return 0;
	r.inode = BPF_CORE_READ(file, f_inode, i_ino);
	r.rx_dropped = BPF_CORE_READ(xs, rx_dropped);
	r.rx_ring_full = BPF_CORE_READ(xs, rx_queue_full);
	r.rx_invalid_descs = invalid(BPF_CORE_READ(xs, rx));
	r.tx_invalid_descs = invalid(BPF_CORE_READ(xs, tx));
	r.tx_ring_empty = empty(BPF_CORE_READ(xs, tx));
	r.rx_fill_ring_empty = empty(BPF_CORE_READ(xs, pool, fq));
	r.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	r.ifindex = BPF_CORE_READ(dev, ifindex);
	r.pid = BPF_CORE_READ(task, tgid);
	r.queue = BPF_CORE_READ(xs, queue_id);
	r.zero_copy = BPF_CORE_READ(xs, zc);
	BPF_CORE_READ_STR_INTO(&r.comm, task, comm);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
