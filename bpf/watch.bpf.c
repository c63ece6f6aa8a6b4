// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Observer for all traffic: counts every skb that the kernel frees as dropped (bpf/watch.bpf.h). */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "row.bpf.h"
#include "watch.bpf.h"
#include "xdp.bpf.h"

/* Records the first fragment of a datagram that matches EXPR. `place`: an interface hook. */
GLOBAL int see_datagram(const struct linear *at, __u32 program, __u32 place)
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
	fragment_adopt(w, d, FOLLOWED_OURS);
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

static __always_inline void count_skb(__u64 *ctx, struct freed *f, bool consumed)
{
	const __u32 program = consumed ? WATCH_USED : WATCH_DROPS;
	struct linear at;
	struct row row;

	if (!consumed && is_aborted(ctx))
		f->flags |= WATCH_ABORTED;
	if (!row_fits(&row, f, &at, NULL, program))
		return;
	freed_place(f);
	if (!is_wanted(f) || !row_is_loss(&row, f, &at, program))
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
