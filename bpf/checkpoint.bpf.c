// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Checkpoints on the way: they note how far a packet got, and let everything pass. */
#include "kernel.h"

#include "packet.bpf.h"
#include "seen.bpf.h"

#define TC_ACT_UNSPEC (-1)

static __always_inline int mark(struct __sk_buff *skb, __u8 where)
{
	__u64 word = packet_word_direct((void *)(long)skb->data, (void *)(long)skb->data_end,
					cfg.port);

	if (word)
		mark_seen(word, where);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int tx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_TX_DEVICE);
}

SEC("tc")
int rx_device(struct __sk_buff *skb)
{
	return mark(skb, SEEN_RX_DEVICE);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
