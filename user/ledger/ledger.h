/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closing the ledger: from fates, causes, counters and what both ends know to a struct result.
 * Pure: nothing is read from the host here. Nothing is ever assigned to a stage to make it close.
 */
#ifndef PKTLEDGER_LEDGER_LEDGER_H
#define PKTLEDGER_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drops/fates.h"
#include "host/counters.h"
#include "ledger/result.h"
#include "drops/drops.h"
#include "drops/stagemap.h"

/* A cause with names in place of numbers. */
struct ledger_cause {
	struct drops_cause raw;
	struct verdict verdict;
	struct result_cause named; /* packets, first, last, stream: not set */
};

/* Names of namespaces and interfaces, for people and for the counter check. */
struct ledger_place {
	uint32_t netns;
	unsigned ifindex; /* 0: the namespace itself */
	const char *role, *ifname;
};

struct ledger {
	struct ledger_cause cause[TRACE_CAUSES];
	int n;
	uint8_t ignored[TRACE_CAUSES]; /* by index: ends no packet */
	struct fate_tally tally;
};

/* Names the causes read so far; to be repeated when there are new ones. */
void ledger_name(struct ledger *l, const struct drops_cause *raw, int n, const struct reasons *r,
		 const struct ksyms *k, const struct ledger_place *places, unsigned n_places);

/* Adds one that was found elsewhere, or puts it in the place of the one with its index. */
void ledger_add(struct ledger *l, const struct ledger_cause *cause);

/* The cause of an index; NULL: none. */
const struct ledger_cause *ledger_cause(const struct ledger *l, uint8_t index);

/* Adds what was counted to each stage. */
void ledger_stages(const struct ledger *l, struct trace_count stage[STAGE_COUNT]);

/*
 * Whether it ended packets, or copies of them. What was seen in a socket's queue is no event: the
 * events of its end come when it is closed.
 */
bool ledger_is_event(const struct ledger_cause *c);

/*
 * Fills sums, stages and causes. `in_queues`: packets found in named queues when it closed;
 * as many of the open numbers are in flight. `l3_bytes`: of each packet; 0: as the fates know.
 */
void ledger_close(const struct ledger *l, uint64_t in_queues, uint16_t stream0, unsigned l3_bytes,
		  struct result *res);

/*
 * The counter check: what the tracer saw, against what the kernel's own counters say. Neither
 * corrects the other. For each counter that should know a loss: how much it moved, how much it
 * should have moved, whether that agrees; and what moved although nothing was seen.
 */

/* The two ends of a link, so that a loss at one can be searched for at the other. */
struct engine_link {
	struct link_end {
		const char *role, *ifname;
	} end[2];
};

enum engine_known { ENGINE_UNKNOWN, ENGINE_NO, ENGINE_YES };

/* What the engines and the lab know. Zero-initialised means: unknown. */
struct engine_facts {
	int family;	   /* AF_INET, AF_INET6: which SNMP names to read; AF_UNSPEC: both */
	bool private_ns;   /* the namespaces are ours and carry nothing but this flow */
	bool any_traffic;  /* the causes are of all traffic, not of a flow of ours alone */
	bool tx_socket;	   /* sent by UDP sockets: send() sees what its packets meet */
	bool xsk_zerocopy; /* fill-empty then counts failed allocations, not packets */
	enum engine_known rx_in_sender; /* veth without NAPI: the receiving namespace's netif_rx()
					 * runs inside send(), its failure comes back */
	enum engine_known xdp_native;	/* XDP runs in the driver; generic XDP counts nowhere */
	const char *tx_qdisc; /* kind of the sender's root qdisc; NULL or "noqueue": none */
	uint64_t eagain;      /* send calls that returned EAGAIN, waited for or refused: each
			       * counts as SndbufErrors and OutDiscards */
	uint64_t short_calls; /* sendmmsg calls cut short, whose error the kernel kept */
	uint64_t refused;     /* calls refused with another error */
	uint64_t xdp_sink;    /* frames that our own XDP program took by XDP_DROP */
	const struct engine_link *links;
	size_t n_links;
};

enum counter_scope {
	COUNTER_FLOW,	   /* counts this flow only */
	COUNTER_INTERFACE, /* all traffic of the device */
	COUNTER_HOST,	   /* all traffic of the host, or of a namespace that is not ours */
};

extern const char *const counter_scope_names[COUNTER_HOST + 1]; /* "flow", "interface", "host" */

struct countercheck {
	struct result_counter *rows; /* ordered by stage */
	size_t n_rows;
	/*
	 * Counters of losses that moved more than expected_max: evidence, never a fate. `stage` is
	 * the only one that the counter serves, else STAGE_NONE; scope "host" may be other traffic.
	 */
	struct result_counter *unexplained;
	size_t n_unexplained;
};

/*
 * Compares with the losses as the tracer counted them, copies of a packet included and events that
 * end no packet (GSO parents, fraglist members) left out. A counter that serves several stages
 * gives a row to each of them; it agrees when its movement is the sum over all. Counters that other
 * traffic moves too (scope interface or host outside private namespaces; host always) agree if they
 * moved at least that much. A counter not read gives no row: absence is not a zero.
 */
void countercheck_compare(const struct counters *deltas, const struct ledger_cause *cause, size_t n,
			  const struct engine_facts *facts, struct countercheck *out);

/* Whether the counter, which is no device's, is or may be among those that are compared. */
bool countercheck_knows(const char *name);

/* What the sender's refused packets mean to the counters. */
void countercheck_refusals(const struct result *res, struct engine_facts *facts);

/* Adds what the counters say of stages that lost something, and what disagrees. */
void countercheck_show(const struct countercheck *check, struct result *res);

/*
 * Names, as the table has them, of the counters that know losses of this stage, IPv4's where there
 * are two; those that may know some, if none is certain. How many, at most `max`.
 */
unsigned countercheck_counters(enum stage stage, const char **names, unsigned max);

enum counter_sum {
	SUM_REPLIES,	 /* ICMP errors that came back to the sender, role "tx" */
	SUM_REASSEMBLED, /* datagrams that the receiver made of fragments: ReasmOKs of RFC 4293 */
	SUM_TIMED_OUT,	 /* of which fragments were freed because others did not come in time */
};

/* Counters that show something else than a loss. */
uint64_t countercheck_sum(const struct counters *deltas, enum counter_sum which);

void countercheck_free(struct countercheck *b);

/* The table behind it (countercheck_data.c): which counter is moved by which losses. */

/* Where the loss must have happened for this counter to see it. */
enum counter_relation {
	REL_ANY,  /* anywhere */
	REL_ROLE, /* in the counter's namespace */
	REL_TX,	  /* in the sender's namespace */
	REL_DEV,  /* at the counter's device */
	REL_PEER, /* at the other end of its link */
	REL_LINK, /* at the counter's device or the other end of its link */
	/*
	 * At the sender's device or the other end of its link, inside send(). veth hides the
	 * loss from send() before v6.6 (151e887d8ff9, in later stable kernels): as QUIRK.
	 */
	REL_SENT,
};

/* How surely it does. */
enum counter_force {
	MUST,
	MAY,
	NATIVE,	  /* if XDP runs in the driver */
	INLINE,	  /* if the receiving side's netif_rx() ran inside send() */
	TAIL,	  /* if the sender's qdisc refuses the packet being sent, not one queued before */
	DIRECT,	  /* if no qdisc stands between send() and the device */
	QUIRK,	  /* MUST, but newer kernels forget it: a documented disagreement */
	SEGMENTS, /* MUST, once per segment, not per skb */
};

struct counter_member {
	enum stage stage;     /* STAGE_NONE ends the set */
	const char *reason;   /* NULL: any; a|b: one of; !a|b: none of */
	const char *location; /* NULL: any; a|b: one of; !a|b: none of */
	enum counter_relation relation;
	enum counter_force force;
};

enum counter_flag {
	COUNTER_TX_SOCKET = 1, /* moved by sockets only: with other senders nothing is expected */
	COUNTER_EAGAIN = 2,    /* each EAGAIN moves it too, without a packet */
	COUNTER_SINK = 4,      /* what our XDP sink takes moves it too */
	COUNTER_COPY_MODE = 8, /* meaningless with zero-copy AF_XDP */
	COUNTER_OTHERS = 16,   /* of what is not UDP: says nothing of a flow of ours */
	COUNTER_SUM = 32,      /* counts again what counters of its stages above have counted */
};

struct counter_rule {
	/*
	 * Names for IPv4 and IPv6, or for both where name6 is NULL. '@' is the device, '*' any
	 * characters (all matches are summed), a|b the first that exists.
	 */
	const char *name4, *name6;
	const char *role; /* "tx", "rx" (also found in "host": one namespace); "host"; NULL any */
	enum counter_scope scope;
	unsigned flags;
	const char *note;
	const char *quirk; /* the note of a documented disagreement; NULL: there is none */
	const struct counter_member *set;
};

extern const struct counter_rule counter_rules[];
extern const unsigned counter_rules_n;

/* Why no counter knows some of the losses of a stage; NULL: counters know them all. */
extern const char *const counter_silents[STAGE_COUNT];

#endif
