/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An experiment, from set-up to a closed ledger: both ends on this host, in a test network or
 * between two ports, or one here and one on another host, or a single end. Each participating host
 * is a site (experiment/site.h).
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

/*
 * The specification of an experiment: filled from options and completed by the command. For an
 * experiment with another host, most of it is sent to that host (experiment/msg.h). Strings must
 * outlive the experiment.
 */
struct run_spec {
	const struct tx_ops *tx; /* NULL: the sender is elsewhere, and not controlled */
	const struct rx_ops *rx; /* NULL: the receiver is elsewhere, and not controlled */
	uint64_t count;		 /* packets in total, UINT64_MAX: until duration_ns or a signal */
	uint64_t duration_ns;	 /* 0: no limit */
	struct rate rate;
	unsigned payload; /* bytes of UDP payload, of the longest packet, 0: unknown */
	uint64_t port;
	bool ipv6;
	unsigned flows;		 /* 5-tuples */
	unsigned threads;	 /* sending threads */
	uint64_t rcvbuf, sndbuf; /* bytes, 0: the default */
	bool pass;		 /* rx xdp: the program only reads, a socket receives */
	bool legs;		 /* measure the latency breakdown on this host */
	uint64_t settle_ns;	 /* ns, limit for closing the ledger, 0: as long as losses here
				  * need */
	uint64_t interval_ns;	 /* ns between calls of on_interval */
	unsigned vlan, tos, ttl; /* 0: none, 0, the default. With frames only for a shape */
	bool shaped;		 /* `shape` sets packets and times, else packets are alike and
				  * evenly spaced */
	struct shape shape;
	struct tuning tuning;
	struct fault_list faults;
	const char *port_a, *port_b; /* [NETNS/]IFNAME, NULL: an anonymous test network */
	const char *lab;	     /* a test network made by `lab up`, or NULL */
	enum lab_topology topology;  /* topology of a new test network, if `topology_set`, */
	bool topology_set;	     /* else chosen by the faults */
	struct lab_wish wish;	     /* anonymous test network only */
	struct peer *far;   /* the peer host (experiment/remote.h), or NULL */
	bool reverse;	    /* the peer sends, and this host receives */
	const char *ifname; /* interface to the peer, for engines that need it, NULL: by route */

	/* Fields of a single end, with or without a peer host: */
	double rate_pps;    /* replaces `rate`, 0: unthrottled */
	struct endpoint to; /* address of the other end, with the receiver's port */
	bool paired;	    /* the peer host requests the results known here */
	const struct outcomes_numbers *numbers; /* chosen by the peer host, NULL: chosen here */
	bool fragments;			     /* datagrams are larger than the MTU */
	/*
	 * Reports the outcome of each number: of a sender, or of this many discovered streams of a
	 * receiver. 0: not reported, and a receiver keeps no outcomes.
	 */
	unsigned ledger;
	bool stay;	  /* a receiver continues after all senders have finished, */
	unsigned streams; /* else it ends when this many streams are finished, 0: any number */
};

/* Returns the shape of the packets. NULL: alike and evenly spaced. */
static inline const struct shape *spec_shape(const struct run_spec *spec)
{
	return spec->shaped ? &spec->shape : NULL;
}

struct experiment_interval {
	uint64_t time_ns;		       /* ns since the first packet */
	uint64_t sent, delivered, dropped;     /* since the first packet */
	uint64_t tx_cpu_ns, rx_cpu_ns;	       /* of both ends so far */
	uint64_t memory_bytes;		       /* of the process */
	bool settling;			       /* sending has ended, the ledger is being closed */
	struct trace_count stage[STAGE_COUNT]; /* ends seen since the first packet */
};

/* Callbacks from the experiment's thread. Each may be NULL. */
struct experiment_view {
	void (*on_note)(void *arg, const char *note);
	/* All is set up, sending has not started. A single receiver has no `streams` yet. */
	void (*on_start)(void *arg, const struct run_spec *spec, const struct lab *lab,
			 const struct result *so_far, const struct outcomes_numbers *streams);
	/* Returns false to stop sending, as a signal does. */
	bool (*on_interval)(void *arg, const struct experiment_interval *now);
	/*
	 * Reports a range of numbers (from 0) of a stream, named as in the header. cause is NULL
	 * unless dropped. Outcomes besides outcome_name(): "left" for a single sender: left this
	 * host. For discovered streams, whose numbers are as in the sequence header: "came": seen
	 * here only, and "unknown": it may have arrived without a record. Numbers that did not
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
	uint64_t delivered, highest; /* numbers, and the highest + 1, from 0 */
	uint64_t first;		     /* numbers below were not looked at */
	bool timed;		     /* packets carry a send time: */
	int64_t fastest_ns;	     /* smallest latency, by the clocks of both hosts */
	bool ended;		     /* its sender has reported the end: */
	uint64_t sent, refused;
};

struct recv_result {
	bool closed;	    /* results are final, even if an engine failed */
	struct result res;  /* delivered, duplicated .. invalid, rx_pps, latency, stages (counts) */
	uint64_t received;  /* with a valid sequence header */
	uint64_t lost;	    /* sent, if known, and not delivered */
	bool tail_known;    /* every stream has ended */
	uint64_t lost_tail; /* of the lost numbers, above the highest received */
	unsigned streams;
	struct recv_stream stream[TRACE_STREAMS];
};

/*
 * Runs the experiment. SIGINT, SIGTERM and SIGHUP must be blocked in the process: the first signal
 * stops sending, and the ledger is closed with the packets sent so far. `res` is complete if the
 * return value is 0, or if the failure is not -EINTR and res->attempted is not 0 (an engine failed
 * or the other host was lost: the ledger still closes). For a single sender it has attempted ..
 * sent, dropped and stages of this namespace, rates and waits.
 *
 * `found`: for a single receiver (spec->tx is NULL), with `res` in it, else NULL.
 */
int experiment_run(const struct run_spec *spec, const struct experiment_view *view,
		   struct result *res, struct recv_result *found, struct error *err);

/*
 * Computes the requested rate, in pps, 0: unthrottled. STATUS_USAGE: unknown link speed, or a
 * meaningless rate.
 */
int ports_rate(const struct run_spec *spec, double *pps, struct error *err);

#endif
