/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts drops by the key in include/watch_abi.h. This code runs for every drop to be counted, so
 * the fast path for a key that already owns its slot is short: plain loads, one inlined array
 * lookup, four comparisons. More expensive work happens when a key claims a slot, once per
 * interval.
 */
#ifndef PKTLEDGER_WATCH_BPF_H
#define PKTLEDGER_WATCH_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kfree.bpf.h"
#include "nat.bpf.h"
#include "skb.bpf.h"
#include "sock.bpf.h"
#include "watch_abi.h"

/*
 * Properties of a socket or an interface other than its number. They are read once per interval, so
 * with probing reads, which cost more but accept any pointer.
 */

MAP(socks, LRU_HASH, 1, __u64, struct watch_sock);

MAP(devs, LRU_HASH, 1, struct watch_dev_key, struct watch_dev);

/* Too large for the stack. One element per program, because one program may interrupt the other. */
MAP(noted, PERCPU_ARRAY, 2, __u32, struct watch_sock);

static __always_inline void note_sock(__u64 cookie, struct sock *sk, __u32 program)
{
	struct watch_sock *n = bpf_map_lookup_elem(&noted, &program);

	if (!n)
		return;
	sock_read(n, sk);
	bpf_map_update_elem(&socks, &cookie, n, BPF_ANY);
}

/* Records where a closed socket's packets were going, which is all that is left of the socket. */
static __always_inline void note_port(__u64 id, const struct watch_flow *f, __u32 program)
{
	struct watch_sock *n = bpf_map_lookup_elem(&noted, &program);

	if (!n)
		return;
	__builtin_memset(n, 0, sizeof(*n));
	n->family = f->family;
	n->protocol = f->proto;
	n->local_port = bpf_ntohs(f->dst_port);
	__builtin_memcpy(n->local, f->dst, sizeof(n->local));
	bpf_map_update_elem(&socks, &id, n, BPF_ANY);
}

static __always_inline void note_dev(__u32 netns, __u32 ifindex, struct net_device *dev)
{
	struct watch_dev_key key = {netns, ifindex};
	struct watch_dev n = {};

	bpf_probe_read_kernel_str(n.name, sizeof(n.name), dev->name);
	bpf_map_update_elem(&devs, &key, &n, BPF_ANY);
}

/*
 * Where drops are counted: in slots, in a hash map for keys without a slot, and in one element for
 * keys that do not fit in the map either. See include/watch_abi.h.
 */

const volatile struct watch_config watch_cfg = {};

/* Set by user space and read by all programs that count. */
MAPPED(control, 1, struct watch_control);

static __always_inline struct watch_control *watch_control(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

/*
 * The slots for CPU c in a set start at (set * cpus + c) * slots. User space sets their number and
 * size. A slot is a struct watch_slot, or a struct watch_flow_slot if flows are counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct watch_flow_slot));
	__uint(max_entries, 1);
} slots SEC(".maps"), others SEC(".maps");

/* For keys without a slot, one map per set. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(key_size, sizeof(struct watch_flow_key));
	__uint(value_size, sizeof(struct watch_count));
	__uint(max_entries, 1);
} overflow0 SEC(".maps"), overflow1 SEC(".maps");

ONE_PER_CPU(losses, struct watch_loss);

#define LOSS(field, n) COUNT_ON_CPU(losses, struct watch_loss, field, n)

/*
 * A drop to be counted. It begins like struct watch_flow_key, with the key as four words so that it
 * can be compared.
 */
struct drop {
	__u64 word[4];
	struct watch_flow flow; /* only if flows are counted, or for WATCH_PORT */
	struct net_device *dev; /* NULL: skb->dev is not an interface */
	struct sock *sk;	/* socket whose cookie is in the key, or NULL */
	__u32 cpu;		/* relative to the first CPU of the first set */
	__u32 slot;
	struct watch_count count; /* amount to add, unless the key is in its first slot */
};

/* One per program, like `noted`. */
MAP(counting, PERCPU_ARRAY, 2, __u32, struct drop);

_Static_assert(__builtin_offsetof(struct drop, dev) == sizeof(struct watch_flow_key), "a key");

static __always_inline bool same(const struct watch_slot *slot, const __u64 *word,
				 const struct watch_flow *flow, bool flows)
{
	const struct watch_flow_slot *with_flow = (const void *)slot;
	const __u64 *w = (const void *)&slot->key;
	const __u64 *x = (const void *)&with_flow->flow, *y = (const void *)flow;

	/* one branch, because most words are equal and the verifier follows every branch */
	__u64 differs = (w[0] ^ word[0]) | (w[1] ^ word[1]) | (w[2] ^ word[2]) | (w[3] ^ word[3]);

	if (flows)
		differs |= (x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) |
			   (x[4] ^ y[4]);
	if (flows && inner.wanted)
		differs |= x[5] ^ y[5];
	return !differs;
}

static __always_inline struct watch_count *claim(struct watch_slot *slot, const struct drop *d)
{
	struct watch_flow_slot *with_flow = (void *)slot;

	if (watch_cfg.by_flow)
		with_flow->flow = d->flow;
	__builtin_memcpy(&slot->key, d->word, sizeof(slot->key));
	return &slot->count;
}

/* Hashes the words of the key. The upper bits of a product depend on all lower bits. */
static __always_inline __u32 hash(const __u64 *word, const struct watch_flow *flow, bool flows)
{
	__u64 sum = word[0] ^ word[1] << 17 ^ word[2] ^ word[3] << 7;
	const __u64 *f = (const void *)flow;

	if (flows)
		sum += (f[0] ^ f[2]) * 0x165667b19e3779f9 + (f[1] ^ f[3]) * 0x27d4eb2f165667c5 +
		       (f[4] ^ (inner.wanted ? f[5] : 0)) * 0x9e3779b185ebca87;
	return sum * 0x9e3779b97f4a7c15 >> 40;
}

/*
 * Merges keys without socket and flow, of which there are few, into a table searched linearly from
 * the hash. The flow is cleared before hashing, because otherwise each flow would claim a slot for
 * the same key.
 */
static __always_inline struct watch_count *merge(struct drop *d)
{
	if (d->word[3] >> WATCH_FLAGS_SHIFT & WATCH_MANY)
		d->word[1] = 0;
	d->word[3] |= (__u64)WATCH_OTHERS << WATCH_FLAGS_SHIFT;
	__builtin_memset(&d->flow, 0, sizeof(d->flow));
	d->slot = hash(d->word, NULL, false);
	for (__u32 i = 0; i < WATCH_OTHERS_SLOTS; i++) {
		__u32 at = d->cpu * WATCH_OTHERS_SLOTS + (d->slot + i) % WATCH_OTHERS_SLOTS;
		struct watch_slot *slot = bpf_map_lookup_elem(&others, &at);

		if (!slot)
			return NULL;
		if (!slot->key.location)
			return claim(slot, d);
		if (same(slot, d->word, &d->flow, watch_cfg.by_flow))
			return &slot->count;
	}
	return NULL;
}

static __always_inline void note(const struct drop *d)
{
	const __u32 flags = d->word[3] >> WATCH_FLAGS_SHIFT, consumed = !!(flags & WATCH_CONSUMED);

	if (d->dev)
		note_dev((__u32)d->word[3], d->word[2] >> 32, d->dev);
	if (d->sk)
		note_sock(d->word[1], d->sk, consumed);
	else if (flags & WATCH_PORT)
		note_port(d->word[1], &d->flow, consumed);
}

/* Not on the stack, because Linux 6.1 rounds each frame up to 32 bytes, and the limit is 512. */
static const struct watch_count none;

static __always_inline struct watch_count *overflow(struct drop *d)
{
	void *map = d->cpu < watch_cfg.cpus ? (void *)&overflow0 : (void *)&overflow1;
	__u32 zero = 0;
	struct watch_loss *loss = bpf_map_lookup_elem(&losses, &zero);
	struct watch_count *sum;

	if (!loss)
		return NULL;
	loss->overflow++;
	sum = bpf_map_lookup_elem(map, d);
	if (sum)
		return sum;
	note(d);
	bpf_map_update_elem(map, d, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(map, d);
	if (sum)
		return sum;
	loss->merged++;
	sum = merge(d);
	return sum ? sum : &loss->uncounted;
}

static __always_inline struct watch_count *place_of(struct drop *d)
{
	__u32 at = d->slot, beside = d->slot ^ 1;
	struct watch_slot *first, *second, *empty;

	first = bpf_map_lookup_elem(&slots, &at);
	second = bpf_map_lookup_elem(&slots, &beside);
	if (!first || !second)
		return NULL;
	/* the program on consume_skb may interrupt the one on kfree_skb, and does not use slots */
	if (!(d->word[3] >> WATCH_FLAGS_SHIFT & WATCH_CONSUMED)) {
		if (same(second, d->word, &d->flow, watch_cfg.by_flow))
			return &second->count;
		empty = !first->key.location ? first : second;
		if (!empty->key.location) {
			note(d);
			return claim(empty, d);
		}
	}
	return overflow(d);
}

/*
 * Counts a key's first event in this interval on this CPU, or an event whose key is not in its
 * first slot. Not static, so that it is verified once for all callers. Returns false if the event
 * was not counted.
 */
#ifdef WITHOUT_KFUNCS
static /* `static` because Linux 6.1 accepts a map key only from certain memory */
#endif
	__noinline int
	count_elsewhere(struct drop *d)
{
	struct watch_count *sum = d ? place_of(d) : NULL;

	if (!sum)
		return false;
	sum->events += d->count.events;
	sum->more += d->count.more;
	sum->bytes += d->count.bytes;
	sum->memory += d->count.memory;
	return true;
}

/* Not static, so that it is verified once and not for each path that leads here. */
GLOBAL int flow_read(const struct linear *at, struct watch_flow *f)
{
	struct headers h;

	if (!at || !f)
		return 0;
	headers_read_again(at, 0, &h);
	flow_fill(at, &h, f);
	return 0;
}

/* Without watch_cfg.burst_ns there is neither code nor a map. */
MAP(bursts, HASH, BURST_KEYS, struct watch_key, struct burst);

static __noinline int burst_count(const __u64 *key, __u32 interval, __u64 packets)
{
	struct burst new = {}, *b = map_value(&bursts, key, &new);
	__u64 window = bpf_ktime_get_ns() / watch_cfg.burst_ns;
	const __u32 set = interval % WATCH_SETS;

	if (!b) {
		LOSS(unwindowed, packets);
		return 0;
	}
	bpf_spin_lock(&b->lock);
	if (b->window != window)
		b->packets = 0;
	b->window = window;
	b->packets += packets;
	if (b->most[set].interval != interval || b->most[set].packets < b->packets) {
		b->most[set].interval = interval;
		b->most[set].window = window;
		b->most[set].packets = b->packets;
	}
	bpf_spin_unlock(&b->lock);
	return 0;
}

/*
 * Samples of dropped packets (struct sample), for display. A record is assembled in memory reserved
 * for the CPU and the program, and then copied. bpf_ringbuf_reserve() only accepts constant sizes,
 * so with --snaplen 65535 even a short packet would take a record of that size.
 */

/* Both maps are created only if samples are requested. User space sets their sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

/* Elements CPU * SAMPLE_PROGRAMS + program. A value of a per-CPU map cannot be 64 KiB large. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sample));
	__uint(max_entries, 1);
} sample_room SEC(".maps");

static __always_inline __u16 sample_segments(struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 n = BPF_CORE_READ(shared, gso_segs);

	return BPF_CORE_READ(shared, gso_size) && n ? n : 1;
}

/*
 * Reads up to `snaplen` bytes. The verifier must see `snaplen` as a constant. As in filter_read(),
 * the register that is compared must be the one that is used.
 */
static __always_inline __u64 sample_read(void *to, __u64 snaplen, const void *from, __u64 there)
{
	asm volatile("if %[there] <= %[snaplen] goto +1\n"
		     "%[there] = %[snaplen]\n"
		     : [there] "+r"(there)
		     : [snaplen] "r"(snaplen));
	return bpf_probe_read_kernel(to, there, from) ? 0 : there;
}

/*
 * Takes a sample. `word`: the four words of the key. `frames_room`: a constant, see struct sample.
 * Returns false if the ring is full.
 */
static __always_inline bool sample_take(void *ctx, struct sk_buff *skb, const __u64 *word,
					__u32 snaplen, __u32 frames_room, bool consumed)
{
	const struct linear at = linear_of(skb);
	__u32 slot = bpf_get_smp_processor_id() * SAMPLE_PROGRAMS + consumed, start, layer;
	struct sample *s = bpf_map_lookup_elem(&sample_room, &slot);
	const __u32 stack = frames_room * sizeof(__u64);
	long frames = 0; /* in bytes at first */
	__u64 len;

	if (!s)
		return false;
	start = filter_start(&at, &layer);
	if (frames_room)
		frames = bpf_get_stack(ctx, s + 1, SAMPLE_FRAMES * sizeof(__u64), 0);
	s->frames = frames > 0 ? frames / sizeof(__u64) : 0;
	s->frames_room = frames_room;
	len = sample_read((void *)(s + 1) + stack, snaplen, at.head + start,
			  start < at.tail ? at.tail - start : 0);
	s->time_ns = bpf_ktime_get_ns();
	__builtin_memcpy(&s->key, word, sizeof(s->key));
	s->len = len;
	s->wire_len = skb->len + filter_data(&at) - start;
	s->tag = filter_tag(skb);
	s->segments = sample_segments(skb);
	s->layer = layer;
	s->cpu = slot / SAMPLE_PROGRAMS;
	/* no wakeup, because user space polls several times per second */
	return !bpf_ringbuf_output(&samples, s, sizeof(*s) + stack + len, BPF_RB_NO_WAKEUP);
}

/* Counts the packets in an skb and their bytes. */

#define SKB_GSO_UDP_L4 (1 << 17)
#define SKB_GSO_TCP    (1 << 0 | 1 << 4) /* SKB_GSO_TCPV4, SKB_GSO_TCPV6 */

/* Returns the header bytes (IP and UDP or TCP) of each segment in a merged skb; 0: unknown. */
static __always_inline __u32 headers_of(struct sk_buff *skb, __u32 gso_type)
{
	__u32 l3 = skb->network_header, l4 = skb->transport_header, len = 0;
	__u8 offset;

	if (!l3 || l4 <= l3 || l4 >= skb->tail)
		return 0;
	if (gso_type & SKB_GSO_UDP_L4)
		len = UDP_HLEN;
	else if (gso_type & SKB_GSO_TCP &&
		 !bpf_probe_read_kernel(&offset, sizeof(offset), skb->head + l4 + 12))
		len = (offset >> 4) * 4;
	return len ? l4 - l3 + len : 0;
}

static __noinline __u32 measure_segments(struct sk_buff *skb, struct watch_count *sum)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u32 segments = BPF_CORE_READ(shared, gso_segs), more = segments - 1;

	if (segments < 2)
		return 1;
	sum->more += more;
	sum->bytes += (__u64)more * headers_of(skb, BPF_CORE_READ(shared, gso_type));
	return segments;
}

/*
 * Returns the L3 bytes, counted from the network header if it is set and was not moved while unset
 * (linear_l3()). Both are equal if there is no MAC header (tun, tunnels).
 */
static __always_inline __u32 bytes_of(struct sk_buff *skb)
{
	__u16 l3 = skb->network_header, mac = skb->mac_header;
	__u32 tail = skb->tail;

	if (!l3 || l3 >= tail || (l3 < mac && mac != HEADER_UNSET))
		return skb->len;
	return tail - l3 + skb->data_len;
}

/* Adds to `sum` and returns the number of packets. */
static __always_inline __u32 measure(struct sk_buff *skb, struct watch_count *sum)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 gso_size;

	sum->events++;
	sum->bytes += bytes_of(skb);
	sum->memory += skb->truesize;
	gso_size = FIELD_OF(shared, skb_shared_info, gso_size);
	return gso_size ? measure_segments(skb, sum) : 1;
}

/*
 * Returns an ID for the sending socket. The helper does not accept skb->sk. A socket without a
 * cookie is instead identified by its memory address and by the addresses it is bound and connected
 * to. No cookie is that large.
 */
static __always_inline __u64 sender_id(struct sk_buff *skb, struct sock *sk)
{
	const struct sock_common *c = &sk->__sk_common;
	__u64 id = c->skc_cookie.counter, at = 0;

	if (id)
		return id;
	bpf_probe_read_kernel(&at, sizeof(at), &skb->sk);
	id = at ^ ((__u64)c->skc_daddr << 32 | c->skc_rcv_saddr);
	id = id * 0x9e3779b97f4a7c15 + ((__u32)c->skc_num << 16 | c->skc_dport);
	return id | 1ULL << 63;
}

static __always_inline bool wanted_reason(__u32 reason)
{
	__u32 at = reason / 64;

	if (reason >= WATCH_REASONS)
		return true;
	barrier_var(at); /* keeps the mask, which the verifier requires */
	return watch_cfg.reasons[at & (WATCH_REASONS / 64 - 1)] >> reason % 64 & 1;
}

static __always_inline bool is_of_socket(__u32 reason)
{
	for (int i = 0; i < WATCH_SOCKET_REASONS; i++) {
		if (reason == watch_cfg.socket_reasons[i])
			return true;
	}
	return false;
}

/* Returns a value that replaces a cookie. No cookie is that large. */
static __always_inline __u64 port_id(const struct watch_flow *f)
{
	const __u64 *dst = (const void *)f->dst;
	__u64 sum = (dst[0] ^ f->proto) * 0x9e3779b97f4a7c15 + (dst[1] ^ f->dst_port);

	return (sum ^ sum >> 29) * 0xbf58476d1ce4e5b9 | 1ULL << 63;
}

/* Applies all filters except EXPR. */
static __always_inline bool is_wanted(const struct freed *f)
{
	if (!watch_cfg.is_filtered)
		return true;
	if (watch_cfg.has_reasons && !wanted_reason(f->reason))
		return false;
	if (watch_cfg.socket_only && !f->rx_sk && !f->sender)
		return false;
	if (watch_cfg.ifindex && f->ifindex != watch_cfg.ifindex)
		return false;
	/* unknown: user space checks which namespace has the packet's destination address */
	return !watch_cfg.netns || !f->netns || f->netns == watch_cfg.netns;
}

/* Set by xdp_exception until the skb concerned is freed, which happens right afterwards. */
ONE_PER_CPU(aborted, __u32);

static __always_inline bool is_aborted(__u64 *ctx)
{
	const struct watch_control *control = watch_control();
	__u32 zero = 0, *mark = NULL, was;

	if (KFUNCS && control && control->any_aborted &&
	    is_in_any(places.xdp, TRACE_XDP, drop_site(ctx)))
		mark = bpf_map_lookup_elem(&aborted, &zero);
	if (!mark)
		return false;
	was = *mark;
	*mark = 0;
	return was;
}

static __always_inline void found_sender(struct freed *f)
{
	struct dst_entry *dst = (void *)(f->skb->_skb_refdst & SKB_DST_PTRMASK);

	if (f->flags & WATCH_DST) {
		f->flags &= ~WATCH_DST;
		f->flags |= is_in(&places.out, f->aux) ? WATCH_EGRESS : dst ? WATCH_DST : 0;
	}
	f->flags |= WATCH_SENDER;
	f->aux = sender_id(f->skb, f->sender);
}

/* Reads a packet's flow unless --by flow has read it already. */
static __always_inline void destination_read(const struct sk_buff *skb, struct watch_flow *to)
{
	struct plain_udp p;

	if (watch_cfg.by_flow)
		return;
	if (plain_udp(skb, &p) == PLAIN_UDP) { /* without a call */
		const struct linear at = {.head = skb->head};
		const struct headers h = {.l3 = p.l3,
					  .version = p.version,
					  .proto = PROTO_UDP,
					  .src_port = p.src_port,
					  .dst_port = p.dst_port};

		flow_fill(&at, &h, to);
	} else {
		const struct linear at = linear_of((struct sk_buff *)skb);

		flow_read(&at, to);
	}
}

/*
 * Finds the socket, or another value that distinguishes packets dropped at one location. Returns
 * the socket whose cookie is in `aux`, or NULL. `inside`: the packet of interest is inside a
 * tunnel, where its addresses do not identify a socket. `to`: scratch.
 */
static __always_inline struct sock *find_socket(struct freed *f, bool inside, struct watch_flow *to)
{
	if (f->rx_sk) {
		f->flags |= WATCH_SOCKET;
		/* unlike socket addresses, socket cookies are not reused */
		f->aux = f->rx_sk->__sk_common.skc_cookie.counter;
		if (!f->aux)
			f->aux = bpf_get_socket_cookie(f->rx_sk);
		return f->rx_sk;
	}
	if (watch_cfg.by_sender && f->sender) {
		found_sender(f);
		return f->sender;
	}
	if (!inside && f->reason != kernel.netfilter &&
	    ((f->flags & WATCH_NO_DEV && !f->sender) || f->reason == watch_cfg.no_socket ||
	     (!kernel.has_rx_sk && is_of_socket(f->reason)))) {
		destination_read(f->skb, to);
		/* a TCP segment without a socket belongs to a connection that is over */
		if (to->dst_port && (f->reason != watch_cfg.no_socket || to->proto == PROTO_UDP)) {
			f->flags |= WATCH_PORT;
			f->aux = port_id(to);
		}
	}
	return NULL;
}

/*
 * Counts a packet after cause_fill(). `at`: the packet, only read if flows are counted. `program`:
 * as for look_inside(). `consumed` is a constant, so that each program contains only the code it
 * needs.
 */
static __always_inline void count_freed(__u64 *ctx, struct freed *f, const struct linear *at,
					__u32 program, bool consumed)
{
	const bool flows = watch_cfg.by_flow;
	const __u32 of_a_cpu = flows ? WATCH_FLOW_SLOTS : WATCH_SLOTS;
	struct watch_control *control = watch_control();
	struct sk_buff *skb = f->skb;
	const struct filter_tunnel *tunnel = tunnel_of(program);
	const __u32 which = consumed;
	struct drop *d = bpf_map_lookup_elem(&counting, &which);
	struct watch_slot *first;
	struct headers h;
	__u32 slot, cpu, packets, interval;

	if (!control || !d)
		return;
	interval = *(volatile __u32 *)&control->interval;
	if (flows && KFUNCS) { /* flow_read() without a call */
		headers_read(at, 0, &h);
		flow_fill(at, &h, &d->flow);
	} else if (flows) {
		flow_read(at, &d->flow);
	}
	d->sk = find_socket(f, tunnel, &d->flow);
	if (flows && tunnel) {
		d->flow.tunnel = tunnel->kind;
		d->flow.tunnel_id = tunnel->id;
	}
	cause_words(f, d->word);
	cpu = interval % WATCH_SETS * watch_cfg.cpus + bpf_get_smp_processor_id();
	slot = cpu * of_a_cpu + (hash(d->word, &d->flow, flows) & (of_a_cpu - 1));
	first = bpf_map_lookup_elem(&slots, &slot);
	if (!first)
		return;
	if (!consumed && same(first, d->word, &d->flow, flows)) {
		packets = measure(skb, &first->count);
	} else {
		d->dev = f->dev;
		d->cpu = cpu;
		d->slot = slot;
		d->count = none;
		packets = measure(skb, &d->count);
		if (!count_elsewhere(d))
			return;
	}
	if (watch_cfg.burst_ns)
		burst_count(d->word, interval, packets);
	if (watch_cfg.snaplen && !control->unsampled &&
	    !sample_take(ctx, skb, d->word, watch_cfg.snaplen, watch_cfg.stack ? SAMPLE_FRAMES : 0,
			 consumed))
		LOSS(unsampled, 1);
}

#endif
