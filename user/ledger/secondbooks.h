/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The second books: what the tracer saw, against what the kernel's own counters say. Neither
 * corrects the other. For each counter that should know a loss: how much it moved, how much it
 * should have moved, whether that agrees; and what moved although nothing was seen.
 */
#ifndef PKTLEDGER_LEDGER_SECONDBOOKS_H
#define PKTLEDGER_LEDGER_SECONDBOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/counters.h"
#include "stages.h"

/*
 * The losses of one cause as the tracer counted them, copies of a packet included and events that
 * end no packet (STAGE_NONE: GSO parents, fraglist members) left out. Strings are borrowed.
 */
struct stage_events {
	enum stage stage;
	const char *reason;   /* as the kernel's enum names it, without SKB_DROP_REASON_; XDP
			       * observers: the errno's name ("ENOBUFS"); NULL unknown */
	const char *location; /* kernel function, suffixes (.isra.0) off; XDP observers: the
			       * tracepoint ("xdp_redirect_err"); NULL unknown */
	const char *role;     /* namespace in which it ended, as in counters_scope; NULL unknown */
	const char *ifname;   /* what skb->dev said, which for a full veth ring is the peer; NULL */
	uint64_t events;      /* skbs or frames */
	uint64_t packets;     /* datagrams: a GSO skb counts its segments */
};

/* The two ends of a link, so that a loss at one can be looked for at the other. */
struct book_link {
	const char *role_a, *ifname_a;
	const char *role_b, *ifname_b;
};

enum book_known { BOOK_UNKNOWN, BOOK_NO, BOOK_YES };

/* What the engines and the lab know. Zero-initialised means: unknown. */
struct engine_facts {
	int family;	   /* AF_INET, AF_INET6: which SNMP names to look at; AF_UNSPEC: both */
	bool private_ns;   /* the namespaces are ours and carry nothing but this flow */
	bool tx_socket;	   /* sent by UDP sockets: send() sees what its packets meet */
	bool xsk_zerocopy; /* fill-empty then counts failed allocations, not packets */
	enum book_known rx_in_sender; /* veth without NAPI: the receiving namespace's netif_rx()
				       * runs inside send(), its failure comes back */
	enum book_known xdp_native;   /* XDP runs in the driver; generic XDP counts nowhere */
	const char *tx_qdisc;	      /* kind of the sender's root qdisc; NULL or "noqueue": none */
	uint64_t eagain;      /* send calls that returned EAGAIN, waited for or refused: each
			       * counts as SndbufErrors and OutDiscards */
	uint64_t short_calls; /* sendmmsg calls cut short, whose error the kernel kept */
	uint64_t refused;     /* calls refused with another error */
	uint64_t xdp_sink;    /* frames that our own XDP program took by XDP_DROP */
	const struct book_link *links;
	size_t n_links;
};

enum book_scope {
	BOOK_FLOW,	/* counts this flow only */
	BOOK_INTERFACE, /* all traffic of the device */
	BOOK_HOST,	/* all traffic of the host, or of a namespace that is not ours */
};

extern const char *const book_scope_names[BOOK_HOST + 1];
const char *book_scope_name(enum book_scope scope); /* "flow", "interface", "host" */

/* One counter that should know losses of `stage`. */
struct book_row {
	enum stage stage;
	char name[COUNTER_NAME_LEN]; /* a pattern with '*' if several counters were summed */
	char role[COUNTER_SCOPE_LEN];
	uint64_t delta;
	/* What it should have moved, over all stages that it serves. Equal unless some of the
	 * losses may, but need not, be counted there. */
	uint64_t expected, expected_max;
	bool agrees;
	bool documented; /* disagrees, and is known to do so on such kernels: see note */
	bool restarted;	 /* the counter began anew during the run */
	enum book_scope scope;
	const char *note; /* static; NULL: none */
};

/* A counter of losses that moved more than the events explain: evidence, never a fate. */
struct book_unexplained {
	enum stage stage; /* the only stage it serves, else STAGE_NONE */
	char name[COUNTER_NAME_LEN];
	char role[COUNTER_SCOPE_LEN];
	uint64_t delta;
	uint64_t excess;       /* delta - expected_max */
	enum book_scope scope; /* BOOK_HOST: may be other traffic */
	const char *note;
};

struct secondbooks {
	struct book_row *rows; /* ordered by stage */
	size_t n_rows;
	struct book_unexplained *unexplained;
	size_t n_unexplained;
};

/*
 * Compares. A counter that serves several stages gives a row to each of them; it agrees when its
 * movement is the sum over all. Counters that other traffic moves too (scope interface or host
 * outside private namespaces; host always) agree when they moved at least that much. A counter
 * that was not read gives no row: absence is not a zero. -ENOMEM.
 */
int secondbooks_compare(const struct counters_deltas *deltas, const struct stage_events *ev,
			size_t n, const struct engine_facts *facts, struct secondbooks **out);

/* Do all rows of the stage agree, or disagree as documented? True if it has none. */
bool secondbooks_agree(const struct secondbooks *b, enum stage stage);

/*
 * Why no counter of the kernel knows losses of this stage, or some of them; NULL if counters
 * know them all. Static text.
 */
const char *secondbooks_silent(enum stage stage);

/*
 * Names, as the table has them, of the counters that know losses of this stage, IPv4's where there
 * are two; those that may know some, if none knows them for certain. Returns how many, at most
 * `max`.
 */
unsigned secondbooks_counters(enum stage stage, const char **names, unsigned max);

/* ICMP errors that came back to the sender, role "tx". */
uint64_t secondbooks_replies(const struct counters_deltas *deltas);

/* Datagrams that the receiver has put together of fragments: ReasmOKs of RFC 4293. */
uint64_t secondbooks_reassembled(const struct counters_deltas *deltas);

/* Of which fragments were freed because others did not come in time. */
uint64_t secondbooks_timed_out(const struct counters_deltas *deltas);

void secondbooks_free(struct secondbooks *b);

#endif
