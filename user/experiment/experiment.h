/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An experiment, from set-up to a closed ledger. Both ends may be on this host, in a test network
 * or between two ports. One end may be here and the other on another host, or there may be a single
 * end. Each participating host is a site (experiment/site.h).
 */
#ifndef PKTLEDGER_EXPERIMENT_EXPERIMENT_H
#define PKTLEDGER_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "ledger/result.h"
#include "traffic/rx.h"
#include "traffic/tx.h"
#include "experiment/faults/fault.h"

struct peer;
struct session;

/*
 * The specification of an experiment, filled from options and completed by the command. If another
 * host takes part, most of the specification is sent to that host (experiment/msg.h). Strings must
 * outlive the experiment.
 */
struct run_spec {
	const struct tx_ops *tx; /* NULL: the sender runs elsewhere and is not controlled */
	const struct rx_ops *rx; /* NULL: the receiver runs elsewhere and is not controlled */
	uint64_t count;		 /* total packets, UINT64_MAX: until duration_ns or a signal */
	uint64_t duration_ns;	 /* 0: no limit */
	struct rate rate;
	unsigned payload; /* bytes, UDP payload of the longest packet, 0: unknown */
	uint64_t port;
	bool ipv6;
	unsigned flows;		 /* 5-tuples */
	unsigned threads;	 /* sending threads */
	uint64_t rcvbuf, sndbuf; /* bytes, 0: the default */
	bool pass;		 /* rx xdp: the program only reads packets, a socket receives
				  * them */
	bool legs;		 /* measure the latency breakdown on this host */
	uint64_t settle_ns;	 /* ns, limit for closing the ledger, 0: as long as losses on
				  * this host need */
	uint64_t interval_ns;	 /* ns between calls of on_interval */
	unsigned vlan, tos, ttl; /* 0: no VLAN tag, TOS 0, the default TTL. With frames, only for
				  * a shape */
	bool shaped;		 /* `shape` sets packets and times, otherwise packets are alike
				  * and evenly spaced */
	struct shape shape;
	struct tuning tuning;
	struct fault_list faults;
	const char *port_a, *port_b; /* [NETNS/]IFNAME, NULL: an anonymous test network */
	const char *lab;	     /* a test network created by `lab up`, or NULL */
	enum lab_topology topology;  /* topology of a new test network if `topology_set`, */
	bool topology_set;	     /* otherwise the faults choose it */
	struct lab_wish wish;	     /* anonymous test network only */
	struct session *session;     /* trials of a command, or NULL */
	struct peer *far;   /* the peer host (experiment/remote.h), or NULL */
	bool reverse;	    /* the peer sends and this host receives */
	const char *ifname; /* interface towards the peer, for engines that need it, NULL: chosen
			     * by route */

	/* Fields for a single end, with or without a peer host: */
	double rate_pps;    /* replaces `rate`, 0: unthrottled */
	struct endpoint to; /* address of the other end, with the receiver's port */
	bool paired;	    /* the peer host requests the results from this end */
	const struct outcomes_numbers *numbers; /* chosen by the peer host, NULL: chosen on this
						 * host */
	bool fragments;			     /* datagrams are larger than the MTU */
	/*
	 * Reports the outcome of each number, for a sender or for this many streams that a receiver
	 * discovers. 0: outcomes are not reported, and a receiver does not keep them.
	 */
	unsigned ledger;
	bool stay;	  /* a receiver continues after all senders have ended, */
	unsigned streams; /* otherwise it ends when this many streams have ended, 0: any number */
};

/* Returns the shape of the packets. NULL: packets are alike and evenly spaced. */
static inline const struct shape *spec_shape(const struct run_spec *spec)
{
	return spec->shaped ? &spec->shape : NULL;
}

struct experiment_interval {
	uint64_t time_ns;		       /* ns since the first packet */
	uint64_t sent, delivered, dropped;     /* since the first packet */
	uint64_t tx_cpu_ns, rx_cpu_ns;	       /* so far, both ends */
	uint64_t memory_bytes;		       /* memory use of the process */
	bool settling;			       /* sending has ended and the ledger is being
						* closed */
	struct trace_count stage[STAGE_COUNT]; /* packet ends seen since the first packet */
};

/* Callbacks, called from the experiment's thread. Each may be NULL. */
struct experiment_view {
	void (*on_note)(void *arg, const char *note);
	/*
	 * Called when everything is set up and sending has not started. A single receiver has no
	 * `streams` yet.
	 */
	void (*on_start)(void *arg, const struct run_spec *spec, const struct lab *lab,
			 const struct result *so_far, const struct outcomes_numbers *streams);
	/* Returns false to stop sending, as a signal does. */
	bool (*on_interval)(void *arg, const struct experiment_interval *now);
	/*
	 * Reports a range of a stream's numbers (from 0). The stream is named as in the header.
	 * cause is NULL unless the packets were dropped. There are outcomes in addition to
	 * outcome_name(): "left" for a single sender means that the packet left this host. For
	 * discovered streams, which are numbered as in the sequence header, "came" means seen only
	 * here, and "unknown" means that it may have arrived without a record. Numbers that did not
	 * arrive are not reported.
	 */
	void (*on_range)(void *arg, const struct range *r, const char *outcome,
			 const struct result_cause *cause);
	void *arg;
};

static inline void view_note(const struct experiment_view *view, const char *note)
{
	if (note && view->on_note)
		view->on_note(view->arg, note);
}

/* A stream discovered by a single receiver. */
struct recv_stream {
	uint16_t stream;
	uint64_t base;
	uint64_t delivered, highest; /* count of numbers, and the highest number + 1, from 0 */
	uint64_t first;		     /* numbers below were not examined */
	bool timed;		     /* packets carry a send time, then also: */
	int64_t fastest_ns;	     /* smallest latency, using the clocks of both hosts */
	bool ended;		     /* the sender has reported the end, then also: */
	uint64_t sent, refused;
};

struct recv_result {
	bool closed;	    /* results are final, even if an engine failed */
	struct result res;  /* delivered, duplicated .. invalid, rx_pps, latency, stages (counts) */
	uint64_t received;  /* with a valid sequence header */
	uint64_t lost;	    /* sent, if that is known, and not delivered */
	bool tail_known;    /* every stream has ended */
	uint64_t lost_tail; /* lost numbers above the highest received number */
	unsigned streams;   /* in `stream`, */
	uint64_t streams_more; /* and streams that ended before and are in the sums only */
	struct recv_stream stream[TRACE_STREAMS];
};

/*
 * A session keeps the test network and the observers of a trial open for the next one, which opens
 * others if it needs others. `session` may be NULL in session_close().
 */
struct session *session_new(void);
void session_close(struct session *session);

/*
 * Runs the experiment. SIGINT, SIGTERM and SIGHUP must be blocked in the process: the first signal
 * stops sending, and the ledger is closed with the packets sent so far. `res` is complete if the
 * return value is 0, or if the failure is not -EINTR and res->attempted is not 0 (an engine failed
 * or the connection to the other host was lost, but the ledger still closed). For a single sender
 * `res` has attempted .. sent, this namespace's drops and stages, rates and waits.
 *
 * `found`: for a single receiver (spec->tx is NULL), contains `res`. Otherwise NULL.
 */
int experiment_run(const struct run_spec *spec, const struct experiment_view *view,
		   struct result *res, struct recv_result *found, struct error *err);

/*
 * Computes the requested rate in pps, 0 if unthrottled. STATUS_USAGE: the link speed is unknown, or
 * the rate is meaningless.
 */
int ports_rate(const struct run_spec *spec, double *pps, struct error *err);

#endif
