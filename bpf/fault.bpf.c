// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs that make losses happen: they drop at tc, at XDP or in a socket's filter, spoil headers,
 * or take their time. They touch stamped packets of the flow only, and count nothing: what they
 * lose is for the tracer to find.
 */
#include "kernel.h"

#include "fault_abi.h"
#include "hurt.bpf.h"
#include "maps.bpf.h"
#include "packet.bpf.h"
#include "seen.bpf.h"

#define TC_ACT_SHOT	 2
#define TC_ACT_STOLEN	 4
#define ETH_P_ARP	 0x0806
#define IPPROTO_FRAGMENT 44
#define IPPROTO_ICMPV6	 58
#define IPPROTO_HOPOPTS	 0
#define IPPROTO_ICMP	 1
#define ND_SOLICIT	 135
#define ICMP_UNREACH	 3
#define ICMP_FRAG_NEEDED 4
#define ICMP6_TOO_BIG	 2
#define IP6_NEXT_OFF	 6
#define UDP_CSUM_OFF	 6
#define BURN_LOOPS	 (1 << 20) /* the clock ends it long before */
#define FILTER_KEEP_ALL	 0xffffffff
#define NOWHERE		 0x7fffffff /* an ifindex */
#define CGROUP_DROP	 0
#define CGROUP_PASS	 1

const volatile struct fault_config fault;

/* The receiver's own XDP program, if it has one. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

/* Shared with the tracer: the word of the packet that is being redirected on this CPU. */
ONE_PER_CPU(cell, __u64);

/* Shared with the tracer: words of what waits in the batch of a device or CPU, on this CPU. */
ONE_PER_CPU(batch, struct trace_batch);

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} devices SEC(".maps");

/* User space sets how many. */
struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_cpumap_val);
} cpus SEC(".maps");

/* True in `share` of 2^32 cases; a share of 2^32 is always true. */
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

/* UDP, whole or in fragments. */
static __always_inline bool is_udp(void *data, void *data_end, bool fragments_only)
{
	__u8 *l3 = data + ETH_HLEN;

	if ((void *)(l3 + 20) > data_end)
		return false;
	if (be16_at(l3 - 2) == ETH_P_IP)
		return l3[9] == IPPROTO_UDP &&
		       (!fragments_only || be16_at(l3 + 6) & (IP_MF | IP_OFFSET_MASK));
	if (be16_at(l3 - 2) != ETH_P_IPV6)
		return false;
	return l3[IP6_NEXT_OFF] == IPPROTO_FRAGMENT ||
	       (l3[IP6_NEXT_OFF] == IPPROTO_UDP && !fragments_only);
}

/* Where the flow's datagrams are larger than the MTU, nothing else is in a lab. */
static __always_inline bool suffers(void *data, void *data_end)
{
	return (fault.any || cfg.fragments) && is_udp(data, data_end, !fault.any);
}

static __always_inline bool ours(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *data_end = (void *)(long)skb->data_end;
	__u32 payload;

	return suffers(data, data_end) || packet_word_direct(data, data_end, cfg.port) ||
	       packet_word_loaded(skb, cfg.port, &payload);
}

SEC("tc")
int fault_slow(struct __sk_buff *skb)
{
	if (ours(skb))
		burn(fault.tc_burn_ns);
	return TC_ACT_UNSPEC;
}

/*
 * Flips a bit in both bytes of the UDP checksum. That changes it by 255 or 257, up or down, which
 * is never 0 modulo 0xffff, so the result is wrong for certain; and it is kept from becoming 0,
 * which would say that there is no checksum.
 */
static __always_inline void spoil_udp_csum(__u8 *csum)
{
	if (!(csum[0] | csum[1]))
		return;
	/* Written directly: skb->csum is not to follow. */
	csum[0] ^= 1;
	csum[1] ^= 1;
	if (!(csum[0] | csum[1]))
		csum[0] = csum[1] = 2;
}

/* The checksum; IPv6 has none, there the length becomes more than there is. */
static __always_inline void spoil_ip_header(struct __sk_buff *skb)
{
	__u8 *l3 = (void *)(long)skb->data + ETH_HLEN;

	if ((void *)(l3 + 20) > (void *)(long)skb->data_end)
		return;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		l3[IP4_CSUM_OFF] ^= 1;
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		l3[IP6_LENGTH_OFF] |= 0x80;
}

/* In the linear part; a segment of GSO has its payload in pages. NULL: not ours. */
static __always_inline __u8 *pull_payload(struct __sk_buff *skb)
{
	__u8 *payload =
		packet_payload((void *)(long)skb->data, (void *)(long)skb->data_end, cfg.port);
	__u32 at;

	if (!payload && packet_word_loaded(skb, cfg.port, &at) &&
	    !bpf_skb_pull_data(skb, at + STAMP_LEN))
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
		payload[-UDP_HLEN + UDP_LENGTH_OFF] |= 0x80; /* more than there is */
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
	__u32 payload;

	if (skb->gso_segs < 2 || skb->mark & FAULT_MARK_AGAIN ||
	    !packet_word_loaded(skb, cfg.port, &payload) || !chance(fault.merged_share))
		return TC_ACT_UNSPEC;
	if (payload == ETH_HLEN + 20 + UDP_HLEN)
		return push_datagram(skb, ETH_HLEN + 20 + UDP_HLEN, ETH_HLEN + IP4_LENGTH_OFF);
	if (payload == ETH_HLEN + IP6_HLEN + UDP_HLEN)
		return push_datagram(skb, ETH_HLEN + IP6_HLEN + UDP_HLEN,
				     ETH_HLEN + IP6_LENGTH_OFF);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int fault_keep(struct __sk_buff *skb)
{
	return TC_ACT_STOLEN;
}

/* The last one, or the first, of a datagram that is chosen. No field: it is no fragment. */
static __always_inline bool is_hurt(__u16 field, bool last)
{
	bool wanted = fault.frag_way == FAULT_FRAG_DUPLICATE ? !last && !(field & ~(IP_MF | IP6_MF))
							     : last;

	return field && wanted && chance(fault.frag_share);
}

/* Of datagrams that came in fragments, one fragment each. */
SEC("tc")
int fault_fragment(struct __sk_buff *skb)
{
	__u8 l3[IP6_HLEN + FRAG_HLEN] WIDE;
	__u16 field;

	if (skb->mark & FAULT_MARK_AGAIN || bpf_skb_load_bytes(skb, ETH_HLEN, l3, 20))
		return TC_ACT_UNSPEC;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		field = be16_at(l3 + IP4_FRAG_OFF) & (IP_MF | IP_OFFSET_MASK);
		if (l3[9] == IPPROTO_UDP && is_hurt(field, !(field & IP_MF)))
			hurt_fragment4(skb, l3, fault.frag_way);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6) && l3[IP6_NEXT_OFF] == IPPROTO_FRAGMENT &&
		   !bpf_skb_load_bytes(skb, ETH_HLEN, l3, sizeof(l3))) {
		field = be16_at(l3 + IP6_FRAG_OFF);
		if (l3[IP6_HLEN] == IPPROTO_UDP && is_hurt(field, !(field & IP6_MF)))
			hurt_fragment6(skb, field, l3[IP6_SOURCE_END - 1], fault.frag_way);
	}
	return TC_ACT_UNSPEC;
}

/* Nobody hears who asks for an address: ARP, and neighbour solicitations (RFC 4861 4.3). */
SEC("tc")
int fault_deaf(struct __sk_buff *skb)
{
	__u8 next, type;

	if (skb->protocol == bpf_htons(ETH_P_ARP))
		return TC_ACT_SHOT;
	if (skb->protocol != bpf_htons(ETH_P_IPV6) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + IP6_NEXT_OFF, &next, 1) || next != IPPROTO_ICMPV6 ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + IP6_HLEN, &type, 1))
		return TC_ACT_UNSPEC;
	return type == ND_SOLICIT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* Of a smaller MTU on the way: ICMP's "fragmentation needed", ICMPv6's "packet too big". */
SEC("tc")
int fault_untold(struct __sk_buff *skb)
{
	__u8 l3[20], type[2];

	if (bpf_skb_load_bytes(skb, ETH_HLEN, l3, sizeof(l3)))
		return TC_ACT_UNSPEC;
	if (skb->protocol == bpf_htons(ETH_P_IP) && l3[9] == IPPROTO_ICMP &&
	    !bpf_skb_load_bytes(skb, ETH_HLEN + (l3[0] & 0x0f) * 4, type, sizeof(type)))
		return type[0] == ICMP_UNREACH && type[1] == ICMP_FRAG_NEEDED ? TC_ACT_SHOT
									      : TC_ACT_UNSPEC;
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && l3[IP6_NEXT_OFF] == IPPROTO_ICMPV6 &&
	    !bpf_skb_load_bytes(skb, ETH_HLEN + IP6_HLEN, type, sizeof(type)))
		return type[0] == ICMP6_TOO_BIG ? TC_ACT_SHOT : TC_ACT_UNSPEC;
	return TC_ACT_UNSPEC;
}

/* MLD is behind a hop-by-hop header (RFC 2710, section 3). */
SEC("tc")
int fault_mute(struct __sk_buff *skb)
{
	__u8 next;

	if (skb->protocol != bpf_htons(ETH_P_IPV6) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + IP6_NEXT_OFF, &next, 1))
		return TC_ACT_UNSPEC;
	return next == IPPROTO_HOPOPTS ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

static __always_inline void leave_in_cell(__u64 word)
{
	__u32 zero = 0;
	__u64 *slot = bpf_map_lookup_elem(&cell, &zero);

	if (slot)
		*slot = word;
}

static __always_inline void leave_in_batch(__u64 word)
{
	__u32 zero = 0;
	struct trace_batch *b = bpf_map_lookup_elem(&batch, &zero);

	if (b)
		b->word[b->tail++ % TRACE_BATCH] = word;
}

/*
 * The thread that a CPU map has on this very CPU does not run before its queue has got the whole
 * batch: so what the queue refuses is the batch's tail, for certain.
 */
static __always_inline int lose(__u64 word)
{
	switch (fault.xdp_way) {
	case FAULT_XDP_TO_NOWHERE:
		leave_in_cell(word);
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

/* A packet whose loss no event shows has to have a number, which is left for the tracer. */
static __always_inline bool can_be_lost(__u64 word)
{
	return word || fault.any || fault.xdp_way == FAULT_XDP_VERDICT;
}

/* Behind a CPU map. */
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
		if (can_be_lost(word) && chance(fault.xdp_share))
			return lose(word);
	}
	bpf_tail_call(ctx, &next, 0);
	return XDP_PASS;
}

/* The cgroup is not the experiment's own: others send from it too. */
SEC("cgroup_skb/egress")
int fault_cgroup(struct __sk_buff *skb)
{
	__u32 payload;
	__u64 word = packet_word_loaded_at(skb, 0, cfg.port, &payload);

	return word && is_ours(word) && chance(fault.cgroup_share) ? CGROUP_DROP : CGROUP_PASS;
}

/* Whatever reaches the socket is the flow's. A share of 0 accepts all. */
SEC("socket")
int fault_filter(struct __sk_buff *skb)
{
	return chance(fault.filter_share) ? 0 : FILTER_KEEP_ALL;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
