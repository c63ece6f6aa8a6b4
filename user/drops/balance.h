/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The probes for balancing a flow: loads, attaches and reads bpf/balance.bpf.c. Numbers only. The
 * balance is calculated in monitor/session.h. Socket reads are reported by sock:sock_recv_length
 * since Linux 6.3, and on older kernels by fexit on udp_recvmsg() and udpv6_recvmsg().
 *
 * 	balance_open() .. balance_begin() .. balance_end()
 */
#ifndef PKTLEDGER_DROPS_BALANCE_H
#define PKTLEDGER_DROPS_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "balance_abi.h"
#include "base/err.h"
#include "drops/filter.h"
#include "drops/ksym.h"
#include "drops/cause.h"
#include "drops/reason.h"
#include "drops/watch.h"
#include "host/load.h"

struct balance;

/* How the application numbers its packets (--seq). */
struct balance_numbering {
	enum balance_numbers kind;
	unsigned offset; /* where the number is in the payload, in bytes */
	unsigned bytes;	 /* size of the number in bytes, 1 .. 8 */
	uint64_t step;
};

/*
 * Parses "rtp" (RFC 3550) or OFFSET:BYTES[:STEP], which stands for a big-endian counter of 1 to 8
 * bytes at that offset in the payload that grows by STEP (default 1) per packet. `out`: struct
 * balance_numbering. STATUS_USAGE.
 */
int numbering_parse(const char *text, void *out, struct error *err);

/*
 * Counts at one moment since the programs were attached. The balance is the difference between two
 * moments. Drops are judged when the moment is recorded, and are counted if they are losses,
 * expected or suspected.
 */
struct balance_moment {
	struct balance_tally sum;
	uint64_t dropped[SIDES], suspected[SIDES];
	uint64_t queued;   /* datagrams in socket queues, and incomplete fragmented datagrams */
	uint64_t mixed;	   /* packets in queues shared with other flows; in `queued` if ours */
	uint64_t dying;	   /* packets in the queues of sockets that are closing */
	uint64_t unseen;   /* unread datagrams of the flow that were not seen arriving */
	uint64_t sockets;  /* sockets that may read the flow */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	bool moved;	   /* inconsistent: counts changed during each of many readings */
	uint64_t unjudged; /* packets with no room for their cause or on an uncertain side */
	uint64_t filter_unread; /* packets that EXPR could not be applied to, see filter_unread() */
};

/* Total over all streams in which two packets arrived in sequence. */
struct balance_streams {
	unsigned streams;
	unsigned strangers;  /* streams in which no two packets have arrived in sequence yet */
	uint64_t seen;	     /* different numbers */
	uint64_t missing;    /* numbers in the range that never arrived */
	uint64_t duplicates; /* packets whose number had already arrived */
	uint64_t reordered;  /* packets that arrived after a higher number */
	uint64_t stray;	     /* packets whose number is outside the window */
	uint64_t restarts;
};

/* Fills the table in bpf/link.bpf.h. `role`: by kind, in the order of include/balance_abi.h. */
void link_kinds_fill(struct link_kind *kinds, const uint8_t role[LINK_KINDS]);

/* All members are borrowed until balance_close(). */
struct balance_spec {
	const struct filter *filter; /* packets other than UDP are ignored even if they match */
	struct balance_numbering numbering;
	const struct reasons *reasons;
	const struct ksyms *ksyms;
	uint32_t netns;			  /* inode; 0: all namespaces together */
	bool consumed;			  /* also count losses that the kernel frees as consumed */
	struct watch *watch;		  /* also count drops for it: watch_share(); NULL: none */
	const struct filter_inner *inner; /* as watch_spec's */
	struct nat *nat;		  /* where NAT is tracked; NULL: not tracked */
	/*
	 * Called when a moment has been chosen for the beginning or the end, and again if a better
	 * moment is found after more drops. NULL: not called.
	 */
	void (*chosen)(void *arg);
	void *arg;
};

/* Loads the probes. STATUS_UNABLE: not possible with this kernel or without a capability. */
int balance_open(struct balance **b, const struct balance_spec *spec, struct error *err);

/* Attaches the probes, which count from now on. */
int balance_attach(struct balance *b, const struct trace_places *places, struct error *err);

/*
 * Finds unread packets in sockets and chooses the moment at which the balance begins. Takes a few
 * ms, or up to 250 ms if the flow is active, or up to 2 s on a host that is otherwise busy.
 */
int balance_begin(struct balance *b, struct balance_moment *m, struct error *err);

/*
 * Chooses the moment at which the balance ends. If possible, this is a moment when no packet of the
 * flow is in transit between two probes. If the flow has ended, waits until nothing has arrived for
 * 200 ms and all packets are in a known place. If the flow is still active, takes many snapshots.
 * Takes at most `settle_ns`. `begin`: from balance_begin().
 */
int balance_end(struct balance *b, const struct balance_moment *begin, uint64_t settle_ns,
		struct balance_moment *m, struct error *err);

/* Reads the sequence number results of all streams so far. */
void balance_read_streams(const struct balance *b, struct balance_streams *s);

/* Returns how NAT has translated the flow's datagrams so far, like nat_read(). */
unsigned balance_translations(const struct balance *b, struct nat_translation *out, unsigned n);

/* Returns how many events the probes have missed since they were attached. */
uint64_t balance_misses(const struct balance *b);

/* Detaches and frees. NULL is allowed. */
void balance_close(struct balance *b);

/* Returns true if the packet was dropped before netif_receive_skb. */
bool drop_arrives(const struct judged_cause *c);

/*
 * Returns which side of a flow's balance a drop is on: inside if the packet had entered the host
 * and not left it, otherwise outside. include/balance_abi.h defines entry and exit. The stage shows
 * whether the packet was before or after that probe.
 *
 * Sets *sure to false if the stage map does not know the location and the side depends on it.
 */
enum balance_side side_of(const struct judged_cause *c, const struct balance_cause *key,
			  bool *sure);

#endif
