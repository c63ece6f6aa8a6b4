/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Observer for frames that XDP loses, such as failed redirects, invalid verdicts, and batches that
 * an interface or a CPU refuses. Most were never an skb, so skb:kfree_skb does not report them. The
 * key records whether another event reports the same frame, and user space decides which one to
 * count. The file also has the observers of rare events that explain missing data (struct sign).
 */
#ifndef PKTLEDGER_XDP_BPF_H
#define PKTLEDGER_XDP_BPF_H

#include "callers.bpf.h"
#include "watch.bpf.h"
#include "xdp_abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_prog_aux {
	__u32 id;
};

struct bpf_prog {
	enum bpf_attach_type expected_attach_type;
	struct bpf_prog_aux *aux;
};

/* This field is in the middle of struct net_device. Other programs do not need it. */
struct net_device___generic {
	struct bpf_prog *xdp_prog;
};

struct xdp_cpumap_stats {
	unsigned int redirect;
	unsigned int pass;
	unsigned int drop;
};

/* The fields of struct netdev_queue for programs that get a queue. */
struct dql___queue {
	unsigned long history[4];
};

struct netdev_queue___dql {
	struct net_device *dev;
	struct dql___queue dql;
};

struct inet_sock {
	__be16 inet_sport; /* unlike skc_num it stays when the socket is closed */
};

#pragma clang attribute pop

MAP(xdp_counts, PERCPU_HASH, XDPLOSS_KEYS, struct xdploss_key, struct xdploss_count);

static __always_inline void count_frames(struct net_device *dev, const struct xdploss_key *key,
					 __u32 packets)
{
	struct xdploss_count *c = bpf_map_lookup_elem(&xdp_counts, key), first = {1, packets};

	if (!c && !bpf_map_update_elem(&xdp_counts, key, &first, BPF_NOEXIST)) {
		if (dev)
			note_dev(key->netns, key->ifindex, dev);
		return;
	}
	if (!c) /* another CPU may have added it */
		c = bpf_map_lookup_elem(&xdp_counts, key);
	if (c) {
		c->events++;
		c->packets += packets;
	} else {
		LOSS(unframed, packets);
	}
}

static __always_inline void at_device(struct xdploss_key *key, struct net_device *dev)
{
	if (!dev)
		return;
	key->ifindex = BPF_CORE_READ(dev, ifindex);
	key->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

/*
 * Records which program returned the verdict, and whether the frame was an skb (generic mode) or
 * was in a map's program.
 */
static __always_inline void by_program(struct xdploss_key *key, struct net_device *dev,
				       struct bpf_prog *prog)
{
	struct net_device___generic *generic = (void *)dev;
	int type;

	if (!prog)
		return;
	key->prog_id = BPF_CORE_READ(prog, aux, id);
	type = BPF_CORE_READ(prog, expected_attach_type);
	if (type == BPF_XDP_DEVMAP || type == BPF_XDP_CPUMAP)
		key->flags |= XDPLOSS_MAP_PROG;
	if (dev && BPF_CORE_READ(generic, xdp_prog) == prog)
		key->flags |= XDPLOSS_GENERIC;
}

SEC("?tp_btf/xdp_redirect_err")
int xdplosses_redirect(__u64 *ctx)
{
	struct net_device *dev = (void *)ctx[0];
	struct xdploss_key key = {
		.kind = XDPLOSS_REDIRECT,
		.act = XDP_REDIRECT,
		.map_type = ctx[4],
		.err = (int)ctx[3],
		.map_id = (__u32)ctx[5],
	};

	/* without a map: INT_MAX (bpf_xdp_redirect) */
	if (!key.map_type)
		key.map_id = 0;
	at_device(&key, dev);
	by_program(&key, dev, (void *)ctx[1]);
	count_frames(dev, &key, 1);
	return 0;
}

static __always_inline void count_exception(__u64 *ctx)
{
	struct net_device *dev = (void *)ctx[0];
	struct xdploss_key key = {.kind = XDPLOSS_EXCEPTION, .act = ctx[2]};

	/* drivers report a failed redirect here (goto xdp_abort) and also in xdp_redirect_err */
	if (key.act == XDP_REDIRECT)
		return;
	if (key.act > XDP_REDIRECT)
		key.act = XDP_REDIRECT + 1; /* invalid verdict: one key for all of them */
	at_device(&key, dev);
	by_program(&key, dev, (void *)ctx[1]);
	/*
	 * On a veth the same verdict may apply to an skb, which the kernel then frees as dropped,
	 * or to a frame, which it frees without an event. Only the caller tells the two apart.
	 * After a failed XDP_TX the skb is already consumed, and its page is lost without an event.
	 */
	if (key.act != XDP_TX && is_called_by(ctx, places.xdp[0].start, places.xdp[0].end))
		key.flags |= XDPLOSS_SKB;
	count_frames(dev, &key, 1);
}

SEC("?tp_btf/xdp_devmap_xmit")
int xdplosses_devmap(__u64 *ctx)
{
	struct net_device *from = (void *)ctx[0], *to = (void *)ctx[1];
	struct xdploss_key key = {.kind = XDPLOSS_DEVMAP, .act = XDP_REDIRECT, .err = (int)ctx[4]};
	__u32 drops = ctx[3];

	if (!drops)
		return 0;
	at_device(&key, to);
	if (from)
		key.from = BPF_CORE_READ(from, ifindex);
	count_frames(to, &key, drops);
	return 0;
}

SEC("?tp_btf/xdp_bulk_tx")
int xdplosses_bulk_tx(__u64 *ctx)
{
	struct net_device *dev = (void *)ctx[0];
	struct xdploss_key key = {.kind = XDPLOSS_BULK_TX, .act = XDP_TX, .err = (int)ctx[3]};
	__u32 drops = ctx[2];

	if (!drops)
		return 0;
	at_device(&key, dev);
	count_frames(dev, &key, drops);
	return 0;
}

SEC("?tp_btf/xdp_cpumap_enqueue")
int xdplosses_cpumap_enqueue(__u64 *ctx)
{
	struct xdploss_key key = {
		.kind = XDPLOSS_CPUMAP_QUEUE,
		.act = XDP_REDIRECT,
		.map_type = BPF_MAP_TYPE_CPUMAP,
		.map_id = (__u32)ctx[0],
		.from = (__u32)ctx[3],
	};
	__u32 processed = ctx[1], drops = ctx[2];

	/* `processed` includes drops, except in generic mode, where xdp_redirect_err follows */
	if (!drops || drops > processed)
		return 0;
	count_frames(NULL, &key, drops);
	return 0;
}

/* Runs for every batch in a CPU map thread, so it is as short as possible. */
SEC("?tp_btf/xdp_cpumap_kthread")
int xdplosses_cpumap_kthread(__u64 *ctx)
{
	struct xdploss_key key = {
		.kind = XDPLOSS_CPUMAP_ALLOC,
		.act = XDP_REDIRECT,
		.map_type = BPF_MAP_TYPE_CPUMAP,
		.map_id = (__u32)ctx[0],
	};
	struct xdp_cpumap_stats *stats = (void *)ctx[4];
	__u32 drops = ctx[2], verdicts = stats ? BPF_CORE_READ(stats, drop) : 0;

	if (drops)
		count_frames(NULL, &key, drops);
	if (verdicts) {
		key.kind = XDPLOSS_CPUMAP_PROGRAM;
		count_frames(NULL, &key, verdicts);
	}
	return 0;
}

MAP(signs, HASH, SIGN_KEYS, struct sign_key, struct sign);

static __always_inline struct sign *new_sign(const struct sign_key *key, struct sock *sk,
					     struct net_device *dev)
{
	struct sign new = {};

	if (sk) {
		sock_read(&new.sock, sk);
		new.sock.local_port = bpf_ntohs(key->flow.src_port);
	} else {
		BPF_CORE_READ_STR_INTO(&new.dev.name, dev, name);
	}
	return map_value(&signs, key, &new);
}

/* Either `sk` or `dev` is NULL. */
static __always_inline int count_sign(struct sign_key *key, struct sock *sk, struct net_device *dev)
{
	struct sign *s = bpf_map_lookup_elem(&signs, key);

	if (!s)
		s = new_sign(key, sk, dev);
	if (!s) {
		LOSS(merged, 1);
		__builtin_memset(&key->flow, 0, sizeof(key->flow));
		s = bpf_map_lookup_elem(&signs, key);
	}
	if (s)
		__sync_fetch_and_add(&s->events, 1);
	return 0;
}

/*
 * Without a socket no connection was reset: kfree_skb reports the segment that was refused. Before
 * Linux 6.13 the verifier takes it that neither argument is NULL, so both are read as numbers.
 */
static __always_inline int on_reset(__u64 *ctx, int reason)
{
	struct sign_key key = {.kind = SIGN_RESET, .reason = reason};
	struct {
		struct sock *sk;
		__u64 skb;
	} args;
	struct sock *sk;

	if (bpf_probe_read_kernel(&args, sizeof(args), ctx) || !args.sk)
		return 0;
	sk = args.sk;
	key.answer = args.skb != 0;
	flow_of(&key.flow, sk);
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_CLOSE)
		key.flow.src_port = BPF_CORE_READ((struct inet_sock *)sk, inet_sport);
	key.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	return count_sign(&key, sk, NULL);
}

SEC("?tp_btf/tcp_send_reset")
int signs_reset(__u64 *ctx)
{
	return on_reset(ctx, (int)ctx[2]);
}

SEC("?tp_btf/tcp_send_reset")
int signs_reset_only(__u64 *ctx)
{
	return on_reset(ctx, SIGN_NO_REASON);
}

static __always_inline int on_queue(struct sign_key *key, struct net_device *dev, __u64 queue)
{
	key->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	key->ifindex = BPF_CORE_READ(dev, ifindex);
	key->queue = queue;
	return count_sign(key, NULL, dev);
}

SEC("?tp_btf/net_dev_xmit_timeout")
int signs_timeout(__u64 *ctx)
{
	struct sign_key key = {.kind = SIGN_TIMEOUT};

	return on_queue(&key, (void *)ctx[0], ctx[1]);
}

/* The event does not report its queue, but its last argument is a part of the queue. */
SEC("?tp_btf/dql_stall_detected")
int signs_stall(__u64 *ctx)
{
	struct netdev_queue___dql *q;
	struct sign_key key = {.kind = SIGN_STALL};
	struct net_device *dev;

	q = (void *)(ctx[5] - bpf_core_field_offset(struct netdev_queue___dql, dql.history));
	dev = BPF_CORE_READ(q, dev);
	return on_queue(&key, dev,
			((__u64)q - (__u64)BPF_CORE_READ(dev, _tx)) /
				bpf_core_type_size(struct netdev_queue));
}

#endif
