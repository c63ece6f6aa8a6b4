/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A bound AF_XDP socket, as bpf/xskwalk.bpf.c writes it to its iterator's file. */
#ifndef PKTLEDGER_XSKWALK_ABI_H
#define PKTLEDGER_XSKWALK_ABI_H

#include <linux/types.h>

#define XSKWALK_COMM 16 /* TASK_COMM_LEN */

struct xskwalk_record {
	__u64 inode; /* of the socket: tells it from all others */
	__u64 rx_dropped, rx_invalid_descs, rx_ring_full, rx_fill_ring_empty;
	__u64 tx_invalid_descs, tx_ring_empty;
	__u32 netns, ifindex;
	__u32 pid; /* as the process that started us sees it */
	__u16 queue;
	__u16 zero_copy;
	char comm[XSKWALK_COMM];
};

_Static_assert(sizeof(struct xskwalk_record) == 88, "no holes");

#endif
