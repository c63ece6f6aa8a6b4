/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies for taps and for other ports. To be included behind `cfg`, which knows the reasons. */
#ifndef PKTLEDGER_COPY_BPF_H
#define PKTLEDGER_COPY_BPF_H

#include <bpf/bpf_core_read.h>

#include "kernel.h"

static __always_inline bool is_copy(struct sk_buff *skb, int reason, struct sock *rx_sk)
{
	__u8 type = BPF_CORE_READ_BITFIELD(skb, pkt_type);

	if (reason == cfg.reason_packet_sock || type == PACKET_OUTGOING)
		return true;
	if (rx_sk && rx_sk->__sk_common.skc_family == AF_PACKET)
		return true;
	return reason == cfg.reason_otherhost && BPF_CORE_READ_BITFIELD(skb, cloned);
}

#endif
