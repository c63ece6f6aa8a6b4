/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which dropped packets are rows of the trace: those that EXPR matches, and of a fragmented
 * datagram the fragment that counts as its loss. For the programs that then call count_freed().
 */
#ifndef PKTLEDGER_ROW_BPF_H
#define PKTLEDGER_ROW_BPF_H

#include "watch.bpf.h"

/* Kind of IP packet, judging by the first bytes of its header: is it, or may it be, a fragment? */
enum ip_kind { IP_PLAIN, IP_FRAGMENT, IP_EXTENDED };

/*
 * Returns true for IP_PLAIN packets (most packets) whose IP header follows the link header. Makes
 * no call, because it runs for every drop.
 */
static __always_inline bool is_plain(const struct sk_buff *skb)
{
	__u16 l3 = skb_l3(skb), mac = skb->mac_header;
	__u8 ip[8] WIDE;

	if (!KFUNCS || !l3 || l3 >= skb->tail || (mac != HEADER_UNSET && l3 < mac))
		return false;
	load_words(ip, skb->head + l3, 8);
	return ip[0] >> 4 == 4	 ? !(be16_at(ip + 6) & (IP4_MORE_FRAGMENTS | IP4_FRAGMENT_OFFSET))
	       : ip[0] >> 4 == 6 ? !headers_is_extension(6, ip[6])
				 : false;
}

/*
 * Not static, so that it is verified only once and its result is one unknown to the verifier
 * instead of three paths.
 */
GLOBAL int ip_kind(const struct linear *at)
{
	__u8 b[8] WIDE;
	__u16 type;
	int l3;

	if (!at)
		return IP_PLAIN;
	if (at->outer)
		return IP_FRAGMENT;
	l3 = linear_l3(at, &type);
	if (l3 < 0 || bpf_probe_read_kernel(b, sizeof(b), at->head + l3))
		return IP_PLAIN;
	if (b[0] >> 4 == 6)
		return headers_is_extension(6, b[6]) ? IP_EXTENDED : IP_PLAIN;
	return b[0] >> 4 == 4 && be16_at(b + 6) & (IP4_MORE_FRAGMENTS | IP4_FRAGMENT_OFFSET)
		       ? IP_FRAGMENT
		       : IP_PLAIN;
}

/* Programs that parse fragments. Each one has a separate fragment_work element. */
enum watch_program { WATCH_DROPS, WATCH_USED, WATCH_RECEIVES, WATCH_QUEUES, WATCH_NAMES };

/*
 * Not static, like ip_kind(). Returns true if there are extension headers to hide from the filter,
 * and stores them in the program's element.
 */
GLOBAL int find_gap(const struct linear *at, __u32 program)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);

	if (!w || !at || watch_cfg.extensions)
		return false;
	w->at = *at;
	if (!headers_find(&w->at, &w->h))
		return false;
	w->gap.l3 = w->h.l3;
	w->gap.skip = w->h.l4 - w->h.l3 - IP6_HLEN;
	w->gap.proto = w->h.proto;
	return w->h.version == 6 && w->h.next == HEADER_PAYLOAD;
}

/* Returns enum nat_match bits. `from`: the packet, after look_inside(). `look`: filter_look(). */
static __always_inline __u32 matches(struct sk_buff *skb, const struct linear *from, int kind,
				     __u32 program, __u32 look)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	struct filter_gap *gap = NULL;
	struct linear at = *from;

	if (kind == IP_EXTENDED && w && find_gap(&at, program))
		gap = &w->gap;
	at.tag = filter_tag(skb);
	return nat_matches(&at, skb->len, look, gap, connection_of(skb, program), program,
			   program == WATCH_RECEIVES);
}

/* Returns true for a packet at a socket, which is not a fragment, because IP reassembled it. */
static __always_inline bool is_whole(const struct freed *f)
{
	__u16 family = f->rx_sk ? f->rx_sk->__sk_common.skc_family : 0;

	return family == AF_INET || family == AF_INET6;
}

/* A packet that may be a row. */
struct row {
	int kind; /* enum ip_kind */
	int matched;
};

/*
 * Returns true if the packet or its datagram may be a row. `at`: set to the packet if its headers
 * matter, or to the one in its tunnel. `look`: filter_look(), if `at` is already set; or NULL.
 */
static __always_inline bool row_fits(struct row *row, const struct freed *f, struct linear *at,
				     const __u32 *look, __u32 program)
{
	const bool looks = watch_cfg.has_expr || watch_cfg.by_flow || inner.wanted;
	__u32 ports = LOOK_ASK;

	*row = (struct row){IP_PLAIN, true};
	if (!looks && (is_whole(f) || is_plain(f->skb)))
		return true;
	if (!look)
		*at = linear_of(f->skb);
	if (watch_cfg.has_expr)
		ports = look ? *look : filter_look(at);
	/* first, because most packets are not from the flow */
	if (watch_cfg.has_expr && is_others(ports))
		return false;
	if (!look_inside(at, program) && watch_cfg.has_expr)
		return false;
	if (!looks || inner.wanted || !is_plain(f->skb))
		row->kind = ip_kind(at);
	row->kind ^= no_bits;
	if (watch_cfg.has_expr)
		row->matched = matches(f->skb, at, row->kind, program, ports) & NAT_MATCHES;
	return row->matched || row->kind != IP_PLAIN;
}

/* Returns true if a fragment counts as the loss of its datagram. */
static __always_inline bool row_is_loss(const struct row *row, struct freed *f,
					const struct linear *at, __u32 program)
{
	__u32 more = f->reason == kernel.dup_frag ? FRAGMENT_DUPLICATE : 0, drop;

	if (row->kind == IP_PLAIN)
		return true;
	drop = fragment_dropped(at, program, row->matched, &more);
	if (drop == FRAGMENT_AGAIN)
		f->flags |= WATCH_COPY;
	return drop == FRAGMENT_AGAIN || drop == FRAGMENT_LOSS;
}

#endif
