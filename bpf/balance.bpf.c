// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes for `trace --balance`. They count where the flow's datagrams enter the host, leave it, are
 * dropped or are read, and take a snapshot of all counters. include/balance_abi.h defines when a
 * packet counts as entered. To keep the probes cheap, each program skips packets that are not UDP
 * before it runs EXPR.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "balance_abi.h"
#include "kfree.bpf.h"
#include "link.bpf.h"
#include "nat.bpf.h"
#include "skb.bpf.h"
#include "watch.bpf.h"

/* Probe configuration and counters. */

const volatile struct balance_config cfg;

/* Adds to this CPU's counter. Whether another task can interrupt depends on the kernel. */
#define TALLY(field, n) __sync_fetch_and_add(&(field), n)

/* Element n belongs to CPU n. */
MAP(tallies, ARRAY, 1, __u32, struct balance_tally);

static __always_inline struct balance_tally *tally(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&tallies, &cpu);
}

/* Interface roles and drop causes. Together they determine which side a drop is on (side_of()). */

MAP(causes, HASH, BALANCE_CAUSES, struct balance_cause, __u32);

__u32 cause_next;
__u64 causes_full; /* packets whose cause did not fit in the table */

/* `size`: size in bytes of each operand, a multiple of 8. */
static __always_inline bool words_same(const void *a, const void *b, __u32 size)
{
	const __u64 *x = a, *y = b;
	__u64 differ = 0;

	for (__u32 i = 0; i < size / sizeof(*x); i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

/* Returns true if the namespace is not the one being balanced. */
static __always_inline bool is_elsewhere(__u32 netns)
{
	return cfg.netns && netns != cfg.netns;
}

static __always_inline bool is_dev_elsewhere(struct sk_buff *skb)
{
	return cfg.netns && is_elsewhere(IN(skb, sk_buff)->dev->nd_net.net->ns.inum);
}

static __always_inline enum balance_role role_of(struct net_device *dev)
{
	return link_role(dev, ROLE_INSIDE, ROLE_EDGE);
}

/*
 * Causes of the current drop and of the previous one, which is usually the same. Each program has a
 * separate copy because the programs may interrupt each other.
 */
struct cause_work {
	struct balance_cause now, last;
	__u32 index; /* index of the previous cause */
	__u32 pad;
};

MAP(cause_work, PERCPU_ARRAY, 2, __u32, struct cause_work);

static __noinline __u32 cause_index(const struct balance_cause *cause)
{
	__u32 *known = bpf_map_lookup_elem(&causes, cause), index;

	if (known)
		return *known;
	index = __sync_fetch_and_add(&cause_next, 1);
	if (index >= BALANCE_CAUSES)
		return BALANCE_CAUSES;
	if (!bpf_map_update_elem(&causes, cause, &index, BPF_NOEXIST))
		return index;
	known = bpf_map_lookup_elem(&causes, cause); /* another CPU added it first */
	return known ? *known : BALANCE_CAUSES;
}

/* Finds the UDP datagrams in an skb: their number, their length and the destination port. */

#define SKB_GSO_UDP (1 << 16) /* one datagram that hardware will fragment */

struct datagram {
	__u32 l3;	/* offset of the IP header from head */
	__u32 payload;	/* offset of the UDP payload */
	__u32 bytes;	/* total payload bytes in all segments */
	__u32 size;	/* payload per segment; 0: not merged */
	__u32 segments; /* number of datagrams, 1 if not merged */
	__u32 look;	/* filter_look() */
	__u16 src_port, dst_port;
	__u8 version;
	bool fragmented; /* this is the first fragment */
	__u16 pad;
};

/* Fields of an skb that are needed to find its datagrams. */
struct skb_view {
	struct linear at;
	__u32 len, end;
	__u64 data; /* offset from head */
};

/* Returns false if the packet is in a tunnel and EXPR cannot be applied to it. */
static __always_inline bool skb_view(struct skb_view *v, struct sk_buff *skb, __u32 program)
{
	bool there;

	v->at = linear_of(skb);
	there = look_inside(&v->at, program);
	v->len = skb->len;
	v->end = skb->end;
	v->data = v->at.data - v->at.head;
	barrier_var(v->data); /* the verifier rejects 32-bit pointer differences */
	v->at.data = v->at.head + v->data;
	return there;
}

/* Variant for a socket's queue, where the verifier does not trust the skb. */
static __always_inline void skb_view_probed(struct skb_view *v, struct sk_buff *skb)
{
	v->at = linear_probed(skb);
	v->len = BPF_CORE_READ(skb, len);
	v->end = BPF_CORE_READ(skb, end);
	v->data = v->at.data - v->at.head;
}

/* Counts the datagrams in a packet, which GRO may have merged or GSO will segment. */
static __always_inline void datagram_measure(struct datagram *d, const struct skb_view *v)
{
	struct skb_shared_info *shared = (void *)(v->at.head + v->end);
	__u32 size = FIELD_OF(shared, skb_shared_info, gso_size), segments;

	d->size = 0;
	d->segments = 1;
	if (!size || FIELD_OF(shared, skb_shared_info, gso_type) & SKB_GSO_UDP)
		return;
	d->bytes = v->len - (d->payload - v->data);
	segments = FIELD_OF(shared, skb_shared_info, gso_segs);
	if (!segments) /* injected by a virtual machine (SKB_GSO_DODGY) */
		segments = (d->bytes + size - 1) / size;
	if (segments < 2)
		return;
	d->size = size;
	d->segments = segments;
}

enum datagram_result {
	DATAGRAM_NONE, /* not UDP, or truncated */
	DATAGRAM_HERE,
	DATAGRAM_OTHERS, /* of another flow; only struct plain_udp is filled in */
	DATAGRAM_LATER,	 /* a fragment other than the first, possibly UDP */
	DATAGRAM_HIDDEN, /* its header is in pages: no pull by the driver (napi_gro_frags) */
};

/*
 * Parses any packet. Not static, so that it is verified only once, and so that the caller's code is
 * not verified for each kind of header.
 */
__noinline int datagram_parse(const struct skb_view *v, struct datagram *d)
{
	struct headers h;

	if (!v || !d)
		return DATAGRAM_NONE;
	headers_read_again(&v->at, PROTO_UDP, &h);
	if (h.next == HEADER_FRAGMENT)
		return h.proto == PROTO_UDP || h.version == 6 || inner.wanted ? DATAGRAM_LATER
									      : DATAGRAM_NONE;
	if (h.proto != PROTO_UDP)
		return DATAGRAM_NONE;
	if (h.next == HEADER_CUT)
		return v->len > v->at.tail - v->data ? DATAGRAM_HIDDEN : DATAGRAM_NONE;
	if (h.next != HEADER_PAYLOAD)
		return DATAGRAM_NONE;
	d->l3 = h.l3;
	d->payload = h.at;
	d->bytes = h.length - UDP_HLEN;
	d->src_port = h.src_port;
	d->dst_port = h.dst_port;
	d->version = h.version;
	d->fragmented = h.fragmented || v->at.outer;
	d->look = LOOK_ASK;
	return DATAGRAM_HERE;
}

/* Datagrams that arrived at each port, used to decide whether a read returned one of the flow. */

MAPPED(cells, BALANCE_CELLS, struct balance_cell);

/*
 * One byte per port, 1 if datagrams of the flow arrived there, in any namespace. Bytes instead of
 * bits, because two CPUs that set bits in one byte would overwrite each other's update.
 */
__u8 ports[BALANCE_PORTS];

__u32 mixed; /* set when the first cell has datagrams from this flow and from others */

/* Bits of enum balance_kind_of. */
MAP(sources, LRU_HASH, BALANCE_SOURCES, struct balance_source, __u32);

static __always_inline struct balance_cell *cell_of(__u32 netns, __u16 port)
{
	__u32 index = balance_cell_index(netns, port);

	return bpf_map_lookup_elem(&cells, &index);
}

static __always_inline bool is_mixed(const struct balance_cell *cell)
{
	return cell->came == (BALANCE_OURS | BALANCE_OTHERS);
}

static __always_inline void sizes_came(struct balance_cell *cell, const struct datagram *d)
{
	if (!d->size) {
		if (cell->single < d->bytes)
			cell->single = d->bytes;
		return;
	}
	if (!cell->size_min || cell->size_min > d->size)
		cell->size_min = d->size;
	if (cell->size_max < d->size)
		cell->size_max = d->size;
}

/* The Linux 6.12 verifier does not track the range of a value returned by bpf_ntohs(). */
static __always_inline __u8 *byte_of_port(__u16 port)
{
	__u32 at = port;

	barrier_var(at);
	return &ports[at & (sizeof(ports) - 1)];
}

static __always_inline void note_source(const struct balance_source *from, __u32 kind)
{
	__u32 *known = bpf_map_lookup_elem(&sources, from);

	if (!known)
		bpf_map_update_elem(&sources, from, &kind, BPF_NOEXIST);
	else if (!(*known & kind))
		__sync_fetch_and_or(known, kind);
}

/*
 * Not static, so that it is verified only once. `l3`: offset of the IP header.
 */
__noinline int note_source_at(const struct linear *at, __u32 l3, __u32 version, __u64 port_to,
			      __u32 kind)
{
	struct balance_source from = {.port = port_to >> 16, .to = port_to};

	if (!at)
		return 0;
	if (version == 4)
		bpf_probe_read_kernel(from.address, 4, at->head + l3 + 12);
	else
		bpf_probe_read_kernel(from.address, 16, at->head + l3 + 8);
	note_source(&from, kind);
	return 0;
}

/* Returns the number of datagrams in the `bytes` that one call read, or 0 if unknown. */
static __always_inline __u32 datagrams_in(const struct balance_cell *cell, __u32 bytes)
{
	__u32 size = cell->size_min;

	if (!size || bytes <= size)
		return 1;
	if (size != cell->size_max || cell->single > size)
		return 0;
	return (bytes + size - 1) / size;
}

/* Fragments: a later fragment belongs to the flow if the first one does (bpf/fragment.bpf.h). */

/* Programs that parse fragments. Each one has a separate fragment_work element. */
enum balance_program { BALANCE_RECEIVE, BALANCE_QUEUE, BALANCE_DROP, BALANCE_USED, BALANCE_NAMES };

/* Returns NULL if the packet is not a fragment. */
static __always_inline struct fragment_work *fragment_at(const struct linear *at, __u32 program)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);

	if (!w || !at)
		return NULL;
	w->at = *at;
	return fragment_find(w) ? w : NULL;
}

/*
 * Merges the record of the fragments that overtook the first one into the datagram's record.
 * Another CPU may still count fragments in either record.
 */
static __always_inline void fragment_merge(const struct fragment_work *w, struct followed *d)
{
	struct followed *early = bpf_map_lookup_elem(&overtaken, &w->key);
	struct balance_tally *t = tally();
	__u32 cause;

	if (!early || (__s64)(d->begun - early->begun) >= FRAGMENT_CLOSE)
		return;
	if (!d->netns)
		d->netns = early->netns;
	if (d->netns == early->netns) {
		if (early->bytes)
			d->bytes = early->bytes;
		__sync_fetch_and_add(&d->passed, early->passed);
		__sync_fetch_and_add(&d->again, early->again);
		__sync_fetch_and_add(&d->again_lost, early->again_lost);
		for (int i = 0; i < FRAGMENT_BITS; i++)
			__sync_fetch_and_or(&d->came[i], early->came[i]);
	}
	cause = __sync_lock_test_and_set(&early->lost.cause, FRAGMENT_MERGED);
	if (!__sync_val_compare_and_swap(&d->lost.when, 0, early->lost.when) && cause && t)
		TALLY(t->dropped[(cause - 1) & (BALANCE_CAUSES - 1)], 1);
}

/*
 * Records a first fragment that enters the host. Returns false if the fragment already entered a
 * moment ago, in which case this is a second copy. Two CPUs may handle both copies at once.
 * Otherwise a new datagram begins, which includes any fragments that overtook the first one. If one
 * of those was dropped, the datagram is lost with it. `netns`: where the fragment arrives, or 0.
 * Not static (like the next functions), so that it is verified only once.
 */
__noinline int fragment_enters(const struct linear *at, __u32 program, __u32 flags, __u32 netns)
{
	struct fragment_work *w = fragment_at(at, program);
	struct followed *d;
	__u64 begun, now;
	__s64 close;

	if (!w)
		return true;
	d = bpf_map_lookup_elem(&followed, &w->key);
	if (d) {
		begun = d->begun;
		now = bpf_ktime_get_ns(); /* the clock of another CPU may be a little ahead */
		if (d->netns)
			close = FRAGMENT_CLOSE;
		else if (d->flags != flags)
			close = 0;
		else
			close = flags & FOLLOWED_ENTERED ? FRAGMENT_CLOSE : FRAGMENT_AT_ONCE;
		if ((__s64)(now - begun) < close && !(flags & FOLLOWED_COPY) && !d->lost.when &&
		    (!d->bytes || d->passed < d->bytes))
			return false;
		if (__sync_val_compare_and_swap(&d->begun, begun, now) != begun)
			return false;
		bpf_map_delete_elem(&followed, &w->key);
	}
	d = fragment_begin(w, flags, netns);
	if (!d)
		return !bpf_map_lookup_elem(&followed, &w->key);
	fragment_merge(w, d);
	bpf_map_delete_elem(&overtaken, &w->key);
	return true;
}

/*
 * Records a fragment that arrives in a namespace. Only the first such namespace counts it. `later`:
 * this is not the first fragment, so the datagram may be unknown until the first one arrives.
 */
__noinline int fragment_came(const struct linear *at, __u32 program, __u32 netns, __u32 later)
{
	struct fragment_work *w = fragment_at(at, program);
	struct followed *known;
	__u32 n;

	if (!w)
		return 0;
	known = fragment_known(w);
	/* no data from an older datagram with this ID that EXPR did not match */
	if (later && known && !known->flags &&
	    (__s64)(bpf_ktime_get_ns() - known->begun) >= FRAGMENT_CLOSE) {
		bpf_map_delete_elem(&overtaken, &w->key);
		known = NULL;
	}
	if (!known && later)
		known = fragment_record(w);
	if (!known)
		return 0;
	if (!known->netns)
		known->netns = netns;
	if (known->netns != netns || !fragment_is_new(known, w))
		return 0;
	n = w->h.bytes - ((w->h.fragment ? w->h.at : w->h.l4) - w->h.l3);
	if (!w->h.more)
		known->bytes = w->h.fragment + n;
	__sync_fetch_and_add(&known->passed, n);
	return 0;
}

/* Called when the first fragment is not part of the flow, so later ones need not be tracked. */
__noinline int fragment_forget(const struct linear *at, __u32 program)
{
	struct fragment_work *w = fragment_at(at, program);

	if (w)
		bpf_map_delete_elem(&overtaken, &w->key);
	return 0;
}

/*
 * Records a first fragment that leaves. Returns true if the datagram leaves now, which means that
 * none of its fragments was lost here and that this fragment did not leave before.
 */
__noinline int fragment_leaves(const struct linear *at, __u32 program)
{
	struct fragment_work *w = fragment_at(at, program);
	struct followed *d = w ? bpf_map_lookup_elem(&followed, &w->key) : NULL;

	if (!d)
		return true;
	return !d->lost.when && !(__sync_fetch_and_or(&d->flags, FOLLOWED_LEFT) & FOLLOWED_LEFT);
}

/* Counts the drop held as FRAGMENT_PENDING once the first fragment arrives and EXPR matches it. */
__noinline int fragment_pend(__u32 program, __u32 index)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	struct followed *d = w ? bpf_map_lookup_elem(&overtaken, &w->key) : NULL;
	struct balance_tally *t = tally();

	if (!w || !t || index >= BALANCE_CAUSES)
		return 0;
	if (d && __sync_lock_test_and_set(&d->lost.cause, index + 1) != FRAGMENT_MERGED)
		return 0;
	/* the first fragment has entered meanwhile, on another CPU */
	d = bpf_map_lookup_elem(&followed, &w->key);
	if (d && fragment_is_loss(d, w->h.fragment))
		TALLY(t->dropped[index & (BALANCE_CAUSES - 1)], 1);
	return 0;
}

/* Application sequence numbers, read where packets enter the host, with one state per stream. */

#define RTP_VERSION  2
#define RTP_SEQUENCE 2	 /* offset */
#define RTP_SSRC     8	 /* offset */
#define RTCP_FIRST   192 /* second byte of RTCP packets that share the port (RFC 5761) */
#define RTCP_LAST    223
#define MAX_SEGMENTS 128 /* UDP_MAX_SEGMENTS since 6.9; 64 before */

MAP(streams, HASH, 1, struct balance_stream_key, struct balance_stream);

/*
 * Zeroes for a new stream. They are too large for the stack, and a lock cannot be read across maps.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct balance_stream));
} stream_none SEC(".maps");

/* The segments of a packet. An unmerged packet has one segment. */
struct stream_walk {
	struct sk_buff *skb;
	struct balance_tally *tally;
	unsigned char *head;
	struct balance_stream_key key;
	__u32 from;   /* offset of the payload from head */
	__u32 bytes;  /* payload bytes */
	__u32 size;   /* bytes per segment */
	__u32 linear; /* bytes from head that are not in pages */
	__u32 data;   /* offset of skb->data from head */
	int again;
};

/* Not inline, because the verifier requires separate stack slots for a dynptr. */
static __noinline int read_pages(struct sk_buff *skb, __u32 from_data, __u8 *out)
{
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(skb, 0, &ptr))
		return -1;
	return bpf_dynptr_read(out, cfg.bytes, &ptr, from_data, 0);
}

/* Reads a number cfg.bytes long that starts `from` bytes after head. */
static __always_inline int read_number(const struct stream_walk *w, __u32 from, __u8 *out)
{
	__u32 bytes = cfg.bytes;

	if (bytes > BALANCE_NUMBER)
		return -1;
	if (from + bytes <= w->linear)
		return bpf_probe_read_kernel(out, bytes, w->head + from);
	if (!cfg.paged || from < w->data)
		return -1;
	return read_pages(w->skb, from - w->data, out);
}

/* Returns false if the payload is not RTP. */
static __always_inline bool rtp_number(const __u8 *rtp, struct balance_stream_key *key,
				       __u64 *number)
{
	if (rtp[0] >> 6 != RTP_VERSION || (rtp[1] >= RTCP_FIRST && rtp[1] <= RTCP_LAST))
		return false;
	*number = be16_at(rtp + RTP_SEQUENCE);
	__builtin_memcpy(&key->ssrc, rtp + RTP_SSRC, sizeof(key->ssrc));
	return true;
}

static __always_inline __u64 plain_number(const __u8 *bytes)
{
	__u64 number = 0;

	for (int i = 0; i < 8; i++) {
		if (i < cfg.bytes)
			number = number << 8 | bytes[i];
	}
	return number;
}

static __always_inline struct balance_stream *stream_find(struct stream_walk *w)
{
	struct balance_stream *s = bpf_map_lookup_elem(&streams, &w->key), *none;
	__u32 zero = 0;

	if (s || w->again) /* no new stream for an ending packet: its addresses may have changed */
		return s;
	none = bpf_map_lookup_elem(&stream_none, &zero);
	if (none)
		bpf_map_update_elem(&streams, &w->key, none, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&streams, &w->key);
	if (!s)
		TALLY(w->tally->crowded, 1);
	return s;
}

static long stream_segment(__u32 n, struct stream_walk *w)
{
	const struct sequence_rule rule = {cfg.rule.mask, cfg.rule.step, cfg.rule.ahead,
					   cfg.rule.behind};
	__u32 at = n * w->size + cfg.offset;
	__u8 bytes[BALANCE_NUMBER] WIDE = {};
	struct balance_stream *s;
	__u64 number;

	if (at + cfg.bytes > w->bytes || cfg.offset + cfg.bytes > w->size) {
		TALLY(w->tally->unnumbered, !w->again);
		return 0;
	}
	if (read_number(w, w->from + at, bytes)) {
		TALLY(w->tally->unread, !w->again);
		return 0;
	}
	if (cfg.numbers == NUMBERS_RTP) {
		if (!rtp_number(bytes, &w->key, &number)) {
			TALLY(w->tally->unnumbered, !w->again);
			return 0;
		}
	} else {
		number = plain_number(bytes);
	}
	s = stream_find(w);
	if (!s)
		return 0;
	bpf_spin_lock(&s->lock);
	sequence_see(&s->sequence, &rule, number, w->again);
	bpf_spin_unlock(&s->lock);
	return 0;
}

/* Adds a number to its stream. `again`: the packet ends here and was probably seen on arrival. */
static SPLIT void stream_see(struct sk_buff *skb, const struct skb_view *v,
				       const struct datagram *d, struct balance_tally *tally,
				       int again)
{
	struct stream_walk w = {
		.skb = skb,
		.tally = tally,
		.head = v->at.head,
		.from = d->payload,
		.bytes = d->bytes,
		.size = d->size ? d->size : d->bytes,
		.linear = v->at.tail,
		.data = v->data,
		.again = again,
	};

	__u8 ip[IP6_HLEN] WIDE;

	if (cfg.numbers == NUMBERS_NONE ||
	    bpf_probe_read_kernel(ip, sizeof(ip), v->at.head + d->l3))
		return;
	headers_addresses(d->version, ip, w.key.src, w.key.dst);
	w.key.src_port = bpf_htons(d->src_port);
	w.key.dst_port = bpf_htons(d->dst_port);
	if (d->segments == 1)
		stream_segment(0, &w);
	else
		bpf_loop(d->segments < MAX_SEGMENTS ? d->segments : MAX_SEGMENTS, stream_segment,
			 &w, 0);
}

/* Snapshot of all CPUs' counters and of the socket queues. */

#define MAX_QUEUE (1 << 22) /* maximum packets walked in a socket's queue */

/* Sockets whose queues are sampled. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32); /* the socket's cell */
} sockets SEC(".maps");

__u32 take_unread; /* balance_sockets: include sockets with unread packets on any port */
__u32 look_begun;  /* set to 0 by user space */
struct balance_look look;
static struct balance_tally look_before;

__u32 unread_from; /* balance_unread: packets already reported, per queue */

#define TALLY_WORDS (sizeof(struct balance_tally) / sizeof(__u64))

/* Too large for the compiler's built-in memset() and memcpy(). */
static __always_inline void words_set(void *to, const void *from)
{
	__u64 *x = to;
	const __u64 *y = from;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < TALLY_WORDS; i++) {
		x[i] = y ? y[i] : 0;
		barrier();
	}
}

static long look_cpu(__u32 cpu, void *unused)
{
	const __u64 *from = bpf_map_lookup_elem(&tallies, &cpu);
	__u64 *to = (void *)&look.sum;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; from && i < TALLY_WORDS; i++)
		to[i] += from[i];
	return 0;
}

static __always_inline void look_sum(void)
{
	words_set(&look.sum, NULL);
	bpf_loop(cfg.cpus, look_cpu, NULL, 0);
}

/*
 * Returns the number of packets waiting to be read. udp_recvmsg() moves packets from the second
 * queue to the first. Reading the queues in this order may miss a packet that is being moved, but
 * never counts one twice.
 */
static __always_inline __u32 queue_length(struct sock *sk)
{
	struct udp_sock *up = (void *)sk;
	__u32 first = BPF_CORE_READ(up, reader_queue.qlen);

	barrier();
	return first + BPF_CORE_READ(sk, sk_receive_queue.qlen);
}

/* Counts the datagrams packet by packet if packets are merged. */
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

	if (!cell || !(cell->came & BALANCE_OURS))
		return;
	look.sockets++;
	packets = queue_length(sk);
	if (!BPF_CORE_READ(sk, sk_socket)) /* closed: freed after a grace period, with its queue */
		look.dying += packets;
	if (is_mixed(cell))
		look.mixed += packets;
	else
		look.queued += cell->size_min ? queue_weight(sk) : packets;
}

/*
 * Prepares the packet as the filter sees it. A merged packet looks like one of its segments. At
 * every probe, the filter sees a packet the same way: starting at the IP header, with the length of
 * a frame without VLAN tags, and without IPv6 extension headers. Only an expression that tests
 * Ethernet addresses gets the frame, if there is one.
 */
static __always_inline void filtered_view(struct linear *at, struct filter_gap *gap,
					  const struct datagram *d)
{
	gap->l3 = d->l3;
	gap->skip = d->version == 6 ? d->payload - UDP_HLEN - d->l3 - IP6_HLEN : 0;
	gap->proto = PROTO_UDP;
	if (cfg.frames)
		return;
	at->mac_header = HEADER_UNSET;
	at->network_header = d->l3;
}

struct queue_walk {
	struct seq_file *seq;
	struct sk_buff *skb;
	struct sk_buff_head *head;
	__u32 cell;
	__u32 n; /* packets walked so far, in both queues */
};

/* Too large for the stack. Only one reader uses it. */
static struct balance_queued queued;

/*
 * Copies the filter's view of an skb to `queued`. Returns false if the skb is not a datagram. Not
 * static, so that it is verified once and not for each step of the two loops.
 */
__noinline int read_queued(__u64 skb, __u32 cell)
{
	struct filter_gap gap;
	struct skb_view v;
	struct datagram d = {};
	__u32 start, layer, have;

	skb_view_probed(&v, (void *)skb);
	if (datagram_parse(&v, &d) != DATAGRAM_HERE)
		return false;
	datagram_measure(&d, &v);
	filtered_view(&v.at, &gap, &d);
	start = filter_start(&v.at, &layer);
	have = filter_fetch(queued.bytes, &v.at, start, &gap);
	if (!have)
		return false;
	queued.cell = cell;
	queued.layer = layer;
	queued.have = have;
	queued.port = d.dst_port;
	__builtin_memset(&queued.from, 0, sizeof(queued.from));
	queued.from.port = bpf_htons(d.src_port);
	queued.from.to = d.dst_port;
	if (d.version == 4)
		bpf_probe_read_kernel(queued.from.address, 4, v.at.head + d.l3 + 12);
	else
		bpf_probe_read_kernel(queued.from.address, 16, v.at.head + d.l3 + 8);
	queued.payload = d.bytes;
	queued.size = d.size;
	queued.segments = d.segments;
	queued.length = d.payload - start - gap.skip + (d.size ? d.size : d.bytes) +
			(cfg.frames ? 0 : ETHERNET_HLEN);
	return true;
}

static long queue_step(__u32 i, struct queue_walk *w)
{
	struct sk_buff *skb = w->skb;

	if (!skb || (void *)skb == (void *)w->head || w->n >= unread_from + BALANCE_CHUNK)
		return 1;
	if (w->n >= unread_from && read_queued((__u64)skb, w->cell))
		bpf_seq_write(w->seq, &queued, sizeof(queued));
	w->n++;
	w->skb = BPF_CORE_READ(skb, next);
	return 0;
}

#define PACKET_LOOPBACK 5

/*
 * Finds the datagram in a packet. A packet whose ports show that it is of another flow ends here,
 * before anything else is read: DATAGRAM_OTHERS, with `plain` filled in. With DATAGRAM_NONE nothing
 * is filled in, otherwise `v`, and with DATAGRAM_HERE `d`.
 */
static __always_inline enum datagram_result datagram_find(struct sk_buff *skb, struct skb_view *v,
							  struct datagram *d,
							  struct plain_udp *plain, __u32 program)
{
	enum datagram_result found = DATAGRAM_HERE;
	enum filter_look look = LOOK_ASK;
	enum plain kind = NOT_PLAIN;
	struct balance_tally *t;

	*plain = (struct plain_udp){};
	if (!inner.wanted)
		kind = plain_udp(skb, plain);
	if (kind == PLAIN_UDP)
		look = filter_look_udp(plain->src_port, plain->dst_port);
	if (is_others(look))
		return DATAGRAM_OTHERS;
	if (kind == PLAIN_OTHER || !skb_view(v, skb, program))
		return DATAGRAM_NONE;
	*d = (struct datagram){.l3 = plain->l3,
			       .payload = plain->payload,
			       .bytes = plain->length - UDP_HLEN,
			       .look = look ^ no_bits,
			       .src_port = plain->src_port,
			       .dst_port = plain->dst_port,
			       .version = plain->version};
	if (kind == NOT_PLAIN)
		found = datagram_parse(v, d);
	if (found == DATAGRAM_HIDDEN) {
		t = tally();
		if (t)
			TALLY(t->hidden, 1);
	}
	/*
	 * forces it into memory: clang 14 would spill uninitialised registers, which verifiers
	 * reject
	 */
	asm volatile("" : : "r"(d) : "memory");
	return found;
}

/* Returns enum nat_match bits. */
static __always_inline __u32 of_flow(struct sk_buff *skb, const struct skb_view *v,
				     const struct datagram *d, __u32 program)
{
	__u32 len = d->size ? d->payload - v->data + d->size : v->len;
	struct linear at = v->at;
	struct filter_gap gap;

	if (is_ours(d->look))
		return NAT_MATCHES;
	filtered_view(&at, &gap, d);
	return nat_matches(&at, cfg.frames ? len : len + ETHERNET_HLEN, d->look, &gap,
			   connection_of(skb, program), program,
			   program == BALANCE_RECEIVE || program == BALANCE_QUEUE);
}

/* Matches IPv4 and IPv6 multicast and the IPv4 limited broadcast address. */
static __always_inline bool is_multicast(const struct skb_view *v, const struct datagram *d)
{
	unsigned char *to = v->at.head + d->l3 + (d->version == 4 ? 16 : 24);
	__u8 first = 0;

	if (KFUNCS)
		first = *(const __u8 *)CAST(to, iphdr);
	else
		bpf_probe_read_kernel(&first, sizeof(first), to);
	return d->version == 4 ? first >= 224 : first == 0xff;
}

/* Returns false for the second copy of a first fragment, which is not counted again. */
static __always_inline bool enter(struct sk_buff *skb, const struct skb_view *v,
				  const struct datagram *d, struct balance_tally *t, bool counts,
				  __u32 program, __u32 from, __u32 netns)
{
	if (counts)
		from |= FOLLOWED_ENTERED;
	if (d->fragmented && !fragment_enters(&v->at, program, FOLLOWED_OURS | from, netns))
		return false;
	if (counts) {
		TALLY(t->entered, d->segments);
		if (is_multicast(v, d))
			TALLY(t->multicast, d->segments);
	}
	stream_see(skb, v, d, t, false);
	return true;
}

/*
 * Records that a datagram of the flow, or of others, arrived at this port, before any process can
 * read it. Where both kinds arrive, the source is recorded too. `p`: its ports and IP header.
 */
static __always_inline struct balance_cell *
came_to_port(__u32 netns, struct sk_buff *skb, const struct plain_udp *p, __u32 bytes, __u8 kind)
{
	struct balance_cell *cell = cell_of(netns, p->dst_port);

	if (!cell)
		return NULL;
	if (!cell->first)
		cell->first = kind;
	if (!(cell->came & kind)) {
		cell->came |= kind;
		if (is_mixed(cell))
			mixed = 1;
	}
	if (!bytes)
		cell->empty = 1;
	if (mixed && is_mixed(cell)) {
		const struct linear at = linear_of(skb);

		note_source_at(&at, p->l3, p->version,
			       (__u64)bpf_htons(p->src_port) << 16 | p->dst_port, kind);
	}
	return cell;
}

/* Records a datagram after of_flow(). */
static __always_inline void came(__u32 netns, struct sk_buff *skb, const struct datagram *d,
				 bool ours)
{
	const struct plain_udp p = {.l3 = d->l3,
				    .src_port = d->src_port,
				    .dst_port = d->dst_port,
				    .version = d->version};
	struct balance_cell *cell =
		came_to_port(netns, skb, &p, d->bytes, ours ? BALANCE_OURS : BALANCE_OTHERS);
	__u8 *port = byte_of_port(d->dst_port);

	if (!ours)
		return;
	if (cell)
		sizes_came(cell, d);
	if (!*port)
		*port = 1;
}

static __always_inline void receives(struct sk_buff *skb)
{
	enum datagram_result found;
	struct balance_tally *t;
	struct plain_udp plain;
	struct net_device *dev;
	struct skb_view v;
	struct datagram d;
	__u32 netns, counted;
	bool ours;

	if (is_dev_elsewhere(skb))
		return;
	found = datagram_find(skb, &v, &d, &plain, BALANCE_RECEIVE);
	if (found == DATAGRAM_NONE)
		return;
	dev = IN(skb, sk_buff)->dev;
	netns = dev->nd_net.net->ns.inum;
	if (found == DATAGRAM_OTHERS) {
		came_to_port(netns, skb, &plain, plain.length - UDP_HLEN, BALANCE_OTHERS);
		return;
	}
	if (found == DATAGRAM_LATER && role_of(dev) != ROLE_STACKED)
		fragment_came(&v.at, BALANCE_RECEIVE, netns, true);
	if (found != DATAGRAM_HERE)
		return;
	datagram_measure(&d, &v);
	ours = of_flow(skb, &v, &d, BALANCE_RECEIVE) & NAT_MATCHES;
	came(netns, skb, &d, ours);
	if (!ours) {
		if (d.fragmented)
			fragment_forget(&v.at, BALANCE_RECEIVE);
		return;
	}
	t = tally();
	if (!t)
		return;
	counted = role_of(dev) != ROLE_STACKED ? netns : 0;
	if (BPF_CORE_READ_BITFIELD(skb, pkt_type) == PACKET_LOOPBACK) {
		enter(skb, &v, &d, t, true, BALANCE_RECEIVE, FOLLOWED_COPY, counted);
	} else if (!skb->skb_iif && role_of(dev) == ROLE_EDGE) {
		if (enter(skb, &v, &d, t, true, BALANCE_RECEIVE, FOLLOWED_RECEIVED, counted))
			TALLY(t->received, d.segments);
	}
	if (d.fragmented && counted)
		fragment_came(&v.at, BALANCE_RECEIVE, netns, false);
}

SEC("tp_btf/netif_receive_skb")
int balance_receive(__u64 *ctx)
{
	receives((void *)ctx[0]);
	return 0;
}

static __always_inline void leaves(const struct skb_view *v, const struct datagram *d,
				   struct balance_tally *t, __u32 match)
{
	if (match & NAT_NEW_ONLY || (d->fragmented && !fragment_leaves(&v->at, BALANCE_QUEUE)))
		return;
	TALLY(t->left, d->segments);
}

static __always_inline void queues(struct sk_buff *skb)
{
	struct balance_tally *t;
	struct plain_udp plain;
	struct net_device *dev;
	enum balance_role role;
	struct skb_view v;
	struct datagram d;
	struct sock *sk;
	__u32 match;

	if (is_dev_elsewhere(skb) ||
	    datagram_find(skb, &v, &d, &plain, BALANCE_QUEUE) != DATAGRAM_HERE)
		return;
	dev = IN(skb, sk_buff)->dev;
	t = tally();
	if (!t)
		return;
	datagram_measure(&d, &v);
	match = of_flow(skb, &v, &d, BALANCE_QUEUE);
	if (!(match & NAT_MATCHES))
		return;
	sk = IN(skb, sk_buff)->sk;
	role = role_of(dev);
	if (role == ROLE_STACKED)
		return;
	if (nat_followed && match & NAT_TRANSLATED)
		nat_learn(nfct_of(skb), BALANCE_QUEUE, 1, d.segments);
	if (sk && sk->__sk_common.skc_net.net == dev->nd_net.net) { /* the sender's socket */
		if (enter(skb, &v, &d, t, role == ROLE_INSIDE, BALANCE_QUEUE, 0, 0) &&
		    role == ROLE_EDGE)
			TALLY(t->sent, d.segments);
	} else if (role == ROLE_EDGE) {
		leaves(&v, &d, t, match);
	} else if (match & NAT_NEW_ONLY) {
		enter(skb, &v, &d, t, true, BALANCE_QUEUE, 0, 0);
	} else if (match & NAT_TRANSLATED && d.fragmented) {
		fragment_enters(&v.at, BALANCE_QUEUE, FOLLOWED_OURS, 0);
	}
}

SEC("tp_btf/net_dev_queue")
int balance_queue(__u64 *ctx)
{
	queues((void *)ctx[0]);
	return 0;
}

/*
 * Runs after all other programs at netfilter's `input` hook. A packet for a socket has its final
 * tuple there, while its connection still has the previous one (bpf/nat.bpf.h).
 */
static __always_inline void names(struct sk_buff *skb)
{
	struct net_device *dev = IN(skb, sk_buff)->dev;
	bool loops = dev->flags & IFF_LOOPBACK; /* net_dev_queue has already seen these tuples */
	struct balance_tally *t = tally();
	__u32 netns = dev->nd_net.net->ns.inum, match;
	__u64 nfct = nfct_of(skb);
	struct plain_udp plain;
	struct skb_view v;
	struct datagram d;

	if (!nfct || !t || is_elsewhere(netns) ||
	    datagram_find(skb, &v, &d, &plain, BALANCE_NAMES) != DATAGRAM_HERE ||
	    tunnel_of(BALANCE_NAMES))
		return;
	datagram_measure(&d, &v);
	match = of_flow(skb, &v, &d, BALANCE_NAMES);
	if (!(match & NAT_TRANSLATED)) {
		nat_forget(&v.at, BALANCE_NAMES);
		return;
	}
	came(netns, skb, &d, match & NAT_MATCHES);
	if (!(match & NAT_MATCHES))
		return;
	nat_learn(nfct, BALANCE_NAMES, loops, loops ? 0 : d.segments);
	if (match & NAT_NEW_ONLY && !loops)
		enter(skb, &v, &d, t, true, BALANCE_NAMES, 0, 0);
}

SEC("?netfilter")
int balance_names(struct bpf_nf_ctx *ctx)
{
	names(ctx->skb);
	return NF_ACCEPT;
}

/*
 * Source of the datagram that a thread is reading, keyed by task. Set when the kernel fills in the
 * address for the reader, and removed when the read ends.
 */
struct read_source {
	__u32 kind; /* bits of enum balance_kind_of; 0: arrived before the other kind */
	__u32 port; /* the socket's port */
};
MAP(reads, LRU_HASH, BALANCE_READS, __u64, struct read_source);

static __always_inline __u32 kind_of_source(const struct balance_source *from)
{
	__u32 *known = bpf_map_lookup_elem(&sources, from);

	return known ? *known : 0;
}

/* Converts an IPv4-mapped IPv6 address (::ffff:192.0.2.1), which an IPv6 socket reports. */
static __always_inline void unmap(struct balance_source *from)
{
	__u32 *address = (void *)from->address;

	if (address[0] || address[1] || address[2] != bpf_htonl(0xffff))
		return;
	address[0] = address[3];
	address[2] = address[3] = 0;
}

/* Not static, so that it is verified only once. */
__noinline int read_names(__u32 a, __u32 b, __u32 c, __u64 d, __u64 port_to)
{
	struct balance_source from = {.port = port_to >> 16, .to = port_to};
	struct read_source r = {.port = (__u16)port_to};
	__u64 task = bpf_get_current_task();
	__u32 *address = (void *)from.address;

	address[0] = a;
	address[1] = b;
	address[2] = c;
	address[3] = d;
	unmap(&from);
	r.kind = kind_of_source(&from);
	bpf_map_update_elem(&reads, &task, &r, BPF_ANY);
	return 0;
}

#define PORT_TO(ctx) ((ctx->user_port & 0xffff) << 16 | (__u16)sk->src_port)

SEC("?cgroup/recvmsg4")
int balance_from4(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	if (mixed && sk && *byte_of_port(sk->src_port))
		read_names(ctx->user_ip4, 0, 0, 0, PORT_TO(ctx));
	return 1;
}

SEC("?cgroup/recvmsg6")
int balance_from6(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	if (mixed && sk && *byte_of_port(sk->src_port))
		read_names(ctx->user_ip6[0], ctx->user_ip6[1], ctx->user_ip6[2], ctx->user_ip6[3],
			   PORT_TO(ctx));
	return 1;
}

/*
 * Returns the kind of a datagram read from a port where both kinds arrive, or 0 if that is
 * inconclusive. Removes the source.
 */
static __noinline __u32 kind_read(struct sock *sk, __u32 port, __u32 first)
{
	struct balance_source from = {.to = port};
	__u64 task = bpf_get_current_task();
	struct read_source *r = bpf_map_lookup_elem(&reads, &task);
	__u32 kind;

	if (r && r->port == port) {
		kind = r->kind;
		bpf_map_delete_elem(&reads, &task);
	} else {
		from.port = BPF_CORE_READ(sk, __sk_common.skc_dport);
		if (!from.port)
			return 0;
		if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET)
			BPF_CORE_READ_INTO((__u32 *)from.address, sk, __sk_common.skc_daddr);
		else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
			BPF_CORE_READ_INTO(&from.address, sk, __sk_common.skc_v6_daddr);
		unmap(&from);
		kind = kind_of_source(&from);
	}
	if (!kind)
		kind = first;
	return kind == (BALANCE_OURS | BALANCE_OTHERS) ? 0 : kind;
}

static __always_inline void is_read(struct balance_tally *t, const struct balance_cell *cell,
				    struct sock *sk, __u32 bytes)
{
	__u32 datagrams = datagrams_in(cell, bytes), kind = cell->came;

	if (!bytes && !cell->empty) /* the socket was shut down */
		return;
	if (is_mixed(cell))
		kind = kind_read(sk, sk->__sk_common.skc_num, cell->first);
	if (!kind)
		TALLY(t->undecided, 1);
	if (!(kind & BALANCE_OURS))
		return;
	if (!datagrams)
		TALLY(t->unsized, 1);
	TALLY(t->delivered, datagrams ? datagrams : 1);
}

/* Counts a read. `bytes`: return value of the protocol's recvmsg(). */
static __always_inline int read_ended(struct sock *sk, int bytes, int flags)
{
	__u16 port = sk->__sk_common.skc_num;
	struct balance_tally *t;
	struct balance_cell *cell;
	__u32 netns;

	if (sk->sk_protocol != PROTO_UDP || (!cfg.netns && !*byte_of_port(port)))
		return 0;
	netns = IN(sk, sock)->__sk_common.skc_net.net->ns.inum;
	if (is_elsewhere(netns))
		return 0;
	if (bytes < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE)) {
		if (mixed && flags & MSG_PEEK)
			kind_read(sk, port, 0);
		return 0;
	}
	cell = cell_of(netns, port);
	t = tally();
	if (cell && t && cell->came)
		is_read(t, cell, sk, bytes);
	else if (cell && t && bytes)
		TALLY(t->elsewhere, 1);
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int balance_read(__u64 *ctx)
{
	return read_ended((void *)ctx[0], (int)ctx[1], (int)ctx[2]);
}

/* Before Linux 6.3 the arguments are (sk, msg, len, flags, addr_len), then the return value. */
SEC("?fexit/udp_recvmsg")
int balance_read4(__u64 *ctx)
{
	return read_ended((void *)ctx[0], (int)ctx[5], (int)ctx[3]);
}

SEC("?fexit/udpv6_recvmsg")
int balance_read6(__u64 *ctx)
{
	return read_ended((void *)ctx[0], (int)ctx[5], (int)ctx[3]);
}

/* Leaves out the socket, interface and namespace, which take many values. */
static __always_inline void fill_cause(struct balance_cause *cause, const struct freed *f,
				       __u32 flags)
{
	__u64 *word = (void *)&cause->key;

	cause_words(f, word);
	word[2] = f->reason;
	word[3] &= ~0xffffffffULL;
	cause->role = f->dev ? role_of(f->dev) : ROLE_INSIDE;
	cause->flags = flags;
	if (f->sender && (!f->dev || f->sender->__sk_common.skc_net.net == f->dev->nd_net.net))
		cause->flags |= BALANCE_OWN;
}

static __always_inline __u32 index_of(const struct freed *f, bool consumed, __u32 flags)
{
	__u32 slot = consumed;
	struct cause_work *w = bpf_map_lookup_elem(&cause_work, &slot);

	if (!w)
		return BALANCE_CAUSES;
	fill_cause(&w->now, f, flags);
	if (!words_same(&w->now, &w->last, sizeof(w->now))) {
		w->index = cause_index(&w->now);
		w->last = w->now;
	}
	return w->index;
}

/*
 * Packets left in a closed socket and fragments waiting for reassembly have no namespace. However,
 * a port of this namespace received this datagram or similar ones. The first fragment is dropped
 * together with the later ones.
 */
static __always_inline bool is_dropped_elsewhere(const struct freed *f, const struct datagram *d,
						 enum datagram_result found)
{
	const struct balance_cell *cell;

	if (!cfg.netns)
		return false;
	if (f->netns || found != DATAGRAM_HERE)
		return f->netns != cfg.netns;
	cell = cell_of(cfg.netns, d->dst_port);
	return !cell || !(cell->came & BALANCE_OURS);
}

static SPLIT void find_cause(struct freed *f, __u64 *ctx, bool consumed)
{
	cause_fill(f, ctx, consumed, true);
}

/*
 * Does nothing. After a call to a function that is verified separately, the verifier assumes
 * nothing of these values, so it follows one path instead of one per kind of header.
 */
__noinline int forget_values(struct linear *at, struct datagram *d)
{
	asm volatile("" : : "r"(at), "r"(d) : "memory");
	return 0;
}

/* The same, for the freed packet too. */
__noinline int forget_all(struct freed *f, struct skb_view *v, struct datagram *d)
{
	asm volatile("" : : "r"(f), "r"(v), "r"(d) : "memory");
	return 0;
}

/*
 * Counts a dropped packet, and any datagram that ends with it. Reads what the event reports only if
 * the packet is of the flow.
 */
static __always_inline void count_end(__u64 *ctx, bool consumed, bool aborted)
{
	const __u32 program = consumed ? BALANCE_USED : BALANCE_DROP;
	__u32 index, match, segments = 1, flags = 0, more = 0, drop = FRAGMENT_LOSS;
	struct sk_buff *skb = (void *)ctx[0];
	enum datagram_result found;
	struct balance_tally *t;
	struct plain_udp plain;
	struct skb_view v;
	struct datagram d;
	struct freed read, *f = &read;
	bool ends, sees = false;

	found = datagram_find(skb, &v, &d, &plain, program);
	if (found == DATAGRAM_HERE) {
		datagram_measure(&d, &v);
		match = of_flow(skb, &v, &d, program);
		if (!(match & NAT_MATCHES))
			return;
		/* on loopback it already entered with that tuple at net_dev_queue */
		if (match & NAT_NEW_ONLY && !(IN(skb, sk_buff)->dev->flags & IFF_LOOPBACK))
			flags = BALANCE_RENAMED;
		segments = d.segments;
		forget_values(&v.at, &d);
	} else if (found != DATAGRAM_LATER) {
		return;
	}
	t = tally();
	if (!t)
		return;
	found ^= no_bits;
	flags ^= no_bits;
	segments ^= no_bits;
	freed_read(f, ctx, consumed);
	if (aborted)
		f->flags |= WATCH_ABORTED;
	freed_place(f);
	ends = !is_dropped_elsewhere(f, &d, found);
	if (found == DATAGRAM_LATER || d.fragmented)
		drop = ends ? fragment_dropped(&v.at, program, found == DATAGRAM_HERE, &more)
			    : FRAGMENT_NO_LOSS;
	if (drop == FRAGMENT_NO_LOSS)
		return;
	if (drop == FRAGMENT_AGAIN)
		f->flags |= WATCH_COPY;
	if (more & FRAGMENT_INCOMPLETE)
		flags |= BALANCE_INCOMPLETE;
	if (more & FRAGMENT_ENTERED)
		flags |= BALANCE_ENTERED;
	if (more & FRAGMENT_RETURNS)
		TALLY(t->left, -1);
	segments ^= no_bits;
	flags ^= no_bits;
	drop ^= no_bits;
	find_cause(f, ctx, consumed);
	if (drop != FRAGMENT_AGAIN && ends) {
		index = index_of(f, consumed, flags);
		if (drop == FRAGMENT_PENDING) {
			fragment_pend(program, index);
			return;
		}
		if (index < BALANCE_CAUSES)
			TALLY(t->dropped[index & (BALANCE_CAUSES - 1)], segments);
		else
			__sync_fetch_and_add(&causes_full, segments);
		sees = cfg.numbers != NUMBERS_NONE && found == DATAGRAM_HERE;
	}
	/* stored in `d`, because another variable exceeds the stack limit on Linux 6.12 */
	if (!sees)
		d.segments = 0;
	if (watch_cfg.cpus && is_wanted(f))
		count_freed(ctx, f, &v.at, program, consumed);
	if (cfg.numbers == NUMBERS_NONE || !d.segments)
		return;
	/* Without this, the verifier exceeds its instruction limit on Linux 7.2. */
	forget_all(f, &v, &d);
	t = tally();
	if (t)
		stream_see((void *)ctx[0], &v, &d, t, true);
}

SEC("tp_btf/kfree_skb")
int balance_drop(__u64 *ctx)
{
	if (!is_headless(ctx))
		count_end(ctx, false, watch_cfg.cpus && is_aborted(ctx));
	return 0;
}

/* Handles packets freed as consumed at locations where that is a loss. */
SEC("?tp_btf/consume_skb")
int balance_used(__u64 *ctx)
{
	if (is_in_any(cfg.consumed, WATCH_CONSUMED_MAX, ctx[1]))
		count_end(ctx, true, false);
	return 0;
}

/*
 * Called once for each known socket and once more at the end. All counters are read before and
 * after. If they are equal, the counters and the queue lengths are from the same moment.
 */
SEC("iter/bpf_sk_storage_map")
int balance_looks(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	__u32 *cell = ctx->value;

	if (!look_begun) {
		look_begun = 1;
		look.queued = look.mixed = look.dying = look.sockets = 0;
		look_sum();
		words_set(&look_before, &look.sum);
	}
	if (sk && cell) {
		look_at(sk, *cell);
		return 0;
	}
	look_sum();
	look.moved = !words_same(&look_before, &look.sum, sizeof(look.sum));
	return 0;
}

/* Collects the sockets to sample, across all processes and namespaces. */
SEC("iter/task_file")
int balance_sockets(struct bpf_iter__task_file *ctx)
{
	struct sock *sk = sock_of_file(ctx->file);
	struct balance_cell *cell;
	__u32 index, *known;

	if (!sk || sk->sk_protocol != PROTO_UDP ||
	    (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6) ||
	    is_elsewhere(sk->__sk_common.skc_net.net->ns.inum))
		return 0;
	index = balance_cell_index(sk->__sk_common.skc_net.net->ns.inum, sk->__sk_common.skc_num);
	cell = bpf_map_lookup_elem(&cells, &index);
	if (!cell || !(cell->came & BALANCE_OURS || (take_unread && queue_length(sk))))
		return 0;
	known = bpf_sk_storage_get(&sockets, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (known)
		*known = index;
	return 0;
}

/* Reports unread packets to the filter in user space, a few per socket at a time. */
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
