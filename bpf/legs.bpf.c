// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Records when packets with a sequence header pass the probes of enum leg_point. Entries are looked
 * up by sequence number when read, so lost packets leave no entry. For a merged skb, or one that
 * the interface will segment, only the first packet is recorded. Sequence headers in pages are not
 * read.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "legs_abi.h"
#define WITHOUT_KFUNCS /* one program for all kernels, because it reads little */
#include "skb.bpf.h"

MAPPED(times, LEG_SLOTS, struct leg_times);

/*
 * Set by user space: the flow's UDP port, and the interfaces for LEG_DEVICE_OUT and LEG_DEVICE_IN.
 */
const volatile __u16 leg_port;
const volatile __u32 leg_netns[2], leg_ifindex[2]; /* ifindex 0: any interface in the namespace */

static __always_inline void note(__u64 word, enum leg_point point)
{
	__u32 slot = leg_slot(word);
	struct leg_times *t = bpf_map_lookup_elem(&times, &slot);

	if (!t)
		return;
	if (t->word != word) {
		__builtin_memset(t->at, 0, sizeof(t->at));
		t->word = word;
	}
	t->at[point] = bpf_ktime_get_tai_ns();
}

static __always_inline int passes(struct sk_buff *skb, enum leg_point point)
{
	struct net_device *dev = skb->dev;
	struct linear at = linear_of(skb);
	struct packet p = {};

	if (dev->nd_net.net->ns.inum != leg_netns[point] ||
	    (leg_ifindex[point] && dev->ifindex != leg_ifindex[point]))
		return 0;
	if (packet_parse(&at, leg_port, &p) == PACKET_STAMPED)
		note(p.word, point);
	return 0;
}

SEC("?tp_btf/net_dev_start_xmit")
int leg_out(__u64 *ctx)
{
	return passes((void *)ctx[0], LEG_DEVICE_OUT);
}

SEC("?tp_btf/netif_receive_skb")
int leg_in(__u64 *ctx)
{
	return passes((void *)ctx[0], LEG_DEVICE_IN);
}

/* When udp_queue_rcv_one_skb() calls sk_filter(), data begins with the UDP header. */
SEC("?socket")
int leg_socket(struct __sk_buff *skb)
{
	struct stamp stamp;
	__u64 word;

	if (bpf_skb_load_bytes(skb, UDP_HLEN, &stamp, sizeof(stamp)))
		return -1;
	word = stamp_word(&stamp);
	if (word)
		note(word, LEG_SOCKET);
	return -1; /* accept the whole packet */
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
