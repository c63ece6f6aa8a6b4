/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A site is one host's part of a running experiment. It has observers, the numbers' outcomes, the
 * kernel's counters, the queues, and one or two ends. A test network or two ports of this host have
 * both ends here. There is one end if the other is on another host (`run --to`, at either side) or
 * is not controlled by pktledger (`send`, `recv`). The experiment makes the same calls for its own
 * site as a server makes for its client's.
 */
#ifndef PKTLEDGER_EXPERIMENT_SITE_H
#define PKTLEDGER_EXPERIMENT_SITE_H

#include "diagnosis/findings.h"
#include "experiment/experiment.h"
#include "experiment/receiver.h"
#include "drops/probes.h"
#include "drops/drops.h"
#include "drops/outcomes.h"
#include "drops/ksym.h"
#include "drops/reason.h"
#include "host/counters.h"
#include "host/lab.h"
#include "ledger/join.h"
#include "ledger/ledger.h"
#include "traffic/rx.h"

/* The tracer and its data: kernel names, the run's numbers, and their outcomes. */
struct tracer {
	struct reasons *reasons;
	struct ksyms *ksyms;
	struct outcomes outcomes; /* in plain memory if there are no observers */
	struct trace_config config;
	struct drops *drops;
	struct probes *probes; /* NULL: no probes */
	struct probes *edge;   /* edge probes, or NULL */
};

struct tracer_spec {
	unsigned streams;
	uint64_t window; /* numbers kept per stream, 0: the numbers belong to other programs, so
			  * causes are counted without outcomes */
	struct trace_config config; /* port, tunnel, fragments, netns and learn are set here, the
				     * rest is filled in */
	bool frames;		    /* packets received here are XDP frames only, never skbs */
	bool consumed;		    /* also follow packets freed as consumed */
	const struct probe_place *probes;	/* probe location for probes_open(), or
						 * NULL */
	const struct outcomes_numbers *numbers; /* chosen by another host, NULL: chosen on this
						 * host */
	/* Used instead of probes, or where probes cannot be links. All 0: not used. */
	struct edge_netns edge;
	unsigned edge_ifindex; /* as for edge_open() */
};

/*
 * Chooses the numbers, loads and attaches the observers, and maps the outcomes. `t` is zero or
 * closed. On failure, undoes all of that.
 */
int tracer_open(struct tracer *t, const struct tracer_spec *spec, struct error *err);

/* Returns the map of packets that the probes saw, or -1 without probes. */
int tracer_seen_fd(const struct tracer *t);

/* Reads the causes seen so far and names them. */
int tracer_name(const struct tracer *t, const struct ledger_place *places, unsigned n,
		struct ledger *ledger);

/*
 * Prepares an open tracer for another trial in which every number is new: the numbers continue
 * after the folded ones, and causes and counts start from zero. Returns -ENOSPC if the window has
 * less room than `window`, or too few numbers are left.
 */
int tracer_arm(struct tracer *t, uint64_t window);

/* Adds the events that a tracer missed (`l`), and evidence of suppressed tracing, to `res`. */
void tracer_losses(const struct drops_losses *l, const struct ledger *ledger, struct result *res);

void tracer_close(struct tracer *t);

/*
 * The sending threads. Each has an engine and a stream. The threads share one start and one pace.
 */
struct sender;

/* Starts the threads and opens the engines, but sends nothing yet. `cfg` is borrowed. */
int sender_open(struct sender **s, const struct sender_config *cfg, struct error *err);
void sender_start(struct sender *s);

bool sender_done(const struct sender *s);

/* Asks the threads to end at once. */
void sender_stop(struct sender *s);

/*
 * Waits for the threads, each of which finishes its engine. If an error ended a thread early, it is
 * stored in `err`. Even then, the ledger of sent packets is valid.
 */
int sender_join(struct sender *s, struct error *err);

/* Returns the stream's first unclosed number. May be called while the threads run. */
uint64_t sender_next(const struct sender *s, unsigned slot);

/* Returns the threads' CPU time in ns, so far or until they ended. */
uint64_t sender_cpu_ns(struct sender *s);

/* Allows numbers up to `upto` after the window has moved. Only for runs longer than the window. */
void sender_allow(struct sender *s, unsigned slot, uint64_t upto);

void sender_stats(const struct sender *s, struct tx_stats *st);

/* Fills a result from the threads and the CPU time, with waits, slips and duration. */
void sender_result(struct sender *s, struct result *res);

const char *sender_mode(const struct sender *s);
void sender_close(struct sender *s);

struct site {
	const struct run_spec *spec;
	bool sends, receives;
	bool lone;	/* single-ended */
	bool in_lab;	/* both ends are in a test network, otherwise on the host's interfaces */
	bool by_number; /* each number's outcome is determined here, otherwise causes are counted
			 * and a sender reports its outcomes */
	bool discovers; /* a receiver that discovers its streams and reports their outcomes */
	bool fragments;	    /* datagrams are larger than the MTU */
	bool moving;	    /* there are more numbers than the window holds, or numbers are
			     * reported early */
	uint64_t settle_ns; /* ns until numbers leave the window */
	double rate_pps;
	struct fault_effects fx;
	struct fault_state *faults; /* NULL: no faults */
	bool traced;
	struct error untraced; /* why the site runs untraced */
	bool by_engine;	       /* tracing is not needed, because the engine of a single-ended
				* sender counts its losses */
	struct ledger ledger;
	struct join *join; /* data that site_fold() joins with the peer's site, or NULL */
	bool gives_up[TRACE_CAUSES]; /* for each cause, whether it is a reassembly timeout */
	struct rx_prog *prog;	     /* program of the receiving engine, or NULL */
	const struct lab_port *gro;  /* interface on which GRO was enabled to provide NAPI, or
				      * NULL */
	struct flow flow;
	struct legs *legs; /* NULL: latency breakdown not measured */
	struct receiver_config receiver_config;
	struct receiver *receiver; /* NULL: not receiving here, or already closed */
	struct sender_config sender_config;
	struct sender *sender; /* NULL: not sending here */
	bool started, stopped;
	struct counters before, after;

	/* Results from a stopped receiver: */
	struct sink sink; /* sums of its threads */
	struct arrivals arrivals;
	struct rx_stats rx;
	uint64_t rx_cpu_ns;
	uint64_t unread;	   /* numbers in a socket's queue before it was closed */
	uint64_t unread_confirmed; /* kernel events that confirm freeing them */
	uint64_t in_socket;	   /* packets left in a socket's queue at the end of the --settle
				    * time */
	struct drops_losses losses; /* when the ledger was closed: site_ledger() */

	uint64_t refused[TRACE_STREAMS]; /* refused packets among a single-ended sender's folded
					  * numbers */
	uint64_t known[TRACE_STREAMS];	 /* for site_is_complete(), all numbers below have
					  * outcomes */

	/* From here on, members outlive a trial: site_rest() */
	struct lab lab; /* single-ended: its namespace, and its interface if known */
	bool lab_open;
	struct tracer tracer;
	struct site_needs { /* what the test network and the observers were opened for */
		const struct tx_ops *tx;
		const struct rx_ops *rx;
		uint64_t port;
		unsigned threads;
		bool pass;
		struct lab_spec lab;
		struct lab_wish wish;
	} needs;
};

/* A site's state during the experiment, which a remote site reports. */
struct site_status {
	bool running;	/* sender: running */
	bool idle;	/* all queues that the site can see are empty */
	bool caught_up; /* site_caught_up() */
	uint64_t delivered, dropped;
	uint64_t in_queues; /* packets, the sum of: */
	uint64_t in_qdiscs, in_reassembly, in_socket;
	uint64_t next[TRACE_STREAMS]; /* sender: first unclosed number in each stream (from 0) */
};

/*
 * Opens a site that is zero, closed or at rest. Opens everything up to the sender, with its threads
 * ready to send. Opens observers first, then counters, then the sender, so that the ledger is
 * complete. Packets are received from now on. Call site_close() even on failure. A single-ended
 * site that does not report outcomes continues without a tracer, and `untraced` has the reason.
 */
int site_open(struct site *s, const struct run_spec *spec, const struct experiment_view *view,
	      struct error *err);

/* Opens the flow's namespaces, interfaces and addresses for site_open(). */
int site_open_ports(struct site *s, struct error *err);

/* Reads the counters in all of the site's namespaces and for our sockets, for site_check(). */
int site_read_counters(struct site *s, struct counters *c, struct error *err);

/* Returns where the probe is in the kernel, or the engine if frames bypass the stack. */
const char *site_place(const struct site *s);

void site_start(struct site *s);

/* Returns the progress of each stream that this site sends, from 0. */
void site_next(const struct site *s, uint64_t next[TRACE_STREAMS]);

/*
 * Returns a stream's sent and refused packets, for a single-ended sender after its threads have
 * ended.
 */
void site_count(struct site *s, unsigned slot, uint64_t *sent, uint64_t *refused);

/* Returns a number that changes with each new outcome. Cheap enough to poll. */
uint64_t site_outcomes_seen(const struct site *s);
void site_status(const struct site *s, struct site_status *st);

/*
 * site_mark() records packets that are waiting for a reader that is slow or lacks CPU time. If this
 * site receives, site_caught_up() returns whether they have been read. `later`: first unsent number
 * in each stream (from 0).
 */
void site_mark(const struct site *s, const uint64_t *later);
bool site_caught_up(const struct site *s);

/*
 * Returns whether every number at both ends here has an outcome, or is at a place after which no
 * outcome can follow.
 */
bool site_is_complete(struct site *s);

/*
 * Returns whether the run must end because a receiving thread failed (`err`), or because a fault
 * cannot act midway.
 */
bool site_failed(struct site *s, struct error *err);

/* Stops the sender and the faults. If an error ended the sender early, it is stored in `err`. */
void site_stop_sending(struct site *s, struct error *err);

/* Stops the receiver but keeps its sums. */
int site_stop_receiving(struct site *s, struct error *err);

/*
 * Names the causes seen so far. Causes outside this site do not end a packet. Returns 0 or -errno.
 */
int site_name(struct site *s);

/*
 * Returns whether a loss belongs to this site and is not just our own program consuming a packet.
 */
bool site_is_here(const struct site *s, const struct ledger_cause *c);

/*
 * Assigns a separate cause to numbers below `upto` (as in the sequence header) of datagrams that
 * reassembly dropped because fragments were missing. Called before folding at a single-ended
 * receiver. The missing fragments were lost before they reached this host.
 */
void site_note_given_up(struct site *s, unsigned slot, uint64_t upto);

/*
 * Finalises the outcomes of numbers below `upto` (from 0, one per stream) before they are folded.
 */
void site_prepare(struct site *s, const uint64_t *upto);

/* Folds the numbers and lets a sender reuse their slots. `visitor` may be NULL. */
void site_fold(struct site *s, const uint64_t *upto, const struct range_visitor *visitor);

/* Counts outcomes for numbers that were never sent, after folding is complete. */
void site_beyond(struct site *s);

/* Describes the set-up before sending, which is sizes, rate and granted modes. */
void site_describe(const struct site *s, struct result *res);

/*
 * Fills in sums, stages and causes from the folded numbers. Also keeps what the tracer missed so
 * far: if another site is on the same kernel, the tracer sees the packets that the kernel frees
 * with that site's sockets, once the ledger is closed there.
 */
void site_ledger(struct site *s, uint64_t in_queues, struct result *res);

/* Adds the results from the site's ends and its tracer, which must be stopped. */
void site_end(struct site *s, struct result *res);

/*
 * Compares the kernel's counters with the observed packets (the counter check). Adds to the
 * counters in `res`, which is closed with only this site's causes, and resolves losses that have no
 * event by counter. Returns -errno with `err`.
 */
int site_check(struct site *s, struct result *res, struct error *err);

/* Reads a receiving site's settings that findings refer to. */
void site_settings(const struct site *s, struct finding_facts *f);

void site_close(struct site *s);

/*
 * Closes a site after a trial whose ledger is balanced, but leaves an anonymous test network and
 * its observers open if another trial can use them. site_open() closes them if they do not fit.
 */
void site_rest(struct site *s);

/*
 * Resolves as many open numbers for site_check() as the counter shows, if the receiver's interface
 * received only this flow. Such a loss cannot be assigned to one number. Sets the stage's source to
 * `counter`.
 */
void settle_by_counter(const struct countercheck *check, const struct counters *deltas,
		       const struct site *s, struct result *res);

/*
 * Adds a finding for each loss in a result. `remote`: settings of a receiver on another host. NULL:
 * uses this site's settings.
 */
void advise(const struct site *s, const struct finding_facts *remote, struct result *res);

/*
 * Creates stream discovery for a single-ended receiver's open site, with results in `out`, which is
 * zeroed. Release it with free().
 */
struct discovery;
struct discovery *discover_new(struct site *s, const struct experiment_view *view,
			       struct recv_result *out);

/* Returns how many numbers to keep per stream if the outcomes of `streams` streams are reported. */
uint64_t discover_window(unsigned streams);

/*
 * Moves the window, and frees the slots of streams that have ended. Call it often while the
 * receiver is running.
 */
void discover_move(struct discovery *d, uint64_t now_ns);

/* Returns the number of streams seen so far. */
uint64_t discover_streams(const struct discovery *d);

/* Counts the remaining numbers once the receiver has stopped, and completes the results. */
void discover_end(struct discovery *d);

#endif
