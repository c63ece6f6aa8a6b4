/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Determines the cause of a drop, for programs at skb:kfree_skb and skb:consume_skb. */
#ifndef PKTLEDGER_KFREE_BPF_H
#define PKTLEDGER_KFREE_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "skb.bpf.h"
#include "trace_abi.h"
#include "watch_abi.h"

#define SITE_FRAMES 12 /* frames of BPF, tracepoint, freeing function and its caller */

/*
 * Constants have initializers, because clang then places them in the order of the source, alike in
 * all builds of a program (Makefile).
 */
const volatile struct trace_kfree kernel = {};
struct trace_places places;

static __always_inline bool is_in(const volatile struct trace_range *range, __u64 location)
{
	const __u64 start = range->start; /* both are volatile */

	return location - start < range->end - start;
}

/*
 * Returns 1 or 0 without a branch. Branches in a loop would give the verifier many paths to follow.
 */
static __always_inline __u64 counts_in(const volatile struct trace_range *range, __u64 location)
{
	__u64 behind = location - range->start, size = range->end - range->start;

	return (~behind & (behind - size)) >> 63;
}

/* `n` is a constant. */
static __always_inline bool is_in_any(const volatile struct trace_range *ranges, int n,
				      __u64 location)
{
	bool found = false;

#pragma unroll
	for (int i = 0; i < n; i++)
		found |= is_in(&ranges[i], location);
	return found;
}

static __noinline __u64 site_of_caller(__u64 *ctx)
{
	__u64 stack[SITE_FRAMES] = {}, site = ctx[1];

	if (bpf_get_stack(ctx, stack, sizeof(stack), 0) < 0)
		return site;
	for (int i = 0; i + 1 < SITE_FRAMES; i++) {
		if (is_in(&places.freeing, stack[i]) && stack[i + 1])
			site = stack[i + 1];
	}
	return site;
}

/*
 * Returns the location of a drop. kfree_skb reports the caller of the freeing function. If the
 * compiler does not turn calls into jumps, as on arm64, the caller may be a helper that frees
 * packets for other functions. In that case the location is the helper's caller.
 */
static __always_inline __u64 drop_site(__u64 *ctx)
{
	return is_in(&places.freeing, ctx[1]) ? site_of_caller(ctx) : ctx[1];
}

static __always_inline int reason_of(__u64 *ctx)
{
	return kernel.has_reason ? (int)ctx[2] : 0;
}

/*
 * Returns true for a fragment of the rest of a packet, freed because a queue or an interface
 * refused an earlier fragment. Before 6.3 a fragment that a qdisc dropped has the same location,
 * but another reason and, on most interfaces, a link header in front.
 */
static __always_inline bool is_rest(__u64 *ctx)
{
	struct sk_buff *skb = IN((void *)ctx[0], sk_buff);

	return is_in_any(places.fragmenting, TRACE_FRAGMENTING, ctx[1]) &&
	       reason_of(ctx) != kernel.qdisc && skb->data >= skb->head + skb->network_header;
}

/*
 * Returns true if a fragment of that rest has no IP header, because that is written just before a
 * fragment is sent. Its place may hold a header of an earlier packet (ip_fraglist_prepare()).
 */
static __always_inline bool lacks_header(__u64 *ctx)
{
	struct sk_buff *skb = IN((void *)ctx[0], sk_buff);

	return skb->data > skb->head + skb->network_header;
}

static __always_inline bool is_headless(__u64 *ctx)
{
	return is_rest(ctx) && lacks_header(ctx);
}

#define TCQ_F_BUILTIN 1 /* of noop_qdisc */

__attribute__((unused)) static __noinline __u64 site_of_qdisc(struct sk_buff *skb, __u64 site)
{
	__u64 at = (__u64)BPF_CORE_READ(skb, dev, _tx) +
		   BPF_CORE_READ(skb, queue_mapping) * bpf_core_type_size(struct netdev_queue);
	struct Qdisc *qdisc = BPF_CORE_READ((struct netdev_queue *)at, qdisc);

	if (BPF_CORE_READ(qdisc, flags) & TCQ_F_BUILTIN)
		site = (__u64)BPF_CORE_READ(qdisc, enqueue);
	return site;
}

/*
 * Returns noop_enqueue() if __dev_queue_xmit() carried out that function's verdict, otherwise
 * `site`. An interface uses noop_enqueue() in place of a qdisc while its link is down or its qdisc
 * is being replaced. On Linux 6.1 the stack has no room for this check.
 */
static __always_inline __u64 verdict_site(struct sk_buff *skb, int reason, __u64 site)
{
	return KFUNCS && reason == kernel.qdisc ? site_of_qdisc(skb, site) : site;
}

/*
 * Returns the qdisc's own reason. It is also the argument of qdisc:qdisc_drop, which fires just
 * before kfree_skb for the same packet, so that event needs no program.
 */
static __always_inline __u32 reason_of_qdisc(struct sk_buff *skb)
{
	const __u32 generic = kernel.qdisc_generic;
	__u32 why = BPF_CORE_READ((struct tc_skb_cb *)skb->cb, drop_reason);

	return why >> 16 == generic >> 16 && why != generic ? why : kernel.qdisc;
}

/* A freed packet. */
struct freed {
	struct sk_buff *skb;
	struct sock *rx_sk; /* socket that dropped the packet, as reported by the kernel */
	__u64 site;
	__u32 reason;
	__u32 flags; /* enum watch_flag */
	/* By freed_place(): */
	struct sock *sender;	/* skb->sk */
	struct net_device *dev; /* NULL: skb->dev is not an interface */
	__u32 netns, ifindex;	/* 0: unknown */
	/* Set by cause_fill(), for NETFILTER_DROP: */
	__u64 aux; /* as in struct watch_key */
};

/* Reads what the event reports. `consumed`, a constant: the packet was freed by consume_skb. */
static __always_inline void freed_read(struct freed *f, __u64 *ctx, bool consumed)
{
	*f = (struct freed){.skb = (void *)ctx[0], .site = ctx[1], .flags = no_bits};
	if (consumed) {
		f->flags |= WATCH_CONSUMED;
		return;
	}
	f->reason = reason_of(ctx);
	f->site = verdict_site(f->skb, f->reason, drop_site(ctx));
	if (KFUNCS && kernel.qdisc_generic > 0 && f->reason == kernel.qdisc)
		f->reason = reason_of_qdisc(f->skb);
	if (kernel.has_rx_sk)
		f->rx_sk = (void *)ctx[3];
}

/*
 * Finds the interface and the namespace. In a UDP queue, skb->dev is used as `dev_scratch`, which
 * is not a pointer. In a TCP tree it is part of a node, and then the namespace is not the socket's.
 */
static __always_inline void freed_place(struct freed *f)
{
	struct net_device *dev = IN(f->skb, sk_buff)->dev;
	struct sock *sender = IN(f->skb, sk_buff)->sk, *sk = f->rx_sk;

	/* For a queued fragment the field is `ip_defrag_offset`, which is not a pointer. */
	if (sender) {
		barrier_var(sender); /* two tests: the verifier requires the first one separately */
		if ((__s64)sender < 0)
			f->sender = sender;
	}
	if ((__s64)dev < 0) {
		struct net *net = dev->nd_net.net;

		if (!sk || net == IN(sk, sock)->__sk_common.skc_net.net) {
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
	f->netns = sk	       ? IN(sk, sock)->__sk_common.skc_net.net->ns.inum
		   : f->sender ? f->sender->__sk_common.skc_net.net->ns.inum
			       : 0;
}

#define IFF_EBRIDGE	0x2 /* bit in priv_flags, enum netdev_priv_flags */
#define IFF_BRIDGE_PORT 0x200
#define TYPE_ARP	0x0806

static __always_inline bool has_hooks(struct net_device *dev)
{
	return (bpf_core_field_exists(dev->nf_hooks_ingress) &&
		BPF_CORE_READ(dev, nf_hooks_ingress)) ||
	       (bpf_core_field_exists(dev->nf_hooks_egress) && BPF_CORE_READ(dev, nf_hooks_egress));
}

/* Returns true if hooks of the bridge or arp families exist that may have dropped the packet. */
static __always_inline bool has_family_hooks(struct sk_buff *skb, struct net_device *dev,
					     __u32 priv_flags)
{
	struct net *net = BPF_CORE_READ(dev, nd_net.net);
	struct nf_hook_entries *arp[3] = {}, *bridge[5] = {};

	if (skb->protocol == bpf_htons(TYPE_ARP) && bpf_core_field_exists(net->nf.hooks_arp))
		bpf_core_read(arp, sizeof(arp), &net->nf.hooks_arp);
	if (priv_flags & (IFF_EBRIDGE | IFF_BRIDGE_PORT) &&
	    bpf_core_field_exists(net->nf.hooks_bridge))
		bpf_core_read(bridge, sizeof(bridge), &net->nf.hooks_bridge);
	return arp[0] || arp[1] || arp[2] || bridge[0] || bridge[1] || bridge[2] || bridge[3] ||
	       bridge[4];
}

/* Returns the innermost caller: br_netfilter runs IP's hooks inside a bridge's. 0: not found. */
static __noinline __u64 caller_of_hooks(__u64 *ctx)
{
	__u64 stack[SITE_FRAMES] = {}, site = 0, found = 0, over = 0;

	if (bpf_get_stack(ctx, stack, sizeof(stack), 0) < 0)
		return 0;
	for (int i = 0; i + 1 < SITE_FRAMES; i++) {
		__u64 runs = counts_in(&places.run, stack[i]) | counts_in(&places.resume, stack[i]);

		found |= runs;
		over |= found & ~runs;
		site ^= (site ^ stack[i + 1]) & -(runs & ~over); /* stack[i + 1] if it runs hooks */
	}
	return site;
}

/*
 * Handles a packet that netfilter dropped at an interface. Returns the function that ran the hooks
 * if they may belong to nft's netdev, bridge or arp families, otherwise 0. The function is found on
 * the stack, so the search only runs if such hooks exist. Before routing, a bridge runs the hooks
 * itself (nf_hook_bridge_pre(), inline), so the bridge function is the location of the drop.
 */
static __always_inline __u64 hook_runner(__u64 *ctx, struct sk_buff *skb, struct net_device *dev)
{
	__u32 flags;
	bool family;
	__u64 at;

	if (!dev)
		return 0;
	flags = BPF_CORE_READ_BITFIELD_PROBED(dev, priv_flags);
	family = has_family_hooks(skb, dev, flags);
	if (!family && !has_hooks(dev))
		return 0;
	at = caller_of_hooks(ctx);
	if (!at && family && flags & IFF_BRIDGE_PORT)
		return ctx[1];
	if (family)
		return at;
	return is_in(&places.in, at) || is_in(&places.out, at) ? at : 0;
}

/*
 * Returns true if the skb is a copy made for a tap or when flooding, or is not the packet itself,
 * such as TCP's clone in a bridge.
 */
static __always_inline bool is_copy(const struct freed *f, __u8 pkt_type, bool consumed)
{
	struct sock *rx_sk = f->rx_sk;

	if (f->reason == kernel.packet_sock || pkt_type == PACKET_OUTGOING)
		return true;
	if (rx_sk && rx_sk->__sk_common.skc_family == AF_PACKET)
		return true;
	return (pkt_type == PACKET_OTHERHOST || consumed) &&
	       BPF_CORE_READ_BITFIELD(f->skb, cloned) &&
	       (BPF_CORE_READ_BITFIELD(f->skb, fclone) != SKB_FCLONE_CLONE ||
		f->reason == kernel.otherhost);
}

/*
 * Fills in flags and aux, after freed_place(). `hooks`, a constant: find the interface hook that
 * dropped the packet.
 */
static __always_inline void cause_fill(struct freed *f, __u64 *ctx, bool consumed, bool hooks)
{
	struct dst_entry *dst = (void *)(f->skb->_skb_refdst & SKB_DST_PTRMASK);

	if (f->sender)
		f->flags |= WATCH_SK;
	if (is_copy(f, BPF_CORE_READ_BITFIELD(f->skb, pkt_type), consumed))
		f->flags |= WATCH_COPY;
	f->flags ^= no_bits;
	if (consumed || f->rx_sk || f->reason != kernel.netfilter)
		return;
	if (hooks)
		f->aux = hook_runner(ctx, f->skb, f->dev);
	if (!f->aux && dst)
		f->aux = (__u64)BPF_CORE_READ(dst, input);
	if (f->aux)
		f->flags |= WATCH_DST;
	f->flags ^= no_bits;
}

/* Writes the cause as the four words of a struct watch_key. */
static __always_inline void cause_words(const struct freed *f, __u64 *word)
{
	const __u64 pkt_type = BPF_CORE_READ_BITFIELD(f->skb, pkt_type);

	word[0] = f->site;
	word[1] = f->aux;
	word[2] = f->reason | (__u64)f->ifindex << 32;
	word[3] = f->netns | (__u64)f->skb->protocol << 32 | pkt_type << WATCH_PKT_TYPE_SHIFT |
		  (__u64)f->flags << WATCH_FLAGS_SHIFT;
}

#endif
