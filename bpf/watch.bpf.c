// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Observer for all traffic: counts every skb that the kernel frees as dropped (bpf/watch.bpf.h). */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "watch.bpf.h"
#include "xdp.bpf.h"

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
			   program == WATCH_RECEIVES || program == WATCH_QUEUES);
}

/* Records the first fragment of a datagram that matches EXPR. `place`: an interface hook. */
GLOBAL int see_datagram(const struct linear *at, __u32 program, __u32 place)
{
	struct fragment_work *w = bpf_map_lookup_elem(&fragment_work, &program);
	struct followed *d;

	if (!w || !at)
		return 0;
	w->at = *at;
	if (!fragment_find(w) || w->h.fragment)
		return 0;
	d = bpf_map_lookup_elem(&followed, &w->key);
	if (!d) {
		fragment_begin(w, FOLLOWED_OURS, place);
		bpf_map_delete_elem(&overtaken, &w->key);
	} else if (d->netns == place) {
		d->lost = (struct fragment_loss){};
	}
	return 0;
}

/* Handles XDP_ABORTED and invalid verdicts. A failed XDP_TX or redirect raises another event. */
SEC("?tp_btf/xdp_exception")
int watch_exception(__u64 *ctx)
{
	__u32 zero = 0, *mark = bpf_map_lookup_elem(&aborted, &zero), act = ctx[2];
	struct watch_control *control = watch_control();

	if (watch_cfg.xdp)
		count_exception(ctx);
	if (!mark || !control || act == XDP_TX || act == XDP_REDIRECT)
		return 0;
	for (int i = 0; i < TRACE_XDP; i++) {
		if (is_called_by(ctx, places.xdp[i].start, places.xdp[i].end))
			control->any_aborted = *mark = 1; /* not a frame, which is freed silently */
	}
	return 0;
}

/* Returns true for a packet at a socket, which is not a fragment, because IP reassembled it. */
static __always_inline bool is_whole(const struct freed *f)
{
	__u16 family = f->rx_sk ? f->rx_sk->__sk_common.skc_family : 0;

	return family == AF_INET || family == AF_INET6;
}

static __always_inline void count_skb(__u64 *ctx, struct freed *f, bool consumed)
{
	const bool looks = watch_cfg.has_expr || watch_cfg.by_flow || inner.wanted;
	const __u32 program = consumed ? WATCH_USED : WATCH_DROPS;
	__u32 look = LOOK_ASK, more = 0, drop = FRAGMENT_LOSS;
	int kind = IP_PLAIN, matched = true;
	struct linear at;

	if (!consumed && is_aborted(ctx))
		f->flags |= WATCH_ABORTED;
	if (looks || !(is_whole(f) || is_plain(f->skb))) {
		at = linear_of(f->skb);
		if (watch_cfg.has_expr)
			look = filter_look(&at);
		/* first, because most packets are not from the flow */
		if (watch_cfg.has_expr && is_others(look))
			return;
		if (!look_inside(&at, program) && watch_cfg.has_expr)
			return;
		if (!looks || inner.wanted || !is_plain(f->skb))
			kind = ip_kind(&at);
		kind ^= no_bits;
		if (watch_cfg.has_expr)
			matched = matches(f->skb, &at, kind, program, look) & NAT_MATCHES;
		if (!matched && kind == IP_PLAIN)
			return;
	}
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

	if (is_headless(ctx))
		return 0;
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
 * Prepares for drops of packets that EXPR cannot be tested on. Only the first fragment has the
 * ports that EXPR tests, so later fragments belong to the flow if the first one was seen. A packet
 * passes several interfaces. If the same ID appears again at the same interface, it is a new
 * datagram. In namespaces with NAT, this is also the last place where a packet's connection is
 * known (bpf/nat.bpf.h).
 */
static __always_inline void see(struct sk_buff *skb, __u32 program)
{
	const bool firsts = watch_cfg.has_firsts && program != WATCH_NAMES;
	const bool names = nat_followed && program != WATCH_RECEIVES;
	struct net_device *dev = IN(skb, sk_buff)->dev;
	__u64 nfct = names ? nfct_of(skb) : 0;
	struct linear at = linear_of(skb);
	int kind;

	if ((!names && !inner.wanted && is_plain(skb)) || !look_inside(&at, program) ||
	    (!firsts && tunnel_of(program)))
		return;
	kind = ip_kind(&at);
	if (tunnel_of(program) || !nat_translated(nfct)) {
		if (program == WATCH_NAMES && nfct)
			nat_forget(&at, program);
		nfct = 0;
	}
	if (!nfct && (!firsts || kind == IP_PLAIN))
		return;
	if (!(matches(skb, &at, kind, program, filter_look(&at)) & NAT_MATCHES))
		return;
	if (nfct)
		nat_learn(nfct, program, program == WATCH_QUEUES, 0);
	if (firsts && kind != IP_PLAIN)
		see_datagram(&at, program,
			     (dev->nd_net.net->ns.inum * 31 + dev->ifindex) * 4 + program);
}

SEC("?tp_btf/netif_receive_skb")
int watch_receives(__u64 *ctx)
{
	see((void *)ctx[0], WATCH_RECEIVES);
	return 0;
}

SEC("?tp_btf/net_dev_queue")
int watch_queues(__u64 *ctx)
{
	see((void *)ctx[0], WATCH_QUEUES);
	return 0;
}

SEC("?netfilter")
int watch_names(struct bpf_nf_ctx *ctx)
{
	see(ctx->skb, WATCH_NAMES);
	return NF_ACCEPT;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
