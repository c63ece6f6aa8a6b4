/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A running collector with its sources: starts it, ends each interval in time, and ends the whole
 * at the duration, at a signal or with the command. Also the summary shown at the end.
 */
#ifndef PKTLEDGER_MONITOR_SESSION_H
#define PKTLEDGER_MONITOR_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/child.h"
#include "base/num.h"
#include "base/opt.h"
#include "diagnosis/findings.h"
#include "drops/balance.h"
#include "monitor/live.h"
#include "monitor/tcp.h"

/*
 * UDP flow balance of this host (`trace --balance`): probes in addition to the drop collector,
 * attached at its start, and the arithmetic and verdict over the probe counts of the flow.
 *
 *	arrived = delivered + dropped + suspected + in_flight + unaccounted
 *
 * All terms are counted by the probes (include/balance_abi.h) between two moments at which probes
 * and queues are read at once. `arrived` counts packets that entered this host, without packets
 * that left it again or were discarded as expected, plus packets dropped before entering or on
 * their way out, counted at the drop. The rows of the collector name the losses. The collector
 * starts and ends as close to these two moments as possible.
 */

enum flow_verdict {
	FLOW_NONE_SEEN, /* no loss of the flow visible from this host */
	FLOW_THIS_HOST, /* lost on this host */
	FLOW_BEFORE,	/* already missing on arrival */
	FLOW_BOTH,	/* lost on this host and before */
	FLOW_UNKNOWN,
	FLOW_VERDICTS,
};
extern const char *const flow_verdict_names[FLOW_VERDICTS];

/* The largest loss among the rows of scope `flow`. Strings are borrowed, "" if unknown. */
struct flow_culprit {
	const char *stage, *socket, *process;
	uint64_t packets;
};

#define FLOW_TRANSLATIONS 8

/* Inputs of the balance. */
struct flow_facts {
	struct balance_moment begin, end;
	/* Packets of rows of scope `flow`: losses and suspected losses, and expected drops. */
	uint64_t in_rows, benign;
	struct flow_culprit culprit;
	uint64_t missed;	     /* events missed by the probes during the balance */
	uint64_t lost_by_interfaces; /* losses of any flow that only interface counters show */
	struct nat_translation nat[FLOW_TRANSLATIONS]; /* the most frequent translations */
	unsigned n_nat;
	unsigned nat_unseen; /* namespaces with NAT that cannot be tracked */
	bool numbered;	     /* --seq */
	struct balance_streams streams;
};

/* Reasons for doubt about the balance, each with a number, in the order of display. */
enum flow_doubt {
	DOUBT_RESIDUAL, /* unaccounted is not 0 */
	DOUBT_SUSPECT,	/* suspected drops */
	DOUBT_UNDECIDED,
	DOUBT_UNSIZED,
	DOUBT_ELSEWHERE,
	DOUBT_MOVED,
	DOUBT_UNJUDGED,
	DOUBT_FILTER,
	DOUBT_MISSED,
	DOUBT_NAT,
	DOUBT_BALANCE, /* earlier values concern the balance, later values --seq */
	DOUBT_NUMBERS = DOUBT_BALANCE,
	DOUBT_CROWDED,
	DOUBT_NO_STREAM,
	DOUBT_INTERFACES,
	DOUBTS,
};

struct flow_balance {
	struct flow_facts facts;
	uint64_t window_ns, entered;
	int64_t arrived;
	uint64_t delivered, dropped, suspected;
	int64_t in_flight;    /* growth of socket queues, negative: the queues shrank */
	int64_t unaccounted;  /* negative: more packets ended than arrived */
	uint64_t left;	      /* entered this host and left it through another interface */
	uint64_t sent;	      /* queued by local sockets on an interface that leads elsewhere */
	uint64_t before;      /* datagrams dropped here because their other fragments never
				 arrived */
	uint64_t lost_before; /* `before` plus sequence numbers missing on arrival (--seq) */
	uint64_t doubt[DOUBTS];
	bool balanced;	   /* nothing unaccounted, and no doubt */
	bool has_culprit;  /* facts.culprit names a stage */
	bool before_known; /* lost_before is known, from --seq or fragments */
	enum flow_verdict verdict;
};

void flow_balance_close(struct flow_balance *b, const struct flow_facts *facts);

/* Returns the basis of the verdict: a list of sentences without full stops, owned by the caller. */
struct json_object *flow_balance_rests_on(const struct flow_balance *b);

struct flow_account;

struct flow_account_spec {
	const char *expr; /* from flow_expressions(), borrowed */
	struct balance_numbering numbering;
	uint64_t settle_ns;
	bool consumed; /* as in live_spec */
	bool alone;    /* the collector's rows contain this flow only */
};

/*
 * Splits EXPR into a UDP and a TCP expression, since their balances have different units. "": EXPR
 * cannot match this protocol. STATUS_USAGE: invalid expression, or EXPR matches neither protocol.
 */
#define FLOW_EXPRESSION 4096
struct flow_expressions {
	char udp[FLOW_EXPRESSION], tcp[FLOW_EXPRESSION];
};
int flow_expressions(struct flow_expressions *e, const char *expr, struct error *err);

/*
 * Loads the probes and adds them to the collector, which starts them. STATUS_UNABLE: kernel or
 * capability, or kernel functions cannot be named.
 */
int flow_account_open(struct flow_account **a, const struct flow_account_spec *spec, struct live *l,
		      struct error *err);

/* Chooses the end of the balance. Waits up to settle_ns for packets in transit. */
int flow_account_end(struct flow_account *a, struct error *err);

/* Fills the balance. Call after flow_account_end(). Texts of the culprit are valid as long as `l`
 * and until its next interval. */
void flow_account_balance(const struct flow_account *a, const struct live *l,
			  struct flow_balance *b);

/* Detaches the probes and frees the account. NULL is allowed. */
void flow_account_close(struct flow_account *a);

/*
 * Explains losses for the findings: samples the threads that read full sockets, and finds the
 * firewall rules that dropped packets. Follows the rows of the collector as one of its sources and
 * takes first samples at its start. Adds no rows. The owners of `spec` are borrowed. A missing
 * facility (nftables, /proc) is not an error and only shortens the explanation.
 */
struct why;
struct sources; /* monitor/sources.h */
struct why *why_new(const struct live_spec *spec, struct live *l);
void why_tick(struct why *w);  /* to be called several times per second, after live_tick() */
void why_close(struct why *w); /* NULL is allowed */

/* The caller fills the first part and zeroes the rest. All functions are called with `arg`. NULL:
 * not called. */
struct session {
	struct live_spec spec;			      /* session_run() opens its owners */
	uint64_t interval_ns, duration_ns;	      /* ns, duration 0: no limit */
	char *const *command;			      /* NULL: no command */
	bool stdout_to_stderr;			      /* redirect the command's stdout to stderr */
	bool with_why, counters;		      /* with_why: explain losses, counters: collect
							 all */
	int (*on_open)(void *arg, struct error *err); /* the last moment to add sources */
	void (*on_start)(void *arg);		      /* counting of drops has started */
	bool (*on_tick)(void *arg);		      /* several times per second, false: stop */
	bool (*on_interval)(void *arg);		      /* an interval has ended, false: stop */
	bool (*on_input)(void *arg); /* input_fd is readable, or a signal arrived, false: stop */
	int input_fd;
	int (*on_over)(void *arg, struct error *err); /* before the last interval ends */
	void *arg;

	struct live *live;
	struct sources *sources;
	struct why *why;
	struct child child;
	bool started, interrupted; /* interrupted: by a signal */

	int signal_fd; /* private, like all members below */
	sigset_t signals;
	bool command_ended, left; /* left: on_input() or on_tick() returned false */
};

/*
 * Runs until the end. SIGINT, SIGTERM and SIGHUP end the session, which still shows its results. A
 * second signal kills the program. A command receives the signals first, and the session waits for
 * its end. Call session_end() in any case.
 */
int session_run(struct session *s, struct error *err);
void session_end(struct session *s);

#define TCP_FINDINGS 2 /* findings of a TCP balance without a stage */

/* Summary shown at the end: the sum of all intervals, findings, overhead. Plain data. */
struct live_summary {
	uint64_t duration_ns;
	const struct live_table *total; /* valid as long as the collector */
	struct live_own own;
	/* A stage may have several findings with different causes, and a TCP balance adds more. */
	struct finding finding[STAGE_COUNT + 16 + TCP_FINDINGS];
	unsigned n_findings;
	/* Set by the caller: */
	bool interrupted;		 /* by a signal */
	const struct flow_balance *flow; /* NULL: no UDP balance */
	const struct tcp_balance *tcp;	 /* NULL: no TCP balance */
};

/*
 * Fills the summary. `why`: explanations of losses, or NULL. `of`: subset of the rows of
 * live_total(), NULL: all rows. May take a second.
 */
void live_summarise(const struct live *l, struct why *why, const struct live_table *of,
		    struct live_summary *out);

/* Adds the findings of the TCP balance. They replace findings of the same stage. */
void live_advise_tcp(const struct live *l, struct why *why, struct live_summary *s);

/* --limit of a continuous collector: detects when a limit is crossed. */
struct limits {
	struct {
		struct limit limit;
		double measured; /* value at the last check: total packets, or pps */
		bool above;	 /* exceeded at the last check */
	} at[OPT_LIST_MAX];
	unsigned n;
	bool broken; /* at least one limit was exceeded */
};

/* Initialises the limits. STATUS_USAGE: a percentage, because the number of packets sent is
 * unknown. */
int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err);

/* Returns true if this interval crossed limit `i`. Rates are per interval, packets count from the
 * start. */
bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns);

#endif
