/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragment and NAT tracking for programs that filter. Finds the fragments of a datagram that
 * matches EXPR, and decides which fragment counts as the loss. For packets that NAT translates on
 * this host, EXPR is also tested on the tuple with which they entered their namespace.
 *
 * A packet's connection (skb->_nfct) stores that tuple from the translation until the packet is
 * handed to a socket or to another namespace. It is read there for the last time, by a program at
 * netfilter's `input` hook and at net_dev_queue. Afterwards the packet is identified by its new
 * tuple in `renamed`. User space runs the hook program only in namespaces with NAT. If no namespace
 * has NAT, `nat_followed` is a constant 0, and the code is removed.
 */
#ifndef PKTLEDGER_NAT_BPF_H
#define PKTLEDGER_NAT_BPF_H

#include "filter.bpf.h"
#include "fragment.bpf.h"

/* Fragments and tunnels */

/*
 * Returns true if this fragment is the loss. A datagram is lost once, however many of its fragments
 * are dropped: after one fragment is lost, the rest are freed when reassembly times out. A datagram
 * has one fragment per offset, so a repeated offset belongs to another datagram with this ID.
 */
static __always_inline bool fragment_is_loss(struct followed *d, __u32 offset)
{
	__u64 first = d->lost.when, now = (bpf_ktime_get_ns() & ~FRAGMENT_OFFSET) | offset;

	/* signed, because `first` may be a little later than `now` */
	if (first && (__s64)(now - first) < FRAGMENT_LIFE && (first & FRAGMENT_OFFSET) != offset)
		return false;
	return __sync_val_compare_and_swap(&d->lost.when, first, now) == first;
}

/* Kind 0: unused. */
struct filter_tunnel {
	__u32 kind; /* enum header */
	__u32 id;
};

/*
 * Scratch space for a program that parses a fragment or a translated packet, too large for the
 * program's stack. There is one element per program, because a program may interrupt another one on
 * the same CPU but never itself.
 */
struct fragment_work {
	struct linear at;
	struct headers h;
	struct fragment_key key;
	struct followed none; /* zero, except in fragment_begin() */
	struct filter_gap gap;
	struct filter_name now, old; /* the packet's current tuple, and its tuple on arrival */
	struct filter_tunnel tunnel; /* the tunnel the packet is in, set by look_inside() */
	__u8 l3[IP6_HLEN] WIDE;
};

#define FRAGMENT_PROGRAMS 5

/*
 * `followed`: datagrams of the flow. `overtaken`: datagrams whose first fragment has not arrived,
 * of any flow (flags 0). The map is separate, so that they evict no datagram of the flow.
 */
MAP(followed, LRU_HASH, 1, struct fragment_key, struct followed);

MAP(overtaken, LRU_HASH, 1, struct fragment_key, struct followed);

MAP(fragment_work, PERCPU_ARRAY, FRAGMENT_PROGRAMS, __u32, struct fragment_work);

/* Type of the innermost packet. A packet that is not in a tunnel is its own innermost packet. */
enum inside {
	INSIDE_IP,
	INSIDE_OTHER,
	INSIDE_CUT, /* the headers are not in the linear part */
};

/*
 * Enters a packet's tunnels: `at` becomes the innermost packet, starting at its IP header, and so
 * do the filter's view, the flow and the datagram. However, if a tunnel's outer packet is
 * fragmented, the outer packet is the datagram. Returns enum inside. Leaves `at` unchanged unless
 * the result is INSIDE_IP. Not static, so that it is verified once per program.
 */
GLOBAL int enter_tunnels(struct linear *at, __u32 program)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	enum header tunnel;
	__u32 outer = 0;

	if (!inner.wanted || !w || !at) /* without --inner the verifier skips the rest */
		return INSIDE_IP;
	w->tunnel.kind = 0;
	w->at = *at;
	if (!headers_find(&w->at, &w->h))
		return INSIDE_IP;
	for (int i = 0; i < HEADERS_DEPTH; i++) {
		tunnel = headers_tunnel(&w->h, inner.ports);
		if (tunnel == HEADER_PAYLOAD)
			break;
		if (w->h.fragmented && !outer)
			outer = w->h.l3;
		headers_enter(&w->h, tunnel);
		headers_walk(&w->at, &w->h);
	}
	if (!w->h.depth)
		return INSIDE_IP;
	if (!w->h.version)
		return w->h.next == HEADER_CUT ? INSIDE_CUT : INSIDE_OTHER;
	w->tunnel.kind = w->h.tunnel;
	w->tunnel.id = w->h.tunnel_id;
	at->network_header = w->h.l3;
	at->mac_header = HEADER_UNSET;
	at->outer = outer;
	return INSIDE_IP;
}

/* Sets `at` to the inner packet if EXPR applies inside tunnels. Returns false if there is none. */
static __always_inline bool look_inside(struct linear *at, __u32 program)
{
	int found = inner.wanted ? enter_tunnels(at, program) : INSIDE_IP;

	if (found == INSIDE_CUT)
		filter_could_not_read();
	return found == INSIDE_IP;
}

/* Returns the tunnel of the last packet passed to look_inside(), or NULL if there was none. */
static __always_inline const struct filter_tunnel *tunnel_of(__u32 program)
{
	const struct fragment_work *w =
		inner.wanted ? bpf_map_lookup_elem(&fragment_work, &program) : NULL;

	return w && w->tunnel.kind ? &w->tunnel : NULL;
}

/* Looks up the fragment at w->at. Returns false if it is not a fragment. */
static __always_inline bool fragment_find(struct fragment_work *w)
{
	if (!fragment_headers(&w->at, &w->h, w->l3))
		return false;
	fragment_key(&w->h, w->l3, &w->key);
	return true;
}

/* Returns the datagram's record, or NULL. */
static __always_inline struct followed *fragment_known(const struct fragment_work *w)
{
	struct followed *known = bpf_map_lookup_elem(&followed, &w->key);

	return known ? known : bpf_map_lookup_elem(&overtaken, &w->key);
}

/* Returns the datagram's record, creating it if it is missing. NULL: no memory. */
static __always_inline struct followed *fragment_record(const struct fragment_work *w)
{
	struct followed *known = fragment_known(w), *first;

	if (known)
		return known;
	known = map_value(&overtaken, &w->key, &w->none);
	if (known)
		known->begun = bpf_ktime_get_ns();
	first = bpf_map_lookup_elem(&followed, &w->key); /* begun on another CPU meanwhile */
	if (!first)
		return known;
	bpf_map_delete_elem(&overtaken, &w->key);
	return first;
}

/*
 * Begins the record of a datagram of the flow at its first fragment. Returns NULL if the record
 * exists, because another CPU began it, or if there is no memory. `overtaken` is not changed.
 */
static __always_inline struct followed *fragment_begin(struct fragment_work *w, __u32 flags,
						       __u32 netns)
{
	long rc;

	w->none.flags = flags;
	w->none.netns = netns;
	w->none.begun = bpf_ktime_get_ns();
	rc = bpf_map_update_elem(&followed, &w->key, &w->none, BPF_NOEXIST);
	w->none.flags = w->none.netns = w->none.begun = 0;
	return rc ? NULL : bpf_map_lookup_elem(&followed, &w->key);
}

/*
 * Returns the datagram's record, beginning it at this first fragment if it is missing. Forgets a
 * drop that was FRAGMENT_PENDING, because no program counted that drop. NULL: no memory.
 */
static __always_inline struct followed *fragment_of_flow(struct fragment_work *w)
{
	struct followed *d = bpf_map_lookup_elem(&followed, &w->key);

	if (d)
		return d;
	d = fragment_begin(w, FOLLOWED_OURS, 0);
	bpf_map_delete_elem(&overtaken, &w->key);
	return d ? d : bpf_map_lookup_elem(&followed, &w->key);
}

/*
 * Records that the fragment at w->h arrives at the probe that counts the datagram. Returns false if
 * it had already arrived.
 */
static __always_inline bool fragment_is_new(struct followed *d, const struct fragment_work *w)
{
	__u32 unit = w->h.fragment / FRAGMENT_UNIT, word = unit / 64 % FRAGMENT_BITS;
	__u64 bit = 1ULL << unit % 64;

	if (__sync_fetch_and_or(&d->came[word], bit) & bit) {
		__sync_fetch_and_add(&d->again, 1);
		return false;
	}
	return true;
}

/* Records a dropped fragment. Returns true if the same fragment had already arrived. */
static __always_inline bool fragment_is_again(struct followed *d)
{
	if (d->again_lost >= d->again)
		return false;
	__sync_fetch_and_add(&d->again_lost, 1);
	return true;
}

enum fragment_drop {
	FRAGMENT_NO_LOSS,
	FRAGMENT_LOSS,	  /* its datagram is lost with it */
	FRAGMENT_PENDING, /* same as FRAGMENT_LOSS if EXPR matches the datagram */
	FRAGMENT_AGAIN,	  /* a copy: the same fragment had already arrived */
};

/* More about the datagram. */
enum fragment_more {
	FRAGMENT_INCOMPLETE = 1, /* it came from outside, and other fragments are missing */
	FRAGMENT_RETURNS = 2,	 /* its first fragment has left this host, but it is incomplete */
	FRAGMENT_DUPLICATE = 4,	 /* set by the caller: the kernel reports a copy */
	FRAGMENT_ENTERED = 8,	 /* a later fragment: the datagram is counted as entered */
};

/*
 * Records a dropped fragment. `first`: the filter assigned it to the flow; otherwise it belongs to
 * the flow if its datagram is known. Adds enum fragment_more bits to *more. A packet that is not a
 * fragment is FRAGMENT_LOSS if `first`, otherwise FRAGMENT_NO_LOSS. Not static, so that it is
 * verified once per program.
 */
GLOBAL int fragment_dropped(const struct linear *at, __u32 program, __u32 first, __u32 *more)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	struct followed *d;

	if (!w || !at || !more)
		return FRAGMENT_NO_LOSS;
	w->at = *at;
	d = !fragment_find(w) ? NULL : first ? fragment_of_flow(w) : fragment_record(w);
	if (!d)
		return first ? FRAGMENT_LOSS : FRAGMENT_NO_LOSS;
	if (*more & FRAGMENT_DUPLICATE || fragment_is_again(d))
		return d->flags ? FRAGMENT_AGAIN : FRAGMENT_NO_LOSS;
	if (d->flags & FOLLOWED_ENTERED && !first)
		*more |= FRAGMENT_ENTERED;
	if (d->flags & FOLLOWED_RECEIVED && (!d->bytes || d->passed < d->bytes))
		*more |= FRAGMENT_INCOMPLETE;
	if (!fragment_is_loss(d, w->h.fragment))
		return FRAGMENT_NO_LOSS;
	if (!d->flags)
		return FRAGMENT_PENDING;
	if (d->flags & FOLLOWED_LEFT) {
		d->flags &= ~FOLLOWED_LEFT;
		*more |= FRAGMENT_RETURNS;
	}
	return FRAGMENT_LOSS;
}

/* NAT tuples */

#define IPS_SRC_NAT (1 << 4)
#define IPS_DST_NAT (1 << 5)

#define NFCT_INFO      7 /* bits in skb->_nfct: enum ip_conntrack_info */
#define IP_CT_IS_REPLY 3 /* lowest value for the reply direction */
#define NF_ACCEPT      1

/*
 * New tuples of packets of the flow. 1: the packets are sent, and so may be received; 0: they are
 * for a socket on this host, and a packet sent or received with this tuple is another flow's. The
 * namespace is not part of the key, as for fragments.
 */
MAP(renamed, LRU_HASH, 1, struct watch_flow, __u32);

MAP(translations, HASH, NAT_TRANSLATIONS, struct watch_flow, __u64); /* packets: filter_abi.h */

const volatile __u8 nat_followed = 0; /* set if any namespace has NAT */

/* How a packet relates to the flow. */
enum nat_match {
	NAT_MATCHES = 1,
	NAT_TRANSLATED = 2, /* translated in this namespace, even if it does not match */
	NAT_NEW_ONLY = 4,   /* its tuple on arrival does not belong to the flow */
};

/* Uses filter_look(), for packets that have only one tuple. */
static __always_inline bool is_others(__u32 look)
{
	return !nat_followed && look == LOOK_NO;
}

static __always_inline bool is_ours(__u32 look)
{
	return !nat_followed && look == LOOK_YES;
}

static __always_inline __u64 nfct_of(struct sk_buff *skb)
{
	return KFUNCS && bpf_core_field_exists(skb->_nfct) ? skb->_nfct : 0;
}

/* Returns the connection of the packet that EXPR sees. A packet inside a tunnel has none. */
static __always_inline __u64 connection_of(struct sk_buff *skb, __u32 program)
{
	return nat_followed && !tunnel_of(program) ? nfct_of(skb) : 0;
}

static __always_inline bool nat_translated(__u64 nfct)
{
	struct nf_conn *ct = (void *)(nfct & ~(__u64)NFCT_INFO);

	return ct && BPF_CORE_READ(ct, status) & (IPS_SRC_NAT | IPS_DST_NAT);
}

#define FLOW_WORDS (sizeof(struct watch_flow) / sizeof(__u64))

/*
 * Finds the tuple of a packet with any protocol. The ports of fragments other than the first are 0.
 * All of it is 0 if the packet is not IP. Stores whole words, because keys are hashed and compared
 * by words, and a load that spans several stores waits until they have reached the cache.
 */
static __always_inline void flow_fill(const struct linear *at, const struct headers *h,
				      struct watch_flow *f)
{
	const struct {
		__be16 src_port, dst_port;
		__u8 family, proto;
		__u16 tunnel;
	} ends WIDE = {bpf_htons(h->src_port), bpf_htons(h->dst_port),
		       h->version == 4 ? AF_INET : AF_INET6, h->proto};
	__u64 __attribute__((may_alias)) *word = (void *)f;
	unsigned char *ip = at->head + h->l3;

#pragma unroll
	for (int i = 0; i < FLOW_WORDS; i++)
		word[i] = 0;
	if (!h->version)
		return;
	if (h->version == 4) {
		word[0] = FIELD_OF(ip, iphdr, saddr);
		word[2] = FIELD_OF(ip, iphdr, daddr);
	} else {
		bpf_probe_read_kernel(f, sizeof(f->src) + sizeof(f->dst), ip + 8);
	}
	__builtin_memcpy(&word[4], &ends, sizeof(ends));
}

/*
 * Stores the packet's tuple in w->now and, unless `nfct` is 0, its original tuple in w->old.
 * Returns false if the packet has no tuple. Not static (like the next functions), so that it is
 * verified once per program.
 */
GLOBAL int nat_names(const struct linear *at, __u64 nfct, __u32 program)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	struct nf_conn *ct = (void *)(nfct & ~(__u64)NFCT_INFO);
	struct nf_conntrack_tuple *came;
	struct watch_flow *old;

	if (!nat_followed || !w || !at) /* without NAT the verifier skips the rest */
		return false;
	w->at = *at;
	if (!headers_find(&w->at, &w->h) || w->h.next != HEADER_PAYLOAD)
		return false;
	flow_fill(&w->at, &w->h, &w->now.flow);
	old = &w->old.flow;
	if (!ct)
		return true;
	came = (nfct & NFCT_INFO) < IP_CT_IS_REPLY ? &ct->tuplehash[0].tuple
						   : &ct->tuplehash[1].tuple;
	*old = w->now.flow;
	BPF_CORE_READ_INTO(&old->src, came, src.u3);
	BPF_CORE_READ_INTO(&old->dst, came, dst.u3);
	BPF_CORE_READ_INTO(&old->src_port, came, src.u.all);
	BPF_CORE_READ_INTO(&old->dst_port, came, dst.u.all);
	w->old.l3 = w->h.l3;
	w->old.l4 = w->h.l4;
	return true;
}

/* Counts a translation between these two endpoints, as seen from the connection's first packet. */
static __always_inline void nat_translates(struct watch_flow *t, const __u8 *from, __be16 from_port,
					   const __u8 *to, __be16 to_port, __u32 packets)
{
	__u64 *known, none = 0;

	__builtin_memcpy(t->src, from, sizeof(t->src));
	__builtin_memcpy(t->dst, to, sizeof(t->dst));
	t->src_port = from_port;
	t->dst_port = to_port;
	known = map_value(&translations, t, &none);
	if (known)
		__sync_fetch_and_add(known, packets);
}

/*
 * Called after nat_matches() for a translated packet. From here on, only the new tuple is
 * available. `packets` 0: already counted.
 */
GLOBAL int nat_learn(__u64 nfct, __u32 program, __u32 sent, __u32 packets)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	const bool reply = (nfct & NFCT_INFO) >= IP_CT_IS_REPLY;
	struct nf_conn *ct = (void *)(nfct & ~(__u64)NFCT_INFO);
	const struct watch_flow *now, *old;
	struct watch_flow t = {};
	__u64 status;
	__u32 *known;

	if (!nat_followed || !w)
		return 0;
	now = &w->now.flow;
	old = &w->old.flow;
	known = bpf_map_lookup_elem(&renamed, now);
	if (!known || *known != sent)
		bpf_map_update_elem(&renamed, now, &sent, BPF_ANY);
	if (!packets)
		return 0;
	status = BPF_CORE_READ(ct, status);
	t.family = now->family;
	t.proto = now->proto;
	t.pad = NAT_DESTINATION;
	if (status & IPS_DST_NAT && reply)
		nat_translates(&t, now->src, now->src_port, old->src, old->src_port, packets);
	else if (status & IPS_DST_NAT)
		nat_translates(&t, old->dst, old->dst_port, now->dst, now->dst_port, packets);
	t.pad = NAT_SOURCE;
	if (status & IPS_SRC_NAT && reply)
		nat_translates(&t, now->dst, 0, old->dst, 0, packets);
	else if (status & IPS_SRC_NAT)
		nat_translates(&t, old->src, 0, now->src, 0, packets);
	return 0;
}

/*
 * Called when a connection without translation has this tuple, which is then no longer the new
 * tuple of another connection.
 */
static __always_inline void nat_forget(const struct linear *at, __u32 program)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);

	if (w && nat_names(at, 0, program) && bpf_map_lookup_elem(&renamed, &w->now.flow))
		bpf_map_delete_elem(&renamed, &w->now.flow);
}

/*
 * Runs filter_matches() for each of the packet's tuples. `look`: filter_look() for the current
 * tuple. `passes`: the packet is sent or received with this tuple. Returns enum nat_match bits.
 */
static __always_inline __u32 nat_matches(const struct linear *at, __u32 len, __u32 look,
					 const struct filter_gap *gap, __u64 nfct, __u32 program,
					 bool passes)
{
	const struct filter_name *name = NULL;
	struct fragment_work *w = NULL;
	__u32 found = 0, again = 0, *sent;

	if (nat_followed) {
		w = bpf_map_lookup_elem(&fragment_work, &program);
		if (w && nat_translated(nfct) && nat_names(at, nfct, program)) {
			found = NAT_TRANSLATED;
			name = &w->old;
		}
	}
	/* Keeps a single copy of the filter, because its code is long. */
#pragma clang loop unroll(disable)
	for (int i = 0; i < 2; i++) {
		barrier_var(i);
		if (!name && look != LOOK_ASK ? look == LOOK_YES
					      : filter_matches(at, len, gap, name))
			return found | NAT_MATCHES | again;
		if (!nat_followed || !w || !name)
			break;
		sent = bpf_map_lookup_elem(&renamed, &name->flow);
		if (sent && *sent)
			return found | NAT_MATCHES;
		name = NULL;
		again = NAT_NEW_ONLY;
	}
	if (!nat_followed || !w || found || !nat_names(at, 0, program))
		return found;
	sent = bpf_map_lookup_elem(&renamed, &w->now.flow);
	return sent && (*sent || !passes) ? NAT_MATCHES : 0;
}

#endif
