// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The observers of lost packets: every skb that the kernel frees as dropped, every XDP redirect
 * that fails, and what lies unread in a socket when it closes. Each reads the stamp and settles
 * that number; what is not of this run is passed over after the port comparison.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "batch.bpf.h"
#include "copy.bpf.h"
#include "find.bpf.h"
#include "maps.bpf.h"
#include "place.bpf.h"
#include "second.bpf.h"

#define MAX_QUEUE (1 << 22) /* datagrams walked in a socket's queue */

/* Shared with xsk.bpf.c: the word of the packet that its program just redirected on this CPU. */
ONE_PER_CPU(cell, __u64);

/* Shared with sink.bpf.c, and mapped by the receiver: numbers that arrived. */
NUMBER_MAP(arrivals);

__u32 live_ifindex, live_netns;		/* the device that live frames leave by; 0: none */
__u32 redirect_ifindex, redirect_netns; /* a fault's program there redirects to no device, */
__u32 redirect_target;			/* to this one, where every frame is refused, */
__u32 redirect_cpumap;			/* or to CPUs by the map with this id; 0: not */
__u32 sink_takes; /* our XDP program ends packets as delivered: the kernel frees their skbs as drops
		   */
__u32 xsk_map_id; /* redirects into this map are ours */
__u64 unread_packets; /* found by the last walk over the socket's queue */
__u32 unread_settles; /* they are lost: the socket is about to be closed */

static __always_inline __u32 netns_of_dev(struct net_device *dev)
{
	return dev ? BPF_CORE_READ(dev, nd_net.net, ns.inum) : 0;
}

static __always_inline __u32 netns_of_sock(struct sock *sk)
{
	return sk ? BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) : 0;
}

/*
 * Where the packet was. For an skb that was in a UDP receive queue, skb->dev is `dev_scratch`,
 * no pointer: then the interface it came in by, and the socket's namespace if there is one.
 */
static __always_inline void cause_place(struct trace_cause *cause, struct sk_buff *skb,
					struct sock *rx_sk)
{
	struct net_device *dev = skb->dev;
	int ifindex = dev ? BPF_CORE_READ(dev, ifindex) : 0;
	__u32 netns = netns_of_dev(dev);

	if (ifindex > 0 && netns) {
		cause->ifindex = ifindex;
		cause->netns = netns;
	} else {
		cause->flags |= CAUSE_NO_DEV;
		cause->ifindex = skb->skb_iif;
		cause->netns = netns_of_sock(rx_sk ? rx_sk : skb->sk);
	}
	if (skb->sk)
		cause->flags |= CAUSE_SK;
}

/* Which hook dropped it is told only by the route: its input function (STAGES 3.4). */
static __always_inline void cause_route(struct trace_cause *cause, struct sk_buff *skb)
{
	struct dst_entry *dst = (void *)(skb->_skb_refdst & SKB_DST_PTRMASK);

	if (!dst)
		return;
	cause->flags |= CAUSE_DST;
	cause->aux = (__u64)BPF_CORE_READ(dst, input);
}

/*
 * For who keeps the books of one namespace: an end in another one. Asked before the packet is
 * looked at, because a receiver on the same host may end millions a second.
 */
static __always_inline bool is_elsewhere(struct sk_buff *skb, __u64 location)
{
	__u32 netns;

	if (!cfg.netns)
		return false;
	netns = skb->dev->nd_net.net->ns.inum; /* 0 if there is no device */
	if (!netns || netns == cfg.netns)
		return false;
#pragma unroll
	for (int i = 0; i < TRACE_HANDING; i++) {
		if (is_within(&cfg.handing[i], location))
			return false;
	}
	return true;
}

/* Whether the sink has just taken this very packet: it marks the arrival before the skb is freed.
 */
static __always_inline bool has_arrived(__u64 word)
{
	__u8 *arrived = number_byte(&arrivals, word, NULL);

	return arrived && *arrived;
}

/* `cause`: with what the tracepoint tells. `second`: see second.bpf.h. */
static __always_inline int end_of_skb(struct sk_buff *skb, struct trace_cause *cause,
				      struct sock *rx_sk, bool second)
{
	struct packet_place at = place_of(skb);
	const struct stamp_reader reader = {skb, &at};
	struct skb_shared_info *shared;
	__u16 size, segments = 1;
	struct packet p = {};
	bool known;
	__u32 index;

	switch (find_number(&reader, cause->location, &p)) {
	case PACKET_OTHER:
	case PACKET_NONE:
		return 0;
	case PACKET_UNREADABLE:
		LOSS(stamp_unreadable, 1);
		return 0;
	}
	if (!is_counted(p.word)) {
		LOSS(foreign, 1);
		return 0;
	}
	if (sink_takes && has_arrived(p.word))
		return 0;
	shared = (void *)(at.head + skb->end);
	size = BPF_CORE_READ(shared, gso_size);
	if (size && (is_within(&cfg.segmenting[0], cause->location) ||
		     is_within(&cfg.segmenting[1], cause->location)))
		return 0;
	known = second && is_settled(p.word);
	cause_place(cause, skb, rx_sk);
	if (cause->reason == cfg.reason_netfilter)
		cause_route(cause, skb);
	if (is_copy(skb, cause->reason, rx_sk))
		cause->flags |= CAUSE_COPY;

	index = cause_index(cause);
	if (size)
		segments = BPF_CORE_READ(shared, gso_segs);
	if (segments > 1)
		settle_segments(&reader, &p, index, size, segments);
	else
		settle(p.word, index);
	if (!known)
		count(index, segments, p.l3_bytes, skb->truesize);
	return 0;
}

static __always_inline int dropped(__u64 *ctx, bool second)
{
	struct trace_cause cause = {.observer = OBSERVER_KFREE_SKB};
	struct sk_buff *skb = (void *)ctx[0];
	struct sock *rx_sk = NULL;

	if (!is_my_turn(skb, OBSERVER_KFREE_SKB, second))
		return 0;
	cause.location = drop_place(ctx, cfg.freeing.start, cfg.freeing.end);
	if (is_elsewhere(skb, cause.location) ||
	    cause.location - cfg.ignore_start < cfg.ignore_end - cfg.ignore_start)
		return 0;
	if (cfg.has_reason)
		cause.reason = (int)ctx[2];
	if (cfg.has_rx_sk)
		rx_sk = (void *)ctx[3];
	return end_of_skb(skb, &cause, rx_sk, second);
}

SEC("tp_btf/kfree_skb")
int kfree_skb(__u64 *ctx)
{
	return dropped(ctx, false);
}

SEC("tp_btf/kfree_skb")
int kfree_skb_2nd(__u64 *ctx)
{
	return dropped(ctx, true);
}

/* Freed as if it had been used up. Of a clone nothing is known: another one may have gone on. */
static __always_inline int consumed(__u64 *ctx, bool second)
{
	struct trace_cause cause = {.location = ctx[1], .observer = OBSERVER_CONSUME_SKB};
	struct sk_buff *skb = (void *)ctx[0];
	bool found = false;

	if (!is_my_turn(skb, OBSERVER_CONSUME_SKB, second))
		return 0;
#pragma unroll
	for (int i = 0; i < TRACE_CONSUMING; i++)
		found |= is_within(&cfg.consuming[i], cause.location);
	if (!found)
		return 0;
	if (BPF_CORE_READ_BITFIELD(skb, cloned))
		cause.flags = CAUSE_COPY;
	return end_of_skb(skb, &cause, NULL, second);
}

SEC("?tp_btf/consume_skb")
int consume_skb(__u64 *ctx)
{
	return consumed(ctx, false);
}

SEC("?tp_btf/consume_skb")
int consume_skb_2nd(__u64 *ctx)
{
	return consumed(ctx, true);
}

/* `from` is an argument of the tracepoint, which the verifier lets us follow: no helper is called.
 */
static __always_inline bool is_live(struct net_device *from)
{
	return live_ifindex && from->ifindex == LOOPBACK_IFINDEX &&
	       from->nd_net.net->ns.inum == live_netns;
}

/* A live frame that never came into the device's batch: the device is down, or cannot. */
static __always_inline int live_redirect_err(struct trace_cause *cause)
{
	__u32 zero = 0, index;
	struct trace_batch *b = bpf_map_lookup_elem(&batch, &zero);

	if (!b || b->tail == b->head) {
		LOSS(cell_empty, 1);
		return 0;
	}
	cause->flags = CAUSE_LIVE;
	cause->ifindex = live_ifindex;
	cause->netns = live_netns;
	b->tail--;
	index = cause_index(cause);
	settle(b->word[b->tail % TRACE_BATCH], index);
	count_frames(index, 1);
	return 0;
}

static __always_inline bool is_followed(struct net_device *dev)
{
	return redirect_ifindex && dev->ifindex == redirect_ifindex &&
	       dev->nd_net.net->ns.inum == redirect_netns;
}

SEC("tp_btf/xdp_redirect_err")
int xdp_redirect_err(__u64 *ctx)
{
	struct net_device *dev = (void *)ctx[0];
	struct trace_cause cause = {.observer = OBSERVER_REDIRECT_ERR};
	__u32 zero = 0, index;
	__u64 *word;

	if (is_live(dev)) {
		cause.reason = (int)ctx[3];
		cause.aux = (__u32)ctx[4];
		return live_redirect_err(&cause);
	}
	if ((__u32)ctx[5] != xsk_map_id &&
	    ((__u32)ctx[4] != BPF_MAP_TYPE_UNSPEC || !is_followed(dev)))
		return 0;
	word = bpf_map_lookup_elem(&cell, &zero);
	if (!word || !*word) {
		LOSS(cell_empty, 1);
		return 0;
	}
	cause.reason = (int)ctx[3];
	cause.aux = (__u32)ctx[4];
	cause.ifindex = dev->ifindex;
	cause.netns = netns_of_dev(dev);
	index = cause_index(&cause);
	settle(*word, index);
	count(index, 1, 0, 0);
	*word = 0;
	return 0;
}

SEC("tp_btf/xdp_devmap_xmit")
int xdp_devmap_xmit(__u64 *ctx)
{
	struct net_device *from = (void *)ctx[0], *to = (void *)ctx[1];
	struct trace_cause cause = {.observer = OBSERVER_DEVMAP_XMIT, .reason = (int)ctx[4]};

	if (to->ifindex == live_ifindex && is_live(from)) {
		cause.flags = CAUSE_LIVE;
		cause.netns = live_netns;
	} else if (to->ifindex == redirect_target && is_followed(from)) {
		cause.netns = redirect_netns;
	} else {
		return 0;
	}
	cause.ifindex = to->ifindex;
	return end_of_batch(&cause, ctx[2], ctx[3], TRACE_BULK);
}

/* Here `processed` contains the drops. The device that it came by is not told. */
SEC("tp_btf/xdp_cpumap_enqueue")
int xdp_cpumap_enqueue(__u64 *ctx)
{
	struct trace_cause cause = {.observer = OBSERVER_CPUMAP};
	__u32 processed = ctx[1], drops = ctx[2];

	if (!redirect_cpumap || (__u32)ctx[0] != redirect_cpumap || drops > processed)
		return 0;
	cause.ifindex = redirect_ifindex;
	cause.netns = redirect_netns;
	return end_of_batch(&cause, processed - drops, drops, TRACE_BULK_CPU);
}

struct queue_walk {
	struct sk_buff *skb;
	struct sk_buff_head *head;
	__u32 index;
};

static long queue_step(__u32 n, struct queue_walk *w)
{
	struct sk_buff *skb = w->skb;
	struct packet_place at;
	struct packet p = {};

	if (!skb || (void *)skb == (void *)w->head)
		return 1;
	at = place_probed(skb);
	switch (packet_parse(&at, cfg.port, &p)) {
	case PACKET_STAMPED:
		if (unread_settles)
			settle(p.word, w->index);
		unread_packets++;
		break;
	case PACKET_UNREADABLE: /* a segment, in pages: settled by the event of its end */
		unread_packets++;
		break;
	}
	w->skb = BPF_CORE_READ(skb, next);
	return 0;
}

static __always_inline void walk_queue(struct sk_buff_head *head, __u32 index)
{
	struct queue_walk w = {.head = head, .index = index};

	w.skb = BPF_CORE_READ(head, next);
	bpf_loop(MAX_QUEUE, queue_step, &w, 0);
}

/*
 * What lies in the receive queue of the flow's socket, when nobody reads or sends any more: in
 * flight, or lost if the socket is about to be closed. The kernel frees it from an RCU callback,
 * which may run where tracing is suppressed; it is the numbers seen here that count, the events
 * confirm them.
 */
SEC("iter/udp")
int unread(struct bpf_iter__udp *ctx)
{
	struct udp_sock *up = ctx->udp_sk;
	struct trace_cause cause = {.observer = OBSERVER_SOCKET_QUEUE};
	struct sock *sk;
	__u32 index;

	if (!up)
		return 0;
	sk = (struct sock *)up;
	if (sk->__sk_common.skc_num != cfg.port)
		return 0;
	cause.netns = netns_of_sock(sk);
	index = unread_settles ? cause_index(&cause) : 0;
	walk_queue(&up->reader_queue, index);
	walk_queue(&sk->sk_receive_queue, index);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
