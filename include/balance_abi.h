/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the checkpoints of `trace --balance` (bpf/balance.bpf.c) and user space say to each other.
 *
 * The balance is that of a set of UDP datagrams, of all that EXPR matches, on the whole host: all
 * its namespaces together, or of one. A datagram enters the host once and ends once, or lies in a
 *queue:
 *
 *	entered = left + delivered + dropped inside + growth of the queues + unaccounted
 *
 * Which checkpoint is the entry of a packet follows from the role of the device that it passes, and
 * no packet has two:
 *
 * EDGE: devices to the outside. NICs, tun, and tunnels, whose inside is another packet than their
 * outside unless it is what EXPR is about (--inner). netif_receive_skb there is the entry, unless
 * the packet was received before: skb_iif is 0, but not of what a bridge passes up. net_dev_queue
 * there is the exit, of what was forwarded or comes from another namespace.
 *
 * INSIDE: both ends are on this host. Loopback, veth, netkit, macvlan, ipvlan, vrf. The entry is
 * net_dev_queue of a packet that a socket of the device's own namespace has sent. skb->sk stays
 * until ip_rcv_core() orphans the packet, so in the next namespace it is another namespace's.
 *
 * STACKED: on top of another device of the same namespace, which will be passed too. Bridge, vlan,
 * bond, team, ifb; with --inner tunnels: their packets are the datagrams that are in them. No
 * checkpoint.
 *
 * Of one namespace alone (--netns) veth, netkit, macvlan and ipvlan are EDGES, too, and nothing of
 * other namespaces counts.
 *
 * A packet that a socket here sends to an EDGE does not enter: it is not for this host. Nor does
 * one that is dropped before its entry. Such drops are losses of this host, but outside of the sum
 * above; both sides of the ledger are larger by them (side_of() in user/drops/balance.h).
 *
 * Multicast that ip_mc_output() loops back is a copy of its own, PACKET_LOOPBACK, and enters where
 * it is received. The unit is the datagram: a merged packet counts as its segments; of one that is
 * fragmented, the first fragment enters, and the first of them that is dropped is its end.
 *
 * A datagram that NAT renames is of the flow by each of its names. One that only got such a name
 * here enters with it: as it goes to a socket or, by an INSIDE device, to another namespace.
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
 * Datagrams that arrived at one port of one namespace, before anyone could read them. A socket
 * reports how many bytes were read, not which datagram that was. If only datagrams of the flow
 * arrived, a read returned one of them. Otherwise the source of the datagram decides: the reader
 * asked for it (cgroup/recvmsg4, cgroup/recvmsg6), or its socket is connected. If neither holds,
 * the read is undecided.
 *
 * Ports of namespaces with the same cell share it. A read may be undecided because of that, never
 * wrong.
 */
enum balance_kind_of { BALANCE_OURS = 1, BALANCE_OTHERS = 2 };

struct balance_cell {
	__u8 came;	/* bits of enum balance_kind_of */
	__u8 first;	/* the kind that came before the other; 0: none came */
	__u8 empty;	/* a datagram without payload came */
	__u8 pad;
	__u16 single;	/* longest payload of a packet that was not merged */
	__u16 size_min; /* of a segment of merged packets; 0: none came */
	__u16 size_max;
	__u16 pad2[3];
};

/* Where a datagram came from, and the port it went to. Kept while both kinds arrive there. */
struct balance_source {
	__u8 address[16]; /* IPv4: in the first 4 bytes */
	__be16 port;
	__u16 to;
	__u32 pad;
};

#define BALANCE_SOURCES 16384
#define BALANCE_READS	16384 /* threads that read at a time */

#define BALANCE_CELLS 65536
#define BALANCE_PORTS 65536

static inline __u32 balance_cell_index(__u32 netns, __u16 port)
{
	return (port ^ (netns * 0x9e3779b1u) >> 16) & (BALANCE_CELLS - 1);
}

/* What a drop means for the balance, as user space judges its cause. */
enum balance_side {
	SIDE_INSIDE,   /* the packet had entered, and not left */
	SIDE_OUTSIDE,  /* before its entry, or on its way out: no checkpoint counts it as here */
	SIDE_NONE,     /* no packet ended: a copy, a part of a merged packet */
	SIDE_EXPECTED, /* the packet had entered, and nobody misses it */
	SIDE_BEFORE,   /* inside, of a datagram whose other fragments never came to this host */
	SIDES,
};

#define BALANCE_CAUSES 256

/* Per CPU, in datagrams. Whole cache lines, so that CPUs do not share any. */
struct balance_tally {
	__u64 entered;
	__u64 received; /* of those, by an EDGE: not sent by a socket of this host */
	__u64 left;
	__u64 sent; /* by sockets here, to the queue of an EDGE: they do not enter */
	__u64 delivered;
	/* Reasons to doubt the balance: */
	__u64 undecided; /* reads from a port at which others arrive too, with an unknown source */
	__u64 unsized;	 /* reads of several merged datagrams, their number unknown */
	__u64 elsewhere; /* reads in a namespace where no datagram was seen to arrive */
	__u64 multicast; /* entered, and may be delivered to several sockets */
	__u64 hidden;	 /* UDP packets, of anybody, with their UDP header in pages */
	/* Of --seq. */
	__u64 unread;	  /* numbers in pages that could not be read */
	__u64 unnumbered; /* packets without a number: too short, or no RTP */
	__u64 crowded;	  /* packets of streams that found no room */
	__u64 pad[3];
	__u64 dropped[BALANCE_CAUSES]; /* by the index of the cause */
};

enum balance_cause_flag {
	BALANCE_OWN = 1,	/* the socket that sent it is in the namespace of skb->dev */
	BALANCE_INCOMPLETE = 2, /* it came from outside, and not all of its fragments did */
	BALANCE_RENAMED = 4, /* EXPR matches the name that NAT gave it, not the one it came with */
};

/* A cause of drops, with the facts that show whether the packet had entered. */
struct balance_cause {
	struct watch_key key; /* without socket, device and namespace */
	__u32 role;	      /* enum balance_role, of skb->dev; ROLE_INSIDE if there is none */
	__u32 flags;	      /* enum balance_cause_flag */
};

/* Whether a stream's numbers are read, and where. */
enum balance_numbers {
	NUMBERS_NONE,
	NUMBERS_RTP,	/* RFC 3550; a stream is a flow and SSRC */
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

/* Result of a look at all counts and queues at once. */
struct balance_look {
	struct balance_tally sum; /* over the CPUs */
	__u64 queued;		  /* datagrams of the flow in sockets' queues */
	__u64 mixed;		  /* packets in queues of sockets that have others too */
	__u64 dying;   /* packets in queues of sockets that are closed, and not yet freed */
	__u64 sockets; /* known ones of ports to which the flow came */
	__u64 moved;   /* not 0: something changed while looking */
};

/* The first letters of a kind of link ("veth"), filled up with 0. */
union balance_kind {
	char name[8];
	__u32 half[2];
	__u64 word;
};

/* Whether a kind is the one, by those of its first 8 bytes that are in the mask. */
struct balance_kind_test {
	union balance_kind is, mask;
};

/* Those that are not edges: first the ones inside, then the stacked, and with --inner tunnels. */
#define BALANCE_KINDS_BETWEEN 4 /* of those inside: their other end may be in another namespace */
#define BALANCE_KINDS_INSIDE  5
#define BALANCE_KINDS_HOST    10
#define BALANCE_KINDS	      19

struct balance_config {
	struct balance_kind_test kinds[BALANCE_KINDS];
	__u32 cpus;
	__u32 netns;  /* of one namespace alone, by its inode; 0: of the whole host */
	__u8 paged;   /* payload in pages can be read (Linux 6.12) */
	__u8 numbers; /* enum balance_numbers */
	__u8 frames;  /* the filter wants frames, not from the IP header on */
	__u8 pad[3];
	__u16 offset; /* in the payload: where what is read of it begins */
	__u16 bytes;  /* read of it: the number, or an RTP header; BALANCE_NUMBER at most */
	struct sequence_rule rule;
	struct trace_range consumed[WATCH_CONSUMED_MAX]; /* as watch_config's */
};

/* A packet in a socket's queue, for the filter in user space. */
#define BALANCE_HEADERS 192
#define BALANCE_CHUNK	128 /* of one queue at a time: what a read of an iterator can hold */

struct balance_queued {
	__u32 cell;
	__u32 length;	/* of the packet, from `bytes` on */
	__u32 payload;	/* bytes */
	__u16 size;	/* of its segments; 0: one datagram */
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
