/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a collector with its sources. Starts the collector, ends each interval on time, and ends the
 * session after the duration, after a signal or with the command. Also makes the summary shown at
 * the end.
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
#include "monitor/sources.h"
#include "monitor/tcp.h"

/*
 * This host's UDP flow balance (`trace --balance`). It consists of probes, which are attached when
 * the drop collector starts, and of the arithmetic and verdict on the flow's probe counts.
 *
 *	arrived = delivered + dropped + suspected + in_flight + unaccounted
 *
 * The probes count all terms (include/balance_abi.h) between two moments at which probes and queues
 * are read together. `arrived` counts packets that entered this host, except packets that left it
 * again or were discarded as expected, plus packets dropped before entering or on their way out,
 * which are counted at the drop. The collector's rows name the losses. The collector starts and
 * ends as close to these two moments as possible.
 */

enum flow_verdict {
	FLOW_NONE_SEEN, /* no loss in the flow is visible from this host */
	FLOW_THIS_HOST, /* lost on this host */
	FLOW_BEFORE,	/* packets were already missing on arrival */
	FLOW_BOTH,	/* lost on this host and before reaching it */
	FLOW_UNKNOWN,
	FLOW_VERDICTS,
};
extern const char *const flow_verdict_names[FLOW_VERDICTS];

/* The largest loss among the rows with scope `flow`. Strings are borrowed, "" if unknown. */
struct flow_culprit {
	const char *stage, *socket, *process;
	uint64_t packets;
};

#define FLOW_TRANSLATIONS 8

/* The balance's input data. */
struct flow_facts {
	struct balance_moment begin, end;
	/* Packets in rows with scope `flow`: losses and suspected losses, then expected drops. */
	uint64_t in_rows, benign;
	struct flow_culprit culprit;
	uint64_t missed;	     /* events that the probes missed during the balance */
	uint64_t lost_by_interfaces; /* losses in any flow that only interface counters show */
	struct nat_translation nat[FLOW_TRANSLATIONS]; /* the most frequent translations */
	unsigned n_nat;
	unsigned nat_unseen; /* namespaces with NAT that cannot be tracked */
	bool numbered;	     /* --seq */
	struct balance_streams streams;
};

/* Reasons to doubt the balance, each with a number, in display order. */
enum flow_doubt {
	DOUBT_RESIDUAL, /* unaccounted is not zero */
	DOUBT_SUSPECT,	/* suspected drops */
	DOUBT_UNDECIDED,
	DOUBT_UNSIZED,
	DOUBT_ELSEWHERE,
	DOUBT_MOVED,
	DOUBT_UNJUDGED,
	DOUBT_FILTER,
	DOUBT_MISSED,
	DOUBT_NAT,
	DOUBT_BALANCE, /* values before this concern the balance, later values --seq */
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
	int64_t in_flight;    /* growth of the socket queues, negative if they shrank */
	int64_t unaccounted;  /* negative if more packets ended than arrived */
	uint64_t left;	      /* entered this host and left it on another interface */
	uint64_t sent;	      /* queued by local sockets on an interface that leads out of this
			       * host */
	uint64_t before;      /* datagrams dropped here because their other fragments never
			       * arrived */
	uint64_t lost_before; /* `before` plus sequence numbers missing on arrival (--seq) */
	uint64_t doubt[DOUBTS];
	bool balanced;	   /* nothing is unaccounted and there is no doubt */
	bool has_culprit;  /* facts.culprit names a stage */
	bool before_known; /* lost_before is known, either from --seq or from fragments */
	enum flow_verdict verdict;
	bool recorded;		      /* read from a document, */
	struct json_object *rests_on; /* with these reasons, borrowed, or NULL */
};

void flow_balance_close(struct flow_balance *b, const struct flow_facts *facts);

/*
 * Returns the reasons for the verdict, as a list of sentences without full stops that the caller
 * owns.
 */
struct json_object *flow_balance_rests_on(const struct flow_balance *b);

struct flow_account;

struct flow_account_spec {
	const char *expr; /* from flow_expressions(), borrowed */
	struct balance_numbering numbering;
	uint64_t settle_ns;
	bool consumed; /* same meaning as in live_spec */
	bool alone;    /* the collector's rows contain only this flow */
};

/*
 * Splits EXPR into a UDP and a TCP expression, because their balances have different units. "":
 * EXPR cannot match this protocol. STATUS_USAGE: the expression is invalid or matches neither
 * protocol.
 */
#define FLOW_EXPRESSION 4096
struct flow_expressions {
	char udp[FLOW_EXPRESSION], tcp[FLOW_EXPRESSION];
};
int flow_expressions(struct flow_expressions *e, const char *expr, struct error *err);

/*
 * Loads the probes and adds them to the collector, which starts them. STATUS_UNABLE: not possible
 * with this kernel or these capabilities, or kernel functions cannot be named.
 */
int flow_account_open(struct flow_account **a, const struct flow_account_spec *spec, struct live *l,
		      struct error *err);

/* Chooses when the balance ends. Waits up to settle_ns for packets in transit. */
int flow_account_end(struct flow_account *a, struct error *err);

/* Fills the balance. Call this after flow_account_end(). The culprit's strings are valid as long as
 * `l` exists, until its next interval. */
void flow_account_balance(const struct flow_account *a, const struct live *l,
			  struct flow_balance *b);

/* Detaches the probes and frees the account. NULL is allowed. */
void flow_account_close(struct flow_account *a);

/*
 * Explains losses for the findings. It samples the threads that read full sockets and finds the
 * firewall rules that dropped packets. It follows the collector's rows as one of the collector's
 * sources and takes first samples at the start, but adds no rows. The owners in `spec` and the
 * and sources are borrowed. If something is missing (nftables, /proc), that is not an error and
 * only shortens the explanation.
 */
struct why;
struct why *why_new(const struct live_spec *spec, const struct sources *s, struct live *l);
void why_tick(struct why *w);  /* call several times per second, after live_tick() */
void why_close(struct why *w); /* NULL is allowed */

/* The caller fills the first part and sets the rest to zero. All functions are called with `arg`.
 * NULL: not called. */
struct session {
	struct live_spec spec;			      /* session_run() opens its owners */
	struct flow_expressions flow;		      /* filters of the balances */
	unsigned tcp_flows;			      /* of the TCP balance, tcp_account_open() */
	bool tcp_trail;				      /* the same */
	bool tcp_ends;				      /* close it before the last interval ends */
	uint64_t interval_ns, duration_ns;	      /* ns, duration 0: unlimited */
	char *const *command;			      /* NULL: no command */
	bool stdout_to_stderr;			      /* redirect the command's stdout to stderr */
	bool with_why;				      /* explain losses */
	enum sources_counters counters;
	int (*on_open)(void *arg, struct error *err); /* the last opportunity to add sources */
	void (*on_start)(void *arg);		      /* counting of drops has started */
	bool (*on_tick)(void *arg);		      /* several times per second, false: stop */
	bool (*on_interval)(void *arg);		      /* an interval has ended, false: stop */
	bool (*on_input)(void *arg); /* input_fd is readable or a signal arrived, false: stop */
	int input_fd;
	int (*on_over)(void *arg, struct error *err); /* before the last interval ends */
	void *arg;

	struct live *live;
	struct sources *sources;
	struct why *why;
	struct tcp_account *tcp; /* NULL: no TCP balance */
	struct child child;
	bool started, interrupted; /* interrupted: a signal ended the session */

	int signal_fd; /* private, as are all members below */
	sigset_t signals;
	bool command_ended, left; /* left: on_input() or on_tick() returned false */
};

/*
 * Runs until the session ends. SIGINT, SIGTERM and SIGHUP end the session, which still shows its
 * results. A second signal kills the program. If there is a command, it receives the signals first,
 * and the session waits until the command exits. Call session_end() in any case.
 */
int session_run(struct session *s, struct error *err);
void session_end(struct session *s);

#define TCP_FINDINGS 2 /* findings from a TCP balance that have no stage */

/*
 * The summary shown at the end, with the sum of all intervals, findings and overhead. Plain data.
 */
struct live_summary {
	uint64_t duration_ns;
	const struct live_table *total; /* valid as long as the collector exists */
	struct live_own own;
	/*
	 * A stage may have several findings with different causes, and a TCP balance adds more
	 * findings.
	 */
	struct finding finding[STAGE_COUNT + 16 + TCP_FINDINGS];
	unsigned n_findings;
	/* Set by the caller: */
	bool interrupted;		 /* a signal ended the session */
	const struct flow_balance *flow; /* NULL: no UDP balance */
	const struct tcp_balance *tcp;	 /* NULL: no TCP balance */
};

/*
 * Fills the summary. `why`: explanations of losses, or NULL. `of`: a subset of the rows in
 * live_total(), NULL: all rows. May take a second.
 */
void live_summarise(const struct live *l, struct why *why, const struct live_table *of,
		    struct live_summary *out);

/*
 * Closes the session's TCP balance, fills `b`, and adds the balance to the summary with its
 * findings, which replace findings for the same stage. Returns false if the balance is not
 * complete. Does nothing without a TCP balance.
 */
bool session_balance(struct session *s, struct tcp_balance *b, struct live_summary *sum,
		     struct error *err);

/* A continuous collector's --limit, which detects when a limit is crossed. */
struct limits {
	struct {
		struct limit limit;
		double measured; /* value at the last check, either total packets or pps */
		bool above;	 /* exceeded at the last check */
	} at[OPT_LIST_MAX];
	unsigned n;
	bool broken; /* at least one limit was exceeded */
};

/* Initialises the limits. STATUS_USAGE: a percentage, because it is not known how many packets were
 * sent. */
int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err);

/* Returns true if limit `i` was crossed in this interval. Rates apply to the interval, packets
 * count from the start. */
bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns);

#endif
