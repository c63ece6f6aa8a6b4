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
#include "watch_abi.h"

#define NETNS_INUM_MIN 0xefff0000 /* of any namespace: PROC_DYNAMIC_FIRST, a few lie below it */
#define SKB_GSO_UDP_L4 (1 << 17)
#define SKB_GSO_TCP    (1 << 0 | 1 << 4) /* SKB_GSO_TCPV4, SKB_GSO_TCPV6 */
#define FLAG(f)	       ((__u64)(f) << 56)

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
	d->word[3] |= (__u64)WATCH_OTHERS << 56;
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
	else if (d->word[3] >> 56 & WATCH_PORT)
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
	return reason >= WATCH_REASONS || cfg.reasons[reason / 64] >> reason % 64 & 1;
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
	const struct packet_place at = place_of(skb);

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

/* `flows`: tell them apart. Both are constants, so that each program has only what it needs. */
static __always_inline int count_drop(__u64 *ctx, bool cast, bool flows)
{
	const __u32 of_a_cpu = flows ? WATCH_FLOW_SLOTS : WATCH_SLOTS;
	__u32 reason = cfg.has_reason ? ctx[2] : 0, netns = 0, ifindex, slot, cpu;
	struct sock *rx_sk = cfg.has_rx_sk ? (void *)ctx[3] : NULL, *sk = NULL, *sender;
	struct sk_buff *skb = (void *)ctx[0];
	__u64 aux = 0, flags = 0, word[4];
	struct watch_count *sum;
	struct watch_slot *first;
	struct net_device *dev;
	struct drop d;
	__u8 pkt_type;

	/*
	 * While it was in a queue of UDP, skb->dev was `dev_scratch`, no address; while in a tree
	 * of TCP part of a node, whose namespace then is not the socket's.
	 */
	sender = skb->sk;
	dev = skb->dev;
	if ((__s64)dev < 0) {
		struct net *net = dev->nd_net.net;

		if (!rx_sk || net == rx_sk->__sk_common.skc_net.net) {
			ifindex = dev->ifindex;
			netns = net->ns.inum;
		}
	}
	if (netns < NETNS_INUM_MIN) {
		flags = WATCH_NO_DEV;
		ifindex = skb->skb_iif;
		netns = rx_sk	 ? rx_sk->__sk_common.skc_net.net->ns.inum
			: sender ? sender->__sk_common.skc_net.net->ns.inum
				 : 0;
	}
	if (cfg.is_filtered) {
		if ((cfg.has_reasons && !wanted_reason(reason)) ||
		    (cfg.socket_only && !rx_sk && !sender) || (cfg.netns && netns != cfg.netns) ||
		    (cfg.ifindex && ifindex != cfg.ifindex))
			return 0;
		if (cfg.has_expr && !matches(skb))
			return 0;
	}

	pkt_type = BPF_CORE_READ_BITFIELD(skb, pkt_type);
	if (sender)
		flags |= WATCH_SK;
	if (pkt_type == PACKET_OTHERHOST && BPF_CORE_READ_BITFIELD(skb, cloned))
		flags |= WATCH_COPY;
	if (rx_sk) {
		sk = rx_sk;
		flags |= WATCH_SOCKET;
		aux = cookie_of(sk);
	} else if (reason == cfg.reason_netfilter) {
		struct dst_entry *dst = (void *)(skb->_skb_refdst & SKB_DST_PTRMASK);

		if (dst) {
			flags |= WATCH_DST;
			aux = (__u64)BPF_CORE_READ(dst, input);
		}
	} else if (cfg.by_sender && sender) {
		sk = sender;
		flags |= WATCH_SENDER;
		aux = sender_id(skb, sk);
	} else if ((flags & WATCH_NO_DEV && !sender) || (!cfg.has_rx_sk && is_of_socket(reason))) {
		flow_read(skb, skb_l3(skb), &d.flow);
		if (d.flow.dst_port) {
			flags |= WATCH_PORT;
			aux = port_id(&d.flow);
		}
	}
	if (flows && cast)
		flow_load(skb, skb_l3(skb), &d.flow);
	else if (flows)
		flow_read(skb, skb_l3(skb), &d.flow);

	word[0] = ctx[1];
	word[1] = aux;
	word[2] = reason | (__u64)ifindex << 32;
	word[3] = netns | (__u64)skb->protocol << 32 | (__u64)pkt_type << 48 | flags << 56;
	cpu = watch_base + bpf_get_smp_processor_id();
	slot = cpu * of_a_cpu + (hash(word, &d.flow, flows) & (of_a_cpu - 1));
	first = bpf_map_lookup_elem(&slots, &slot);
	if (!first)
		return 0;
	sum = &first->count;
	if (!same(first, word, &d.flow, flows)) {
		__builtin_memcpy(d.word, word, sizeof(d.word));
		d.sk = sk;
		d.dev = flags & WATCH_NO_DEV ? NULL : dev;
		d.cpu = cpu;
		d.slot = slot;
		sum = elsewhere(&d);
		if (!sum)
			return 0;
	}
	weigh(skb, cast, sum);
	return 0;
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

_Static_assert(__builtin_offsetof(struct drop, dev) == sizeof(struct watch_flow_key), "a key");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
