// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Observer for all traffic: counts every skb that the kernel frees as dropped (bpf/watch.bpf.h). */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "callers.bpf.h"
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
	const __u8 *ip;

	if (!KFUNCS || !l3 || l3 >= skb->tail || (mac != HEADER_UNSET && l3 < mac))
		return false;
	ip = (const __u8 *)CAST(skb->head + l3, iphdr);
	return *ip >> 4 == 4   ? !(be16_at(ip + 6) & (IP4_MORE_FRAGMENTS | IP4_FRAGMENT_OFFSET))
	       : *ip >> 4 == 6 ? !headers_is_extension(6, ip[6])
			       : false;
}

/*
 * Not static, so that it is verified only once and its result is one unknown to the verifier
 * instead of three paths.
 */
__noinline int ip_kind(const struct linear *at)
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
enum watch_program {
	WATCH_DROPS,
	WATCH_USED,
	WATCH_RECEIVES,
	WATCH_QUEUES,
	WATCH_NAMES,
	WATCH_SENT_NAMES
};

/*
 * Not static, like ip_kind(). Returns true if there are extension headers to hide from the filter,
 * and stores them in the program's element.
 */
__noinline int find_gap(const struct linear *at, __u32 program)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	__u16 type;
	int l3;

	if (!w || !at || watch_cfg.extensions)
		return false;
	w->at = *at;
	l3 = linear_l3(&w->at, &type);
	if (l3 < 0)
		return false;
	headers_from(&w->at, l3, type, &w->h);
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

/* Records the first fragment of a datagram that matches EXPR. `place`: an interface hook. */
__noinline int see_datagram(const struct linear *at, __u32 program, __u32 place)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	struct followed *d;

	if (!w || !at)
		return 0;
	w->at = *at;
	d = fragment_find(w) && !w->h.fragment ? fragment_record(w) : NULL;
	if (!d)
		return 0;
	if (d->netns == place)
		d->lost = (struct fragment_loss){};
	if (!d->flags)
		d->netns = place;
	d->flags |= FOLLOWED_OURS;
	return 0;
}

/* Handles XDP_ABORTED and invalid verdicts. A failed XDP_TX or redirect raises another event. */
SEC("?tp_btf/xdp_exception")
int watch_aborted(__u64 *ctx)
{
	__u32 zero = 0, *mark = bpf_map_lookup_elem(&aborted, &zero), act = ctx[2];
	struct watch_control *control = watch_control();

	if (!mark || !control || act == XDP_TX || act == XDP_REDIRECT)
		return 0;
	for (int i = 0; i < TRACE_XDP; i++) {
		if (is_called_by(ctx, places.xdp[i].start, places.xdp[i].end))
			control->any_aborted = *mark = 1; /* not a frame, which is freed silently */
	}
	return 0;
}

static __always_inline void count_skb(__u64 *ctx, struct freed *f, bool consumed)
{
	const __u32 program = consumed ? WATCH_USED : WATCH_DROPS;
	const __u32 look = watch_cfg.has_expr ? filter_look(f->skb) : LOOK_ASK;
	struct linear at = linear_of(f->skb);
	int kind = IP_PLAIN, matched = true;
	__u32 more = 0, drop = FRAGMENT_LOSS;

	if (!consumed && is_aborted(f->site))
		f->flags |= WATCH_ABORTED;
	if (watch_cfg.has_expr && is_others(look))
		return;
	/* first, because most packets are not from the flow, and the filter takes long to verify */
	if (!look_inside(&at, program) && watch_cfg.has_expr)
		return;
	if (inner.wanted || !is_plain(f->skb))
		kind = ip_kind(&at);
	kind ^= no_bits;
	if (watch_cfg.has_expr)
		matched = matches(f->skb, &at, kind, program, look) & NAT_MATCHES;
	if (!matched && kind == IP_PLAIN)
		return;
	freed_place(f);
	if (!is_wanted(f))
		return;
	if (kind != IP_PLAIN) {
		if (f->reason == kernel.dup_frag)
			more = FRAGMENT_DUPLICATE;
		drop = fragment_dropped(&at, program, matched, &more);
	}
	if (drop == FRAGMENT_AGAIN)
		f->flags |= WATCH_COPY;
	else if (drop != FRAGMENT_LOSS)
		return;
	cause_fill(f, ctx, consumed, true);
	count_freed(ctx, f, &at, program, consumed);
}

SEC("?tp_btf/kfree_skb")
int watch_drops(__u64 *ctx)
{
	struct freed f;

	freed_read(&f, ctx, false);
	count_skb(ctx, &f, false);
	return 0;
}

/*
 * Only a few of the packets that the kernel frees as consumed are losses, namely those freed at
 * known locations. All other packets leave after one comparison, or at most one per location.
 */
SEC("?tp_btf/consume_skb")
int watch_used(__u64 *ctx)
{
	struct freed f;

	if (!is_in(&watch_cfg.consumed_within, ctx[1]) ||
	    !is_in_any(watch_cfg.consumed, WATCH_CONSUMED_MAX, ctx[1]))
		return 0;
	freed_read(&f, ctx, true);
	count_skb(ctx, &f, true);
	return 0;
}

/*
 * Only the first fragment has the ports that EXPR tests. Later fragments belong to the flow if the
 * first one was seen. A packet passes several interfaces. If the same ID appears again at the same
 * interface, it is a new datagram.
 */
static __always_inline int see_first(struct sk_buff *skb, __u32 program)
{
	struct net_device *dev = IN(skb, sk_buff)->dev;
	struct linear at;
	int kind;

	if (!inner.wanted && is_plain(skb))
		return 0;
	at = linear_of(skb);
	if (!look_inside(&at, program))
		return 0;
	kind = ip_kind(&at);
	if (kind != IP_PLAIN && matches(skb, &at, kind, program, LOOK_ASK) & NAT_MATCHES)
		see_datagram(&at, program,
			     (dev->nd_net.net->ns.inum * 31 + dev->ifindex) * 4 + program);
	return 0;
}

SEC("?tp_btf/netif_receive_skb")
int watch_receives(__u64 *ctx)
{
	return see_first((void *)ctx[0], WATCH_RECEIVES);
}

SEC("?tp_btf/net_dev_queue")
int watch_queues(__u64 *ctx)
{
	return see_first((void *)ctx[0], WATCH_QUEUES);
}

/* Handles drops after the last place where a packet's connection is known (bpf/nat.bpf.h). */
static __always_inline void see_names(struct sk_buff *skb, __u32 program, __u32 sent)
{
	struct linear at = linear_of(skb);
	__u64 nfct = nfct_of(skb);

	if (!look_inside(&at, program) || tunnel_of(program))
		return;
	if (!nat_translated(nfct)) {
		if (nfct && !sent)
			nat_forget(&at, program);
	} else if (matches(skb, &at, ip_kind(&at), program, filter_look(skb)) & NAT_MATCHES) {
		nat_learn(nfct, program, sent, 0);
	}
}

SEC("?netfilter")
int watch_names(struct bpf_nf_ctx *ctx)
{
	see_names(ctx->skb, WATCH_NAMES, 0);
	return NF_ACCEPT;
}

SEC("?tp_btf/net_dev_queue")
int watch_sent_names(__u64 *ctx)
{
	see_names((void *)ctx[0], WATCH_SENT_NAMES, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
