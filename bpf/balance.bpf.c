// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The checkpoints of `trace --balance`: where datagrams of the flow enter the host, leave it, end
 * in it or are read, and a look at all of that at once. include/balance_abi.h says what is the
 * entry of a packet. Each program first passes over what is not UDP, then runs EXPR.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "datagram.bpf.h"
#include "filter.bpf.h"
#include "stream.bpf.h"

#define IFF_LOOPBACK	0x8
#define PACKET_LOOPBACK 5
#define MSG_PEEK	0x2
#define MSG_ERRQUEUE	0x2000
#define AF_INET		2
#define AF_INET6	10
#define MAX_QUEUE	(1 << 22) /* packets walked in a socket's queue */

/* Element n is that of CPU n. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32);
	__type(value, struct balance_tally);
} tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BALANCE_CELLS);
	__type(key, __u32);
	__type(value, struct balance_cell);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BALANCE_CAUSES);
	__type(key, struct balance_cause);
	__type(value, __u32);
} causes SEC(".maps");

/* Sockets whose queues are looked at. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32); /* the socket's cell */
} sockets SEC(".maps");

__u32 cause_next;
__u8 sides[BALANCE_CAUSES];    /* enum balance_side, written by user space */
__u64 waiting[BALANCE_CAUSES]; /* datagrams of each cause that came before it was judged */
__u64 causes_full;	       /* packets whose cause found no room */

__u8 ports[BALANCE_PORT_BITS / 8]; /* to which datagrams of the flow came, in any namespace */

__u32 take_unread; /* balance_sockets: also those that have something unread, whatever the port */
__u32 look_begun;  /* set to 0 by user space */
struct balance_look look;
static struct balance_tally look_before;

__u32 unread_from; /* balance_unread: packets of each queue that were told before */

static __always_inline struct balance_tally *tally(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&tallies, &cpu);
}

static __always_inline struct balance_cell *cell_of(__u32 netns, __u16 port)
{
	__u32 index = balance_cell_index(netns, port);

	return bpf_map_lookup_elem(&cells, &index);
}

/* By the kind of link, dev->rtnl_link_ops->kind; NICs have none. */
static __always_inline enum balance_role role_of(struct net_device *dev)
{
	union balance_kind kind = {};

	if (dev->flags & IFF_LOOPBACK)
		return ROLE_INSIDE;
	if (!dev->rtnl_link_ops)
		return ROLE_EDGE;
	bpf_probe_read_kernel_str(kind.name, sizeof(kind.name), dev->rtnl_link_ops->kind);
	for (int i = 0; i < BALANCE_KINDS; i++) {
		if (cfg.kinds[i].word == kind.word)
			return i < BALANCE_KINDS_INSIDE ? ROLE_INSIDE : ROLE_STACKED;
	}
	return ROLE_EDGE;
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

static __always_inline bool has_any(const struct balance_lengths *l)
{
	return l->bits[0] | l->bits[1] | l->bits[2];
}

static __always_inline void length_came(struct balance_lengths *l, __u32 bytes)
{
	__u32 bit = balance_length_bit(bytes), word = bit >> 6;
	__u64 mask = 1ULL << (bit & 63);

	if (word < BALANCE_LENGTH_WORDS && !(l->bits[word] & mask))
		__sync_fetch_and_or(&l->bits[word], mask);
}

/* A read may return a segment, the last one, or all of them. */
static __always_inline void lengths_came(struct balance_cell *cell, struct balance_lengths *l,
					 const struct datagram *d)
{
	length_came(l, d->bytes);
	if (!d->size) {
		if (cell->single < d->bytes)
			cell->single = d->bytes;
		return;
	}
	length_came(l, d->size);
	length_came(l, d->bytes - (d->segments - 1) * d->size);
	if (!cell->size_min || cell->size_min > d->size)
		cell->size_min = d->size;
	if (cell->size_max < d->size)
		cell->size_max = d->size;
}

static __always_inline void port_came(__u16 port)
{
	__u8 mask = 1 << (port & 7);

	if (!(ports[port >> 3] & mask))
		ports[port >> 3] |= mask;
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
	if (!t || !datagram_parse(&v, &d))
		return 0;
	cell = cell_of(dev->nd_net.net->ns.inum, d.dst_port);
	if (!cell)
		return 0;
	ours = of_flow(&v, &d);
	lengths_came(cell, ours ? &cell->matched : &cell->others, &d);
	if (!ours)
		return 0;
	port_came(d.dst_port);
	if (BPF_CORE_READ_BITFIELD(skb, pkt_type) == PACKET_LOOPBACK ||
	    (!skb->skb_iif && role_of(dev) == ROLE_EDGE))
		enter(skb, &v, &d, t, true);
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
	if (!t || !datagram_parse(&v, &d) || !of_flow(&v, &d))
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

/* How many datagrams `bytes` are that one call has read; 0: not known. */
static __always_inline __u32 datagrams_in(const struct balance_cell *cell, __u32 bytes)
{
	__u32 size = cell->size_min;

	if (!size || bytes <= size)
		return 1;
	if (size != cell->size_max || cell->single > size)
		return 0;
	return (bytes + size - 1) / size;
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
	    !(ports[port >> 3] & 1 << (port & 7)))
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

static __always_inline bool is_copy(struct sk_buff *skb, int reason, struct sock *rx_sk)
{
	__u8 type = BPF_CORE_READ_BITFIELD(skb, pkt_type);

	if (reason == cfg.reason_packet_sock || type == PACKET_OUTGOING)
		return true;
	if (rx_sk && rx_sk->__sk_common.skc_family == AF_PACKET)
		return true;
	return reason == cfg.reason_otherhost && BPF_CORE_READ_BITFIELD(skb, cloned);
}

/* In a UDP receive queue skb->dev is `dev_scratch`, no pointer: nothing then tells a namespace. */
static __always_inline void cause_device(struct balance_cause *cause, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	int ifindex = dev ? BPF_CORE_READ(dev, ifindex) : 0;
	struct net *net = dev ? BPF_CORE_READ(dev, nd_net.net) : NULL;
	struct sock *sk = skb->sk;
	bool known = ifindex > 0 && net && BPF_CORE_READ(net, ns.inum);

	cause->role = known ? role_of(dev) : ROLE_INSIDE;
	if (!known)
		cause->flags |= BALANCE_NO_DEV;
	if (!sk)
		return;
	cause->flags |= BALANCE_SK;
	if (!known || BPF_CORE_READ(sk, __sk_common.skc_net.net) == net)
		cause->flags |= BALANCE_OWN;
}

static __always_inline void cause_route(struct balance_cause *cause, struct sk_buff *skb)
{
	struct dst_entry *dst = (void *)(skb->_skb_refdst & SKB_DST_PTRMASK);

	if (!dst)
		return;
	cause->flags |= BALANCE_DST;
	if (cause->reason == cfg.reason_netfilter)
		cause->aux = (__u64)BPF_CORE_READ(dst, input);
}

static __always_inline __u32 cause_index(const struct balance_cause *cause)
{
	__u32 *known = bpf_map_lookup_elem(&causes, cause), index;

	if (known)
		return *known;
	index = __sync_fetch_and_add(&cause_next, 1);
	if (index >= BALANCE_CAUSES)
		return BALANCE_CAUSES;
	if (!bpf_map_update_elem(&causes, cause, &index, BPF_NOEXIST))
		return index;
	known = bpf_map_lookup_elem(&causes, cause); /* another CPU was first */
	return known ? *known : BALANCE_CAUSES;
}

SEC("tp_btf/kfree_skb")
int balance_drop(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct balance_cause cause = {.location = ctx[1]};
	struct balance_tally *t = tally();
	struct sock *rx_sk = NULL;
	struct skb_view v;
	struct datagram d;
	__u32 index, side;

	skb_view(&v, skb);
	if (!t || !datagram_parse(&v, &d) || !of_flow(&v, &d))
		return 0;
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

/* All counts and queues at once */

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

static __always_inline void look_at(struct sock *sk, __u32 index)
{
	struct balance_cell *cell = bpf_map_lookup_elem(&cells, &index);
	__u32 packets;

	if (!cell || !has_any(&cell->matched))
		return;
	packets = queue_length(sk);
	if (!BPF_CORE_READ(sk, sk_socket)) /* closed: freed, with its queue, after a grace period */
		look.dying += packets;
	if (has_any(&cell->others) || cell->size_min)
		look.mixed += packets;
	else
		look.queued += packets;
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
	if (!datagram_parse(&v, &d))
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
