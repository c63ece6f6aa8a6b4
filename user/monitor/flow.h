/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The balance of a UDP flow on this host (`trace --balance`): checkpoints beside the collector of
 * drops, attached when it starts, and the arithmetic and verdict over what they saw of the flow.
 *
 *	arrived = delivered + dropped + suspected + in_flight + unaccounted
 *
 * `arrived` is what came to stay: what entered and left again is not in it, what was dropped before
 * it entered or on its way out is (include/balance_abi.h). The checkpoints count it, where packets
 * enter and where they are dropped without having entered; `dropped` are the rows of the collector,
 * which has a program of its own. So what only one of them saw is unaccounted for, and printed as
 * it is.
 */
#ifndef PKTLEDGER_MONITOR_FLOW_H
#define PKTLEDGER_MONITOR_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drops/balance.h"
#include "monitor/live.h"

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

/* What the balance is made of. */
struct flow_facts {
	struct balance_moment begin, end;
	/* Packets of rows of scope `flow`: losses, and what may be one. */
	uint64_t dropped, suspected;
	/*
	 * balance_dropped() just before and after the collector began to count these rows, and
	 * when it stopped: not the moments of the balance, and not one moment.
	 */
	uint64_t rows_from[2], rows_to[2];
	struct flow_culprit culprit;
	struct balance_cost cost;
	uint64_t missed;	     /* recursion_misses of the checkpoints, meanwhile */
	uint64_t lost_by_interfaces; /* losses that only interfaces' counters show, of any flow */
	bool numbered;		     /* --seq */
	struct balance_streams streams;
};

/* What makes the balance uncertain, each with a number; in the order in which it is shown. */
enum flow_doubt {
	DOUBT_RESIDUAL, /* unaccounted is not 0 */
	DOUBT_SUSPECT,	/* drops that may be losses */
	DOUBT_AMBIGUOUS,
	DOUBT_UNPLACED,
	DOUBT_UNSIZED,
	DOUBT_ELSEWHERE,
	DOUBT_MOVED,
	DOUBT_UNJUDGED,
	DOUBT_FILTER,
	DOUBT_MISSED,
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
	uint64_t before;      /* datagrams dropped here because their other fragments never came */
	uint64_t lost_before; /* those, and numbers missing where the flow enters (--seq) */
	uint64_t doubt[DOUBTS];
	bool balanced;	   /* nothing unaccounted, and no doubt about it */
	bool has_culprit;  /* facts.culprit names a stage */
	bool before_known; /* lost_before is, by --seq or fragments */
	enum flow_verdict verdict;
};

#define FLOW_SENTENCE 400 /* bytes that hold any sentence below */

void flow_balance_close(struct flow_balance *b, const struct flow_facts *facts);

/*
 * What the verdict rests on, a sentence a call, without full stop: the i-th to `buf`. -ENOENT:
 * there are no more.
 */
int flow_balance_rests_on(const struct flow_balance *b, unsigned i, char *buf, size_t size);

struct flow_account;

struct flow_account_spec {
	const char *expr; /* of flow_expression(); borrowed */
	struct balance_numbering numbering;
	uint64_t settle_ns;
	bool consumed; /* as live_spec's */
};

/*
 * What checkpoints and collector have to filter by: EXPR, of UDP. STATUS_USAGE: it is no
 * expression, or matches no UDP.
 */
#define FLOW_EXPRESSION 4096
int flow_expression(const char *expr, char buf[FLOW_EXPRESSION], struct error *err);

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

#endif
