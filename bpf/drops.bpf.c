// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The observers of lost packets: every skb that the kernel frees as dropped, every XDP redirect
 * that fails, and what lies unread in a socket when it closes. Each reads the stamp and settles
 * that number; what is not of this run is passed over after the port comparison.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "fate.bpf.h"
#include "packet.bpf.h"

#define MAX_SEGMENTS 128	/* UDP_MAX_SEGMENTS since 6.9; 64 before */
#define MAX_QUEUE    (1 << 22)	/* datagrams walked in a socket's queue */

/* Shared with xsk.bpf.c: the word of the packet that its program just redirected on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cell SEC(".maps");

/* Shared with gen.bpf.c: what waits in the batch of the sender's device on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trace_batch);
} batch SEC(".maps");

/* Shared with sink.bpf.c, and mapped by the receiver: numbers that arrived. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32);
	__type(value, struct trace_page);
} arrivals SEC(".maps");

__u32 live_ifindex, live_netns; /* the device that live frames leave by; 0: none */
__u32 sink_takes; /* our XDP program ends packets as delivered: the kernel frees their skbs as drops */
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

static __always_inline bool is_copy(struct sk_buff *skb, int reason, struct sock *rx_sk)
{
	__u8 type = BPF_CORE_READ_BITFIELD(skb, pkt_type);

	if (reason == cfg.reason_packet_sock || type == PACKET_OUTGOING)
		return true;
	if (rx_sk && rx_sk->__sk_common.skc_family == AF_PACKET)
		return true;
	return reason == cfg.reason_otherhost && BPF_CORE_READ_BITFIELD(skb, cloned);
}

/*
 * A merged skb stands for a range of numbers only if its first and last stamps span exactly its
 * segments; else only the first number is known.
 */
static __always_inline void settle_segments(struct packet_place *at, struct packet *p, __u32 index,
					    __u16 size, __u16 segments)
{
	__u32 last = p->payload + (segments - 1) * size;
	struct stamp stamp;
	int i;

	settle(p->word, index);
	if (last + STAMP_LEN > at->tail ||
	    bpf_probe_read_kernel(&stamp, sizeof(stamp), at->head + last) ||
	    bpf_be64_to_cpu(stamp.word) != p->word + segments - 1 || stamp.check != ~stamp.word) {
		LOSS(gso_split, segments - 1);
		return;
	}
	for (i = 1; i < MAX_SEGMENTS && i < segments; i++)
		settle(p->word + i, index);
}

/* Whether the sink has just taken this very packet: it marks the arrival before the skb is freed. */
static __always_inline bool has_arrived(__u64 word)
{
	__u8 *arrived = number_byte(&arrivals, word, NULL);

	return arrived && *arrived;
}

SEC("tp_btf/kfree_skb")
int kfree_skb(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct trace_cause cause = {.location = ctx[1], .observer = OBSERVER_KFREE_SKB};
	struct sock *rx_sk = NULL;
	struct packet_place at = {
		.head = skb->head,
		.data = skb->data,
		.tail = skb->tail,
		.network_header = skb->network_header,
		.mac_header = skb->mac_header,
		.protocol = skb->protocol,
	};
	struct skb_shared_info *shared;
	struct packet p;
	__u16 size, segments = 1;
	__u32 index;

	if (cause.location - cfg.ignore_start < cfg.ignore_end - cfg.ignore_start)
		return 0;
	switch (packet_parse(&at, cfg.port, &p)) {
	case PACKET_OTHER:
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
	if (cfg.has_reason)
		cause.reason = (int)ctx[2];
	if (cfg.has_rx_sk)
		rx_sk = (void *)ctx[3];
	cause_place(&cause, skb, rx_sk);
	if (cause.reason == cfg.reason_netfilter)
		cause_route(&cause, skb);
	if (is_copy(skb, cause.reason, rx_sk))
		cause.flags |= CAUSE_COPY;

	index = cause_index(&cause);
	shared = (void *)(at.head + skb->end);
	size = BPF_CORE_READ(shared, gso_size);
	if (size)
		segments = BPF_CORE_READ(shared, gso_segs);
	if (segments > 1)
		settle_segments(&at, &p, index, size, segments);
	else
		settle(p.word, index);
	count(index, segments, p.l3_bytes, skb->truesize);
	return 0;
}

static __always_inline bool is_live(struct net_device *from)
{
	return live_ifindex && from->ifindex == LOOPBACK_IFINDEX && netns_of_dev(from) == live_netns;
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
	if ((__u32)ctx[5] != xsk_map_id)
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

/*
 * Which frames are in a batch of `n`: the first of them in b->word. Frames are handed over in order,
 * when 16 wait and one more comes (it is stamped already, but not among them), and at the end of a
 * run. So with fewer than 16 nothing is left behind, which also finds the place again after a
 * batch that this program missed. False: not known.
 */
static __always_inline bool batch_begin(struct trace_batch *b, __u32 n, __u32 *first)
{
	__u32 waiting = b->tail - b->head;

	if (n < TRACE_BULK) {
		b->lost = 0;
		*first = b->tail - n;
		b->head = b->tail;
		return true;
	}
	b->lost |= n != TRACE_BULK || waiting - n > 1;
	*first = b->head;
	b->head += n;
	return !b->lost;
}

/* The device took the first `sent` frames of a batch; the tail died. */
SEC("tp_btf/xdp_devmap_xmit")
int xdp_devmap_xmit(__u64 *ctx)
{
	struct net_device *from = (void *)ctx[0], *to = (void *)ctx[1];
	struct trace_cause cause = {.observer = OBSERVER_DEVMAP_XMIT, .flags = CAUSE_LIVE};
	__u32 sent = ctx[2], drops = ctx[3], zero = 0, first, index, i;
	struct trace_batch *b;

	if (to->ifindex != live_ifindex || !is_live(from))
		return 0;
	b = bpf_map_lookup_elem(&batch, &zero);
	if (!b)
		return 0;
	if (!batch_begin(b, sent + drops, &first)) {
		LOSS(cell_empty, drops);
		return 0;
	}
	if (!drops)
		return 0;
	cause.reason = (int)ctx[4];
	cause.ifindex = live_ifindex;
	cause.netns = live_netns;
	index = cause_index(&cause);
	for (i = 0; i < TRACE_BULK; i++) {
		if (i >= sent && i < sent + drops)
			settle(b->word[(first + i) % TRACE_BATCH], index);
	}
	count_frames(index, drops);
	return 0;
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
	struct packet p;

	if (!skb || (void *)skb == (void *)w->head)
		return 1;
	at.head = BPF_CORE_READ(skb, head);
	at.data = BPF_CORE_READ(skb, data);
	at.tail = BPF_CORE_READ(skb, tail);
	at.network_header = BPF_CORE_READ(skb, network_header);
	at.mac_header = BPF_CORE_READ(skb, mac_header);
	at.protocol = BPF_CORE_READ(skb, protocol);
	if (packet_parse(&at, cfg.port, &p) == PACKET_STAMPED) {
		unread_packets++;
		if (unread_settles)
			settle(p.word, w->index);
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
