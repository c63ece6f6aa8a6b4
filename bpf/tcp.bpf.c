// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * TCP observer for `trace --balance`. Counts the data that the flow's sockets sent and
 * retransmitted, and records which sequence ranges were retransmitted and which were dropped.
 * include/tcp_abi.h defines the counters, and the records that only explain them.
 *
 * EXPR is tested on a segment that consists only of addresses and ports, the same way in every
 * program. A socket, its retransmissions and its drops therefore either all belong to the flow or
 * all do not.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/errno.h>

#include "filter.bpf.h"
#include "kfree.bpf.h"
#include "link.bpf.h"
#include "skb.bpf.h"
#include "sock.bpf.h"
#include "tcp_abi.h"

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT	2

#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS	4

#define TCPHDR_FIN 1
#define TCPHDR_SYN 2
#define TCPHDR_RST 4
#define TCPHDR_ACK 16

#define MAX_TCP_OPTIONS 40 /* maximum bytes per header */

/* Maximum age of a SYN-ACK when it is reported. */
#define SYNACK_NS 1000000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_options_received {
	__u16 sack_ok : 3;
};

struct tcp_sack_block {
	__u32 start_seq, end_seq;
};

struct tcp_sock {
	__u64 bytes_sent, bytes_retrans, tcp_clock_cache;
	__u32 data_segs_out, data_segs_in, total_retrans, dsack_dups, snd_nxt, snd_una, rcv_nxt;
	__u32 tsoffset, mss_cache, sacked_out;
	struct tcp_sack_block recv_sack_cache[4]; /* unused blocks are 0 */
	__u8 tcp_usec_ts : 1;			  /* since 6.7 */
	struct tcp_options_received rx_opt;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
};

struct tcp_skb_cb {
	__u32 seq, end_seq;
	__u16 tcp_gso_segs, tcp_gso_size;
	__u16 tcp_flags; /* 8 bits before 6.15 */
};

struct tcp_request_sock {
	__u32 snt_isn;
};

struct dst_entry___tcp {
	struct net_device *dev;
};

struct socket_lock___tcp {
	struct {
		struct {
			struct {
				atomic_t val;
			} raw_lock;
		} rlock;
	} slock;
	int owned;
};

struct sock___tcp {
	struct dst_entry___tcp *sk_dst_cache;
	struct socket_lock___tcp sk_lock;
};

struct sk_buff___tcp {
	char cb[48];
	union {
		__u64 skb_mstamp_ns;
	};
};

#pragma clang attribute pop

const volatile struct tcp_config cfg;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TCP_RING);
} records SEC(".maps");

MAP(counted, HASH, TCP_NAMESPACES, __u32, struct tcp_counted);

ONE_PER_CPU(losses, struct tcp_losses);

#define LOSS(field) COUNT_ON_CPU(losses, struct tcp_losses, field, 1)

/* A socket's state at its first reading. */
struct kept {
	struct watch_flow flow; /* stored because a closed socket no longer has a port */
	struct tcp_totals first;
	__u32 final;  /* the last reading is done, and nothing more is reported */
	__u32 failed; /* total_retrans at the last failed retransmission */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct kept);
} sockets SEC(".maps");

/*
 * Receiving sockets by flow, for kernels where kfree_skb does not report the dropping socket
 * (kernel.has_rx_sk is false). `sk` 0: the socket is closed, possibly in TIME_WAIT.
 */
struct receiver {
	__u64 sk;
	__u32 rcv_nxt, pad; /* final value */
};
MAP(receivers, LRU_HASH, 1, struct watch_flow, struct receiver);

/* Dropped ranges that may still arrive at sockets here. Used by tcp_comes() until `holes_until`. */
MAP(holes, LRU_HASH, TCP_HOLES, struct tcp_hole, struct tcp_hole_drop);

/* Exit interfaces by flow, recorded by tcp_leaves() until `exits_until`. */
MAP(exits, LRU_HASH, TCP_EXITS, struct watch_flow, struct tcp_exit);

__u64 holes_until, exits_until;

/*
 * Both programs run for every segment, and almost no segment has an entry. To avoid lookups, holes
 * are counted in slots by sequence number, and exits by how many are still unknown. An entry that
 * is LRU-evicted from its map stays counted, which costs one lookup and loses nothing.
 */
#define HOLE_SLOTS 16384
__u32 holes_at[HOLE_SLOTS], exits_open;

static __always_inline __u32 *holes_of(__u32 seq)
{
	return &holes_at[seq * 2654435761U >> 18 & (HOLE_SLOTS - 1)];
}

MAP(entries, HASH, TCP_ENTRIES, struct watch_flow, struct tcp_entry);

/*
 * Set by user space once all programs are attached, before any socket is read. One program may see
 * an earlier event that another one misses, so until then no state is created and no socket is
 * kept.
 */
__u32 begun;

/* Set by user space: also read locked sockets; their records are marked as torn. */
__u32 take_busy;
__u32 busy;    /* sockets of the flow that were locked and therefore not read */
__u32 looking; /* set by user space: tcp_left() takes an intermediate reading, and no socket ends */

/*
 * Length of the segment that EXPR is tested on: a full-sized segment with an IP header and a TCP
 * header without options.
 */
#define ASKED_LENGTH 1500
struct asked {
	__u8 bytes[IP6_HLEN + TCP_HLEN];
	__u8 pad[4];
};

enum tcp_program {
	TCP_ON_RETRANSMIT,
	TCP_ON_RETRANSMIT_AGAIN,
	TCP_ON_FAILED,
	TCP_ON_SYNACK,
	TCP_ON_STATE,
	TCP_ON_DROP,
	TCP_ON_DROP_AGAIN,
	TCP_ON_ENTRY,
	TCP_ON_FILES
};

MAP(asked, PERCPU_ARRAY, TCP_ON_FILES + 1, __u32, struct asked);

static __always_inline bool is_of_flow(const struct watch_flow *f, __u32 program)
{
	struct asked *a = bpf_map_lookup_elem(&asked, &program);
	struct linear at = {.mac_header = HEADER_UNSET};
	const bool ip4 = f->family == AF_INET;
	__u8 *tcp;

	if (!a)
		return false;
	at.head = at.data = a->bytes;
	at.protocol = bpf_htons(ip4 ? TYPE_IP4 : TYPE_IP6);
	at.tail = (ip4 ? IP4_HLEN : IP6_HLEN) + TCP_HLEN;
	__builtin_memset(a, 0, sizeof(*a));
	if (ip4) {
		a->bytes[0] = 0x45;
		*(__be16 *)(a->bytes + 2) = bpf_htons(ASKED_LENGTH);
		a->bytes[8] = 64;
		a->bytes[9] = PROTO_TCP;
		__builtin_memcpy(a->bytes + 12, f->src, 4);
		__builtin_memcpy(a->bytes + 16, f->dst, 4);
		tcp = a->bytes + IP4_HLEN;
	} else {
		a->bytes[0] = 0x60;
		*(__be16 *)(a->bytes + 4) = bpf_htons(ASKED_LENGTH - IP6_HLEN);
		a->bytes[6] = PROTO_TCP;
		a->bytes[7] = 64;
		__builtin_memcpy(a->bytes + 8, f->src, 16);
		__builtin_memcpy(a->bytes + 24, f->dst, 16);
		tcp = a->bytes + IP6_HLEN;
	}
	__builtin_memcpy(tcp, &f->src_port, 4); /* both ports */
	tcp[12] = TCP_HLEN / 4 << 4;
	tcp[13] = 0x10; /* ACK */
	return filter_matches(&at, ASKED_LENGTH, NULL, NULL);
}

/*
 * Programs running on this CPU. A program does not run recursively, so it would miss events in an
 * interrupt. Programs with such events have a twin at the same tracepoint, which handles every skb
 * that the program has not noted. An interrupt between the two notes its skb above the first one.
 */
struct work {
	__u64 skb[2]; /* the most recent skb first */
	__u64 begun;  /* set when both are attached; before that, no twin would clear the notes */
};
struct at_work {
	struct work drop, retransmit;
};
ONE_PER_CPU(at_work, struct at_work);

__u64 nested; /* runs in which a twin replaced its program, so that these events were not missed */

static __always_inline struct at_work *at_work_here(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&at_work, &zero);
}

static __always_inline void note_work(volatile struct work *w, __u64 skb)
{
	if (!begun)
		return;
	w->begun = 1;
	w->skb[1] = w->skb[0];
	w->skb[0] = skb;
}

/* Called by a twin. Returns true if its program missed this skb. Otherwise it clears the note. */
static __always_inline bool was_missed(volatile struct work *w, __u64 skb)
{
	if (w->skb[0] != skb)
		return w->begun && w->skb[1] != skb;
	w->skb[0] = w->skb[1];
	w->skb[1] = 0;
	return false;
}

/* Sockets */

static __always_inline void reverse(struct watch_flow *f)
{
	struct watch_flow was = *f;

	__builtin_memcpy(f->src, was.dst, sizeof(f->src));
	__builtin_memcpy(f->dst, was.src, sizeof(f->dst));
	f->src_port = was.dst_port;
	f->dst_port = was.src_port;
}

static __always_inline __u32 netns_of(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

/* Returns true if the socket is not in the ledger's namespace. */
static __always_inline bool is_elsewhere(const struct sock *sk)
{
	return cfg.netns && netns_of(sk) != cfg.netns;
}

static __always_inline __u8 role_of(struct net_device *dev)
{
	return link_role(dev, TCP_ROLE_INSIDE, TCP_ROLE_EDGE);
}

static __always_inline void totals_of(struct tcp_totals *t, const struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;
	const struct sock___tcp *more = (const void *)sk;
	struct dst_entry___tcp *dst = BPF_CORE_READ(more, sk_dst_cache);
	struct net_device *dev = dst ? BPF_CORE_READ(dst, dev) : NULL;

	__builtin_memset(t, 0, sizeof(*t));
	t->bytes_sent = BPF_CORE_READ(tp, bytes_sent);
	t->bytes_retrans = BPF_CORE_READ(tp, bytes_retrans);
	t->data_segs_out = BPF_CORE_READ(tp, data_segs_out);
	t->data_segs_in = BPF_CORE_READ(tp, data_segs_in);
	t->total_retrans = BPF_CORE_READ(tp, total_retrans);
	t->dsack_dups = BPF_CORE_READ(tp, dsack_dups);
	t->snd_nxt = BPF_CORE_READ(tp, snd_nxt);
	t->snd_una = BPF_CORE_READ(tp, snd_una);
	t->rcv_nxt = BPF_CORE_READ(tp, rcv_nxt);
	t->sack = BPF_CORE_READ_BITFIELD_PROBED(tp, rx_opt.sack_ok) != 0;
	if (!dev)
		return;
	t->ifindex = BPF_CORE_READ(dev, ifindex);
	t->role = role_of(dev);
}

/* Returns true if the socket is locked: its counters and snd_nxt may be inconsistent. */
static __always_inline bool is_at_work(const struct sock *sk)
{
	const struct sock___tcp *more = (const void *)sk;

	return BPF_CORE_READ(more, sk_lock.owned) ||
	       BPF_CORE_READ(more, sk_lock.slock.rlock.raw_lock.val.counter);
}

/*
 * Reads the totals. Returns false if the socket was locked. Otherwise `t` includes everything
 * counted before `when`, and nothing later.
 */
static __always_inline bool totals_unheld(struct tcp_totals *t, __u64 *when, const struct sock *sk)
{
	bool before = is_at_work(sk);
	struct tcp_totals again;

	totals_of(t, sk);
	barrier();
	*when = bpf_ktime_get_ns();
	totals_of(&again, sk);
	return !before && !is_at_work(sk) && t->bytes_sent == again.bytes_sent &&
	       t->snd_nxt == again.snd_nxt && t->data_segs_out == again.data_segs_out &&
	       t->total_retrans == again.total_retrans;
}

static __always_inline struct tcp_record *record(enum tcp_event event)
{
	struct tcp_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		LOSS(unranged);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->time_ns = bpf_ktime_get_ns();
	r->event = event;
	return r;
}

/* Not inline, because on Linux 6.1 its callers have no stack space left. */
static __noinline void note_receiver(struct sock *sk, const struct watch_flow *f, bool gone)
{
	struct receiver r = {.sk = gone ? 0 : (__u64)sk};
	struct watch_flow back = *f;

	if (kernel.has_rx_sk)
		return;
	if (gone)
		r.rcv_nxt = BPF_CORE_READ((struct tcp_sock *)sk, rcv_nxt);
	reverse(&back);
	bpf_map_update_elem(&receivers, &back, &r, BPF_ANY);
}

/*
 * Creates a socket's state from its current counters. If another CPU has locked the socket, the
 * caller has to replace them.
 */
static __always_inline struct kept *keep(struct sock *sk, const struct watch_flow *f)
{
	struct kept *k = bpf_sk_storage_get(&sockets, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!k) {
		LOSS(unkept);
		return NULL;
	}
	k->flow = *f;
	totals_of(&k->first, sk);
	note_receiver(sk, f, false);
	return k;
}

static __always_inline void report_socket(struct tcp_record *r, struct sock *sk,
					  const struct kept *k)
{
	r->netns = netns_of(sk);
	r->flow = k->flow;
	r->first = k->first;
}

static __always_inline void report_end(struct sock *sk, const struct kept *k)
{
	struct tcp_record *r;

	if (!k || k->final)
		return;
	r = record(TCP_SOCKET);
	if (!r)
		return;
	report_socket(r, sk, k);
	totals_of(&r->last, sk);
	r->last.flags = TCP_DEAD;
	note_receiver(sk, &k->flow, true);
	bpf_ringbuf_submit(r, 0);
	bpf_sk_storage_delete(&sockets, sk);
}

/*
 * Called when a connection begins, so that any retransmitted SYNs are its first retransmissions.
 * Also called when it ends, because tcp_disconnect(), called for SO_LINGER with 0, clears its
 * counters afterwards. A connection that was never established may be retried.
 */
SEC("tp_btf/inet_sock_set_state")
int tcp_state(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int old = ctx[1], new = ctx[2];
	struct watch_flow f;
	struct kept *k;

	if (!begun || sk->sk_protocol != PROTO_TCP ||
	    !(new == TCP_ESTABLISHED || new == TCP_CLOSE) || is_elsewhere(sk))
		return 0;
	k = bpf_sk_storage_get(&sockets, sk, 0, 0);
	if (new == TCP_CLOSE) {
		if (old != TCP_SYN_SENT)
			report_end(sk, k);
		return 0;
	}
	if (k) { /* the SYN was retransmitted */
		__u32 syns = k->first.total_retrans;

		totals_of(&k->first, sk);
		k->first.total_retrans = syns;
		return 0;
	}
	flow_of(&f, sk);
	if (!is_of_flow(&f, TCP_ON_STATE))
		return 0;
	k = keep(sk, &f);
	if (!k)
		return 0;
	if (old == TCP_SYN_SENT)
		k->first.total_retrans = 0;
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int tcp_gone(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];

	report_end(sk, bpf_sk_storage_get(&sockets, sk, 0, 0));
	return 0;
}

/* Reads the sockets that already exist when tracing begins, of all processes and namespaces. */
SEC("iter/task_file")
int tcp_files(struct bpf_iter__task_file *ctx)
{
	struct sock *sk = sock_of_file(ctx->file);
	struct tcp_totals now;
	struct watch_flow f;
	struct kept *k;
	__u64 when;
	__u8 state;
	bool whole;

	if (!sk || sk->sk_protocol != PROTO_TCP ||
	    (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6) ||
	    is_elsewhere(sk))
		return 0;
	state = sk->__sk_common.skc_state;
	if (state == TCP_LISTEN || state == TCP_CLOSE || state == TCP_SYN_SENT ||
	    bpf_sk_storage_get(&sockets, sk, 0, 0))
		return 0;
	flow_of(&f, sk);
	if (!is_of_flow(&f, TCP_ON_FILES))
		return 0;
	whole = totals_unheld(&now, &when, sk);
	if (!whole && !take_busy) {
		__sync_fetch_and_add(&busy, 1);
		return 0;
	}
	k = keep(sk, &f);
	if (!k)
		return 0;
	k->first = now;
	k->first.flags = TCP_LATE | (whole ? 0 : TCP_TORN);
	return 0;
}

/*
 * Writes a TCP_SOCKET record for each remaining socket at the end. With take_busy it includes
 * locked sockets, as torn records. While `looking` is set, it writes TCP_LOOKED records instead.
 */
static struct tcp_record left;

SEC("iter/bpf_sk_storage_map")
int tcp_left(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct kept *k = ctx->value;
	struct sock *sk = ctx->sk;
	bool whole;

	if (!sk || !k || k->final)
		return 0;
	__builtin_memset(&left, 0, sizeof(left));
	left.event = looking ? TCP_LOOKED : TCP_SOCKET;
	whole = totals_unheld(&left.last, &left.time_ns, sk);
	if (looking && left.last.total_retrans == k->first.total_retrans)
		return 0;
	if (!whole && !looking && !take_busy) {
		__sync_fetch_and_add(&busy, 1);
		return 0;
	}
	k->final = !looking;
	report_socket(&left, sk, k);
	left.last.flags = whole ? 0 : TCP_TORN;
	bpf_seq_write(ctx->meta->seq, &left, sizeof(left));
	return 0;
}

/* Retransmissions */

static __always_inline void count(const struct sock *sk, __u32 segs, bool failed, bool syn)
{
	const struct net *net = BPF_CORE_READ(sk, __sk_common.skc_net.net);
	__u32 netns = BPF_CORE_READ(net, ns.inum);
	struct tcp_counted none = {}, *c;

	if (bpf_core_field_exists(net->net_cookie))
		none.cookie = BPF_CORE_READ(net, net_cookie);
	c = map_value(&counted, &netns, &none);
	if (!c) {
		LOSS(uncounted);
		return;
	}
	if (c->cookie != none.cookie)
		*c = none;
	__sync_fetch_and_add(&c->retrans, segs);
	if (failed)
		__sync_fetch_and_add(&c->failed, segs);
	if (syn)
		__sync_fetch_and_add(&c->syn, 1);
}

static __always_inline __u32 tsval_of(const struct tcp_sock *tp, const struct sk_buff *skb)
{
	__u64 sent = BPF_CORE_READ((const struct sk_buff___tcp *)skb, skb_mstamp_ns);
	__u32 usec = 0;

	if (bpf_core_field_exists(tp->tcp_usec_ts))
		usec = BPF_CORE_READ_BITFIELD_PROBED(tp, tcp_usec_ts);
	return (__u32)(sent / (usec ? 1000 : 1000000)) + BPF_CORE_READ(tp, tsoffset);
}

/*
 * By the time the tracepoint runs, __tcp_retransmit_skb() has counted the segment or failed with
 * one of these errors.
 */
static __always_inline bool is_counted(int err)
{
	return err >= 0 || (err != -EAGAIN && err != -EBUSY && err != -EHOSTUNREACH &&
			    err != -ENOMEM && err != -EINVAL);
}

static __always_inline __u8 kind_of(const struct sock *sk, bool syn)
{
	const struct inet_connection_sock *icsk = (const void *)sk;
	__u32 state = BPF_CORE_READ_BITFIELD_PROBED(icsk, icsk_ca_state);

	return syn			  ? TCP_KIND_SYN
	       : state == TCP_CA_RECOVERY ? TCP_FAST
	       : state == TCP_CA_LOSS	  ? TCP_RTO
					  : TCP_TLP;
}

static __always_inline struct kept *kept_by_retransmission(struct sock *sk,
							   const struct watch_flow *f, __u32 segs,
							   __u32 bytes, enum tcp_program program)
{
	struct kept *k = bpf_sk_storage_get(&sockets, sk, 0, 0);

	if (k)
		return k;
	if (!is_of_flow(f, program))
		return NULL;
	k = keep(sk, f);
	if (!k)
		return NULL;
	k->first.total_retrans -= segs;
	if (sk->__sk_common.skc_state != TCP_SYN_SENT) { /* no process held it when tracing began */
		k->first.flags = TCP_LATE;
		k->first.bytes_sent -= bytes;
		k->first.bytes_retrans -= bytes;
		k->first.data_segs_out -= bytes ? segs : 0;
	}
	return k;
}

/* Uses the peer's most recent SACK blocks. */
static __always_inline bool smaller_came(const struct tcp_sock *tp, __u32 bytes)
{
	__u32 largest = 0, range;

	for (int i = 0; i < 4; i++) {
		range = BPF_CORE_READ(tp, recv_sack_cache[i].end_seq) -
			BPF_CORE_READ(tp, recv_sack_cache[i].start_seq);
		largest = range > largest ? range : largest;
	}
	return BPF_CORE_READ(tp, sacked_out) && largest < bytes;
}

/* Called after __tcp_retransmit_skb() has sent the segment or failed. */
static __always_inline int resent(struct sock *sk, struct sk_buff *skb, int err,
				  enum tcp_program program)
{
	const struct tcp_sock *tp = (const void *)sk;
	const struct tcp_skb_cb *cb = (const void *)((const struct sk_buff___tcp *)skb)->cb;
	__u32 segs = BPF_CORE_READ(cb, tcp_gso_segs), seq = BPF_CORE_READ(cb, seq);
	__u32 end = BPF_CORE_READ(cb, end_seq), flags = 0, bytes;
	struct tcp_exit unknown = {};
	struct tcp_record *r;
	struct watch_flow f;
	struct kept *k;

	bpf_probe_read_kernel(&flags, 1, __builtin_preserve_access_index(&cb->tcp_flags));
	bytes = end - seq - !!(flags & TCPHDR_SYN) - !!(flags & TCPHDR_FIN);
	if (!is_counted(err) || is_elsewhere(sk))
		return 0;
	count(sk, segs, err, flags & TCPHDR_SYN);
	if (!begun)
		return 0;
	flow_of(&f, sk);
	k = kept_by_retransmission(sk, &f, segs, bytes, program);
	if (!k || k->final)
		return 0;
	r = record(TCP_RETRANSMITTED);
	if (!r)
		return 0;
	r->netns = netns_of(sk);
	r->flow = f;
	r->start_ns = BPF_CORE_READ(tp, tcp_clock_cache);
	r->seq = seq;
	r->end = end;
	r->bytes = bytes;
	r->segs = segs;
	r->size = BPF_CORE_READ(cb, tcp_gso_size);
	r->kind = kind_of(sk, flags & TCPHDR_SYN);
	r->unsent = bytes + MAX_TCP_OPTIONS >= BPF_CORE_READ(tp, mss_cache);
	r->ack = BPF_CORE_READ(tp, sacked_out);
	r->has_ack = smaller_came(tp, r->segs > 1 && r->size ? r->size : bytes);
	r->tsval = tsval_of(tp, skb);
	r->first = k->first;
	totals_of(&r->last, sk);
	if (r->last.role == TCP_ROLE_INSIDE) {
		if (!bpf_map_update_elem(&exits, &f, &unknown, BPF_NOEXIST))
			__sync_fetch_and_add(&exits_open, 1);
		exits_until = r->time_ns + TCP_HOLE_LIFE;
	}
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int tcp_retransmit(__u64 *ctx)
{
	struct at_work *here = at_work_here();

	if (!here)
		return 0;
	note_work(&here->retransmit, ctx[1]);
	return resent((void *)ctx[0], (void *)ctx[1], cfg.has_err ? (int)ctx[2] : 0,
		      TCP_ON_RETRANSMIT);
}

SEC("tp_btf/tcp_retransmit_skb")
int tcp_retransmit_again(__u64 *ctx)
{
	struct at_work *here = at_work_here();

	if (!here || !was_missed(&here->retransmit, ctx[1]))
		return 0;
	__sync_fetch_and_add(&nested, 1);
	return resent((void *)ctx[0], (void *)ctx[1], cfg.has_err ? (int)ctx[2] : 0,
		      TCP_ON_RETRANSMIT_AGAIN);
}

/*
 * The last retransmission seen to fail. It is recorded because a compiler may have split one
 * function into two.
 */
struct failure {
	__u64 sk;
	__u32 total_retrans, pad;
};
ONE_PER_CPU(failures, struct failure);

static __always_inline int failed(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	const __u32 zero = 0, total = BPF_CORE_READ((const struct tcp_sock *)sk, total_retrans);
	struct failure *last = bpf_map_lookup_elem(&failures, &zero);
	struct kept *k = bpf_sk_storage_get(&sockets, sk, 0, 0);
	const int err = ctx[3];

	if (!err || !last || (last->sk == (__u64)sk && last->total_retrans == total) ||
	    (k && k->failed == total))
		return 0;
	last->sk = (__u64)sk;
	last->total_retrans = total;
	resent(sk, (void *)ctx[1], err, TCP_ON_FAILED);
	k = bpf_sk_storage_get(&sockets, sk, 0, 0); /* another CPU may have added it */
	if (k)
		k->failed = total;
	return 0;
}

/*
 * Before Linux 6.17 the tracepoint only reports segments that were sent. If the compiler split off
 * part of the inner function, the outer function calls that part.
 */
SEC("?fexit/__tcp_retransmit_skb")
int tcp_failed(__u64 *ctx)
{
	return failed(ctx);
}

SEC("?fexit/tcp_retransmit_skb")
int tcp_failed_outside(__u64 *ctx)
{
	return failed(ctx);
}

/* Counted in the namespace. The socket counts it only when the connection is accepted. */
SEC("tp_btf/tcp_retransmit_synack")
int tcp_synack(__u64 *ctx)
{
	const struct sock *req = (const void *)ctx[1]; /* both begin with struct sock_common */
	struct tcp_record *r;
	struct watch_flow f;

	if (is_elsewhere(req))
		return 0;
	count(req, 1, false, true);
	flow_of(&f, req);
	if (!is_of_flow(&f, TCP_ON_SYNACK))
		return 0;
	r = record(TCP_SYNACK);
	if (!r)
		return 0;
	r->netns = netns_of(req);
	r->flow = f;
	r->segs = 1;
	r->kind = TCP_KIND_SYNACK;
	r->seq = BPF_CORE_READ((const struct tcp_request_sock *)req, snt_isn);
	r->end = r->seq + 1;
	r->start_ns = r->time_ns - SYNACK_NS;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

/* Drops */

/* A TCP header and the option that comes first in all data segments: NOP, NOP, timestamps. */
#define TCP_READ	  (TCP_HLEN + 12)
#define NOP_NOP_TIMESTAMP 0x0101080a
#define SACK_TIMESTAMP	  0x0402080a /* follows MSS in a SYN */

struct segment {
	struct watch_flow flow;
	__u32 seq, ack, bytes, tsval;
	__u16 segs, size;
	__u8 flags, ttl;
};

/*
 * Runs before the filter, because most drops are not TCP. Not static, so that it is verified only
 * once. Returns the offset of the TCP header from head, -1 if the packet is not TCP, or -2 if the
 * header is in pages.
 */
__noinline int find_tcp(const struct linear *at, struct headers *h)
{
	if (!at || !h)
		return -1;
	headers_read(at, PROTO_TCP, h);
	if (h->proto != PROTO_TCP)
		return -1;
	return h->next == HEADER_PAYLOAD ? h->l4 : h->next == HEADER_CUT ? -2 : -1;
}

static __always_inline bool segment_read(struct segment *s, struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	const struct linear at = linear_of(skb);
	__u8 b[IP6_HLEN] WIDE; /* the TCP header, then the IP header */
	__u32 payload, size, len;
	struct headers h = {};
	int l4 = find_tcp(&at, &h);

	if (l4 == -2)
		LOSS(unread);
	if (l4 < 0 || bpf_probe_read_kernel(b, TCP_READ, at.head + l4))
		return false;
	__builtin_memset(s, 0, sizeof(*s));
	s->flow.family = h.version == 4 ? AF_INET : AF_INET6;
	s->flow.proto = PROTO_TCP;
	s->flow.src_port = bpf_htons(h.src_port);
	s->flow.dst_port = bpf_htons(h.dst_port);
	s->seq = be32_at(b + 4);
	s->ack = be32_at(b + 8);
	s->flags = b[13];
	if (b[12] >> 4 >= 8 && be32_at(b + TCP_HLEN) == NOP_NOP_TIMESTAMP)
		s->tsval = be32_at(b + TCP_HLEN + 4);
	else if (b[12] >> 4 >= 8 && be32_at(b + TCP_HLEN + 4) == SACK_TIMESTAMP)
		s->tsval = be32_at(b + TCP_HLEN + 8);
	payload = l4 + (b[12] >> 4) * 4;
	if (bpf_probe_read_kernel(b, sizeof(b), at.head + h.l3))
		return false;
	s->ttl = h.version == 4 ? b[8] : b[7];
	headers_addresses(h.version, b, s->flow.src, s->flow.dst);
	size = BPF_CORE_READ(shared, gso_size);
	s->segs = size ? BPF_CORE_READ(shared, gso_segs) : 1;
	if (size && s->segs > 1) { /* skb->len counts from the current position of data */
		s->size = size;
		s->bytes = skb->len + filter_data(&at) - payload;
	} else { /* a frame may be padded */
		len = h.l3 + h.bytes;
		s->segs = 1;
		s->bytes = len > payload ? len - payload : 0;
	}
	return true;
}

/*
 * Returns true if the sending socket still holds the packet. In that case tcp_transmit_skb() is
 * running, so nothing else uses the socket. Beyond the first interface this can no longer be
 * detected.
 */
static __always_inline bool is_unsent(struct sk_buff *skb, const struct segment *s)
{
	struct net_device *dev = IN(skb, sk_buff)->dev;
	struct sock *sk = IN(skb, sk_buff)->sk;
	__u8 state;

	if ((__s64)sk >= 0)
		return false;
	/* it has left, but keeps its socket until the receiver's IP layer */
	if ((__s64)dev < 0 &&
	    BPF_CORE_READ(dev, nd_net.net) != BPF_CORE_READ(sk, __sk_common.skc_net.net))
		return false;
	state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (state == TCP_TIME_WAIT || state == TCP_NEW_SYN_RECV ||
	    BPF_CORE_READ(sk, sk_protocol) != PROTO_TCP ||
	    bpf_htons(BPF_CORE_READ(sk, __sk_common.skc_num)) != s->flow.src_port ||
	    BPF_CORE_READ(sk, __sk_common.skc_dport) != s->flow.dst_port)
		return false;
	return (__s32)(s->seq - BPF_CORE_READ((struct tcp_sock *)sk, snd_nxt)) >= 0;
}

/*
 * Returns true if the receiver already has the data. `rx`: the receiving socket that drops it;
 * NULL: the packet did not reach a socket.
 */
static __always_inline bool is_had(const struct sock *rx, __u32 end)
{
	__u8 state = rx ? BPF_CORE_READ(rx, __sk_common.skc_state) : TCP_LISTEN;

	if (state == TCP_TIME_WAIT)
		return (__s32)(end - BPF_CORE_READ(rx, __sk_common.skc_tw_rcv_nxt)) <= 0;
	return state != TCP_NEW_SYN_RECV && state != TCP_LISTEN &&
	       BPF_CORE_READ(rx, sk_protocol) == PROTO_TCP &&
	       (__s32)(end - BPF_CORE_READ((const struct tcp_sock *)rx, rcv_nxt)) <= 0;
}

/* Looks up the receiving socket. Returns NULL if it is closed or not on this host. */
static __always_inline struct sock *receiver_of(const struct watch_flow *f)
{
	const struct receiver *r = bpf_map_lookup_elem(&receivers, f);
	struct sock *sk = r ? (struct sock *)r->sk : NULL;

	return sk && bpf_htons(BPF_CORE_READ(sk, __sk_common.skc_num)) == f->dst_port &&
			       BPF_CORE_READ(sk, __sk_common.skc_dport) == f->src_port
		       ? sk
		       : NULL;
}

static __always_inline bool was_had(const struct watch_flow *f, __u32 end)
{
	const struct receiver *r = bpf_map_lookup_elem(&receivers, f);

	return r && !r->sk && (__s32)(end - r->rcv_nxt) <= 0;
}

/*
 * Adds a new socket, with its counters from before the packet that it is sending. Returns false if
 * its last reading has already been reported.
 */
static __always_inline bool kept_by_drop(struct sock *sk, const struct segment *s)
{
	struct kept *k = sk ? bpf_sk_storage_get(&sockets, sk, 0, 0) : NULL;
	struct watch_flow f;

	if (!sk || k)
		return !k || !k->final;
	flow_of(&f, sk);
	k = keep(sk, &f);
	if (!k)
		return true;
	k->first.flags = TCP_LATE;
	k->first.bytes_sent -= s->bytes;
	k->first.data_segs_out -= s->segs;
	return true;
}

/*
 * Returns the namespace of the drop, or 0 if it is unknown. `key`: receives the cause, or NULL. Not
 * inline, because on Linux 6.1 its caller has no stack space left.
 */
static __noinline __u32 find_cause(__u64 *ctx, struct watch_key *key)
{
	struct freed f;

	freed_read(&f, ctx, false);
	freed_place(&f);
	if (key) {
		cause_fill(&f, ctx, false, true);
		cause_words(&f, (__u64 *)key);
	}
	return f.netns;
}

static __always_inline void open_hole(const struct segment *s)
{
	struct tcp_hole_drop drop = {bpf_ktime_get_ns(), s->segs};
	struct tcp_hole hole = {.flow = s->flow, .seq = s->seq};

	/*
	 * keep the first drop of a range, because dropping the retransmission does not close the
	 * hole
	 */
	if (!bpf_map_update_elem(&holes, &hole, &drop, BPF_NOEXIST))
		__sync_fetch_and_add(holes_of(s->seq), 1);
	holes_until = drop.time_ns + TCP_HOLE_LIFE;
}

/*
 * Handles a segment that arrives at a connection on this host (tcp_rcv_established()). This program
 * runs for every segment, so it is only attached while there are holes.
 */
SEC("tp_btf/tcp_probe")
int tcp_comes(__u64 *ctx)
{
	const struct sk_buff *skb = (void *)ctx[1];
	const struct tcp_skb_cb *cb = (const void *)((const struct sk_buff___tcp *)skb)->cb;
	struct tcp_hole_drop *drop;
	struct tcp_hole hole = {};
	struct tcp_record *r;

	hole.seq = FIELD_OF((void *)cb, tcp_skb_cb, seq);
	if (!*holes_of(hole.seq) || is_elsewhere((void *)ctx[0]))
		return 0;
	flow_of(&hole.flow, (void *)ctx[0]);
	reverse(&hole.flow);
	drop = bpf_map_lookup_elem(&holes, &hole);
	if (!drop)
		return 0;
	r = record(TCP_CAME);
	if (r) {
		r->flow = hole.flow;
		r->seq = hole.seq;
		r->segs = drop->segs;
		r->start_ns = drop->time_ns;
		bpf_ringbuf_submit(r, 0);
	}
	if (!bpf_map_delete_elem(&holes, &hole))
		__sync_fetch_and_sub(holes_of(hole.seq), 1);
	return 0;
}

/*
 * Handles a packet that leaves this host and was sent by a socket in another namespace. Looked up
 * by the packet's addresses, because after NAT it is a different flow. Only attached after such a
 * socket has retransmitted.
 */
SEC("tp_btf/net_dev_start_xmit")
int tcp_leaves(__u64 *ctx)
{
	struct net_device *dev = (void *)ctx[1];
	struct tcp_exit *exit;
	struct segment s;

	if (!exits_open || role_of(dev) != TCP_ROLE_EDGE || !segment_read(&s, (void *)ctx[0]))
		return 0;
	exit = bpf_map_lookup_elem(&exits, &s.flow);
	if (exit && !exit->ifindex && s.bytes) {
		exit->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
		if (__sync_bool_compare_and_swap(&exit->ifindex, 0, BPF_CORE_READ(dev, ifindex)))
			__sync_fetch_and_sub(&exits_open, 1);
	}
	return 0;
}

/* Records where each flow enters this host, for the hosts that this trace is joined with. */

static __always_inline __u32 end_of(const struct segment *s)
{
	return s->seq + s->bytes + !!(s->flags & TCPHDR_SYN) + !!(s->flags & TCPHDR_FIN);
}

static __always_inline __u64 place_of(const struct watch_flow *f, __u32 seq, bool begins)
{
	struct tcp_entry *e = cfg.trail ? bpf_map_lookup_elem(&entries, f) : NULL;

	return begins ? seq : e ? e->next + (__s32)(seq - (__u32)e->next) : 0;
}

static __always_inline void report_entry(enum tcp_event event, const struct segment *s, __u64 from,
					 __u64 to)
{
	struct tcp_record *r = record(event);

	if (!r)
		return;
	r->flow = s->flow;
	r->place = from;
	r->seq = from;
	r->end = to;
	r->segs = 1;
	bpf_ringbuf_submit(r, 0);
}

#define ENTRY_TRIES 8 /* maximum CPUs that process segments of one flow at the same time */

static __always_inline void enter(struct tcp_entry *e, const struct segment *s)
{
	const __u32 len = end_of(s) - s->seq;

	if (s->bytes)
		__sync_fetch_and_add(&e->segs, s->segs);
	for (int i = 0; i < ENTRY_TRIES; i++) {
		__u64 next = e->next, seq, end;
		__s32 ahead = s->seq - (__u32)next;

		if (ahead > TCP_FAR || ahead < -TCP_FAR)
			return;
		seq = next + ahead;
		end = seq + len;
		if (end > next && !__sync_bool_compare_and_swap(&e->next, next, end))
			continue;
		if (ahead > 0)
			report_entry(TCP_HOLE, s, next, seq);
		else if (ahead < 0)
			report_entry(TCP_AGAIN, s, seq, end < next ? end : next);
		return;
	}
	LOSS(unranged);
}

/*
 * Attached only if a ledger is kept, because it runs for every packet. An edge interface sees each
 * packet once, before any of this host's own programs and rules except native XDP.
 */
SEC("?tp_btf/netif_receive_skb")
int tcp_enters(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct net_device *dev = IN(skb, sk_buff)->dev;
	struct tcp_entry *e, new = {};
	struct segment s;
	bool begins;

	/* an ifb device returns this packet to its interface */
	if (bpf_core_field_exists(skb->tc_skip_classify) &&
	    BPF_CORE_READ_BITFIELD(skb, tc_skip_classify))
		return 0;
	if ((cfg.netns && BPF_CORE_READ(dev, nd_net.net, ns.inum) != cfg.netns) ||
	    BPF_CORE_READ_BITFIELD(skb, pkt_type) || role_of(dev) != TCP_ROLE_EDGE ||
	    !segment_read(&s, skb) || s.flags & TCPHDR_RST || end_of(&s) == s.seq)
		return 0;
	begins = s.flags & TCPHDR_SYN;
	e = bpf_map_lookup_elem(&entries, &s.flow);
	if (e && !(begins && (!e->begun || (__u32)e->first != s.seq))) {
		enter(e, &s);
		return 0;
	}
	if (!e && !is_of_flow(&s.flow, TCP_ON_ENTRY))
		return 0;
	new.begun = begins;
	new.ttl = s.ttl;
	new.segs = s.bytes ? s.segs : 0;
	new.first = s.seq | (begins ? 0 : 1ULL << 32);
	new.next = new.first + (end_of(&s) - s.seq);
	if (bpf_map_update_elem(&entries, &s.flow, &new, BPF_ANY))
		LOSS(untracked);
	return 0;
}

static __always_inline int dropped(__u64 *ctx, enum tcp_program program)
{
	struct sk_buff *skb = (void *)ctx[0];
	const struct tcp_skb_cb *cb = (const void *)((const struct sk_buff___tcp *)skb)->cb;
	struct sock *rx_sk = NULL, *to;
	__u32 netns = cfg.netns;
	struct watch_flow asked;
	struct tcp_record *r;
	struct segment s;
	bool unsent;

	if (!segment_read(&s, skb) || s.flags & TCPHDR_RST)
		return 0;
	asked = s.flow;
	if (!s.bytes && !(s.flags & (TCPHDR_SYN | TCPHDR_FIN))) /* pure acknowledgment: test the
								 * reverse flow */
		reverse(&asked);
	if (!is_of_flow(&asked, program))
		return 0;
	if (kernel.has_rx_sk)
		rx_sk = (void *)ctx[3];
	to = kernel.has_rx_sk ? rx_sk : receiver_of(&s.flow);
	if (netns)
		netns = find_cause(ctx, NULL);
	if (!kernel.has_rx_sk && cfg.netns && !netns && to)
		netns = netns_of(to);
	if (netns != cfg.netns) {
		if (!netns)
			LOSS(unplaced);
		return 0;
	}
	unsent = s.bytes && is_unsent(skb, &s);
	if (unsent && (!begun || !kept_by_drop(skb->sk, &s)))
		return 0;
	if (!unsent && s.bytes)
		open_hole(&s);
	r = record(TCP_DROPPED);
	if (!r)
		return 0;
	r->start_ns = r->time_ns;
	r->flow = s.flow;
	r->seq = s.seq;
	r->ack = s.ack;
	r->has_ack = !!(s.flags & TCPHDR_ACK);
	r->bytes = s.bytes;
	r->tsval = s.tsval;
	r->segs = s.segs;
	r->size = s.size;
	r->end = end_of(&s);
	if (ctx[2] == cfg.reason_merged[0] || ctx[2] == cfg.reason_merged[1] ||
	    ctx[2] == cfg.reason_merged[2]) { /* other segments may have been merged into it */
		r->seq = BPF_CORE_READ(cb, seq);
		r->end = BPF_CORE_READ(cb, end_seq);
	}
	r->unsent = unsent;
	r->kind = is_had(to, r->end) || (!kernel.has_rx_sk && was_had(&s.flow, r->end));
	r->place = place_of(&s.flow, r->seq, s.flags & TCPHDR_SYN);
	find_cause(ctx, &r->key);
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("tp_btf/kfree_skb")
int tcp_drop(__u64 *ctx)
{
	struct at_work *here = at_work_here();

	if (!here)
		return 0;
	note_work(&here->drop, ctx[0]);
	return dropped(ctx, TCP_ON_DROP);
}

SEC("tp_btf/kfree_skb")
int tcp_drop_again(__u64 *ctx)
{
	struct at_work *here = at_work_here();

	if (!here || !was_missed(&here->drop, ctx[0]))
		return 0;
	__sync_fetch_and_add(&nested, 1);
	return dropped(ctx, TCP_ON_DROP_AGAIN);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
