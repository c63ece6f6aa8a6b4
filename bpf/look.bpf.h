/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts of all CPUs, and the queues of sockets. */
#ifndef PKTLEDGER_LOOK_BPF_H
#define PKTLEDGER_LOOK_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "cause.bpf.h"
#include "cells.bpf.h"
#include "filter.bpf.h"

#define MAX_QUEUE (1 << 22) /* packets walked in a socket's queue */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

/* Sockets whose queues are looked at. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32); /* the socket's cell */
} sockets SEC(".maps");

__u32 take_unread; /* balance_sockets: also those that have something unread, whatever the port */
__u32 look_begun;  /* set to 0 by user space */
struct balance_look look;
static struct balance_tally look_before;

__u32 unread_from; /* balance_unread: packets of each queue that were told before */

static __always_inline void tally_add(struct balance_tally *sum, const struct balance_tally *t)
{
	__u64 *to = (void *)sum;
	const __u64 *from = (const void *)t;

	for (int i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static long look_cpu(__u32 cpu, void *unused)
{
	struct balance_tally *t = bpf_map_lookup_elem(&tallies, &cpu);

	if (t)
		tally_add(&look.sum, t);
	return 0;
}

/* What came before its cause was judged is on the side that it was judged to be on. */
static long look_cause(__u32 index, void *unused)
{
	__u32 side;

	if (index >= BALANCE_CAUSES)
		return 1;
	side = sides[index];
	if (side != SIDE_UNJUDGED)
		look.sum.dropped[side & (SIDES - 1)] += waiting[index];
	return 0;
}

static __always_inline void look_sum(void)
{
	__builtin_memset(&look.sum, 0, sizeof(look.sum));
	bpf_loop(cfg.cpus, look_cpu, NULL, 0);
	bpf_loop(cause_next, look_cause, NULL, 0);
}

static __always_inline bool tally_same(const struct balance_tally *a, const struct balance_tally *b)
{
	const __u64 *x = (const void *)a, *y = (const void *)b;
	__u64 differ = 0;

	for (int i = 0; i < sizeof(*a) / sizeof(*x); i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

/*
 * Packets that wait for the reader. udp_recvmsg() moves them from the second queue to the first:
 * read in this order, what is just being moved may be missed, but is not seen twice.
 */
static __always_inline __u32 queue_length(struct sock *sk)
{
	struct udp_sock *up = (void *)sk;
	__u32 first = BPF_CORE_READ(up, reader_queue.qlen);

	barrier();
	return first + BPF_CORE_READ(sk, sk_receive_queue.qlen);
}

/* Where packets are merged, their datagrams are counted one packet after the other. */
struct weight_walk {
	struct sk_buff *skb;
	struct sk_buff_head *head;
	__u64 datagrams;
};

static long weight_step(__u32 i, struct weight_walk *w)
{
	struct sk_buff *skb = w->skb;
	struct skb_shared_info *shared;

	if (!skb || (void *)skb == (void *)w->head)
		return 1;
	shared = (void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, end));
	w->datagrams += BPF_CORE_READ(shared, gso_size) ? BPF_CORE_READ(shared, gso_segs) : 1;
	w->skb = BPF_CORE_READ(skb, next);
	return 0;
}

static __always_inline __u64 queue_weight(struct sock *sk)
{
	struct udp_sock *up = (void *)sk;
	struct weight_walk w = {};

	w.head = (void *)&up->reader_queue;
	w.skb = BPF_CORE_READ(up, reader_queue.next);
	bpf_loop(MAX_QUEUE, weight_step, &w, 0);
	w.head = (void *)&sk->sk_receive_queue;
	w.skb = BPF_CORE_READ(sk, sk_receive_queue.next);
	bpf_loop(MAX_QUEUE, weight_step, &w, 0);
	return w.datagrams;
}

static __always_inline void look_at(struct sock *sk, __u32 index)
{
	struct balance_cell *cell = bpf_map_lookup_elem(&cells, &index);
	__u32 packets;

	if (!cell || !has_any(&cell->matched))
		return;
	packets = queue_length(sk);
	if (!BPF_CORE_READ(sk, sk_socket)) /* closed: freed, with its queue, after a grace period */
		look.dying += packets;
	if (has_any(&cell->others))
		look.mixed += packets;
	else
		look.queued += cell->size_min ? queue_weight(sk) : packets;
}

struct queue_walk {
	struct seq_file *seq;
	struct sk_buff *skb;
	struct sk_buff_head *head;
	__u32 cell;
	__u32 n; /* packets passed, of both queues */
};

/* Too large for the stack; there is one reader. */
static struct balance_queued queued;

static __always_inline void tell_queued(struct queue_walk *w)
{
	struct skb_view v;
	struct datagram d;
	__u32 start, layer, have;

	skb_view_probed(&v, w->skb);
	if (datagram_parse(&v, &d) != DATAGRAM_HERE)
		return;
	if (!cfg.frames) {
		v.at.mac_header = HEADER_UNSET;
		v.at.network_header = d.l3;
	}
	start = filter_start(&v.at, &layer);
	have = v.at.tail - start;
	if (have > BALANCE_HEADERS)
		have = BALANCE_HEADERS;
	if (bpf_probe_read_kernel(queued.bytes, have, v.at.head + start))
		return;
	queued.cell = w->cell;
	queued.layer = layer;
	queued.have = have;
	queued.port = d.dst_port;
	queued.payload = d.bytes;
	queued.size = d.size;
	queued.segments = d.segments;
	queued.length =
		d.payload - start + (d.size ? d.size : d.bytes) + (cfg.frames ? 0 : ETH_HLEN);
	bpf_seq_write(w->seq, &queued, sizeof(queued));
}

static long queue_step(__u32 i, struct queue_walk *w)
{
	struct sk_buff *skb = w->skb;

	if (!skb || (void *)skb == (void *)w->head || w->n >= unread_from + BALANCE_CHUNK)
		return 1;
	if (w->n >= unread_from)
		tell_queued(w);
	w->n++;
	w->skb = BPF_CORE_READ(skb, next);
	return 0;
}

#endif
