/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A collector at work, with its sources: starts it, ends each interval in time, and the whole when
 * it is over, when a signal comes, or with the command; and what is shown at the end.
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
 * The balance of a UDP flow on this host (`trace --balance`): checkpoints beside the collector of
 * drops, attached when it starts, and the arithmetic and verdict over what they saw of the flow.
 *
 *	arrived = delivered + dropped + suspected + in_flight + unaccounted
 *
 * All terms are counted by the probes (include/balance_abi.h), between two moments at which they
 * and the queues are read at once. `arrived` are the packets that came to stay: those that entered,
 * without those that left again or were discarded as expected, and those that were dropped before
 * they entered or on their way out, counted where they were dropped. The rows of the collector name
 * what was lost; it begins and ends at these moments as exactly as it can.
 */

enum flow_verdict {
	FLOW_NONE_SEEN, /* nothing of the flow was lost as far as can be seen from here */
	FLOW_THIS_HOST, /* lost on this host */
	FLOW_BEFORE,	/* missing already where it entered */
	FLOW_BOTH,	/* one as the other */
	FLOW_UNKNOWN,
	FLOW_VERDICTS,
};
extern const char *const flow_verdict_names[FLOW_VERDICTS];

/* What was lost most, of the rows of scope `flow`. Strings are borrowed; "" unknown. */
struct flow_culprit {
	const char *stage, *socket, *process;
	uint64_t packets;
};

#define FLOW_TRANSLATIONS 8

/* What the balance is made of. */
struct flow_facts {
	struct balance_moment begin, end;
	/* Packets of rows of scope `flow`: losses and suspected ones, and what nobody misses. */
	uint64_t in_rows, benign;
	struct flow_culprit culprit;
	struct trace_cost cost;	     /* of the checkpoints, */
	uint64_t measured_ns;	     /* for so long */
	uint64_t missed;	     /* events that the checkpoints did not see, meanwhile */
	uint64_t lost_by_interfaces; /* losses that only interfaces' counters show, of any flow */
	struct nat_translation nat[FLOW_TRANSLATIONS]; /* the largest */
	unsigned n_nat;
	unsigned nat_unseen; /* namespaces with NAT that cannot be followed */
	bool numbered;	     /* --seq */
	struct balance_streams streams;
};

/* What makes the balance uncertain, each with a number; in the order in which it is shown. */
enum flow_doubt {
	DOUBT_RESIDUAL, /* unaccounted is not 0 */
	DOUBT_SUSPECT,	/* drops that may be losses */
	DOUBT_UNDECIDED,
	DOUBT_UNSIZED,
	DOUBT_ELSEWHERE,
	DOUBT_MOVED,
	DOUBT_UNJUDGED,
	DOUBT_FILTER,
	DOUBT_MISSED,
	DOUBT_NAT,
	DOUBT_BALANCE, /* those above are about the balance, those below about --seq */
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
	int64_t in_flight;    /* growth of sockets' queues; less than 0: they were longer before */
	int64_t unaccounted;  /* less than 0: more ended than was seen coming */
	uint64_t left;	      /* entered this host, and left it by another device */
	uint64_t sent;	      /* given to a device that leads elsewhere, by sockets here */
	uint64_t before;      /* datagrams dropped here because their other fragments never came */
	uint64_t lost_before; /* those, and numbers missing where the flow enters (--seq) */
	uint64_t doubt[DOUBTS];
	bool balanced;	   /* nothing unaccounted, and no doubt about it */
	bool has_culprit;  /* facts.culprit names a stage */
	bool before_known; /* lost_before is, by --seq or fragments */
	enum flow_verdict verdict;
};

void flow_balance_close(struct flow_balance *b, const struct flow_facts *facts);

/* What the verdict rests on: a list of sentences without full stops; the caller's. */
struct json_object *flow_balance_rests_on(const struct flow_balance *b);

struct flow_account;

struct flow_account_spec {
	const char *expr; /* of flow_expressions(); borrowed */
	struct balance_numbering numbering;
	uint64_t settle_ns;
	bool consumed; /* as live_spec's */
	bool alone;    /* the rows of the collector are of this flow only */
};

/*
 * EXPR, of UDP and of TCP, which balance in other units; "": it matches none of these.
 * STATUS_USAGE: it is no expression, or it matches neither.
 */
#define FLOW_EXPRESSION 4096
struct flow_expressions {
	char udp[FLOW_EXPRESSION], tcp[FLOW_EXPRESSION];
};
int flow_expressions(struct flow_expressions *e, const char *expr, struct error *err);

/*
 * Loads, and adds it to the collector, with which it begins. STATUS_UNABLE: kernel or capability,
 * or functions of the kernel are not known.
 */
int flow_account_open(struct flow_account **a, const struct flow_account_spec *spec, struct live *l,
		      struct error *err);

/* Chooses the moment at which the balance ends; waits up to settle_ns for it. */
int flow_account_end(struct flow_account *a, struct error *err);

/* After flow_account_end(). Texts of the culprit live as long as `l` and its next interval. */
void flow_account_balance(const struct flow_account *a, const struct live *l,
			  struct flow_balance *b);

/* NULL is allowed. */
void flow_account_close(struct flow_account *a);

/*
 * More about why packets were lost, for the findings: what the reader of a full socket did, and
 * which rules of a firewall dropped. Watches what the collector finds, as one of its sources, whose
 * start takes first samples; it adds no rows. The
 * owners of `spec` are borrowed. What is not there (nftables, /proc) is no error: then there is less to
 * say.
 */
struct why;
struct sources; /* monitor/sources.h */
struct why *why_new(const struct live_spec *spec, struct live *l);
void why_tick(struct why *w);  /* to be called some times a second, after live_tick() */
void why_close(struct why *w); /* NULL is allowed */

/* Of the caller: the first part, the rest is 0. All are called with `arg`; NULL: not asked. */
struct session {
	struct live_spec spec;			      /* its owners are opened by session_run() */
	uint64_t interval_ns, duration_ns;	      /* duration 0: no limit */
	char *const *command;			      /* NULL: none */
	bool stdout_to_stderr;			      /* of the command */
	bool with_why, counters;		      /* `why` is wanted; all counters are */
	int (*on_open)(void *arg, struct error *err); /* sources may be added */
	void (*on_start)(void *arg);		      /* drops are counted */
	bool (*on_tick)(void *arg);		      /* some times a second; false: stop */
	bool (*on_interval)(void *arg);		      /* one has ended; false: stop */
	bool (*on_input)(void *arg); /* input_fd has something, or a signal came; false: stop */
	int input_fd;
	int (*on_over)(void *arg, struct error *err); /* before the last one ends */
	void *arg;

	struct live *live;
	struct sources *sources;
	struct why *why;
	struct child child;
	bool started, interrupted; /* interrupted: by a signal */

	int signal_fd; /* private, as what follows */
	sigset_t signals;
	bool command_ended, left; /* left: on_input() or on_tick() said so */
};

/*
 * Runs to the end. SIGINT, SIGTERM and SIGHUP end it with all that was counted shown; a second one
 * kills. A command gets them first, and its end is waited for. session_end() in any case.
 */
int session_run(struct session *s, struct error *err);
void session_end(struct session *s);

#define TCP_FINDINGS 2 /* of a balance of TCP, of no stage */

/* What is shown at the end: the sum of all intervals, what it means, what it cost. Plain data. */
struct live_summary {
	uint64_t duration_ns;
	const struct live_table *total; /* lives as long as the collector */
	struct live_own own;
	struct burst_report bursts;		 /* window_ns 0: they were not asked for */
	/* Several of a stage with several causes; room for those of a balance of TCP. */
	struct finding finding[STAGE_COUNT + 16 + TCP_FINDINGS];
	unsigned n_findings;
	/* Set by the caller: */
	bool interrupted;		 /* by a signal */
	const struct flow_balance *flow; /* NULL: none was asked for, or of TCP */
	const struct tcp_balance *tcp;	 /* NULL: none was asked for, or of UDP */
};

/*
 * `why`: more about the losses; NULL: that is not known. `of`: rows of live_total() that it is to
 * be of; NULL: all. It may take a second.
 */
void live_summarise(const struct live *l, struct why *why, const struct live_table *of,
		    struct live_summary *out);

/* Adds what its balance of TCP shows, in place of what is said of the same stage without it. */
void live_advise_tcp(const struct live *l, struct why *why, struct live_summary *s);

/* --limit of a collector that goes on: when one is crossed. */
struct limits {
	struct {
		struct limit limit;
		double measured; /* when it was asked last: packets in all, or packets/s */
		bool above;	 /* it was broken then */
	} at[OPT_LIST_MAX];
	unsigned n;
	bool broken; /* any of them was */
};

/* STATUS_USAGE: a share, because nobody knows what was sent. */
int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err);

/* Whether limit `i` is broken since this interval. Per second: in it; packets: since the start. */
bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns);

#endif
