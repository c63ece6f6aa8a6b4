/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The probes of a flow's balance: loads, attaches and reads bpf/balance.bpf.c. Numbers only; the
 * balance is closed in monitor/session.h. Reads of sockets are reported by sock:sock_recv_length
 * (Linux 6.3), before that by fexit on udp_recvmsg() and udpv6_recvmsg().
 *
 *	balance_open() .. balance_begin() .. balance_end()
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
	unsigned offset; /* bytes, position of the number in the payload */
	unsigned bytes;	 /* bytes of the number, 1 .. 8 */
	uint64_t step;
};

/*
 * "rtp" (RFC 3550), or OFFSET:BYTES[:STEP]: a big-endian counter of 1 to 8 bytes at that offset of
 * the payload, which grows by STEP (1) from packet to packet. `out`: struct balance_numbering.
 * STATUS_USAGE.
 */
int numbering_parse(const char *text, void *out, struct error *err);

/*
 * Counts at one moment since the attach. The balance is the difference of two moments. Drops are
 * judged when the moment is taken: drops of class loss and expected, and suspected drops.
 */
struct balance_moment {
	struct balance_tally sum;
	uint64_t dropped[SIDES], suspected[SIDES];
	uint64_t queued;   /* datagrams in sockets' queues, and incomplete fragmented datagrams */
	uint64_t mixed;	   /* packets in queues with other flows; in `queued` if of the flow */
	uint64_t dying;	   /* packets in queues of sockets that are being closed */
	uint64_t unseen;   /* unread datagrams of the flow that were not seen to arrive */
	uint64_t sockets;  /* sockets that may read the flow */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	bool moved;	   /* not consistent: counts changed at each of many readings */
	uint64_t unjudged; /* packets without room for their cause, and of unsure side */
	uint64_t filter_unread; /* packets that EXPR could not judge, see filter_unread() */
};

/* Sum over all streams in which two packets arrived in sequence. */
struct balance_streams {
	unsigned streams;
	unsigned strangers;  /* streams without two packets in sequence so far */
	uint64_t seen;	     /* different numbers */
	uint64_t missing;    /* numbers in between that never arrived */
	uint64_t duplicates; /* packets with a number that had arrived before */
	uint64_t reordered;  /* packets that arrived after a higher number */
	uint64_t stray;	     /* packets with a number out of window */
	uint64_t restarts;
};

/*
 * Kinds of links that are not an edge of the host, in the order of struct balance_config. The last
 * kinds are tunnels, if their inner packets are parsed.
 */
extern const char *const balance_kinds[BALANCE_KINDS];

/* All borrowed until balance_close(). */
struct balance_spec {
	const struct filter *filter; /* ignores packets other than UDP, even matching ones */
	struct balance_numbering numbering;
	const struct reasons *reasons;
	const struct ksyms *ksyms;
	uint32_t netns;			  /* inode; 0: all namespaces together */
	bool consumed;			  /* also losses that are freed as consumed */
	struct watch *watch;		  /* also count drops for it: watch_share(); NULL: unset */
	const struct filter_inner *inner; /* as watch_spec's */
	struct nat *nat;		  /* where NAT is followed; NULL: not followed */
	/*
	 * Called when a moment is chosen for the beginning or the end, and again if a better moment
	 * is found after more drops. NULL: not called.
	 */
	void (*chosen)(void *arg);
	void *arg;
};

/* Loads the probes. STATUS_UNABLE: kernel or capability. */
int balance_open(struct balance **b, const struct balance_spec *spec, struct error *err);

/* Attaches the probes, which count from now on. */
int balance_attach(struct balance *b, const struct trace_places *places, struct error *err);

/*
 * Finds unread packets in sockets, and chooses the moment at which the balance begins. Takes a few
 * ms, at most 250 ms while the flow goes on, and up to 2 s on an otherwise busy host.
 */
int balance_begin(struct balance *b, struct balance_moment *m, struct error *err);

/*
 * Chooses the moment at which the balance ends: a moment with no packet of the flow in transit
 * between two probes, if there is one. If the flow has ended, waits until nothing arrived for 200
 * ms and all packets are in a known place. If it goes on, takes many snapshots. Takes at most
 * `settle_ns`. `begin`: from balance_begin().
 */
int balance_end(struct balance *b, const struct balance_moment *begin, uint64_t settle_ns,
		struct balance_moment *m, struct error *err);

/* Reads the sequence numbers of the streams so far. */
void balance_read_streams(const struct balance *b, struct balance_streams *s);

/* Returns the translations of datagrams of the flow by NAT so far, like nat_read(). */
unsigned balance_translations(const struct balance *b, struct nat_translation *out, unsigned n);

/* Returns the missed events of the probes since they were attached. */
uint64_t balance_misses(const struct balance *b);

/* Detaches and frees. NULL is allowed. */
void balance_close(struct balance *b);

/* Returns true if the packet was dropped before netif_receive_skb. */
bool drop_arrives(const struct judged_cause *c);

/*
 * Returns the side of a flow's balance on which a drop is: inside if the packet had entered the
 * host and not left it, otherwise outside. include/balance_abi.h defines entry and exit. The stage
 * decides whether the packet was before or after that probe.
 *
 * *sure is set to false if the stage map does not know the location and the side depends on it.
 */
enum balance_side side_of(const struct judged_cause *c, const struct balance_cause *key,
			  bool *sure);

#endif
