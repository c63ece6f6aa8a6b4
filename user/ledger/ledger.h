/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closes the ledger: builds a struct result from outcomes, causes, counters and the knowledge of
 * both ends. Pure: nothing is read from the host here. No packet is ever assigned to a stage just
 * to balance the sum.
 */
#ifndef PKTLEDGER_LEDGER_LEDGER_H
#define PKTLEDGER_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drops/outcomes.h"
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

/* Names of namespaces and interfaces, for display and for the counter check. */
struct ledger_place {
	uint32_t netns;
	unsigned ifindex; /* 0: the namespace itself */
	const char *role, *ifname;
};

struct ledger {
	struct ledger_cause cause[TRACE_CAUSES];
	int n;
	uint8_t ignored[TRACE_CAUSES]; /* by index: ends no packet */
	struct outcome_tally tally;
};

/* Names the causes read so far. Repeat when new causes appear. */
void ledger_name(struct ledger *l, const struct drops_cause *raw, int n, const struct reasons *r,
		 const struct ksyms *k, const struct ledger_place *places, unsigned n_places);

/* Adds a cause found elsewhere, or replaces the cause with the same index. */
void ledger_add(struct ledger *l, const struct ledger_cause *cause);

/* Returns the cause with this index, or NULL. */
const struct ledger_cause *ledger_cause(const struct ledger *l, uint8_t index);

/* Adds the counted packets to each stage. */
void ledger_stages(const struct ledger *l, struct trace_count stage[STAGE_COUNT]);

/*
 * Returns true if the cause ended packets, or copies of packets. An observation in a socket's queue
 * is not an event: the events of its end follow when the socket is closed.
 */
bool ledger_is_event(const struct ledger_cause *c);

/*
 * Fills sums, stages and causes. `in_queues`: packets found in known queues when the ledger was
 * closed, which makes as many of the open numbers in flight. `l3_bytes`: per packet; 0: taken from
 * the outcomes.
 */
void ledger_close(const struct ledger *l, uint64_t in_queues, uint16_t stream0, unsigned l3_bytes,
		  struct result *res);

/*
 * The counter check compares traced losses with the kernel's counters. It does not correct the
 * ledger or the counters. For each counter that should record a loss it reports the measured and
 * the expected movement, and whether both agree. It also reports counters that moved without a
 * traced loss.
 */

/* The two ends of a link. A loss at one end can be searched for at the other end. */
struct engine_link {
	struct link_end {
		const char *role, *ifname;
	} end[2];
};

enum engine_known { ENGINE_UNKNOWN, ENGINE_NO, ENGINE_YES };

/* Facts known by the engines and the test network. Zero-initialised means unknown. */
struct engine_facts {
	int family;	   /* AF_INET, AF_INET6: SNMP names to read; AF_UNSPEC: both */
	bool private_ns;   /* the namespaces are ours and carry only this flow */
	bool any_traffic;  /* the causes cover all traffic, not only our flow */
	bool tx_socket;	   /* sent by UDP sockets: send() returns the errors of its packets */
	bool xsk_zerocopy; /* fill-empty counts failed allocations, not packets */
	enum engine_known rx_in_sender; /* veth without NAPI: the receiving namespace's netif_rx()
					 * runs inside send(), which returns its failure */
	enum engine_known xdp_native;	/* XDP runs in the driver; generic XDP has no counters */
	const char *tx_qdisc; /* kind of the sender's root qdisc; NULL or "noqueue": no qdisc */
	uint64_t eagain;      /* send calls that returned EAGAIN, waited for or refused: each
			       * counts as SndbufErrors and OutDiscards */
	uint64_t short_calls; /* truncated sendmmsg() calls, with an error that the kernel kept */
	uint64_t refused;     /* calls refused with another error */
	uint64_t xdp_sink;    /* frames that our XDP program took with XDP_DROP */
	const struct engine_link *links;
	size_t n_links;
};

enum counter_scope {
	COUNTER_FLOW,	   /* counts this flow only */
	COUNTER_INTERFACE, /* all traffic of the interface */
	COUNTER_HOST,	   /* all traffic of the host, or of a namespace that is not ours */
};

extern const char *const counter_scope_names[COUNTER_HOST + 1]; /* "flow", "interface", "host" */

struct countercheck {
	struct result_counter *rows; /* ordered by stage */
	size_t n_rows;
	/*
	 * Counters of losses that moved more than expected_max: evidence, never an outcome. `stage`
	 * is the only stage that the counter serves, else STAGE_NONE; scope "host" may be other
	 * traffic.
	 */
	struct result_counter *unexplained;
	size_t n_unexplained;
};

/*
 * Compares counters with the traced losses, including copies of a packet and excluding events that
 * end no packet (GSO parents, fraglist members). A counter that serves several stages gets a row in
 * each of them. It agrees if its movement is the sum over all. Counters that also count other
 * traffic (scope interface, or host outside private namespaces; host always) agree if they moved at
 * least that much. A counter that was not read gets no row: absence is not zero.
 */
void countercheck_compare(const struct counters *deltas, const struct ledger_cause *cause, size_t n,
			  const struct engine_facts *facts, struct countercheck *out);

/* Returns true if the counter, which does not belong to an interface, is or may be compared. */
bool countercheck_knows(const char *name);

/* Sets the effect of the sender's refused packets on counters. */
void countercheck_refusals(const struct result *res, struct engine_facts *facts);

/* Adds the counters of stages that lost packets, and all disagreements. */
void countercheck_show(const struct countercheck *check, struct result *res);

enum counter_sum {
	SUM_REPLIES,	 /* ICMP errors that the sender received, role "tx" */
	SUM_REASSEMBLED, /* datagrams that the receiver reassembled: ReasmOKs of RFC 4293 */
	SUM_TIMED_OUT,	 /* datagrams with fragments freed because others were late */
};

/* Returns the sum of counters that show something other than a loss. */
uint64_t countercheck_sum(const struct counters *deltas, enum counter_sum which);

void countercheck_free(struct countercheck *b);

/* The table of countercheck_data.c: which counter is moved by which losses. */

/* Required place of the loss for this counter to record it. */
enum counter_relation {
	REL_ANY,  /* anywhere */
	REL_ROLE, /* in the counter's namespace */
	REL_TX,	  /* in the sender's namespace */
	REL_DEV,  /* at the counter's interface */
	REL_PEER, /* at the other end of its link */
	REL_LINK, /* at the counter's interface or the other end of its link */
	/*
	 * At the sender's interface or the other end of its link, inside send(). veth hides the
	 * loss from send() before v6.6 (151e887d8ff9, in later stable kernels): as QUIRK.
	 */
	REL_SENT,
};

/* How surely the loss moves the counter. */
enum counter_force {
	MUST,
	MAY,
	NATIVE,	  /* if XDP runs in the driver */
	INLINE,	  /* if the receiving side's netif_rx() ran inside send() */
	TAIL,	  /* TAIL, if the sender's qdisc refuses the new packet, not a queued one */
	DIRECT,	  /* if no qdisc is between send() and the interface */
	QUIRK,	  /* MUST, but newer kernels do not count it: a documented disagreement */
	SEGMENTS, /* MUST, once per segment, not per skb */
};

struct counter_member {
	enum stage stage;     /* STAGE_NONE ends the set */
	const char *reason;   /* NULL: any; a|b: one of; !a|b: all others */
	const char *location; /* NULL: any; a|b: one of; !a|b: all others */
	enum counter_relation relation;
	enum counter_force force;
};

enum counter_flag {
	COUNTER_TX_SOCKET = 1, /* moved by sockets only: other senders expect nothing */
	COUNTER_EAGAIN = 2,    /* each EAGAIN also moves it, without a packet */
	COUNTER_SINK = 4,      /* packets taken by our XDP sink also move it */
	COUNTER_COPY_MODE = 8, /* meaningless with zero-copy AF_XDP */
	COUNTER_OTHERS = 16,   /* counts other protocols than UDP: not for our flows */
	COUNTER_SUM = 32,      /* repeats the counts of counters of its stages above */
};

struct counter_rule {
	/*
	 * Names for IPv4 and IPv6, or for both if name6 is NULL. '@' is the interface, '*' any
	 * characters (all matches are added), a|b the first that exists.
	 */
	const char *name4, *name6;
	const char *role; /* "tx", "rx" (also in "host": one namespace); "host"; NULL: any */
	enum counter_scope scope;
	unsigned flags;
	const char *note;
	const char *quirk; /* note of a documented disagreement; NULL: no quirk */
	const struct counter_member *set;
};

extern const struct counter_rule counter_rules[];
extern const unsigned counter_rules_n;

/* Reason why some losses of a stage have no counter; NULL: all losses have a counter. */
extern const char *const counter_silents[STAGE_COUNT];

#endif
