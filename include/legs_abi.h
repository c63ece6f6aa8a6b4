/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Times at which a packet passed the probes on one host. Shared by bpf/legs.bpf.c and user space.
 */
#ifndef PKTLEDGER_LEGS_ABI_H
#define PKTLEDGER_LEGS_ABI_H

#include <linux/types.h>

enum leg_point {
	LEG_DEVICE_OUT, /* handed to the sender's interface, after its qdisc (net_dev_start_xmit) */
	LEG_DEVICE_IN,	/* passed to the stack by the receiver's interface (netif_receive_skb) */
	LEG_SOCKET,	/* about to enter the receiver's socket (its filter) */
	LEG_POINTS,
};

#define LEG_SLOTS (1U << 16) /* maximum number of packets in transit at the same time */

/* The last of the packets that share a slot. CLOCK_TAI, ns; 0: did not pass or was not seen. */
struct leg_times {
	__u64 word; /* word of the sequence header */
	__u64 at[LEG_POINTS];
};

/* Returns the slot. Streams are far apart, because each stream counts from its own base. */
static inline __u32 leg_slot(__u64 word)
{
	return (__u32)(word + (word >> 48) * 40503) & (LEG_SLOTS - 1);
}

#endif
