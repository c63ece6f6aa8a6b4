/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Explains TCP retransmissions by the outcome of the transmissions before them (`trace --balance`
 * of a TCP flow). An observer reads the kernel (bpf/tcp.bpf.c), and the ledger decides.
 *
 * 	data_segs_out = new + retransmitted with data + returned
 * 	retransmitted = lost here, by stage + beyond + not lost + undecided
 *
 * A retransmission of a range is explained by the outcome of the previous transmission of that
 * range. If a segment is dropped while tcp_transmit_skb() holds it and TCP has not counted it as
 * sent, it is `returned`: TCP sends the range again as new, and no retransmission shows it.
 */
#ifndef PKTLEDGER_DROPS_TCP_H
#define PKTLEDGER_DROPS_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hist.h"
#include "base/list.h"
#include "drops/filter.h"
#include "drops/ksym.h"
#include "drops/reason.h"
#include "drops/tcp_trail.h"
#include "stages.h"
#include "tcp_abi.h"

/* Why the outcome of the previous transmission is unknown. */
enum tcp_why {
	TCP_WHY_LATE,	 /* the previous transmission was sent before tracing began */
	TCP_WHY_OPEN,	 /* not acknowledged by the end */
	TCP_WHY_FULL,	 /* records did not fit, or were discarded */
	TCP_WHY_UNSEEN,	 /* the socket counted a retransmission for which there was no event */
	TCP_WHY_NO_SACK, /* the peer cannot report duplicates */
	TCP_WHY_INSIDE,	 /* its interface leads to another namespace, and no event showed a drop */
	TCP_WHY_DEVICE,	 /* its interface's counters show losses (monitor/tcp.c) */
	TCP_WHY_ACK,	 /* lost downstream, or only its acknowledgment was, and no DSACK tells */
	TCP_WHYS,
};

/* In segments, except fields that have bytes in their name. */
struct tcp_sum {
	uint64_t sockets;
	uint64_t data_segs_out, returned;
	uint64_t retransmitted; /* events, plus segments only tcp_sock counted (TCP_WHY_UNSEEN) */
	uint64_t without_data;	/* retransmitted segments without data: SYN, SYN-ACK, FIN */
	uint64_t kinds[TCP_KINDS];
	uint64_t lost_here, beyond, not_lost, undecided[TCP_WHYS];
	uint64_t ack_lost;   /* part of not_lost: its acknowledgment was dropped here earlier */
	uint64_t lost_again; /* part of lost_here: the lost segment was itself a retransmission */
	uint64_t lost_at[STAGE_COUNT], returned_at[STAGE_COUNT];
	uint64_t not_resent; /* dropped on this host and not retransmitted by the end */
	uint64_t never;	     /* those that were neither acknowledged nor rejected by the peer */
	/*
	 * Segments from senders elsewhere that were dropped here, and how many of them later
	 * arrived at the socket.
	 */
	uint64_t received, received_at[STAGE_COUNT], received_again;
	/* Flows in which large segments were always lost while smaller ones were acknowledged. */
	uint64_t large_only;
	uint64_t overcounted; /* retransmissions by which events exceed tcp_sock */
	/* bytes_sent = advance of snd_nxt + bytes_retrans + bytes_returned + unaccounted */
	uint64_t bytes_sent, bytes_new, bytes_retrans, bytes_returned;
	uint64_t bytes_unaccounted; /* absolute value, added up over all sockets */
	uint64_t dsack_dups;
	uint64_t torn; /* sockets never unlocked long enough for a consistent reading */
};

struct tcp_flow {
	struct watch_flow key;	/* in sending direction */
	uint32_t netns;		/* namespace of the sending socket; 0: unknown */
	struct tcp_totals last; /* the socket's last reading */
	struct tcp_exit exit;	/* exit interface here after other namespaces; 0: not seen */
	struct tcp_sum sum;
	/* Private */
	uint32_t unexplained, twice; /* those that an event shows to have arrived earlier */
	uint32_t unproven;	     /* unexplained: the peer did not report the data missing */
	uint32_t unproven_again;     /* of these, those that had been retransmitted before */
	uint32_t large, large_to;    /* timeouts of a segment that may be too large, and its end */
	uint32_t large_bytes;	     /* of payload */
	uint32_t came;	       /* arrived, because all other transmissions were dropped here */
	uint32_t acks;	       /* most recent of its dropped acknowledgments */
	uint64_t unsent_bytes; /* bytes dropped so far before they were counted as sent */
	uint32_t dsack_dups;   /* from its open socket: not in the sum yet */
	uint32_t not_resent_at[STAGE_COUNT];
	int64_t returned;	/* bytes sent but not added to snd_nxt */
	uint32_t came_to;	/* rcv_nxt of the last receiving socket if `has_receiver` is set */
	uint64_t retransmitted; /* by total_retrans */
	uint64_t dropped_ns;	/* when a segment was last dropped; 0: never */
	uint64_t read_ns;	/* when its open socket was last read; 0: closed */
	bool alive, full, forgotten, has_receiver;
};

/* The ledger. Pure, so it can be tested without a kernel. */

/* What a drop means. */
enum tcp_drop {
	TCP_DROP_NOTHING,
	TCP_DROP_LOSS,
	TCP_DROP_TWICE,	 /* the receiver already had it */
	TCP_DROP_UNSURE, /* dropped by TCP itself: without data, it was no longer needed */
};
/* `outside`: before the entry to this host. */
typedef enum tcp_drop tcp_judge(void *arg, const struct watch_key *key, enum stage *stage,
				bool *outside);

struct tcp_ledger;

/*
 * `flows`: maximum number of flows kept separately, with 8 ranges per flow. When ranges are full,
 * the older half is decided and discarded. When flows are full, finished flows are folded into the
 * sum. If that does not make room, further flows are not kept: tcp_ledger_refused().
 */
#define TCP_FLOWS (1u << 15)
struct tcp_ledger *tcp_ledger_new(unsigned flows, tcp_judge *judge, void *arg);
void tcp_ledger_free(struct tcp_ledger *b);

/*
 * From now on records events that other hosts may be able to explain in `trail`, which is borrowed.
 */
void tcp_ledger_keep(struct tcp_ledger *b, struct trail *trail);

/* Adds records in chronological order, except TCP_SOCKET. */
void tcp_ledger_add(struct tcp_ledger *b, const struct tcp_record *r);

/* Sets how many records were lost so far. Sockets that end without a flow may have had one. */
void tcp_ledger_lost(struct tcp_ledger *b, uint64_t records);

/*
 * Decides everything and fills in `sum`. Nothing may be added afterwards. `lost`: records that did
 * not fit in the ring. `each`: called for each flow, and for the losses of folded flows by exit
 * interface, in which case only `sum` and the path are set. At each call `sum` contains the flows
 * passed so far.
 */
typedef void tcp_each(void *arg, const struct tcp_flow *f);
void tcp_ledger_close(struct tcp_ledger *b, uint64_t lost, struct tcp_sum *sum, tcp_each *each,
		      void *arg);

/*
 * Fills in `sum` before the end. Retransmissions since `until_ns`, or not yet acknowledged, are not
 * decided and not included in lost_here, beyond, not_lost or undecided. No other fields of `sum`
 * are filled in.
 */
void tcp_ledger_look(struct tcp_ledger *b, uint64_t until_ns, uint64_t lost, struct tcp_sum *sum,
		     tcp_each *each, void *arg);

/* Sets the flow's exit interface if the socket's own interface leads to another namespace. */
void tcp_ledger_exit(struct tcp_ledger *b, const struct watch_flow *key,
		     const struct tcp_exit *exit);

/*
 * Returns a histogram of the time in ns from each drop to the retransmission that it explains.
 * `received`: for senders elsewhere, the time until the segment arrived at the socket.
 */
const struct hist *tcp_ledger_stall(const struct tcp_ledger *b, bool received);

/* Returns the number of undecided retransmissions, for all reasons. */
uint64_t tcp_sum_undecided(const struct tcp_sum *s);

/* Returns rows of struct tcp_flow that lost something. They are final after tcp_ledger_close(). */
const struct list *tcp_ledger_flows(const struct tcp_ledger *b);
uint64_t tcp_ledger_folded(const struct tcp_ledger *b);	 /* flows that are only in the sum */
uint64_t tcp_ledger_refused(const struct tcp_ledger *b); /* records of flows that did not fit */
uint64_t tcp_ledger_bytes(const struct tcp_ledger *b);	 /* bytes of memory, flows and ranges */

/* The observer */

struct tcp_observer;

struct tcp_spec {
	const struct filter *filter;
	const struct reasons *reasons;
	const struct ksyms *ksyms;
	unsigned flows; /* as in tcp_ledger_new() */
	bool trail;	/* record the trail, which requires processing every arriving packet */
	uint32_t netns; /* inode of the only namespace to observe; 0: all */
};

/*
 * Loads the programs. STATUS_UNABLE: the kernel does not report failed retransmissions (`err` of
 * tcp_retransmit_skb, or fexit before Linux 6.17), or a capability is missing.
 */
int tcp_observer_open(struct tcp_observer **o, const struct tcp_spec *spec, struct error *err);

/* Attaches the programs and reads the existing sockets. */
int tcp_observer_attach(struct tcp_observer *o, const struct trace_places *places,
			struct error *err);

/* Reads the ring. Call it several times per second. Returns 0 or -errno. */
int tcp_observer_poll(struct tcp_observer *o);

/* Reads the sockets that retransmitted. tcp_ledger_look() may follow. Returns 0 or -errno. */
int tcp_observer_look(struct tcp_observer *o);

/* Reads the remaining sockets and stops. Call it once. Returns 0 or -errno. */
int tcp_observer_end(struct tcp_observer *o);

/* NULL: not recorded. Complete after tcp_observer_end() and tcp_ledger_close(). */
struct trail *tcp_observer_trail(const struct tcp_observer *o);

/* Call it after tcp_observer_look() or tcp_observer_end(). */
struct tcp_ledger *tcp_observer_ledger(const struct tcp_observer *o);
struct tcp_losses tcp_observer_losses(const struct tcp_observer *o);

/* Returns true if a socket of the flow existed. Final after tcp_observer_end(). */
bool tcp_observer_has(const struct tcp_observer *o, uint32_t netns);

/* Returns a namespace's counts according to events, for all its sockets. */
struct tcp_counted tcp_observer_counted(const struct tcp_observer *o, uint32_t netns);

/*
 * Returns the memory used by the ledger and by the programs' maps, not including the memory that
 * the kernel keeps for each socket.
 */
uint64_t tcp_observer_bytes(const struct tcp_observer *o);

/* Returns how many events were missed because one of our programs was running on that CPU. */
uint64_t tcp_observer_missed(const struct tcp_observer *o);

void tcp_observer_close(struct tcp_observer *o); /* NULL is allowed */

#endif
