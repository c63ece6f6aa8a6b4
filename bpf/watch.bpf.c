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

#include "burst.bpf.h"
#include "filter.bpf.h"
#include "flow.bpf.h"
#include "place.bpf.h"
#include "sample.bpf.h"
#include "table.bpf.h"
#include "watch_abi.h"
#include "weigh.bpf.h"

#define NETNS_INUM_MIN 0xefff0000 /* of any namespace: PROC_DYNAMIC_FIRST, a few lie below it */

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

/* What is known of a packet that was freed, before it has its key. */
struct freed {
	struct sk_buff *skb;
	struct sock *rx_sk;  /* that dropped it, as the kernel tells */
	struct sock *sender; /* skb->sk */
	struct sock *sk;     /* the one whose cookie is `aux` */
	struct net_device *dev;
	__u32 reason, netns, ifindex;
	__u64 place, flags, aux;
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
 * An skb that was freed at f->place; `consumed`: by consume_skb. `flows`: tell them apart. Both
 * are constants, so that each program has only what it needs.
 */
static __always_inline int count_skb(__u64 *ctx, struct freed *f, bool consumed, bool flows)
{
	const __u32 of_a_cpu = flows ? WATCH_FLOW_SLOTS : WATCH_SLOTS;
	struct sk_buff *skb = f->skb;
	struct watch_count *sum;
	struct watch_slot *first;
	__u32 slot, cpu, packets;
	__u64 word[4];
	struct drop d;
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
	if (flows && KFUNCS)
		flow_load(skb, skb_l3(skb), &d.flow);
	else if (flows)
		flow_read(skb, skb_l3(skb), &d.flow);

	word[0] = f->place;
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
	packets = weigh(skb, sum);
	if (cfg.burst_ns)
		burst_count(word, cpu + (consumed ? WATCH_SETS * cfg.cpus : 0), packets);
	if (cfg.snaplen &&
	    !sample_take(ctx, skb, word, cfg.snaplen, cfg.stack ? SAMPLE_FRAMES : 0, consumed))
		LOSS(unsampled, 1);
	return 0;
}

static __always_inline int count_drop(__u64 *ctx, bool flows)
{
	struct freed f = {.skb = (void *)ctx[0]};

	f.place = drop_place(ctx, cfg.freeing.start, cfg.freeing.start + cfg.freeing.len);
	if (cfg.has_reason)
		f.reason = ctx[2];
	if (cfg.has_rx_sk)
		f.rx_sk = (void *)ctx[3];
	return count_skb(ctx, &f, false, flows);
}

static __always_inline bool is_in(const volatile struct watch_range *r, __u64 location)
{
	return location - r->start < r->len;
}

/*
 * Few of the packets that the kernel frees as used up are losses: those at known places. All others
 * leave after one compare, or at most as many as there are places.
 */
static __always_inline int count_consumed(__u64 *ctx, bool flows)
{
	struct freed f = {.skb = (void *)ctx[0], .place = ctx[1]};
	bool found = false;

	if (!is_in(&cfg.consumed_within, f.place))
		return 0;
#pragma unroll
	for (int i = 0; i < WATCH_CONSUMED_MAX; i++)
		found |= is_in(&cfg.consumed[i], f.place);
	return found ? count_skb(ctx, &f, true, flows) : 0;
}

SEC("?tp_btf/kfree_skb")
int watch_drops(__u64 *ctx)
{
	return count_drop(ctx, false);
}

SEC("?tp_btf/kfree_skb")
int watch_flows(__u64 *ctx)
{
	return count_drop(ctx, true);
}

SEC("?tp_btf/consume_skb")
int watch_used(__u64 *ctx)
{
	return count_consumed(ctx, false);
}

SEC("?tp_btf/consume_skb")
int watch_used_flows(__u64 *ctx)
{
	return count_consumed(ctx, true);
}

_Static_assert(__builtin_offsetof(struct drop, dev) == sizeof(struct watch_flow_key), "a key");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
