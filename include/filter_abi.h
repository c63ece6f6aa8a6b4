/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interface between the stub in bpf/filter.bpf.h and the code that user space inserts into it. */
#ifndef PKTLEDGER_FILTER_ABI_H
#define PKTLEDGER_FILTER_ABI_H

#include <linux/types.h>

#include "headers.h"

/* Number of bytes the filter can see of each packet. */
#define FILTER_BYTES  192
#define FILTER_MEMORY 16   /* words of scratch memory, BPF_MEMWORDS */
#define FILTER_ROOM   4096 /* instructions in the placeholder for the translated filter */

/*
 * Maximum number of backward jumps in a filter. Only `protochain` has them, one per header in the
 * chain. A longer chain results in FILTER_UNREAD.
 */
#define FILTER_LOOPS 8

/* Constants loaded by the unpatched stub. filter_install() finds and changes them. */
#define FILTER_OFF     0x706b6600 /* not 0: no filter, every packet matches */
#define FILTER_SLOT    0x706b6601 /* the program's element of filter_scratch */
#define FILTER_TAGS    0x706b6602 /* not 0: insert a VLAN tag that is stored outside the packet */
#define FILTER_BEGIN   0x706b6603 /* start of the placeholder for the filter */
#define FILTER_END     0x706b6604
#define FILTER_PORT    0x706b6605 /* not 0: the port of all matching packets */
#define FILTER_IS_PORT 0x706b6606 /* not 0: every UDP packet with that port matches */

enum filter_verdict {
	FILTER_NO,
	FILTER_YES,
	FILTER_UNREAD, /* depends on bytes that were not read: no match, but counted */
};

enum filter_layer {
	FILTER_L2, /* bytes begin with an Ethernet header */
	FILTER_L3, /* bytes begin with an IP header */
};

/* Tunnels inside which EXPR is applied. In rodata of the programs that filter. */
struct filter_inner {
	__u32 wanted; /* apply EXPR to the innermost packet */
	struct tunnel_port ports[TUNNEL_PORTS];
};

/* Per CPU and program: the packet as the filter sees it. */
struct filter_scratch {
	__u8 bytes[FILTER_BYTES];
	__u32 memory[FILTER_MEMORY];
	__u32 have;   /* bytes read */
	__u32 length; /* length of the packet */
	__u32 layer;  /* enum filter_layer */
	__u32 index;  /* index of a load with a computed offset */
	__u64 unread; /* packets whose verdict is FILTER_UNREAD */
};

_Static_assert(sizeof(struct filter_scratch) % 8 == 0, "values of a per-CPU map are padded to 8");

/* Interface between the programs that track NAT (bpf/nat.bpf.h) and user space. */

#define NAT_RENAMED	 16384 /* tuples, LRU-evicted */
#define NAT_TRANSLATIONS 256

/*
 * EXPR's packets by their translation, from `src` and `src_port` to `dst` and `dst_port`. `pad`
 * contains the end of the connection, as seen from its first packet. Sources are stored without
 * their ports, because each connection has a different source port.
 */
enum nat_kind {
	NAT_SOURCE = 1,
	NAT_DESTINATION,
};

/* Interface between the packet filter tests and their BPF program. */

#define FILTER_TEST_HEAD 2048

/* A packet and its position, with the fields of struct sk_buff. */
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
