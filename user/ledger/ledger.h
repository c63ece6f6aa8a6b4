/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closes the ledger: builds a struct result from outcomes, causes, counters and what both ends
 * know. Pure: reads nothing from the host. Never assigns a packet to a stage just to make the sum
 * balance.
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

/* A cause with names instead of numbers. */
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
	uint8_t ignored[TRACE_CAUSES]; /* by index: the cause does not end a packet */
	struct outcome_tally tally;
};

/* Names the causes read so far. Call again when new causes appear. */
void ledger_name(struct ledger *l, const struct drops_cause *raw, int n, const struct reasons *r,
		 const struct ksyms *k, const struct ledger_place *places, unsigned n_places);

/* Adds a cause found elsewhere, or replaces the cause with the same index. */
void ledger_add(struct ledger *l, const struct ledger_cause *cause);

/* Returns the cause with this index, or NULL. */
const struct ledger_cause *ledger_cause(const struct ledger *l, uint8_t index);

/* Adds the counted packets to each stage. */
void ledger_stages(const struct ledger *l, struct trace_count stage[STAGE_COUNT]);

/*
 * Returns true if the cause ended packets or copies of packets. Finding a packet in a socket queue
 * is not an event. Its end raises events later, when the socket is closed.
 */
bool ledger_is_event(const struct ledger_cause *c);

/*
 * Fills in sums, stages and causes. `in_queues`: number of packets found in known queues when the
 * ledger was closed; that many of the open numbers count as in flight. `l3_bytes`: per packet; 0:
 * take them from the outcomes.
 */
void ledger_close(const struct ledger *l, uint64_t in_queues, uint16_t stream0, unsigned l3_bytes,
		  struct result *res);

/*
 * The counter check compares traced losses with the kernel's counters. It does not correct the
 * ledger or the counters. For each counter that should record a loss, it reports the measured and
 * the expected movement and whether the two agree. It also reports counters that moved without a
 * traced loss.
 */

/* The two ends of a link. A loss at one end may be counted at the other. */
struct engine_link {
	struct link_end {
		const char *role, *ifname;
	} end[2];
};

enum engine_known { ENGINE_UNKNOWN, ENGINE_NO, ENGINE_YES };

/* Facts that the engines and the test network know. Zero-initialised means unknown. */
struct engine_facts {
	int family;	   /* AF_INET, AF_INET6: which SNMP names to read; AF_UNSPEC: both */
	bool private_ns;   /* the namespaces are ours and carry this flow only */
	bool any_traffic;  /* the causes cover all traffic, not just our flow */
	bool tx_socket;	   /* sent by UDP sockets, so send() returns the errors of its packets */
	bool xsk_zerocopy; /* fill-empty counts failed allocations, not packets */
	enum engine_known rx_in_sender; /* veth without NAPI: netif_rx() of the receiving namespace
					 * runs inside send(), which returns its failure */
	enum engine_known xdp_native;	/* XDP runs in the driver; generic XDP has no counters */
	const char *tx_qdisc; /* kind of the sender's root qdisc; NULL or "noqueue": no qdisc */
	uint64_t eagain;      /* send calls that returned EAGAIN, whether they waited or were
			       * refused: each counts as SndbufErrors and OutDiscards */
	uint64_t short_calls; /* truncated sendmmsg() calls whose error the kernel kept */
	uint64_t refused;     /* calls refused with another error */
	uint64_t xdp_sink;    /* frames that our XDP program ended with XDP_DROP */
	const struct engine_link *links;
	size_t n_links;
};

enum counter_scope {
	COUNTER_FLOW,	   /* counts only this flow */
	COUNTER_INTERFACE, /* counts all traffic on the interface */
	COUNTER_HOST,	   /* counts all traffic on the host, or in a namespace that is not ours */
};

extern const char *const counter_scope_names[COUNTER_HOST + 1]; /* "flow", "interface", "host" */

struct countercheck {
	struct result_counter *rows; /* sorted by stage */
	size_t n_rows;
	/*
	 * Loss counters that moved by more than expected_max. They are evidence, never an outcome.
	 * `stage` is the only stage that the counter covers, or STAGE_NONE. With scope "host" the
	 * movement may be other traffic.
	 */
	struct result_counter *unexplained;
	size_t n_unexplained;
};

/*
 * Compares counters with the traced losses. These include copies of a packet but not events that
 * end no packet (GSO parents, fraglist members). A counter that covers several stages gets a row in
 * each of them, and agrees if it moved by the sum of all. A counter that also counts other traffic
 * (scope interface, or host outside private namespaces; host always) agrees if it moved by at least
 * that much. A counter that was not read gets no row, because a missing counter does not mean zero.
 */
void countercheck_compare(const struct counters *deltas, const struct ledger_cause *cause, size_t n,
			  const struct engine_facts *facts, struct countercheck *out);

/* Returns true if the counter is not an interface counter and is, or may be, compared. */
bool countercheck_knows(const char *name);

/* Sets how the sender's refused packets affect counters. */
void countercheck_refusals(const struct result *res, struct engine_facts *facts);

/* Adds the counters of stages that lost packets, and every disagreement. */
void countercheck_show(const struct countercheck *check, struct result *res);

enum counter_sum {
	SUM_REPLIES,	 /* ICMP errors that the sender received, role "tx" */
	SUM_REASSEMBLED, /* datagrams that the receiver reassembled: ReasmOKs in RFC 4293 */
	SUM_TIMED_OUT,	 /* datagrams whose fragments were freed because others arrived late */
};

/* Returns the sum of counters that show something other than losses. */
uint64_t countercheck_sum(const struct counters *deltas, enum counter_sum which);

void countercheck_free(struct countercheck *b);

/* The table in countercheck_data.c: which losses move which counter. */

/* Where a loss must have happened for this counter to record it. */
enum counter_relation {
	REL_ANY,  /* anywhere */
	REL_ROLE, /* in the counter's namespace */
	REL_TX,	  /* in the sender's namespace */
	REL_DEV,  /* at the counter's interface */
	REL_PEER, /* at the other end of its link */
	REL_LINK, /* at the counter's interface or the other end of its link */
	/*
	 * At the sender's interface or the other end of its link, inside send(). Before v6.6
	 * (151e887d8ff9, also in later stable kernels) veth hides the loss from send(), as with
	 * QUIRK.
	 */
	REL_SENT,
};

/* How certain it is that the loss moves the counter. */
enum counter_force {
	MUST,
	MAY,
	NATIVE,	  /* if XDP runs in the driver */
	INLINE,	  /* if the receiving side's netif_rx() ran inside send() */
	TAIL,	  /* only if the sender's qdisc refuses the new packet, not a queued one */
	DIRECT,	  /* only if there is no qdisc between send() and the interface */
	QUIRK,	  /* like MUST, but newer kernels do not count it: a documented disagreement */
	SEGMENTS, /* like MUST, but once per segment instead of once per skb */
};

struct counter_member {
	enum stage stage;     /* STAGE_NONE marks the end of the set */
	const char *reason;   /* NULL: any; a|b: one of these; !a|b: anything else */
	const char *location; /* NULL: any; a|b: one of these; !a|b: anything else */
	enum counter_relation relation;
	enum counter_force force;
};

enum counter_flag {
	COUNTER_TX_SOCKET = 1, /* moved only by sockets: nothing is expected from other senders */
	COUNTER_EAGAIN = 2,    /* each EAGAIN also moves it, without a packet */
	COUNTER_SINK = 4,      /* packets that our XDP sink ends also move it */
	COUNTER_COPY_MODE = 8, /* meaningless with zero-copy AF_XDP */
	COUNTER_OTHERS = 16,   /* counts protocols other than UDP: not for our flows */
	COUNTER_SUM = 32,      /* repeats counts from other counters of its stages, listed above */
};

struct counter_rule {
	/*
	 * Names for IPv4 and IPv6, or for both if name6 is NULL. '@' stands for the interface and
	 * '*' for any characters (all matches are added). With a|b the first name that exists is
	 * used.
	 */
	const char *name4, *name6;
	const char *role; /* "tx", "rx" (also in "host": one namespace), "host"; NULL: any */
	enum counter_scope scope;
	unsigned flags;
	const char *note;
	const char *quirk; /* note about a documented disagreement; NULL: none */
	const struct counter_member *set;
};

extern const struct counter_rule counter_rules[];
extern const unsigned counter_rules_n;

#endif
