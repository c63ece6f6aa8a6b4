// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The checkpoints of `trace --balance`: where datagrams of the flow enter the host, leave it, end
 * in it or are read, and a look at all of that at once. include/balance_abi.h says what is the
 * entry of a packet. Each program first passes over what is not UDP, then runs EXPR.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "cause.bpf.h"
#include "cells.bpf.h"
#include "datagram.bpf.h"
#include "filter.bpf.h"
#include "look.bpf.h"
#include "place.bpf.h"
#include "stream.bpf.h"

#define PACKET_LOOPBACK 5
#define MSG_PEEK	0x2
#define MSG_ERRQUEUE	0x2000
#define AF_INET		2
#define AF_INET6	10

static __always_inline bool is_datagram(const struct skb_view *v, struct datagram *d,
					struct balance_tally *t)
{
	enum datagram_result found = datagram_parse(v, d);

	if (found == DATAGRAM_HIDDEN)
		TALLY(t->hidden, 1);
	return found == DATAGRAM_HERE;
}

/*
 * The filter sees a merged packet as one of its segments, and each packet in the same way wherever
 * it is: from its IP header on, as long as its frame is without VLAN tags. Only an expression that
 * asks for Ethernet addresses is given the frame, where there is one.
 */
static __always_inline bool of_flow(const struct skb_view *v, const struct datagram *d)
{
	__u32 len = d->size ? d->headers + d->size : v->len;
	struct packet_place at = v->at;

	if (!cfg.frames) {
		at.mac_header = HEADER_UNSET;
		at.network_header = d->l3;
		len += ETH_HLEN;
	}
	return filter_matches(&at, len);
}

/* IPv4 and IPv6 multicast, IPv4's limited broadcast. */
static __always_inline bool to_many(const __u8 *l3)
{
	return l3[0] >> 4 == 4 ? l3[16] >= 224 : l3[24] == 0xff;
}

static __always_inline void enter(struct sk_buff *skb, const struct skb_view *v,
				  const struct datagram *d, struct balance_tally *t, bool counts)
{
	if (counts) {
		TALLY(t->entered, d->segments);
		if (to_many(d->headers_at))
			TALLY(t->multicast, d->segments);
	}
	stream_see(skb, v, d, t, false);
}

SEC("tp_btf/netif_receive_skb")
int balance_receive(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct net_device *dev = skb->dev;
	struct balance_tally *t = tally();
	struct balance_cell *cell;
	struct skb_view v;
	struct datagram d;
	bool ours;

	skb_view(&v, skb);
	if (!t || !is_datagram(&v, &d, t))
		return 0;
	cell = cell_of(dev->nd_net.net->ns.inum, d.dst_port);
	if (!cell)
		return 0;
	ours = of_flow(&v, &d);
	lengths_came(cell, ours ? &cell->matched : &cell->others, &d);
	if (!ours)
		return 0;
	port_came(d.dst_port);
	if (BPF_CORE_READ_BITFIELD(skb, pkt_type) == PACKET_LOOPBACK) {
		enter(skb, &v, &d, t, true);
	} else if (!skb->skb_iif && role_of(dev) == ROLE_EDGE) {
		enter(skb, &v, &d, t, true);
		TALLY(t->received, d.segments);
	}
	return 0;
}

/* Whether the socket that sent the packet is in the namespace of the device. */
static __always_inline bool is_own(struct sk_buff *skb, struct net_device *dev)
{
	struct sock *sk = skb->sk;

	return sk && sk->__sk_common.skc_net.net == dev->nd_net.net;
}

SEC("tp_btf/net_dev_queue")
int balance_queue(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct net_device *dev = skb->dev;
	struct balance_tally *t = tally();
	enum balance_role role;
	struct skb_view v;
	struct datagram d;

	skb_view(&v, skb);
	if (!t || !is_datagram(&v, &d, t) || !of_flow(&v, &d))
		return 0;
	role = role_of(dev);
	if (role == ROLE_STACKED)
		return 0;
	if (is_own(skb, dev))
		enter(skb, &v, &d, t, role == ROLE_INSIDE);
	else if (role == ROLE_EDGE)
		TALLY(t->left, d.segments);
	return 0;
}

static __always_inline void is_read(struct balance_tally *t, const struct balance_cell *cell,
				    __u32 bytes)
{
	bool ours = balance_has_length(&cell->matched, bytes);
	__u32 datagrams = datagrams_in(cell, bytes);

	if (!bytes && !ours) /* the socket was shut down */
		return;
	if (has_any(&cell->others)) {
		if (balance_has_length(&cell->others, bytes)) {
			TALLY(t->ambiguous, ours);
			return;
		}
		if (!ours) {
			TALLY(t->unplaced, 1);
			return;
		}
	}
	if (!datagrams)
		TALLY(t->unsized, 1);
	TALLY(t->delivered, datagrams ? datagrams : 1);
}

SEC("tp_btf/sock_recv_length")
int balance_read(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int bytes = (int)ctx[1], flags = (int)ctx[2];
	__u16 port = sk->__sk_common.skc_num;
	struct balance_tally *t = tally();
	struct balance_cell *cell;

	if (bytes < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || sk->sk_protocol != IPPROTO_UDP ||
	    !has_come_to(port))
		return 0;
	cell = cell_of(sk->__sk_common.skc_net.net->ns.inum, port);
	if (!cell || !t)
		return 0;
	if (has_any(&cell->matched))
		is_read(t, cell, bytes);
	else if (!has_any(&cell->others))
		TALLY(t->elsewhere, 1);
	return 0;
}

SEC("tp_btf/kfree_skb")
int balance_drop(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct balance_tally *t = tally();
	struct balance_cause cause = {};
	struct sock *rx_sk = NULL;
	struct skb_view v;
	struct datagram d;
	__u32 index, side;

	skb_view(&v, skb);
	if (!t || !is_datagram(&v, &d, t) || !of_flow(&v, &d))
		return 0;
	cause.location = drop_place(ctx, cfg.freeing_start, cfg.freeing_end);
	if (cfg.has_reason)
		cause.reason = (int)ctx[2];
	if (cfg.has_rx_sk)
		rx_sk = (void *)ctx[3];
	cause_device(&cause, skb);
	cause_route(&cause, skb);
	if (is_copy(skb, cause.reason, rx_sk))
		cause.flags |= BALANCE_COPY;
	index = cause_index(&cause);
	if (index >= BALANCE_CAUSES) {
		__sync_fetch_and_add(&causes_full, d.segments);
		return 0;
	}
	side = sides[index];
	if (side == SIDE_UNJUDGED) {
		__sync_fetch_and_add(&waiting[index], d.segments);
		TALLY(t->dropped[SIDE_UNJUDGED], 1);
	} else {
		TALLY(t->dropped[side & (SIDES - 1)], d.segments);
	}
	if (side != SIDE_NONE)
		stream_see(skb, &v, &d, t, true);
	return 0;
}

/*
 * Called for each known socket and once more at the end. All counts are read before and after: if
 * they are the same, they and the lengths of the queues are of one moment.
 */
SEC("iter/bpf_sk_storage_map")
int balance_looks(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	__u32 *cell = ctx->value;

	if (!look_begun) {
		look_begun = 1;
		look.queued = look.mixed = look.dying = 0;
		look_sum();
		look_before = look.sum;
	}
	if (sk && cell) {
		look_at(sk, *cell);
		return 0;
	}
	look_sum();
	look.moved = !tally_same(&look_before, &look.sum);
	return 0;
}

/* Which sockets to look at: of all processes, in all namespaces. */
SEC("iter/task_file")
int balance_sockets(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct balance_cell *cell;
	__u32 index, *known;
	struct socket *sock;
	struct sock *sk;

	if (!file)
		return 0;
	sock = bpf_sock_from_file(file);
	if (!sock)
		return 0;
	sk = sock->sk;
	if (!sk || sk->sk_protocol != IPPROTO_UDP ||
	    (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6))
		return 0;
	index = balance_cell_index(sk->__sk_common.skc_net.net->ns.inum, sk->__sk_common.skc_num);
	cell = bpf_map_lookup_elem(&cells, &index);
	if (!cell || !(has_any(&cell->matched) || (take_unread && queue_length(sk))))
		return 0;
	known = bpf_sk_storage_get(&sockets, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (known)
		*known = index;
	return 0;
}

/* The packets that lie unread, for the filter in user space: some of each socket at a time. */
SEC("iter/bpf_sk_storage_map")
int balance_unread(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct queue_walk w = {.seq = ctx->meta->seq};
	struct udp_sock *up = (void *)ctx->sk;
	__u32 *cell = ctx->value;
	struct sock *sk = ctx->sk;

	if (!sk || !cell)
		return 0;
	w.cell = *cell;
	w.head = (void *)&up->reader_queue;
	w.skb = BPF_CORE_READ(up, reader_queue.next);
	bpf_loop(MAX_QUEUE, queue_step, &w, 0);
	w.head = (void *)&sk->sk_receive_queue;
	w.skb = BPF_CORE_READ(sk, sk_receive_queue.next);
	bpf_loop(MAX_QUEUE, queue_step, &w, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
