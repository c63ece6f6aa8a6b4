/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A site: what one host has of an experiment while it runs. Its observers, the fates of the
 * numbers, the kernel's counters, the queues, and one or two ends: both in a testbed of our own or
 * between two ports of this host, one where the other is on another host (`run --to`, at either
 * side) or nobody's business (`send`, `recv`). Asked the same things by the experiment for its own
 * site, and by a server for its client.
 */
#ifndef PKTLEDGER_EXPERIMENT_SITE_H
#define PKTLEDGER_EXPERIMENT_SITE_H

#include "diagnosis/findings.h"
#include "experiment/experiment.h"
#include "experiment/receiver.h"
#include "drops/checkpoint.h"
#include "drops/drops.h"
#include "drops/fates.h"
#include "drops/ksym.h"
#include "drops/reason.h"
#include "host/counters.h"
#include "host/lab.h"
#include "ledger/join.h"
#include "ledger/ledger.h"
#include "traffic/rx.h"

/* The tracer with all it needs: names of this kernel, the numbers of the run, their fates. */
struct tracer {
	struct reasons *reasons;
	struct ksyms *ksyms;
	struct fates fates; /* without observers: in plain memory */
	struct trace_config config;
	struct drops *drops;
	struct checkpoints *checkpoints; /* NULL: none */
	struct checkpoints *edge;	 /* the same */
};

struct tracer_spec {
	unsigned streams;
	uint64_t window; /* numbers kept per stream; 0: they are others', so that causes are counted
			  * but no fates kept */
	struct trace_config config; /* port, tunnel, fragments, netns, learn: the rest is filled */
	bool frames;		    /* what ends here are frames of XDP alone, no skbs */
	bool consumed;		    /* follow also what is freed as if it had been used up */
	const struct checkpoint_place *checkpoints; /* as checkpoints_open() takes it; NULL: none */
	const struct fates_numbers *numbers;	    /* drawn by another host; NULL: to be drawn */
	/* Instead of checkpoints, or where they cannot be links; all 0: none. */
	struct edge_netns edge;
	unsigned edge_ifindex; /* as edge_open() takes it */
};

/* Draws the numbers, loads and attaches the observers, maps the fates. On failure all is undone. */
int tracer_open(struct tracer *t, const struct tracer_spec *spec, struct error *err);

/* The map of what the checkpoints have seen; -1: there are none. */
int tracer_seen_fd(const struct tracer *t);

/* Reads the causes seen so far and names them. */
int tracer_name(const struct tracer *t, const struct ledger_place *places, unsigned n,
		struct ledger *ledger);

/* What the tracer itself lost, and evidence of suppression that the ledger holds. */
void tracer_losses(const struct tracer *t, const struct ledger *ledger, struct result *res);

void tracer_close(struct tracer *t);

/* The sending threads: one engine and one stream each, started together, paced together. */
struct sender;

/* Starts the threads and opens the engines; nothing is sent yet. `cfg` is borrowed. */
int sender_open(struct sender **s, const struct sender_config *cfg, struct error *err);
void sender_start(struct sender *s);

bool sender_done(const struct sender *s);

/* Asks the threads to end now. */
void sender_stop(struct sender *s);

/*
 * Waits for the threads, each having finished its engine. An error that ended a thread early is in
 * `err`; the ledger of what was sent is good all the same.
 */
int sender_join(struct sender *s, struct error *err);

/*
 * First number of the stream that is not closed yet. May be called while the threads run; with
 * reordering on purpose it lags behind then, so that all numbers below it are sent.
 */
uint64_t sender_next(const struct sender *s, unsigned slot);

/* CPU time of the threads until now, or until they ended; ns. */
uint64_t sender_cpu_ns(struct sender *s);

/* Numbers up to here may be used: the window has moved. Only for runs longer than the window. */
void sender_allow(struct sender *s, unsigned slot, uint64_t upto);

void sender_stats(const struct sender *s, struct tx_stats *st);

/* Of these and of the CPU time what a result shows: waits, slips, duration, faults on purpose. */
void sender_result(struct sender *s, struct result *res);

const char *sender_mode(const struct sender *s);
void sender_close(struct sender *s);

struct site {
	const struct run_spec *spec;
	bool sends, receives;
	bool lone;	/* it has one end */
	bool by_number; /* the fate of each number is known here; else causes are counted, and a
			   sender knows its own */
	bool discovers; /* a receiver that finds its streams, and reports their fates */
	struct lab lab; /* of a lone end: its namespace, and its device as far as it is known */
	bool lab_open;
	bool fragments;	    /* datagrams are larger than the MTU */
	bool moving;	    /* more numbers than the window holds, or to be reported early */
	uint64_t settle_ns; /* after which numbers leave the window */
	double rate_pps;
	struct fault_effects fx;
	struct fault_state *faults; /* NULL: there are none */
	struct tracer tracer;
	bool traced;
	struct error untraced; /* why not, if it is not traced */
	bool by_engine;	       /* nor needs to be: the engine of a lone sender knows its losses */
	struct ledger ledger;
	struct join *join; /* with another site, for site_fold(); NULL: there is none */
	bool gives_up[TRACE_CAUSES]; /* causes of reassembly that got no more of a datagram */
	struct rx_prog *prog;	     /* of the receiving engine; NULL: it has none */
	const struct lab_port *gro;  /* where GRO was switched on to give it NAPI; NULL: nowhere */
	struct flow flow;
	struct legs *legs; /* NULL: none are measured */
	struct receiver_config receiver_config;
	struct receiver *receiver; /* NULL: nobody listens here, or closed already */
	struct sender_config sender_config;
	struct sender *sender; /* NULL: nobody sends here */
	bool started, stopped;
	struct counters before, after;

	/* Of a receiver that has stopped: */
	struct sink sink; /* sums of its threads */
	struct arrivals arrivals;
	struct rx_stats rx;
	uint64_t rx_cpu_ns;
	uint64_t unread;	   /* numbers found in the queue of a socket before it was closed */
	uint64_t unread_confirmed; /* events of the kernel freeing them */
	uint64_t in_socket;	   /* waiting in a socket's queue when time to settle was over */

	uint64_t refused[TRACE_STREAMS]; /* of a lone sender's numbers that are folded */
	uint64_t known[TRACE_STREAMS];	 /* for site_is_complete(): numbers below are */
};

/* What a site knows of itself while the experiment runs; a remote one reports it. */
struct site_status {
	bool running;	/* it sends */
	bool idle;	/* nothing waits in the queues it knows */
	bool caught_up; /* site_caught_up() */
	uint64_t delivered, dropped;
	uint64_t in_queues; /* packets, the sum of: */
	uint64_t in_qdiscs, in_reassembly, in_socket;
	uint64_t next[TRACE_STREAMS]; /* it sends: first number (from 0) that is not closed yet */
};

/*
 * Builds everything up to the sender, whose threads stand ready: observers first, then counters,
 * then the sender, as a true ledger needs it. Packets arriving from here on are received. On
 * failure site_close() is due all the same. A lone end that is not to report its fates goes on
 * without a tracer, `untraced` says why.
 */
int site_open(struct site *s, const struct run_spec *spec, const struct experiment_view *view,
	      struct error *err);

/* For site_open(): the namespaces and devices, and the addresses of the flow. */
int site_open_ports(struct site *s, struct error *err);

/* For site_check(): the counters of all namespaces of the site, and those of our sockets. */
int site_read_counters(struct site *s, struct counters *c, struct error *err);

/* Where its checkpoint is in the kernel; the engine, if frames bypass the stack. */
const char *site_place(const struct site *s);

void site_start(struct site *s);

/* How far each stream is that is sent here, from 0. */
void site_next(const struct site *s, uint64_t next[TRACE_STREAMS]);

/* Of a sender alone, whose threads have ended: sent and refused of a stream. */
void site_count(struct site *s, unsigned slot, uint64_t *sent, uint64_t *refused);

/* A number that changes with each new fate; cheap enough to be asked all the time. */
uint64_t site_fates_seen(const struct site *s);
void site_status(const struct site *s, struct site_status *st);

/*
 * Numbers may wait in the queue of a reader that has no CPU, or takes its time. Whether what waited
 * at site_mark() has been read, if somebody reads here; `later`: the first number of each stream
 * (from 0) that was not sent yet.
 */
void site_mark(const struct site *s, const uint64_t *later);
bool site_caught_up(const struct site *s);

/* Of the numbers of both ends here: each has its fate, or is where none will come. */
bool site_is_complete(struct site *s);

/* Something has to end: a thread of the receiver failed (`err`), or a fault cannot act midway. */
bool site_failed(struct site *s, struct error *err);

/* Ends the sender, and the faults; an error that ended it early is in `err`. */
void site_stop_sending(struct site *s, struct error *err);

/* Ends the receiver, and keeps its sums. */
int site_stop_receiving(struct site *s, struct error *err);

/* Names the causes seen so far; those that are not this site's end no packet. 0 or -errno. */
int site_name(struct site *s);

/* Whether a loss is this site's, and not our own program's way to take a packet. */
bool site_is_here(const struct site *s, const struct ledger_cause *c);

/*
 * Of numbers below `upto`, as in the stamp, that are to be folded at a lone receiver: datagrams
 * that reassembly gave up and that had not come whole get a cause of their own. What they lacked
 * was lost before it came here.
 */
void site_note_given_up(struct site *s, unsigned slot, uint64_t upto);

/* Before numbers below `upto` (from 0, one a stream) are folded: what is known of them is final. */
void site_prepare(struct site *s, const uint64_t *upto);

/* Folds them, and lets a sender use their places. `visitor` may be NULL. */
void site_fold(struct site *s, const uint64_t *upto, const struct range_visitor *visitor);

/* All is folded: fates of numbers that nobody sent. */
void site_beyond(struct site *s);

/* What is known before anything is sent: sizes, rate, granted modes. */
void site_describe(const struct site *s, struct result *res);

/* Fills sums, stages and causes by what was folded. */
void site_ledger(const struct site *s, uint64_t in_queues, struct result *res);

/* Adds what its ends and its tracer know of themselves. They have stopped. */
void site_end(struct site *s, struct result *res);

/*
 * The counter check: the kernel's counters here against what was seen here. Adds to the counters of
 * `res`, which is closed on the causes of this site only, and settles by counter what no event
 * shows. -errno with `err`.
 */
int site_check(struct site *s, struct result *res, struct error *err);

/* The settings of a receiving site that advice is about. */
void site_settings(const struct site *s, struct finding_facts *f);

void site_close(struct site *s);

/*
 * For site_check(). Settles as many of the numbers that are still open as a counter shows, if
 * the receiver's device received nothing but this flow: by number such a loss is not known. The
 * stage's source is `counter` then.
 */
void settle_by_counter(const struct countercheck *check, const struct counters *deltas,
		       const struct site *s, struct result *res);

/*
 * A finding for every loss of a result. `remote`: the settings of the receiver, where it is on
 * another host; NULL: it is this site's.
 */
void advise(const struct site *s, const struct finding_facts *remote, struct result *res);

/* Of an open site that is a receiver alone; free() is due. */
struct discovery;
struct discovery *discover_new(struct site *s, const struct experiment_view *view);

/* Numbers to be kept of each of so many streams whose fates are reported. */
uint64_t discover_window(unsigned streams);

/* To be called often while the receiver runs. */
void discover_move(struct discovery *d, uint64_t now_ns);

/* The receiver has stopped: counts the rest, and fills `out`. */
void discover_end(struct discovery *d, struct recv_result *out);

#endif
