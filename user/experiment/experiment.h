/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One experiment, from set-up to a closed ledger: both ends on this host, in a testbed of its own
 * or between two ports; one here and one on another host; or one end alone. Each host that takes
 * part is a site (experiment/site.h).
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
 * What is asked for: filled by options, completed by the command, and where another host takes part
 * the larger part of what that one is asked for (experiment/msg.h). Strings live as long.
 */
struct run_spec {
	const struct tx_ops *tx; /* NULL: the sender is elsewhere, and not asked for anything */
	const struct rx_ops *rx; /* NULL: the same of the receiver */
	uint64_t count;		 /* packets in all; UINT64_MAX: until duration_ns or a signal */
	uint64_t duration_ns;	 /* 0: no limit */
	struct rate rate;
	unsigned payload; /* bytes of UDP payload, of the longest packet; 0: not known */
	uint64_t port;
	bool ipv6;
	unsigned flows;		 /* 5-tuples */
	unsigned threads;	 /* that send */
	uint64_t rcvbuf, sndbuf; /* bytes; 0: the default */
	bool pass;		 /* rx xdp: the program only reads, a socket receives */
	bool legs;		 /* measure the legs of the way on this host */
	uint64_t settle_ns;	 /* at most, for closing the ledger; 0: as losses here need */
	uint64_t interval_ns;	 /* between calls of on_interval */
	unsigned vlan, tos, ttl; /* 0: none, 0, the default; for a shape with frames */
	bool shaped;		 /* `shape` says what packets are and when; else alike, evenly */
	struct shape shape;
	struct tuning tuning;
	struct fault_list faults;
	const char *port_a, *port_b; /* [NETNS/]IFNAME; NULL: an anonymous lab */
	const char *lab;	     /* a lab made by `lab up`; NULL: none */
	enum lab_topology topology;  /* of the lab to be made, if `topology_set`; */
	bool topology_set;	     /* else what the faults need */
	struct lab_wish wish;	     /* of an anonymous lab only */
	struct peer *far;   /* another host that takes part (experiment/remote.h); NULL: none */
	bool reverse;	    /* it sends, and this one receives */
	const char *ifname; /* the device to it, for engines that need one; NULL: by route */

	/* Of one end alone, in whatever company: */
	double rate_pps;    /* in place of `rate`; 0: unthrottled */
	struct endpoint to; /* the address of the other end; its port is where it receives */
	bool paired;	    /* another host knows of it, and asks for what is known here */
	const struct fates_numbers *numbers; /* drawn by that one; NULL: to be drawn here */
	bool fragments;			     /* datagrams are larger than the MTU */
	/*
	 * The fate of each number is reported: of a sender, or of so many discovered streams of a
	 * receiver. 0: it is not, and of a receiver no fates are kept.
	 */
	unsigned ledger;
	bool stay;	  /* a receiver goes on when all senders have said that they are done; */
	unsigned streams; /* else it ends when so many have come and are done; 0: any */
};

/* What packets are and when; NULL: alike, evenly. */
static inline const struct shape *spec_shape(const struct run_spec *spec)
{
	return spec->shaped ? &spec->shape : NULL;
}

struct experiment_interval {
	uint64_t time_ns;		       /* since the first packet */
	uint64_t sent, delivered, dropped;     /* since the first packet */
	uint64_t tx_cpu_ns, rx_cpu_ns;	       /* that both ends used until now */
	uint64_t memory_bytes;		       /* of the process */
	bool settling;			       /* sending is over, the ledger is being closed */
	struct trace_count stage[STAGE_COUNT]; /* ends seen since the first packet */
};

/* Called from the experiment's thread; each may be NULL. */
struct experiment_view {
	void (*on_note)(void *arg, const char *note);
	/* All stands, nothing is sent. A receiver alone has no `streams`: it does not know them. */
	void (*on_start)(void *arg, const struct run_spec *spec, const struct lab *lab,
			 const struct result *so_far, const struct fates_numbers *streams);
	/* False: nobody wants to know any more; sending ends as by a signal. */
	bool (*on_interval)(void *arg, const struct experiment_interval *now);
	/*
	 * A range of numbers (from 0) of a stream, named as in the header; cause NULL unless
	 * dropped. Other names than those of outcome_name() are "left" for a sender alone: seen to
	 * leave this host; and for discovered streams, whose numbers are as in the stamp, "came":
	 * seen here, and no more, and "unknown": it may have arrived, and was not noted. Numbers
	 * that did not arrive are not reported.
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

/* A stream that a receiver alone has discovered. */
struct recv_stream {
	uint16_t stream;
	uint64_t base;
	uint64_t delivered, highest; /* numbers, and the highest + 1, from 0 */
	uint64_t first;		     /* below, nothing was looked at */
	bool timed;		     /* packets carry a time: */
	int64_t fastest_ns;	     /* least from sending to arrival, by the clocks of both */
	bool ended;		     /* its sender has reported: */
	uint64_t sent, refused;
};

struct recv_result {
	bool closed;	    /* the rest is what was received, though an engine may have failed */
	struct result res;  /* delivered, duplicated .. invalid, rx_pps, latency, stages (counts) */
	uint64_t received;  /* with a valid stamp */
	uint64_t lost;	    /* sent, as far as known, and not delivered */
	bool tail_known;    /* every stream has ended */
	uint64_t lost_tail; /* of those, behind the highest number seen */
	unsigned streams;
	struct recv_stream stream[TRACE_STREAMS];
};

/*
 * Runs it. SIGINT, SIGTERM and SIGHUP must be blocked in the process: the first ends sending and
 * the ledger is closed on what was sent. `res` is whole if 0 is returned, or if -EINTR is not the
 * reason of the failure and res->attempted is not 0 (an engine died, the other host was lost: the
 * ledger still closes). Of a sender alone it has attempted .. sent, dropped and stages of this
 * namespace, rates and waits.
 *
 * `found`: of a receiver alone (spec->tx is NULL), with `res` in it; else NULL.
 */
int experiment_run(const struct run_spec *spec, const struct experiment_view *view,
		   struct result *res, struct recv_result *found, struct error *err);

/*
 * The rate that is asked for, in packets/s; 0: unthrottled. STATUS_USAGE: the link has no known
 * speed, or the rate has no meaning.
 */
int ports_rate(const struct run_spec *spec, double *pps, struct error *err);

#endif
