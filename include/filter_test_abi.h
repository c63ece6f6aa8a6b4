/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tests of the packet filter and their BPF program say to each other. */
#ifndef PKTLEDGER_FILTER_TEST_ABI_H
#define PKTLEDGER_FILTER_TEST_ABI_H

#include <linux/types.h>

#define FILTER_TEST_HEAD 2048

/* A packet and its place as in struct sk_buff. */
struct filter_test {
	__u32 len;  /* skb->len */
	__u32 data; /* offsets from head */
	__u32 tail;
	__u32 tag; /* TPID, TCI */
	__u16 network_header;
	__u16 mac_header;
	__be16 protocol;
	__u16 pad;
	__u8 head[FILTER_TEST_HEAD];
};

#endif
