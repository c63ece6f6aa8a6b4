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
 * What is known of the datagrams to one port of one namespace. A socket reports how many bytes were
 * read from it, not which datagram that was. So for each port it is kept which lengths came, of
 * datagrams that EXPR matches and of others: one that was read is of the flow if no other of its
 * length ever came. That a length came is noted when it arrives, before anybody can read it.
 */
#define BALANCE_LENGTH_WORDS 3

struct balance_lengths {
	__u64 bits[BALANCE_LENGTH_WORDS]; /* bit balance_length_bit(payload bytes) */
};

/* 64 bytes, a cache line. Ports of namespaces whose cells are the same share it; that can make a
 * datagram ambiguous, never wrong. */
struct balance_cell {
	struct balance_lengths matched, others;
	__u16 single;	/* longest payload of a packet that was not merged */
	__u16 size_min; /* of a segment of merged packets; 0: none came */
	__u16 size_max;
	__u16 pad[5];
};

#define BALANCE_CELLS 65536
#define BALANCE_PORTS 65536

static inline __u32 balance_cell_index(__u32 netns, __u16 port)
{
	return (port ^ (netns * 0x9e3779b1u) >> 16) & (BALANCE_CELLS - 1);
}

static inline __u32 balance_length_bit(__u32 bytes)
{
	/* Fibonacci hashing: lengths that differ little fall far apart. */
	return (__u16)(bytes * 0x9e37u) * (BALANCE_LENGTH_WORDS * 64u) >> 16;
}

static inline int balance_has_length(const struct balance_lengths *l, __u32 bytes)
{
	__u32 bit = balance_length_bit(bytes), word = bit >> 6;

	return word < BALANCE_LENGTH_WORDS && l->bits[word] >> (bit & 63) & 1;
}

/* Sides of the balance that a drop can be on, as user space judges its cause. */
enum balance_side {
	SIDE_UNJUDGED,
	SIDE_INSIDE,  /* of a packet that had entered, and not left */
	SIDE_OUTSIDE, /* before its entry, or on its way out */
	SIDE_NONE,    /* no end of a packet: a copy, a part of a merged packet */
	SIDE_BENIGN,  /* of a packet that had entered, and that nobody misses */
	SIDE_BEFORE,  /* inside, of a datagram whose other fragments never came to this host */
	SIDES = 8,    /* a power of two */
};

/* Per CPU, in datagrams. Whole cache lines, so that CPUs do not share any. */
struct balance_tally {
	__u64 entered;
	__u64 received; /* of those, by an EDGE: not sent by a socket of this host */
	__u64 left;
	__u64 sent; /* by sockets here, to the queue of an EDGE: they do not enter */
	__u64 delivered;
	__u64 dropped[SIDES]; /* of SIDE_UNJUDGED: events */
	/* What makes the balance uncertain. */
	__u64 ambiguous; /* read, and of a length that other datagrams to that port have too */
	__u64 unplaced;	 /* read, and of a length that never came: the reader's buffer was short */
	__u64 unsized;	 /* reads of several merged datagrams, their number not known */
	__u64 elsewhere; /* read in a namespace into which none was seen coming */
	__u64 multicast; /* entered, and may be delivered to several sockets */
	__u64 hidden;	 /* UDP packets, of anybody, with their UDP header in pages */
	/* Of --seq. */
	__u64 unread;	  /* numbers in pages that could not be read */
	__u64 unnumbered; /* packets without a number: too short, or no RTP */
	__u64 crowded;	  /* packets of streams that found no room */
	__u64 pad[2];
};

/* A cause of drops: what its side follows from. */
#define BALANCE_CAUSES 256

enum balance_cause_flag {
	BALANCE_OWN = 1,	/* the socket that sent it is in the namespace of skb->dev */
	BALANCE_INCOMPLETE = 2, /* it came from outside, and not all of its fragments did */
	BALANCE_RENAMED = 4, /* EXPR matches the name that NAT gave it, not the one it came with */
};

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
	struct balance_tally sum; /* over the CPUs; causes judged later than they came are in it */
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
	__u8 bytes[BALANCE_HEADERS];
};

_Static_assert(sizeof(struct balance_cell) == 64, "a cache line");
_Static_assert(sizeof(struct balance_tally) == 192, "three cache lines");
_Static_assert(sizeof(struct balance_cause) == 40, "no holes: it is a hash key");
_Static_assert(sizeof(struct balance_stream_key) == 40, "no holes: it is a hash key");
_Static_assert(sizeof(struct balance_queued) == 212, "no holes");

#endif
