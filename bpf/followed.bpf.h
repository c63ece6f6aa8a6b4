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
	__u8 l3[IP6_HLEN] WIDE;
};

#define FRAGMENT_PROGRAMS 6

MAP(followed, LRU_HASH, 1, struct fragment_key, struct followed);

MAP(fragment_work, PERCPU_ARRAY, FRAGMENT_PROGRAMS, __u32, struct fragment_work);

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
