/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The probes of a flow's balance: bpf/balance.bpf.c loaded, attached and read. Numbers only;
 * the balance is closed in monitor/session.h. What sockets read is reported by
 * sock:sock_recv_length (Linux 6.3), before that by fexit on udp_recvmsg() and udpv6_recvmsg().
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
	unsigned offset; /* of the number in the payload, bytes */
	unsigned bytes;	 /* of the number, 1 .. 8 */
	uint64_t step;
};

/*
 * "rtp" (RFC 3550), or OFFSET:BYTES[:STEP]: a big-endian counter of 1 to 8 bytes at that offset of
 * the payload, which grows by STEP (1) from packet to packet. `out`: struct balance_numbering.
 * STATUS_USAGE.
 */
int numbering_parse(const char *text, void *out, struct error *err);

/*
 * Counts of one moment since the attach. The balance is that of the difference of two. Drops are
 * judged when the moment is taken: drops of class loss and expected, and suspected ones.
 */
struct balance_moment {
	struct balance_tally sum;
	uint64_t dropped[SIDES], suspected[SIDES];
	uint64_t queued;   /* datagrams in sockets' queues, and those that lack fragments yet */
	uint64_t mixed;	   /* packets in queues that hold others' too; in `queued` if ours */
	uint64_t dying;	   /* packets in queues of sockets that are being closed */
	uint64_t unseen;   /* unread datagrams of the flow that were not seen to arrive */
	uint64_t sockets;  /* that may read of the flow */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	bool moved;	   /* not of one moment: counts changed at each of many readings */
	uint64_t unjudged; /* packets whose cause found no room, and causes of unsure side */
	uint64_t filter_unread; /* packets that EXPR could not judge, see filter_unread() */
};

/* Of all streams together; only those in which two packets came in sequence. */
struct balance_streams {
	unsigned streams;
	unsigned strangers;  /* streams, so far without two packets in sequence */
	uint64_t seen;	     /* different numbers */
	uint64_t missing;    /* numbers in between that never came */
	uint64_t duplicates; /* packets with a number that was there */
	uint64_t reordered;  /* packets that came after a higher number */
	uint64_t stray;	     /* packets whose number belongs nowhere */
	uint64_t restarts;
};

/*
 * Kinds of links that are no edge of the host, in the order of struct balance_config; the last are
 * tunnels, where what is in them is looked at.
 */
extern const char *const balance_kinds[BALANCE_KINDS];

/* All borrowed until balance_close(). */
struct balance_spec {
	const struct filter *filter; /* where it matches more than UDP, that is passed over */
	struct balance_numbering numbering;
	const struct reasons *reasons;
	const struct ksyms *ksyms;
	uint32_t netns;			  /* inode; 0: all together */
	bool consumed;			  /* losses that are freed as used up, too */
	struct watch_shared shared;	  /* of who counts the same drops by causes; -1: nobody */
	const struct filter_inner *inner; /* as watch_spec's */
	struct nat *nat;		  /* where NAT is to be followed; NULL: nowhere */
	/*
	 * Called when a moment is chosen for the beginning or the end, and again if a better one is
	 * found after more drops. NULL: not called.
	 */
	void (*chosen)(void *arg);
	void *arg;
};

/* Loads. STATUS_UNABLE: kernel or capability. */
int balance_open(struct balance **b, const struct balance_spec *spec, struct error *err);

/* From here on the checkpoints count. */
int balance_attach(struct balance *b, const struct trace_places *places, struct error *err);

/*
 * Looks for what lies unread in sockets, and chooses the moment at which the balance begins. Takes
 * some ms, at most 250 where the flow goes on, and up to 2 s on a host that is busy otherwise.
 */
int balance_begin(struct balance *b, struct balance_moment *m, struct error *err);

/*
 * Chooses the moment at which the balance ends: a moment at which nothing of the flow was under way
 * between two checkpoints, if there is one. A flow that has ended is waited for until nothing came
 * for 200 ms and all is where it belongs, one that goes on is looked at many times. Takes
 * `settle_ns` at most. `begin`: from balance_begin().
 */
int balance_end(struct balance *b, const struct balance_moment *begin, uint64_t settle_ns,
		struct balance_moment *m, struct error *err);

/* Numbers of the streams so far. */
void balance_read_streams(const struct balance *b, struct balance_streams *s);

/* What NAT did with datagrams of the flow so far, as nat_read(). */
unsigned balance_translations(const struct balance *b, struct nat_translation *out, unsigned n);

/* Of the checkpoints since they were attached: what they cost, and events that they missed. */
struct trace_cost balance_cost(const struct balance *b);
uint64_t balance_misses(const struct balance *b);

/* Detaches and frees. NULL is allowed. */
void balance_close(struct balance *b);

/* Before its packet came to netif_receive_skb. */
bool drop_arrives(const struct judged_cause *c);

/*
 * On which side of a flow's balance a drop is: of a packet that had entered the host and not left
 * it again, or of one that had not, or was on its way out. include/balance_abi.h says what entry
 * and exit are; the stage says whether the packet was before or behind that checkpoint.
 *
 * *sure is set to false where the stage map does not know the place, and the side depends on it.
 */
enum balance_side side_of(const struct judged_cause *c, const struct balance_cause *key,
			  bool *sure);

#endif
