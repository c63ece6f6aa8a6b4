// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fault programs, which cause losses: they drop packets at tc, at XDP or in a socket filter, damage
 * headers, or delay packets. They only touch packets of the flow that have a sequence header, and
 * they count nothing, because the tracer has to find the losses.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "fault_abi.h"
#include "seen.bpf.h"
#include "skb.bpf.h"

/* Helpers for faults that act on merged packets or fragments. */

#define IP4_LENGTH_OFF 2
#define IP4_CSUM_OFF   10
#define IP4_FRAG_OFF   6
#define IP4_SOURCE_END 16
#define IP6_SOURCE_END 24
#define IP6_NEXT_OFF   6
#define OTHER_SENDER   0x80 /* in the last byte of the address */
#define IP6_LENGTH_OFF 4
#define UDP_LENGTH_OFF 4

static __always_inline void spoil_fragment(struct __sk_buff *skb, const struct headers *h,
					   __u32 way)
{
	bool v4 = h->version == 4;
	/* the last two bytes of the address: IPv4's checksum adds 16-bit words */
	__u32 source_end = h->l3 + (v4 ? IP4_SOURCE_END : IP6_SOURCE_END) - 2;
	__u32 offset = v4 ? h->l3 + IP4_FRAG_OFF : h->at - IP6_EXT_HLEN + 2;
	__u32 at = way == FAULT_FRAG_OVERLAP ? offset : source_end;
	__be16 was, is;

	if (way == FAULT_FRAG_DUPLICATE) { /* the clone comes back here, recognized by its mark */
		skb->mark |= FAULT_MARK_AGAIN;
		bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
		skb->mark &= ~FAULT_MARK_AGAIN;
		return;
	}
	if (bpf_skb_load_bytes(skb, at, &was, sizeof(was)))
		return;
	/* 8 bytes earlier: IPv4 fragment offsets are in units of 8 */
	is = way == FAULT_FRAG_OVERLAP ? bpf_htons(bpf_ntohs(was) - (v4 ? 1 : 8))
				       : was ^ bpf_htons(OTHER_SENDER);
	if (v4)
		bpf_l3_csum_replace(skb, h->l3 + IP4_CSUM_OFF, was, is, sizeof(is));
	bpf_skb_store_bytes(skb, at, &is, sizeof(is), 0);
}

static __always_inline void lengthen(struct __sk_buff *skb, const __u8 *front, __u32 at, __u32 by)
{
	__be16 length = bpf_htons(be16_at(front + at) + by);

	bpf_skb_store_bytes(skb, at, &length, sizeof(length), 0);
}

/*
 * Inserts a datagram before the datagrams of a merged packet. The headers move but the checksum
 * start does not, so the packet cannot be segmented (__udp_gso_segment()). The new datagram has the
 * number of the last one, which is now past the end, so the datagram count does not change. The
 * packet is then received again, because only that makes the kernel find its headers. `headers` is
 * a constant.
 */
static __always_inline int push_datagram(struct __sk_buff *skb, __u32 headers, __u32 ip_length)
{
	__u32 size = skb->gso_size, last = headers + (skb->gso_segs - 1) * size;
	__u8 front[ETHERNET_HLEN + IP6_HLEN + UDP_HLEN];
	struct stamp stamp;
	__u16 before;

	if (skb->len != last + size || skb->len + size > 0xffff ||
	    bpf_skb_load_bytes(skb, 0, front, headers) ||
	    bpf_skb_load_bytes(skb, last, &stamp, sizeof(stamp)) ||
	    bpf_skb_change_head(skb, size, 0))
		return TC_ACT_UNSPEC;
	bpf_skb_store_bytes(skb, 0, front, headers, 0);
	bpf_skb_store_bytes(skb, headers, &stamp, sizeof(stamp), 0);
	lengthen(skb, front, headers - UDP_HLEN + UDP_LENGTH_OFF, size);
	lengthen(skb, front, ip_length, size);
	before = be16_at(front + ip_length);
	if (skb->protocol == bpf_htons(TYPE_IP4))
		bpf_l3_csum_replace(skb, ETHERNET_HLEN + IP4_CSUM_OFF, bpf_htons(before),
				    bpf_htons(before + size), sizeof(before));
	skb->mark |= FAULT_MARK_AGAIN;
	return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
}

#define TC_ACT_SHOT	 2
#define TC_ACT_STOLEN	 4
#define ETH_P_ARP	 0x0806
#define ND_SOLICIT	 135
#define ICMP_UNREACH	 3
#define ICMP_FRAG_NEEDED 4
#define ICMP6_TOO_BIG	 2
#define UDP_CSUM_OFF	 6
#define BURN_LOOPS	 (1 << 20) /* upper bound; the clock ends the loop much earlier */
#define FILTER_KEEP_ALL	 0xffffffff
#define NOWHERE		 0x7fffffff /* an unused ifindex */
#define CGROUP_DROP	 0
#define CGROUP_PASS	 1

const volatile struct fault_config fault;

/* The receiver's own XDP program, if present. */
MAP(next, PROG_ARRAY, 1, __u32, __u32);

/* Shared with the tracer: the word of the packet being redirected on this CPU. */
ONE_PER_CPU(cell, __u64);

/* Shared with the tracer: the words of the frames waiting in a batch on this CPU. */
ONE_PER_CPU(batch, struct trace_batch);

MAP(devices, DEVMAP, 1, __u32, __u32);

/* User space sets the number of CPUs. */
MAP(cpus, CPUMAP, 1, __u32, struct bpf_cpumap_val);

/* Returns true in `share` of 2^32 cases; always true if `share` is 2^32. */
static __always_inline bool chance(__u64 share)
{
	return bpf_get_prandom_u32() < share;
}

static long past_deadline(__u32 index, void *deadline)
{
	return bpf_ktime_get_ns() >= *(__u64 *)deadline;
}

static __always_inline void burn(__u32 ns)
{
	__u64 deadline = bpf_ktime_get_ns() + ns;

	bpf_loop(BURN_LOOPS, past_deadline, &deadline, 0);
}

/*
 * Returns the word of a whole packet of the flow, or 0. The payload may be anywhere. `frame`: the
 * packet has an Ethernet header.
 */
static __always_inline __u64 whole_word(struct __sk_buff *skb, bool frame, struct headers *h)
{
	headers_loaded(skb, frame, h);
	return h->fragmented ? 0 : word_loaded(skb, h, cfg.port);
}

/* Returns true for UDP, whole or fragmented. IPv6 fragments match whatever their protocol is. */
static __always_inline bool is_udp(void *data, void *data_end, bool fragments_only)
{
	__u8 *l3 = data + ETHERNET_HLEN;
	struct headers h = {};

	if ((void *)(l3 + IP4_HLEN) > data_end)
		return false;
	if (be16_at(l3 - 2) == TYPE_IP4) {
		headers_ip4(&h, l3);
		return h.proto == PROTO_UDP && (!fragments_only || h.fragmented);
	}
	if (be16_at(l3 - 2) != TYPE_IP6)
		return false;
	headers_ip6(&h, l3);
	return h.proto == PROTO_FRAGMENT || (h.proto == PROTO_UDP && !fragments_only);
}

/*
 * Returns true if the fault applies to this packet. If the flow's datagrams are larger than the
 * MTU, all fragments in a test network belong to the flow.
 */
static __always_inline bool suffers(void *data, void *data_end)
{
	return (fault.any || cfg.fragments) && is_udp(data, data_end, !fault.any);
}

static __always_inline bool ours(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *data_end = (void *)(long)skb->data_end;
	struct headers h;

	return suffers(data, data_end) || packet_word_direct(data, data_end, cfg.port) ||
	       whole_word(skb, true, &h);
}

SEC("tc")
int fault_slow(struct __sk_buff *skb)
{
	if (ours(skb))
		burn(fault.tc_burn_ns);
	return TC_ACT_UNSPEC;
}

/*
 * Flips one bit in each byte of the UDP checksum. The checksum changes by 255 or 257, up or down,
 * which is never 0 modulo 0xffff, so the result is always wrong. The code also keeps it from
 * becoming 0, which would mean that there is no checksum.
 */
static __always_inline void spoil_udp_csum(__u8 *csum)
{
	if (!(csum[0] | csum[1]))
		return;
	/* Written directly, so that skb->csum is not updated. */
	csum[0] ^= 1;
	csum[1] ^= 1;
	if (!(csum[0] | csum[1]))
		csum[0] = csum[1] = 2;
}

/* Damages the checksum. IPv6 has no header checksum, so the length is set too large instead. */
static __always_inline void spoil_ip_header(struct __sk_buff *skb)
{
	__u8 *l3 = (void *)(long)skb->data + ETHERNET_HLEN;

	if ((void *)(l3 + 20) > (void *)(long)skb->data_end)
		return;
	if (skb->protocol == bpf_htons(TYPE_IP4))
		l3[IP4_CSUM_OFF] ^= 1;
	else if (skb->protocol == bpf_htons(TYPE_IP6))
		l3[IP6_LENGTH_OFF] |= 0x80;
}

/*
 * Pulls the payload into the linear part, because a GSO segment has its payload in pages. Returns
 * NULL if the packet is not ours.
 */
static __always_inline __u8 *pull_payload(struct __sk_buff *skb)
{
	__u8 *payload =
		packet_payload((void *)(long)skb->data, (void *)(long)skb->data_end, cfg.port);
	struct headers h;

	if (!payload && whole_word(skb, true, &h) && !bpf_skb_pull_data(skb, h.at + STAMP_LEN))
		payload = packet_payload((void *)(long)skb->data, (void *)(long)skb->data_end,
					 cfg.port);
	return payload && (fault.any || payload_word(payload)) ? payload : NULL;
}

SEC("tc")
int fault_spoil(struct __sk_buff *skb)
{
	__u8 *payload = pull_payload(skb);

	if (!payload)
		return TC_ACT_UNSPEC;
	if (chance(fault.udp_csum_share))
		spoil_udp_csum(payload - UDP_HLEN + UDP_CSUM_OFF);
	if (chance(fault.udp_header_share))
		payload[-UDP_HLEN + UDP_LENGTH_OFF] |= 0x80; /* larger than the packet */
	if (chance(fault.mark_share))
		skb->mark |= FAULT_MARK_POLICY;
	if (chance(fault.ip_header_share))
		spoil_ip_header(skb);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int fault_egress(struct __sk_buff *skb)
{
	return ours(skb) && chance(fault.egress_share) ? fault.egress_verdict : TC_ACT_UNSPEC;
}

SEC("tc")
int fault_ingress(struct __sk_buff *skb)
{
	return ours(skb) && chance(fault.ingress_share) ? fault.ingress_verdict : TC_ACT_UNSPEC;
}

SEC("tc")
int fault_merged(struct __sk_buff *skb)
{
	struct headers h;

	if (skb->gso_segs < 2 || skb->mark & FAULT_MARK_AGAIN || !whole_word(skb, true, &h) ||
	    !chance(fault.merged_share))
		return TC_ACT_UNSPEC;
	if (h.at == ETHERNET_HLEN + IP4_HLEN + UDP_HLEN)
		return push_datagram(skb, ETHERNET_HLEN + IP4_HLEN + UDP_HLEN,
				     ETHERNET_HLEN + IP4_LENGTH_OFF);
	if (h.at == ETHERNET_HLEN + IP6_HLEN + UDP_HLEN)
		return push_datagram(skb, ETHERNET_HLEN + IP6_HLEN + UDP_HLEN,
				     ETHERNET_HLEN + IP6_LENGTH_OFF);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int fault_keep(struct __sk_buff *skb)
{
	return TC_ACT_STOLEN;
}

/* Damages one fragment of each fragmented datagram, either the last or the first. */
SEC("tc")
int fault_fragment(struct __sk_buff *skb)
{
	struct headers h;

	if (skb->mark & FAULT_MARK_AGAIN)
		return TC_ACT_UNSPEC;
	headers_loaded(skb, true, &h);
	if (h.fragmented && h.proto == PROTO_UDP &&
	    (fault.frag_way == FAULT_FRAG_DUPLICATE ? !h.fragment : !h.more) &&
	    chance(fault.frag_share))
		spoil_fragment(skb, &h, fault.frag_way);
	return TC_ACT_UNSPEC;
}

/* Drops address requests: ARP requests and neighbour solicitations (RFC 4861 4.3). */
SEC("tc")
int fault_deaf(struct __sk_buff *skb)
{
	struct headers h;

	if (skb->protocol == bpf_htons(ETH_P_ARP))
		return TC_ACT_SHOT;
	headers_loaded(skb, true, &h);
	return h.proto == PROTO_ICMP6 && h.icmp_type == ND_SOLICIT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* Drops packet-too-big messages: ICMP "fragmentation needed" and ICMPv6 "packet too big". */
SEC("tc")
int fault_untold(struct __sk_buff *skb)
{
	struct headers h;
	bool announced;

	headers_loaded(skb, true, &h);
	announced = h.proto == PROTO_ICMP
			    ? h.icmp_type == ICMP_UNREACH && h.icmp_code == ICMP_FRAG_NEEDED
			    : h.proto == PROTO_ICMP6 && h.icmp_type == ICMP6_TOO_BIG;
	return announced ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* MLD messages follow a hop-by-hop header (RFC 2710, section 3). */
SEC("tc")
int fault_mute(struct __sk_buff *skb)
{
	__u8 next;

	if (skb->protocol != bpf_htons(TYPE_IP6) ||
	    bpf_skb_load_bytes(skb, ETHERNET_HLEN + IP6_NEXT_OFF, &next, 1))
		return TC_ACT_UNSPEC;
	return next == PROTO_HOPOPTS ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

static __always_inline void leave_in_batch(__u64 word)
{
	__u32 zero = 0;
	struct trace_batch *b = bpf_map_lookup_elem(&batch, &zero);

	if (b)
		b->word[b->tail++ % TRACE_BATCH] = word;
}

/*
 * The kernel thread that serves this CPU's CPU map entry does not run until the whole batch is in
 * its queue. The packets that the queue refuses are therefore always the tail of the batch.
 */
static __always_inline int lose(__u64 word)
{
	__u32 zero = 0;
	__u64 *slot;

	switch (fault.xdp_way) {
	case FAULT_XDP_TO_NOWHERE:
		slot = bpf_map_lookup_elem(&cell, &zero);
		if (slot)
			*slot = word;
		return bpf_redirect(NOWHERE, 0);
	case FAULT_XDP_TO_DEVICE:
		leave_in_batch(word);
		return bpf_redirect_map(&devices, 0, 0);
	case FAULT_XDP_TO_CPU:
		leave_in_batch(word);
		return bpf_redirect_map(&cpus, bpf_get_smp_processor_id(), 0);
	default:
		return fault.xdp_verdict;
	}
}

/* Runs in a CPU map. */
SEC("xdp/cpumap")
int fault_cpu(struct xdp_md *ctx)
{
	burn(fault.cpu_burn_ns);
	return XDP_PASS;
}

SEC("xdp")
int fault_xdp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	__u64 word = packet_word_direct(data, data_end, cfg.port);

	if (word)
		mark_seen(word, SEEN_XDP);
	if (word || suffers(data, data_end)) {
		if (fault.xdp_burn_ns)
			burn(fault.xdp_burn_ns);
		/* a loss that no event shows must have a number, which is left for the tracer */
		if ((word || fault.any || fault.xdp_way == FAULT_XDP_VERDICT) &&
		    chance(fault.xdp_share))
			return lose(word);
	}
	bpf_tail_call(ctx, &next, 0);
	return XDP_PASS;
}

/* The cgroup does not belong to the experiment, so other processes also send from it. */
SEC("cgroup_skb/egress")
int fault_cgroup(struct __sk_buff *skb)
{
	struct headers h;
	__u64 word = whole_word(skb, false, &h);

	return word && is_ours(word) && chance(fault.cgroup_share) ? CGROUP_DROP : CGROUP_PASS;
}

/* Every packet that reaches the socket belongs to the flow. A share of 0 accepts all of them. */
SEC("socket")
int fault_filter(struct __sk_buff *skb)
{
	return chance(fault.filter_share) ? 0 : FILTER_KEEP_ALL;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
