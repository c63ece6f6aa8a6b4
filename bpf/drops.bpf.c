// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Observers of lost packets: every skb that the kernel frees as dropped, every failed XDP redirect,
 * and packets that are still unread when their socket closes. Each observer reads the sequence
 * header and resolves that number. Packets of another run are skipped as soon as the port has been
 * compared.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kfree.bpf.h"
#include "mark.bpf.h"
#include "trace_abi.h"

#define MAX_QUEUE (1 << 22) /* maximum number of datagrams walked in a socket's queue */

/*
 * A plain store is enough. Observers that race on one number write either cause, and both are
 * valid. Outcomes are byte-sized, so neighbours are not touched.
 */
NUMBER_MAP(outcomes);

/*
 * Shared with xsk.bpf.c: the word of the packet that its program has just redirected on this CPU.
 */
ONE_PER_CPU(cell, __u64);

/* Shared with sink.bpf.c and mapped by the receiver: the numbers that arrived. */
NUMBER_MAP(arrivals);

__u32 live_ifindex, live_netns;		/* exit interface of live frames; 0: unset */
__u32 redirect_ifindex, redirect_netns; /* a fault program here redirects to no interface, */
__u32 redirect_target;			/* to this one, which refuses every frame, */
__u32 redirect_cpumap;			/* or to CPUs, through the map with this ID; 0: unset */
__u32 sink_takes; /* our XDP program ends delivered packets, which the kernel reports as drops */
__u32 xsk_map_id; /* redirects into this map are ours */
__u64 unread_packets; /* packets found by the last walk over the socket's queue */
__u32 unread_settles; /* count unread packets as lost, because the socket is about to be closed */

MAP(causes, HASH, TRACE_CAUSES, struct watch_key, __u32);

MAP(counts, PERCPU_ARRAY, TRACE_CAUSES, __u32, struct trace_count);

ONE_PER_CPU(losses, struct trace_loss);

__u32 cause_next = 1;
__u8 cause_is_copy[TRACE_CAUSES];

static __always_inline struct trace_loss *loss(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&losses, &zero);
}

#define LOSS(field, n) COUNT_ON_CPU(losses, struct trace_loss, field, n)

/* Returns the index of a cause, adding the cause on first use. */
static __always_inline __u32 cause_index(const struct watch_key *cause)
{
	__u32 *known = bpf_map_lookup_elem(&causes, cause), index;

	if (known)
		return *known;
	index = __sync_fetch_and_add(&cause_next, 1);
	if (index >= TRACE_CAUSE_DIFFERENCE) {
		LOSS(causes_full, 1);
		return TRACE_CAUSE_FULL;
	}
	cause_is_copy[index & (TRACE_CAUSES - 1)] = !!(cause->flags & WATCH_COPY);
	if (bpf_map_update_elem(&causes, cause, &index, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&causes, cause); /* another CPU added it first */
		index = known ? *known : TRACE_CAUSE_FULL;
	}
	return index;
}

/* The end of the packet itself overrides the end of a copy. Otherwise the first observer wins. */
static __always_inline void settle_byte(__u8 *outcome, __u32 index)
{
	__u8 old = *outcome;

	if (!old || (cause_is_copy[old] && !cause_is_copy[index & (TRACE_CAUSES - 1)]))
		*outcome = index;
}

/*
 * Resolves a number. Not static, so that it is verified once for all callers. Returns false if the
 * number does not belong to this run.
 */
__noinline bool settle(__u64 word, __u32 index)
{
	__u8 *outcome = number_byte(&outcomes, word, loss());

	if (!outcome)
		return false;
	settle_byte(outcome, index);
	return true;
}

__noinline bool is_settled(__u64 word)
{
	__u8 *outcome = number_byte(&outcomes, word, NULL);

	return outcome && *outcome;
}

/* Returns true if this end counts. Ends from another run count only if the sender is unknown. */
static __always_inline bool is_counted(__u64 word)
{
	return cfg.count_all || is_ours(word);
}

/* Streams that arrived in cfg.netns[0], where a receiver does not know its senders. */
MAP(streams, LRU_HASH, TRACE_STREAMS, __u32, __u8);

/*
 * Returns true if a packet with this word belongs to the namespace of a receiver that does not know
 * its senders. `netns` 0: not known from the packet, for example because its socket is closing; the
 * stream decides instead. Not static, so that it is verified only once.
 */
__noinline bool is_of_receiver(__u64 word, __u32 netns)
{
	__u32 stream = word >> 32;
	__u8 known = 1;

	if (!cfg.count_all || !cfg.netns[0] || bpf_map_lookup_elem(&streams, &stream))
		return true;
	if (netns)
		bpf_map_update_elem(&streams, &stream, &known, BPF_ANY);
	return netns;
}

__noinline int count(__u32 index, __u64 events, __u64 packets, __u64 bytes, __u64 memory)
{
	struct trace_count *c = bpf_map_lookup_elem(&counts, &index);

	if (!c)
		return 0;
	c->events += events;
	c->packets += packets;
	c->bytes += bytes;
	c->memory += memory;
	return 0;
}

/* Limits the number of frames that one event may report. Their lengths are unknown. */
static __always_inline void count_frames(__u32 index, __u64 frames)
{
	count(index, frames, frames, 0, 0);
}

/*
 * Finds the number of a packet that ended: after its headers, in a tunnel's inner packet, or from a
 * fragment's datagram. A merged packet has one number per segment.
 */
struct settle_range {
	__u64 word;
	__u32 index;
};

static long settle_next(__u32 n, struct settle_range *r)
{
	settle(r->word + n, r->index);
	return 0;
}

struct segment_walk {
	struct sk_buff *skb;
	__u32 from_data, size, index;
};

/* Handles segments with different numbers, each with its own sequence header. */
static long settle_segment(__u32 n, struct segment_walk *w)
{
	struct stamp stamp;

	if (stamp_in_pages(w->skb, w->from_data + n * w->size, &stamp) ||
	    stamp.check != ~stamp.word)
		LOSS(gso_split, 1);
	else
		settle(bpf_be64_to_cpu(stamp.word), w->index);
	return 0;
}

/*
 * Resolves a merged skb as a range of numbers if its first and last sequence headers span exactly
 * its segments. Otherwise it reads every segment.
 */
static __always_inline void settle_segments(const struct stamp_reader *r, const struct packet *p,
					    __u32 index, __u16 size, __u16 segments)
{
	__s64 from_data = r->at->head + p->payload - r->at->data;
	struct settle_range range = {p->word, index};
	struct segment_walk walk = {r->skb, (__u32)from_data, size, index};

	if (segments <= MAX_SEGMENTS &&
	    stamp_at(r, p->payload + (segments - 1) * size) == p->word + segments - 1) {
		bpf_loop(segments, settle_next, &range, 0);
		return;
	}
	if (KFUNCS && from_data >= 0) {
		bpf_loop(segments, settle_segment, &walk, 0);
		return;
	}
	settle(p->word, index);
	LOSS(gso_split, segments - 1);
}

/* Wraps packet_parse(), not static so that it is verified only once. */
__noinline int parse(const struct linear *at, struct packet *p)
{
	return at && p ? packet_parse(at, cfg.port, p) : PACKET_OTHER;
}

/* Finds the inner packet in a tunnel. */
static SPLIT int find_inner(const struct linear *at, struct packet *p)
{
	struct headers h;

	if (!headers_find(at, &h) || h.next != HEADER_PAYLOAD || h.proto != PROTO_UDP ||
	    h.dst_port != cfg.tunnel)
		return PACKET_OTHER;
	headers_enter(&h, HEADER_VXLAN);
	headers_walk(at, &h);
	return packet_behind(at, &h, cfg.port, p);
}

/* Per CPU: the datagram whose fragments are being freed belongs to this run. */
ONE_PER_CPU(abandoning, bool);

/*
 * Resolves the rest of a datagram that was freed during fragmentation because the interface refused
 * one of its fragments. If an earlier fragment has left the interface, then so did the refused one,
 * because its loss would otherwise be a separate event. The datagram got as far as a whole packet
 * that the peer refuses. Not static, so that it is verified only once.
 */
__noinline int abandon(__u64 word, bool left)
{
	__u32 zero = 0;
	bool *ours = bpf_map_lookup_elem(&abandoning, &zero);

	if (ours)
		*ours = true;
	FRAGMENT_COUNT(abandoned);
	if (left)
		mark_seen(word, SEEN_TX_DEVICE);
	return 0;
}

/*
 * Finds the number of a fragment, which is the number of its datagram. If no probe saw the first
 * fragment, a later one resolves nothing. The map may still have an older datagram under a first
 * fragment's ID, so the fragment's own sequence header takes precedence and is recorded for later
 * fragments.
 */
static SPLIT int find_fragment(const struct stamp_reader *r, bool rest, struct packet *p)
{
	__u8 l3[IP6_HLEN] WIDE;
	struct fragment_key key;
	struct fragmented *known = NULL;
	struct headers h;
	__u64 word;

	if (!fragment_read(r, cfg.port, &h, l3, &word))
		return PACKET_OTHER;
	fragment_key(&h, l3, &key);
	if (word && !is_counted(word))
		return PACKET_OTHER; /* from another run, possibly in another namespace */
	if (word) {
		fragment_first(&key, word);
	} else {
		known = bpf_map_lookup_elem(&fragments, &key);
		if (!known) {
			FRAGMENT_COUNT(unmatched);
			return PACKET_OTHER;
		}
		word = known->word;
	}
	if (rest) {
		abandon(word, known && known->passed[0]);
		return PACKET_NONE;
	}
	FRAGMENT_COUNT(dropped);
	p->word = word;
	p->l3_bytes = h.bytes;
	return PACKET_STAMPED;
}

/*
 * Finds the number of a packet that ended, either from its fragment or after the headers. The
 * payload may be in the linear part or in pages.
 */
static __always_inline int find_number(const struct stamp_reader *r, bool rest, struct packet *p)
{
	int found = cfg.fragments ? find_fragment(r, rest, p) : PACKET_OTHER;

	if (found != PACKET_OTHER)
		return found;
	found = parse(r->at, p);
	if (found == PACKET_OTHER && cfg.tunnel)
		found = find_inner(r->at, p);
	return found_in_pages(r, found, p);
}

/*
 * Frames waiting in a batch to be handed over: either a sender's live frames or frames that a fault
 * redirects. For refused frames the kernel reports only how many there were.
 */

/* Shared with gen.bpf.c and fault.bpf.c: frames waiting in the sender's batch on this CPU. */
ONE_PER_CPU(batch, struct trace_batch);

/*
 * Finds the frames in a batch of `n`. The first of them is in b->word. Frames are handed over in
 * order, either at the end of a run or when `bulk` frames are waiting and one more arrives. (That
 * frame already has its header but is not part of the batch.) A batch with fewer frames therefore
 * leaves none waiting, which also restores the position after a batch that this program missed.
 * Returns false if the frames cannot be determined.
 */
static __always_inline bool batch_begin(struct trace_batch *b, __u32 n, __u32 bulk, __u32 *first)
{
	__u32 waiting = b->tail - b->head;

	if (n < bulk) {
		b->lost = 0;
		*first = b->tail - n;
		b->head = b->tail;
		return true;
	}
	b->lost |= n != bulk || waiting - n > 1;
	*first = b->head;
	b->head += n;
	return !b->lost;
}

struct tail_walk {
	struct trace_batch *batch;
	__u32 first, index;
};

static long tail_step(__u32 n, struct tail_walk *w)
{
	settle(w->batch->word[(w->first + n) % TRACE_BATCH], w->index);
	return 0;
}

/* Handles a batch of which the first `sent` frames were accepted and the rest dropped. */
static __always_inline int end_of_batch(const struct watch_key *cause, __u32 sent, __u32 drops,
					__u32 bulk)
{
	__u32 zero = 0, first;
	struct trace_batch *b = bpf_map_lookup_elem(&batch, &zero);
	struct tail_walk walk;

	if (!b)
		return 0;
	if (!batch_begin(b, sent + drops, bulk, &first)) {
		LOSS(cell_empty, drops);
		return 0;
	}
	if (!drops)
		return 0;
	walk = (struct tail_walk){b, first + sent, cause_index(cause)};
	/* the verifier would need 0.2 s for an unrolled loop */
	bpf_loop(drops < bulk ? drops : bulk, tail_step, &walk, 0);
	count_frames(walk.index, drops);
	return 0;
}

/*
 * Nested drops: packets that end while their observer is running on the same CPU. The kernel does
 * not run a tracing program recursively (prog->active in __bpf_trace_run()), so a softirq that
 * interrupts an observer would hide all of its packets. Each observer therefore has a twin, which
 * is attached and called after it (func_add()) and handles packets that the observer has not
 * started on. If a softirq between the two makes both process the same packet, they reach the same
 * outcome and it is counted once. A tail call to the first program would need less code, but that
 * program's private stack (6.13) is in use.
 */

ONE_PER_CPU(begun, struct trace_begun);

/*
 * Returns true if this program has to process `skb`. Called first for every packet, because packets
 * handled here are subtracted from the kernel's count of missed runs. The other arguments are
 * constants.
 */
static __always_inline bool is_my_turn(struct sk_buff *skb, enum trace_observer observer,
				       bool second)
{
	__u32 zero = 0;
	struct trace_begun *b = bpf_map_lookup_elem(&begun, &zero);
	bool known;

	if (!b)
		return !second;
	known = second && b->skb[observer] == (__u64)skb;
	b->skb[observer] = second ? 0 : (__u64)skb;
	b->taken += second && !known;
	return !known;
}

static __always_inline __u32 netns_of_dev(struct net_device *dev)
{
	return dev ? BPF_CORE_READ(dev, nd_net.net, ns.inum) : 0;
}

static __always_inline __u32 netns_of_sock(struct sock *sk)
{
	return sk ? BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) : 0;
}

/*
 * Returns the index of the cause. Not inline, and on Linux 6.1 it skips interface hooks, because
 * with the fragment code it would exceed the stack limit there.
 */
static __noinline __u32 index_of(__u64 *ctx, struct freed *f, bool consumed)
{
	union {
		struct watch_key key;
		__u64 word[4];
	} cause;

	cause_fill(f, ctx, consumed, KFUNCS);
	cause_words(f, cause.word);
	cause.key.protocol = 0;
	if (!f->aux)
		cause.key.pkt_type = 0;
	return cause_index(&cause.key);
}

/*
 * Returns true for an end in another namespace if the ledger is limited to some namespaces. Called
 * before the packet is parsed, because a receiver on the same host may end millions of packets per
 * second. `netns` 0: unknown.
 */
static __always_inline bool is_elsewhere(__u32 netns, __u64 location)
{
	bool here = !cfg.netns[0] || !netns;

#pragma unroll
	for (int i = 0; i < TRACE_SPACES; i++)
		here |= netns == cfg.netns[i];
	return !here && !is_in_any(cfg.handing, TRACE_HANDING, location);
}

/* Processes a freed skb. `second`: see is_my_turn(). */
static __always_inline int end_of_skb(__u64 *ctx, struct freed *f, bool consumed, bool rest,
				      bool second)
{
	struct sk_buff *skb = f->skb;
	struct linear at = linear_of(skb);
	const struct stamp_reader reader = {skb, &at};
	struct skb_shared_info *shared;
	__u16 size, segments = 1;
	struct packet p = {};
	__u8 *arrived;
	bool known;
	__u32 index;

	switch (find_number(&reader, rest, &p)) {
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
	if (!is_of_receiver(p.word, f->netns))
		return 0;
	/* the sink may have received this packet: it records the arrival before the skb is freed */
	arrived = sink_takes ? number_byte(&arrivals, p.word, NULL) : NULL;
	if (arrived && *arrived)
		return 0;
	shared = (void *)(at.head + skb->end);
	size = BPF_CORE_READ(shared, gso_size);
	if (size && is_in_any(cfg.segmenting, 2, f->site))
		return 0;
	known = second && is_settled(p.word);
	index = index_of(ctx, f, consumed);
	if (size)
		segments = BPF_CORE_READ(shared, gso_segs);
	if (segments > 1)
		settle_segments(&reader, &p, index, size, segments);
	else
		settle(p.word, index);
	if (!known)
		count(index, 1, segments, p.l3_bytes, skb->truesize);
	return 0;
}

/*
 * Counts a fragment without a header. Returns false for one that has it. `ctx`: is_rest(). The rest
 * of a datagram is freed in one go, beginning with the fragment that has its header already.
 */
static __always_inline bool abandon_rest(__u64 *ctx)
{
	__u32 zero = 0;
	bool *ours = bpf_map_lookup_elem(&abandoning, &zero);

	if (!ours)
		return false;
	if (!lacks_header(ctx)) {
		*ours = false;
		return false;
	}
	if (*ours)
		FRAGMENT_COUNT(abandoned);
	return true;
}

static __always_inline int dropped(__u64 *ctx, bool second)
{
	struct freed f;
	bool rest;

	if (!is_my_turn((void *)ctx[0], OBSERVER_KFREE_SKB, second))
		return 0;
	rest = is_rest(ctx);
	if (rest && abandon_rest(ctx))
		return 0;
	freed_read(&f, ctx, false);
	freed_place(&f);
	if (is_elsewhere(f.netns, f.site) || is_in_any(cfg.ignored, TRACE_IGNORED, f.site))
		return 0;
	return end_of_skb(ctx, &f, false, rest, second);
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

/*
 * Handles an skb freed as consumed. A clone says nothing about the packet, because another clone
 * may have continued.
 */
static __always_inline int consumed(__u64 *ctx, bool second)
{
	struct freed f;

	if (!is_my_turn((void *)ctx[0], OBSERVER_CONSUME_SKB, second) ||
	    !is_in_any(cfg.consuming, TRACE_CONSUMING, ctx[1]))
		return 0;
	freed_read(&f, ctx, true);
	freed_place(&f);
	return end_of_skb(ctx, &f, true, false, second);
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

/* `from` is a tracepoint argument that may be dereferenced without a helper. */
static __always_inline bool is_live(struct net_device *from)
{
	return live_ifindex && from->ifindex == LOOPBACK_IFINDEX &&
	       IN(from, net_device)->nd_net.net->ns.inum == live_netns;
}

/*
 * Handles a live frame that never entered the interface's batch because the interface is down or
 * does not support it.
 */
static __always_inline int live_redirect_err(struct watch_key *cause)
{
	__u32 zero = 0, index;
	struct trace_batch *b = bpf_map_lookup_elem(&batch, &zero);

	if (!b || b->tail == b->head) {
		LOSS(cell_empty, 1);
		return 0;
	}
	cause->flags = WATCH_LIVE;
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
	       IN(dev, net_device)->nd_net.net->ns.inum == redirect_netns;
}

SEC("tp_btf/xdp_redirect_err")
int xdp_redirect_err(__u64 *ctx)
{
	struct net_device *dev = (void *)ctx[0];
	struct watch_key cause = {.location = OBSERVER_REDIRECT_ERR};
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
	count_frames(index, 1);
	*word = 0;
	return 0;
}

SEC("tp_btf/xdp_devmap_xmit")
int xdp_devmap_xmit(__u64 *ctx)
{
	struct net_device *from = (void *)ctx[0], *to = (void *)ctx[1];
	struct watch_key cause = {.location = OBSERVER_DEVMAP_XMIT, .reason = (int)ctx[4]};

	if (to->ifindex == live_ifindex && is_live(from)) {
		cause.flags = WATCH_LIVE;
		cause.netns = live_netns;
	} else if (to->ifindex == redirect_target && is_followed(from)) {
		cause.netns = redirect_netns;
	} else {
		return 0;
	}
	cause.ifindex = to->ifindex;
	return end_of_batch(&cause, ctx[2], ctx[3], TRACE_BULK);
}

/* `processed` includes drops. The kernel does not report the ingress interface. */
SEC("tp_btf/xdp_cpumap_enqueue")
int xdp_cpumap_enqueue(__u64 *ctx)
{
	struct watch_key cause = {.location = OBSERVER_CPUMAP};
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
	struct linear at;
	struct packet p = {};

	if (!skb || (void *)skb == (void *)w->head)
		return 1;
	at = linear_probed(skb);
	switch (parse(&at, &p)) {
	case PACKET_STAMPED:
		is_of_receiver(p.word, cfg.netns[0]);
		if (unread_settles)
			settle(p.word, w->index);
		unread_packets++;
		break;
	case PACKET_UNREADABLE: /* a segment in pages: resolved by the event for its end */
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
 * Reads the packets left in the receive queue of the flow's socket after sending and reading have
 * stopped. They are in flight, or lost if the socket is about to be closed. The kernel frees them
 * from an RCU callback, which may run where tracing is suppressed. The numbers found here count,
 * and the events confirm them.
 */
SEC("iter/udp")
int unread(struct bpf_iter__udp *ctx)
{
	struct udp_sock *up = ctx->udp_sk;
	struct watch_key cause = {.location = OBSERVER_SOCKET_QUEUE};
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
