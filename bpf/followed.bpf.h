/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The follower of others' datagrams, for programs that count losses by datagram: which fragments
 * are of one that EXPR wants, and which of them is the loss.
 */
#ifndef PKTLEDGER_FOLLOWED_BPF_H
#define PKTLEDGER_FOLLOWED_BPF_H

#include "filter.bpf.h"
#include "fragment.bpf.h"

/*
 * A datagram is lost once, however many of its fragments are dropped: with the one that was lost,
 * the others die when they are not put together in time. True: this fragment is the loss. Of each
 * offset a datagram has one fragment: the same one again is of another datagram with this id.
 */
static __always_inline bool fragment_is_loss(struct followed *d, enum fragment_observer observer,
					     __u32 offset)
{
	struct fragment_loss *first = &d->lost[observer];
	__u64 now = bpf_ktime_get_ns();

	if (first->ns && now - first->ns < FRAGMENT_LIFE && first->offset != offset)
		return false;
	first->ns = now;
	first->offset = offset;
	return true;
}

/* Kind 0: none. */
struct filter_tunnel {
	__u32 kind; /* enum header */
	__u32 id;
};

/*
 * What a program needs to look at a fragment, or at what NAT renames (bpf/nat.bpf.h), too much for
 * its stack. An element for each program: one may interrupt another, but never itself on the same
 * CPU.
 */
struct fragment_work {
	struct linear at;
	struct headers h;
	struct fragment_key key;
	struct followed none; /* zero */
	struct filter_gap gap;
	struct filter_name now, old; /* the packet's, and that with which it came */
	struct filter_tunnel tunnel; /* that it was in, by look_inside() */
	__u8 l3[IP6_HLEN] WIDE;
};

#define FRAGMENT_PROGRAMS 6

MAP(followed, LRU_HASH, 1, struct fragment_key, struct followed);

MAP(fragment_work, PERCPU_ARRAY, FRAGMENT_PROGRAMS, __u32, struct fragment_work);

/* What the innermost packet is; a packet in no tunnel is its own. */
enum inside {
	INSIDE_IP,
	INSIDE_OTHER,
	INSIDE_CUT, /* its headers are not in the linear part */
};

/*
 * Of a packet in tunnels the innermost: `at` becomes it, from its IP header on, and so does what
 * EXPR sees of it, its flow and its datagram; but where a tunnel's packet is fragmented, that one
 * is the datagram. Returns enum inside; unless INSIDE_IP, `at` stays. Not static: verified once a
 * program.
 */
__noinline int enter_tunnels(struct linear *at, __u32 program)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	enum header tunnel;
	__u32 outer = 0;
	__u16 type;
	int l3;

	if (!inner.wanted || !w || !at) /* the verifier looks no further without --inner */
		return INSIDE_IP;
	w->tunnel.kind = 0;
	w->at = *at;
	l3 = linear_l3(&w->at, &type);
	if (l3 < 0)
		return INSIDE_IP;
	headers_from(&w->at, l3, type, &w->h);
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

/* Where EXPR is applied inside tunnels, `at` becomes what it sees. False: there is nothing. */
static __always_inline bool look_inside(struct linear *at, __u32 program)
{
	int found = inner.wanted ? enter_tunnels(at, program) : INSIDE_IP;

	if (found == INSIDE_CUT)
		filter_could_not_read();
	return found == INSIDE_IP;
}

/* The tunnel of the packet that look_inside() was given last. NULL: none. */
static __always_inline const struct filter_tunnel *tunnel_of(__u32 program)
{
	const struct fragment_work *w =
		inner.wanted ? bpf_map_lookup_elem(&fragment_work, &program) : NULL;

	return w && w->tunnel.kind ? &w->tunnel : NULL;
}

/* The fragment at w->at. False: it is none. */
static __always_inline bool fragment_find(struct fragment_work *w)
{
	if (!fragment_headers(&w->at, &w->h, w->l3))
		return false;
	fragment_key(&w->h, w->l3, &w->key);
	return true;
}

/* The record of its datagram, which may be new. NULL: no memory. */
static __always_inline struct followed *fragment_record(const struct fragment_work *w)
{
	struct followed *known = bpf_map_lookup_elem(&followed, &w->key);

	if (known)
		return known;
	bpf_map_update_elem(&followed, &w->key, &w->none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&followed, &w->key);
}

#endif
