/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One experiment: sender, receiver and tracer between two ports, from set-up to closed books.
 */
#ifndef PKTLEDGER_EXPERIMENT_EXPERIMENT_H
#define PKTLEDGER_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "ledger/result.h"
#include "traffic/shape.h"
#include "traffic/rx.h"
#include "traffic/tx.h"
#include "experiment/faults/fault.h"
#include "experiment/lab_tune.h"
#include "traffic/worker.h"

struct peer;

/* What is asked for. Borrowed strings live as long as the experiment. */
struct run_spec {
	const struct tx_ops *tx;
	const struct rx_ops *rx;
	uint64_t count;	      /* packets in all; UINT64_MAX: until duration_ns or a signal */
	uint64_t duration_ns; /* 0: no limit */
	struct rate rate;
	unsigned payload; /* bytes of UDP payload */
	uint16_t port;
	bool ipv6;
	unsigned flows;		 /* 5-tuples */
	unsigned threads;	 /* that send */
	uint64_t rcvbuf, sndbuf; /* bytes; 0: the default */
	bool no_wait;
	bool pass;		   /* rx xdp: the program only looks, a socket receives */
	uint64_t settle_ns;	   /* at most, for closing the books */
	uint64_t interval_ns;	   /* between calls of on_interval */
	unsigned vlan, tos, ttl;   /* 0: none, 0, the default; for a shape with frames */
	const struct shape *shape; /* what packets are and when; NULL: alike, evenly */
	struct tuning tuning;
	struct fault_list faults;
	const char *port_a, *port_b; /* [NETNS/]IFNAME; NULL: an anonymous lab */
	const char *lab;	     /* a lab made by `lab up`; NULL: none */
	enum lab_topology topology;  /* of the lab to be made, if `topology_set`; */
	bool topology_set;	     /* else what the faults need */
	struct lab_wish wish;	     /* of an anonymous lab only */
	struct peer *far;	     /* another host that takes part (experiment/client.h); NULL: none */
	bool reverse;		     /* it sends, and this one receives */
	const char *ifname;	     /* the device to it, for engines that need one; NULL: by route */
};

struct experiment_interval {
	uint64_t time_ns;		       /* since the first packet */
	uint64_t sent, delivered, dropped;     /* since the first packet */
	uint64_t tx_cpu_ns, rx_cpu_ns;	       /* that both ends used until now */
	uint64_t memory_bytes;		       /* of the process */
	bool settling;			       /* sending is over, the books are being closed */
	struct trace_count stage[STAGE_COUNT]; /* ends seen since the first packet */
};

struct experiment_streams {
	uint16_t stream0, streams;
	uint64_t base;
	uint64_t count; /* of all streams; UINT64_MAX: open */
};

/* Called from the experiment's thread; each may be NULL. */
struct experiment_view {
	void (*on_note)(void *arg, const char *note);
	/* Everything stands, nothing is sent yet. */
	void (*on_start)(void *arg, const struct run_spec *spec, const struct lab *lab,
			 const struct result *so_far, const struct experiment_streams *streams);
	/* False: nobody wants to know any more; sending ends as by a signal. */
	bool (*on_interval)(void *arg, const struct experiment_interval *now);
	/* A run of numbers (from 0) of one stream with one fate; cause NULL unless dropped. */
	void (*on_fates)(void *arg, uint16_t stream, uint64_t first, uint64_t last,
			 const char *fate, const struct result_cause *cause);
	void *arg;
};

/* Memory that this process has in use now, bytes; 0: not known. */
uint64_t experiment_memory(void);

/*
 * Runs it. SIGINT, SIGTERM and SIGHUP must be blocked in the process: the first ends sending and
 * the books are closed on what was sent. `res` is whole if 0 is returned, or if -EINTR is not the
 * reason of the failure and res->attempted is not 0 (an engine died: the books still close).
 */
int experiment_run(const struct run_spec *spec, const struct experiment_view *view,
		   struct result *res, struct error *err);

#endif
