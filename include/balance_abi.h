/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interface between the probes of `trace --balance` (bpf/balance.bpf.c) and user space.
 *
 * The balance covers all UDP datagrams that match EXPR, on the whole host (all its namespaces
 * together) or in one namespace. A datagram enters the host once, and either ends once or is still
 * in a queue:
 *
 * 	entered = left + delivered + dropped inside + growth of the queues + unaccounted
 *
 * The role of the interface that a packet passes decides which probe counts its entry. No packet
 * has two entries.
 *
 * EDGE: interfaces to the outside: NICs, tun, and tunnels. A tunnel's inner packet is a different
 * packet from the outer one, unless EXPR matches inner packets (--inner). The entry is
 * netif_receive_skb, unless the packet was received before: skb_iif is 0, except for packets that a
 * bridge passes up. The exit is net_dev_queue, for packets that were forwarded or arrived from
 * another namespace.
 *
 * INSIDE: interfaces with both ends on this host: loopback, veth, netkit, macvlan, ipvlan, vrf. The
 * entry is net_dev_queue, for a packet sent by a socket in the interface's own namespace. skb->sk
 * stays set until ip_rcv_core() orphans the packet, so in the next namespace the socket belongs to
 * a different one.
 *
 * STACKED: interfaces on top of another interface in the same namespace, which the packet also
 * passes: bridge, vlan, bond, team, ifb, and with --inner also tunnels, because their packets are
 * the inner datagrams. They have no probe.
 *
 * With one namespace (--netns), veth, netkit, macvlan and ipvlan are also EDGES, and other
 * namespaces do not count.
 *
 * A packet that a local socket sends to an EDGE does not enter, because it is not for this host. A
 * packet that is dropped before its entry does not enter either. These drops are losses on this
 * host, but they are not part of the sum above. They are added to both sides of the ledger
 * (side_of() in user/drops/balance.h).
 *
 * A multicast packet that ip_mc_output() loops back is a separate copy (PACKET_LOOPBACK) and enters
 * where it is received. The unit is the datagram: a merged packet counts as its segments. A
 * fragmented datagram enters with its first fragment and ends with the first dropped fragment.
 *
 * A datagram translated by NAT belongs to the flow under each of its tuples. If it only got a
 * matching tuple on this host, it enters with that tuple, either on its way to a socket or, through
 * an INSIDE interface, to another namespace.
 */
#ifndef PKTLEDGER_BALANCE_ABI_H
#define PKTLEDGER_BALANCE_ABI_H

#include <linux/bpf.h>
#include <linux/types.h>

#include "sequence.h"
#include "watch_abi.h"

enum balance_role {
	ROLE_EDGE,
	ROLE_INSIDE,
	ROLE_STACKED,
};

/*
 * Datagrams that arrived at one port in one namespace, before any process could read them. A socket
 * reports how many bytes were read, not which datagram. If only datagrams of the flow arrived, a
 * read must have returned one of them. Otherwise the datagram's source decides. It is known if the
 * reader asked for it (cgroup/recvmsg4, cgroup/recvmsg6) or if the socket is connected. In all
 * other cases the read is inconclusive.
 *
 * Ports of namespaces that hash to the same cell share it. That can make a read inconclusive, but
 * never wrong.
 */
enum balance_kind_of { BALANCE_OURS = 1, BALANCE_OTHERS = 2 };

struct balance_cell {
	__u8 came;	/* bits of enum balance_kind_of */
	__u8 first;	/* the kind that arrived first; 0: nothing arrived */
	__u8 empty;	/* a datagram without payload arrived */
	__u8 pad;
	__u16 single;	/* bytes, longest payload of a packet that was not merged */
	__u16 size_min; /* segment size of merged packets; 0: none seen */
	__u16 size_max;
	__u16 pad2[3];
};

/*
 * Source of a datagram and its destination port. Kept while datagrams of both kinds arrive there.
 */
struct balance_source {
	__u8 address[16]; /* IPv4: in the first 4 bytes */
	__be16 port;
	__u16 to;
	__u32 pad;
};

#define BALANCE_SOURCES 16384
#define BALANCE_READS	16384 /* maximum number of threads that read at the same time */

#define BALANCE_CELLS 65536
#define BALANCE_PORTS 65536

static inline __u32 balance_cell_index(__u32 netns, __u16 port)
{
	return (port ^ (netns * 0x9e3779b1u) >> 16) & (BALANCE_CELLS - 1);
}

/* What a drop means for the balance. User space derives it from the cause. */
enum balance_side {
	SIDE_INSIDE,   /* the packet had entered, and had not left */
	SIDE_OUTSIDE,  /* dropped before its entry or on its way out: no probe counts it inside */
	SIDE_NONE,     /* no packet ended: a copy, or part of a merged packet */
	SIDE_EXPECTED, /* the packet had entered, and the drop is expected */
	SIDE_BEFORE,   /* inside, but other fragments of the datagram never arrived here */
	SIDES,
};

#define BALANCE_CAUSES 256

/* Per CPU, in datagrams. Occupies whole cache lines, so that CPUs do not share any. */
struct balance_tally {
	__u64 entered;
	__u64 received; /* part of `entered`, through an EDGE: not sent by a socket on this host */
	__u64 left;
	__u64 sent; /* by local sockets, to an EDGE's queue: not part of `entered` */
	__u64 delivered;
	/* Reasons to doubt the balance. */
	__u64 undecided; /* reads from a port with several flows when the source is unknown */
	__u64 unsized;	 /* reads of several merged datagrams when their number is unknown */
	__u64 elsewhere; /* reads in a namespace where no datagram was seen arriving */
	__u64 multicast; /* entered, and may be delivered to several sockets */
	__u64 hidden;	 /* UDP packets of any flow that have their UDP header in pages */
	/* With --seq. */
	__u64 unread;	  /* numbers in pages that could not be read */
	__u64 unnumbered; /* packets without a number: too short, or not RTP */
	__u64 crowded;	  /* packets of streams for which there was no room */
	__u64 pad[3];
	__u64 dropped[BALANCE_CAUSES]; /* indexed by cause */
};

enum balance_cause_flag {
	BALANCE_OWN = 1,	/* the sending socket is in the namespace of skb->dev */
	BALANCE_INCOMPLETE = 2, /* the datagram came from outside, with fragments missing */
	BALANCE_RENAMED = 4,	/* EXPR matches the tuple after NAT, but not the original one */
	BALANCE_ENTERED = 8,	/* a later fragment: the first one has entered */
};

/* A drop cause, with the facts that show whether the packet had entered. */
struct balance_cause {
	struct watch_key key; /* without socket, interface and namespace */
	__u32 role;	      /* enum balance_role of skb->dev; ROLE_INSIDE without an interface */
	__u32 flags;	      /* enum balance_cause_flag */
};

/* Whether and where to read a stream's numbers. */
enum balance_numbers {
	NUMBERS_NONE,
	NUMBERS_RTP,	/* RFC 3550; a stream is a flow plus SSRC */
	NUMBERS_OFFSET, /* big-endian, in the payload; a stream is a flow */
};

#define BALANCE_STREAMS 4096
#define BALANCE_NUMBER	12 /* RFC 3550: the fixed header */

struct balance_stream_key {
	__u8 src[16], dst[16]; /* IPv4 addresses in the first 4 bytes */
	__be16 src_port, dst_port;
	__u32 ssrc; /* as in the packet; 0 unless RTP */
};

struct balance_stream {
	struct bpf_spin_lock lock;
	struct sequence sequence;
};

/* Result of a snapshot of all counters and queues. */
struct balance_look {
	struct balance_tally sum; /* total over all CPUs */
	__u64 queued;		  /* datagrams of the flow in socket queues */
	__u64 mixed;		  /* packets in queues that also contain other flows' packets */
	__u64 dying;   /* packets in the queues of sockets that are closed but not yet freed */
	__u64 sockets; /* known sockets on ports where the flow arrived */
	__u64 moved;   /* not 0: something changed during the snapshot */
};

/* First letters of a link kind ("veth"), padded with 0. */
union link_name {
	char name[8];
	__u32 half[2];
	__u64 word;
};

/* Compares an interface's kind, using the masked part of its first 8 bytes. */
struct link_kind {
	union link_name is, mask;
	__u64 role; /* enum balance_role or enum tcp_role */
};

#define LINK_ROLES 4 /* more than there are */

/* Order of the kinds: first those with both ends on this host, then stacked ones, then tunnels. */
#define LINK_KINDS_BETWEEN 4 /* have a peer that may be in another namespace */
#define LINK_KINDS_INSIDE  5
#define LINK_KINDS_HOST	   10
#define LINK_KINDS	   19

struct balance_config {
	__u32 cpus;
	__u32 netns;  /* inode of the only namespace that counts; 0: the whole host */
	__u8 paged;   /* payload in pages can be read (Linux 6.12) */
	__u8 numbers; /* enum balance_numbers */
	__u8 frames;  /* the filter needs whole frames, not packets starting at the IP header */
	__u8 pad[3];
	__u16 offset; /* where in the payload the bytes to read begin */
	__u16 bytes;  /* bytes to read: the number, or an RTP header; at most BALANCE_NUMBER */
	struct sequence_rule rule;
	struct trace_range consumed[WATCH_CONSUMED_MAX]; /* as in struct watch_config */
};

/* A packet in a socket queue, for the filter in user space. */
#define BALANCE_HEADERS 192
#define BALANCE_CHUNK	128 /* packets read per queue at a time, limited by an iterator's read */

struct balance_queued {
	__u32 cell;
	__u32 length;	/* length of the packet, counted from `bytes` */
	__u32 payload;	/* bytes */
	__u16 size;	/* bytes per segment; 0: one datagram */
	__u16 segments; /* its weight */
	__u16 port;
	__u8 layer; /* enum filter_layer */
	__u8 have;
	struct balance_source from;
	__u8 bytes[BALANCE_HEADERS];
};

_Static_assert(sizeof(struct balance_cell) == 16, "four to a cache line");
_Static_assert(sizeof(struct balance_tally) % 64 == 0, "whole cache lines");
_Static_assert(sizeof(struct balance_cause) == 40, "no holes: it is a hash key");
_Static_assert(sizeof(struct balance_stream_key) == 40, "no holes: it is a hash key");
_Static_assert(sizeof(struct balance_queued) == 236, "no holes");

#endif
