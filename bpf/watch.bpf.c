// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The observer of all traffic: counts every skb that the kernel frees as dropped, by what
 * include/watch_abi.h calls its key. It runs for each drop of the host, so the way of a key that
 * has its slot is short: plain loads, one inlined look-up in an array, four compares. What costs
 * more is done when a key claims a slot, once an interval.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "filter.bpf.h"
#include "flow.bpf.h"
#include "note.bpf.h"
#include "sample.bpf.h"
#include "watch_abi.h"

#define NETNS_INUM_MIN 0xefff0000 /* of any namespace: PROC_DYNAMIC_FIRST, a few lie below it */
#define SKB_GSO_UDP_L4 (1 << 17)
#define SKB_GSO_TCP    (1 << 0 | 1 << 4) /* SKB_GSO_TCPV4, SKB_GSO_TCPV6 */

const volatile struct watch_config cfg;

/* Of the set in use, 0 or cfg.cpus: number of its first CPU. Set by user space. */
__u32 watch_base;

/*
 * Slots of CPU c of a set are those from (watch_base + c) * slots on. How many there are and how
 * large is set by user space: struct watch_slot, or struct watch_flow_slot with flows.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct watch_flow_slot));
	__uint(max_entries, 1);
} slots SEC(".maps"), others SEC(".maps");

/* For keys that found no slot, one of each set. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(key_size, sizeof(struct watch_flow_key));
	__uint(value_size, sizeof(struct watch_count));
	__uint(max_entries, 1);
} overflow0 SEC(".maps"), overflow1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch_loss);
} losses SEC(".maps");

#define LOSS(field, n)                                                                             \
	({                                                                                         \
		__u32 zero_key = 0;                                                                \
		struct watch_loss *of_cpu = bpf_map_lookup_elem(&losses, &zero_key);               \
		if (of_cpu)                                                                        \
			of_cpu->field += (n);                                                      \
	})

/*
 * A drop on its way to the table. It begins as struct watch_flow_key, with the key as four words,
 * which is how it is compared.
 */
struct drop {
	__u64 word[4];
	struct watch_flow flow; /* only with flows, or for WATCH_PORT */
	struct net_device *dev; /* NULL: skb->dev is none */
	struct sock *sk;	/* whose cookie is in the key; or NULL */
	__u32 cpu;		/* counted from that of the first set */
	__u32 slot;
};

static __always_inline bool same_flow(const struct watch_flow *a, const struct watch_flow *b)
{
	const __u64 *x = (const void *)a, *y = (const void *)b;

	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3] && x[4] == y[4];
}

static __always_inline bool same(const struct watch_slot *slot, const __u64 *word,
				 const struct watch_flow *flow, bool flows)
{
	const struct watch_flow_slot *with_flow = (const void *)slot;
	const __u64 *w = (const void *)&slot->key;

	if (w[0] != word[0] || w[1] != word[1] || w[2] != word[2] || w[3] != word[3])
		return false;
	return !flows || same_flow(&with_flow->flow, flow);
}

static __always_inline struct watch_count *claim(struct watch_slot *slot, const struct drop *d)
{
	struct watch_flow_slot *with_flow = (void *)slot;

	if (cfg.by_flow)
		with_flow->flow = d->flow;
	__builtin_memcpy(&slot->key, d->word, sizeof(slot->key));
	return &slot->count;
}

/* Without socket and flow there are few keys: a table that is searched from the hash on. */
static __always_inline struct watch_count *merge(struct drop *d)
{
	d->word[1] = 0;
	d->word[3] |= (__u64)WATCH_OTHERS << WATCH_FLAGS_SHIFT;
	__builtin_memset(&d->flow, 0, sizeof(d->flow));
	for (__u32 i = 0; i < WATCH_OTHERS_SLOTS; i++) {
		__u32 at = d->cpu * WATCH_OTHERS_SLOTS + (d->slot + i) % WATCH_OTHERS_SLOTS;
		struct watch_slot *slot = bpf_map_lookup_elem(&others, &at);

		if (!slot)
			return NULL;
		if (!slot->key.location)
			return claim(slot, d);
		if (same(slot, d->word, &d->flow, cfg.by_flow))
			return &slot->count;
	}
	return NULL;
}

static __always_inline void note(const struct drop *d)
{
	if (d->dev)
		note_dev((__u32)d->word[3], d->word[2] >> 32, d->dev);
	if (d->sk)
		note_sock(d->word[1], d->sk);
	else if (d->word[3] >> WATCH_FLAGS_SHIFT & WATCH_PORT)
		note_port(d->word[1], &d->flow);
}

static __always_inline struct watch_count *overflow(struct drop *d, struct watch_loss *loss)
{
	void *map = d->cpu < cfg.cpus ? (void *)&overflow0 : (void *)&overflow1;
	const struct watch_count none = {};
	struct watch_count *sum;

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

/* The first event of a key in this interval on this CPU, or one that is not in its first slot. */
static __noinline struct watch_count *elsewhere(struct drop *d)
{
	__u32 zero = 0, at = d->slot, beside = d->slot ^ 1;
	struct watch_loss *loss = bpf_map_lookup_elem(&losses, &zero);
	struct watch_slot *first = bpf_map_lookup_elem(&slots, &at);
	struct watch_slot *second = bpf_map_lookup_elem(&slots, &beside);

	if (!first || !second || !loss)
		return NULL;
	if (!first->key.location) {
		note(d);
		return claim(first, d);
	}
	if (!second->key.location) {
		note(d);
		return claim(second, d);
	}
	if (same(second, d->word, &d->flow, cfg.by_flow))
		return &second->count;
	return overflow(d, loss);
}

/*
 * The program on consume_skb may interrupt the one on kfree_skb, so it has no slots: its keys are
 * all in the hash map.
 */
static __noinline struct watch_count *consumed_event(struct drop *d)
{
	__u32 zero = 0;
	struct watch_loss *loss = bpf_map_lookup_elem(&losses, &zero);

	return loss ? overflow(d, loss) : NULL;
}

/* Headers that each segment of a merged skb has: IP and UDP or TCP; 0 if unknown. */
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

static __noinline void weigh_segments(struct sk_buff *skb, struct watch_count *sum)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u32 more = BPF_CORE_READ(shared, gso_segs);

	if (more < 2)
		return;
	more--;
	sum->more += more;
	sum->bytes += (__u64)more * headers_of(skb, BPF_CORE_READ(shared, gso_type));
}

/* L3 bytes: from the network header on, if it is set and was not moved unset (packet_l3()). */
static __always_inline __u32 bytes_of(struct sk_buff *skb)
{
	__u16 l3 = skb->network_header, mac = skb->mac_header;
	__u32 tail = skb->tail;

	if (!l3 || l3 >= tail || (l3 <= mac && mac != HEADER_UNSET))
		return skb->len;
	return tail - l3 + skb->data_len;
}

/* `cast`: bpf_rdonly_cast() is there, to look into an skb's shared info by a plain load. */
static __always_inline void weigh(struct sk_buff *skb, bool cast, struct watch_count *sum)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 gso_size;

	sum->events++;
	sum->bytes += bytes_of(skb);
	sum->memory += skb->truesize;
	if (cast) {
		shared = bpf_rdonly_cast(shared, bpf_core_type_id_kernel(struct skb_shared_info));
		gso_size = shared->gso_size;
	} else {
		gso_size = BPF_CORE_READ(shared, gso_size);
	}
	if (gso_size)
		weigh_segments(skb, sum);
}

/* Unlike sockets' addresses, their cookies are not used again. */
static __always_inline __u64 cookie_of(struct sock *sk)
{
	__u64 cookie = sk->__sk_common.skc_cookie.counter;

	return cookie ? cookie : bpf_get_socket_cookie(sk);
}

/*
 * The helper does not take skb->sk. A socket without a cookie is then told by where it lies and
 * what it is bound and connected to; no cookie is that large.
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
	barrier_var(at); /* or the compiler leaves out the mask, which the verifier wants to see */
	return cfg.reasons[at & (WATCH_REASONS / 64 - 1)] >> reason % 64 & 1;
}

static __always_inline bool is_of_socket(__u32 reason)
{
	for (int i = 0; i < WATCH_SOCKET_REASONS; i++) {
		if (reason == cfg.socket_reasons[i])
			return true;
	}
	return false;
}

/* In place of a cookie, of which none is that large. */
static __always_inline __u64 port_id(const struct watch_flow *f)
{
	const __u64 *dst = (const void *)f->dst;
	__u64 sum = (dst[0] ^ f->proto) * 0x9e3779b97f4a7c15 + (dst[1] ^ f->dst_port);

	return (sum ^ sum >> 29) * 0xbf58476d1ce4e5b9 | 1ULL << 63;
}

static __always_inline bool matches(struct sk_buff *skb)
{
	struct packet_place at = place_of(skb);

	at.tag = filter_tag(skb);
	return filter_matches(&at, skb->len);
}

/* Of the words of the key; the upper bits of a product depend on all bits below. */
static __always_inline __u32 hash(const __u64 *word, const struct watch_flow *flow, bool flows)
{
	__u64 sum = word[0] ^ word[1] << 17 ^ word[2] ^ word[3] << 7;
	const __u64 *f = (const void *)flow;

	if (flows)
		sum += (f[0] ^ f[2]) * 0x165667b19e3779f9 + (f[1] ^ f[3]) * 0x27d4eb2f165667c5 +
		       f[4] * 0x9e3779b185ebca87;
	return sum * 0x9e3779b97f4a7c15 >> 40;
}

/* What is known of a packet that was freed, before it has its key. */
struct freed {
	struct sk_buff *skb;
	struct sock *rx_sk;  /* that dropped it, as the kernel tells */
	struct sock *sender; /* skb->sk */
	struct sock *sk;     /* the one whose cookie is `aux` */
	struct net_device *dev;
	__u32 reason, netns, ifindex;
	__u64 flags, aux;
};

static __always_inline void find_sender(struct freed *f)
{
	struct sock *sk = f->skb->sk;

	/* Of a fragment in its queue it is `ip_defrag_offset`, no address. */
	if (!sk)
		return;
	barrier_var(sk); /* two tests: the verifier wants the first for itself */
	if ((__s64)sk < 0)
		f->sender = sk;
}

/*
 * While it was in a queue of UDP, skb->dev was `dev_scratch`, no address; while in a tree of TCP
 * part of a node, whose namespace then is not the socket's.
 */
static __always_inline void find_place(struct freed *f)
{
	struct net_device *dev = f->skb->dev;
	struct sock *sk = f->rx_sk;

	if ((__s64)dev < 0) {
		struct net *net = dev->nd_net.net;

		if (!sk || net == sk->__sk_common.skc_net.net) {
			f->dev = dev;
			f->ifindex = dev->ifindex;
			f->netns = net->ns.inum;
		}
	}
	if (f->netns >= NETNS_INUM_MIN)
		return;
	f->dev = NULL;
	f->flags |= WATCH_NO_DEV;
	f->ifindex = f->skb->skb_iif;
	f->netns = sk	       ? sk->__sk_common.skc_net.net->ns.inum
		   : f->sender ? f->sender->__sk_common.skc_net.net->ns.inum
			       : 0;
}

static __always_inline bool is_wanted(const struct freed *f)
{
	if (!cfg.is_filtered)
		return true;
	if (cfg.has_reasons && !wanted_reason(f->reason))
		return false;
	if (cfg.socket_only && !f->rx_sk && !f->sender)
		return false;
	if (cfg.ifindex && f->ifindex != cfg.ifindex)
		return false;
	if (cfg.has_expr && !matches(f->skb))
		return false;
	if (cfg.netns && !f->netns)
		LOSS(unplaced, 1);
	return !cfg.netns || f->netns == cfg.netns;
}

/* Which socket, or what else tells packets apart that were dropped at one place. `to`: scratch. */
static __always_inline void find_socket(struct freed *f, bool consumed, struct watch_flow *to)
{
	if (f->rx_sk) {
		f->sk = f->rx_sk;
		f->flags |= WATCH_SOCKET;
		f->aux = cookie_of(f->sk);
	} else if (!consumed && f->reason == cfg.reason_netfilter) {
		struct dst_entry *dst = (void *)(f->skb->_skb_refdst & SKB_DST_PTRMASK);

		if (dst) {
			f->flags |= WATCH_DST;
			f->aux = (__u64)BPF_CORE_READ(dst, input);
		}
	} else if (cfg.by_sender && f->sender) {
		f->sk = f->sender;
		f->flags |= WATCH_SENDER;
		f->aux = sender_id(f->skb, f->sk);
	} else if ((f->flags & WATCH_NO_DEV && !f->sender) ||
		   (!cfg.has_rx_sk && is_of_socket(f->reason))) {
		flow_read(f->skb, skb_l3(f->skb), to);
		if (to->dst_port) {
			f->flags |= WATCH_PORT;
			f->aux = port_id(to);
		}
	}
}

/*
 * An skb that was freed at ctx[1]; `consumed`: by consume_skb. `flows`: tell them apart. All three
 * are constants, so that each program has only what it needs.
 */
static __always_inline int count_skb(__u64 *ctx, struct freed *f, bool consumed, bool cast,
				     bool flows)
{
	const __u32 of_a_cpu = flows ? WATCH_FLOW_SLOTS : WATCH_SLOTS;
	struct sk_buff *skb = f->skb;
	struct watch_count *sum;
	struct watch_slot *first;
	__u32 slot, cpu;
	struct drop d;
	__u64 word[4];
	__u8 pkt_type;

	find_sender(f);
	find_place(f);
	if (!is_wanted(f))
		return 0;
	pkt_type = BPF_CORE_READ_BITFIELD(skb, pkt_type);
	if (f->sender)
		f->flags |= WATCH_SK;
	if (consumed)
		f->flags |= WATCH_CONSUMED;
	if ((pkt_type == PACKET_OTHERHOST || consumed) && BPF_CORE_READ_BITFIELD(skb, cloned))
		f->flags |= WATCH_COPY; /* of a flood, or of what was not the packet itself */
	find_socket(f, consumed, &d.flow);
	if (flows && cast)
		flow_load(skb, skb_l3(skb), &d.flow);
	else if (flows)
		flow_read(skb, skb_l3(skb), &d.flow);

	word[0] = ctx[1];
	word[1] = f->aux;
	word[2] = f->reason | (__u64)f->ifindex << 32;
	word[3] = f->netns | (__u64)skb->protocol << 32 | (__u64)pkt_type << WATCH_PKT_TYPE_SHIFT |
		  f->flags << WATCH_FLAGS_SHIFT;
	cpu = watch_base + bpf_get_smp_processor_id();
	slot = cpu * of_a_cpu + (hash(word, &d.flow, flows) & (of_a_cpu - 1));
	first = bpf_map_lookup_elem(&slots, &slot);
	if (!first)
		return 0;
	sum = &first->count;
	if (consumed || !same(first, word, &d.flow, flows)) {
		__builtin_memcpy(d.word, word, sizeof(d.word));
		d.sk = f->sk;
		d.dev = f->dev;
		d.cpu = cpu;
		d.slot = slot;
		sum = consumed ? consumed_event(&d) : elsewhere(&d);
		if (!sum)
			return 0;
	}
	weigh(skb, cast, sum);
	if (cfg.snaplen && !sample_take(skb, word, cfg.snaplen, consumed))
		LOSS(unsampled, 1);
	return 0;
}

static __always_inline int count_drop(__u64 *ctx, bool cast, bool flows)
{
	struct freed f = {.skb = (void *)ctx[0]};

	if (cfg.has_reason)
		f.reason = ctx[2];
	if (cfg.has_rx_sk)
		f.rx_sk = (void *)ctx[3];
	return count_skb(ctx, &f, false, cast, flows);
}

static __always_inline bool is_in(const volatile struct watch_range *r, __u64 location)
{
	return location - r->start < r->len;
}

/*
 * Few of the packets that the kernel frees as used up are losses: those at known places. All others
 * leave after one compare, or at most as many as there are places.
 */
static __always_inline int count_consumed(__u64 *ctx, bool cast, bool flows)
{
	struct freed f = {.skb = (void *)ctx[0]};
	__u64 location = ctx[1];
	bool found = false;

	if (!is_in(&cfg.consumed_within, location))
		return 0;
#pragma unroll
	for (int i = 0; i < WATCH_CONSUMED_MAX; i++)
		found |= is_in(&cfg.consumed[i], location);
	return found ? count_skb(ctx, &f, true, cast, flows) : 0;
}

SEC("?tp_btf/kfree_skb")
int watch_drops(__u64 *ctx)
{
	return count_drop(ctx, true, false);
}

SEC("?tp_btf/kfree_skb")
int watch_flows(__u64 *ctx)
{
	return count_drop(ctx, true, true);
}

SEC("?tp_btf/consume_skb")
int watch_used(__u64 *ctx)
{
	return count_consumed(ctx, true, false);
}

SEC("?tp_btf/consume_skb")
int watch_used_flows(__u64 *ctx)
{
	return count_consumed(ctx, true, true);
}

/* Before Linux 6.2. */

SEC("?tp_btf/kfree_skb")
int watch_drops_old(__u64 *ctx)
{
	return count_drop(ctx, false, false);
}

SEC("?tp_btf/kfree_skb")
int watch_flows_old(__u64 *ctx)
{
	return count_drop(ctx, false, true);
}

SEC("?tp_btf/consume_skb")
int watch_used_old(__u64 *ctx)
{
	return count_consumed(ctx, false, false);
}

SEC("?tp_btf/consume_skb")
int watch_used_flows_old(__u64 *ctx)
{
	return count_consumed(ctx, false, true);
}

_Static_assert(__builtin_offsetof(struct drop, dev) == sizeof(struct watch_flow_key), "a key");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
