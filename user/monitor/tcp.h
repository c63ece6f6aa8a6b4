/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This host's TCP balance (`trace --balance` for TCP). It runs the observer and its ledger
 * (drops/tcp.h) from the start of the collector to its end, and reads the kernel's own counters
 * before and after for comparison.
 */
#ifndef PKTLEDGER_MONITOR_TCP_H
#define PKTLEDGER_MONITOR_TCP_H

#include <net/if.h>

#include "base/num.h"
#include "drops/tcp.h"
#include "monitor/describe.h"
#include "monitor/sources.h"

enum tcp_verdict {
	TCP_NONE_SEEN,
	TCP_THIS_HOST,	 /* lost on this host */
	TCP_BEYOND_HOST, /* lost after leaving this host (downstream) */
	TCP_BOTH,
	TCP_UNKNOWN,
	TCP_VERDICTS,
};
extern const char *const tcp_verdict_names[TCP_VERDICTS];
extern const char *const tcp_kind_names[TCP_KINDS]; /* "fast", "rto" ... */
extern const char *const tcp_why_names[TCP_WHYS];   /* "late", "open" ... */

/* A namespace's counter (for all its sockets), compared with the events in that namespace. */
struct tcp_counter {
	char netns[OWNER_NETNS];
	const char *name;	/* same name as in host/counters.h */
	uint64_t delta, events; /* events: only for counters that are compared */
	/* Segments retransmitted between reading the counter and reading the events, which is the
	 * allowed difference. */
	uint64_t slack;
	bool compared, agrees;
};

/* Segments that were lost, or may have been lost, downstream of an interface. */
struct tcp_beyond {
	char device[IF_NAMESIZE], netns[OWNER_NETNS];
	uint64_t segments;
};

/* A listener that refused connections, with its drop counter and its accept queue at the end. */
struct tcp_refusing {
	char socket[SOCKET_TEXT], netns[OWNER_NETNS], process[32];
	uint64_t lost, waiting, room;
};

/* Connections that this host reset. */
struct tcp_resets {
	char reason[REASON_NAME]; /* "": this kernel does not report it */
	uint64_t connections;
};

#define TCP_FLOWS_SHOWN 32
#define TCP_LISTENERS	16
#define TCP_BEYOND_MAX	16
#define TCP_RESETS	16 /* reasons that are told apart */

struct tcp_shown {
	struct tcp_flow flow;
	char src[FMT_MAX], dst[FMT_MAX]; /* the flow's endpoints */
	char netns[OWNER_NETNS];	 /* the sender's namespace */
	uint64_t undecided;
};

/* The result of the balance. Lists are valid until tcp_account_close(). */
struct tcp_balance {
	struct tcp_sum sum;
	uint64_t window_ns, undecided;
	bool so_far;	  /* filled in by tcp_account_look() */
	uint64_t pending; /* segments that were retransmitted and are still undecided, only if
			   * so_far */
	/* ns from a drop on this host to its retransmission (stall), and until the data arrived
	 * again from a remote sender (received_stall). */
	struct tcp_stall {
		uint64_t p50, p99, max;
	} stall, received_stall;
	bool has_stall, has_received_stall;
	uint64_t fresh;	  /* new segments, which are data_segs_out minus all other kinds */
	uint64_t refused; /* tcp_ledger_refused() */
	uint64_t memory;  /* tcp_observer_bytes() */
	uint64_t received_timed; /* number of sum.received_again with a known recovery time */
	struct tcp_losses own;
	uint64_t missed;      /* tcp_observer_missed() */
	struct list counters; /* struct tcp_counter */
	unsigned disagree;    /* number of counters in the list that disagree */
	unsigned uncompared;  /* number of namespaces with unreadable counters */
	struct tcp_beyond beyond[TCP_BEYOND_MAX];
	unsigned n_beyond;
	struct tcp_refusing listeners[TCP_LISTENERS];
	unsigned n_listeners;
	struct tcp_resets resets[TCP_RESETS];
	unsigned n_resets;
	struct tcp_shown flows[TCP_FLOWS_SHOWN]; /* largest loss first */
	unsigned n_flows;
	uint64_t all_flows;	   /* number of flows, including flows that are not shown */
	const struct trail *trail; /* NULL: no trail is kept */
	uint64_t realtime_ns;	   /* CLOCK_REALTIME at the start of the window */
	uint64_t began_ns;	   /* bpf_ktime_get_ns() at the start of the window */
	bool balanced;
	enum tcp_verdict verdict;
	bool recorded;		      /* read from a document, */
	struct json_object *rests_on; /* with these reasons, borrowed, or NULL */
};

/*
 * Returns the reasons for the verdict, as a list of sentences without full stops that the caller
 * owns.
 */
struct json_object *tcp_balance_rests_on(const struct tcp_balance *b);

/* Computes `balanced` and `verdict` from all other members. */
void tcp_balance_judge(struct tcp_balance *b);

struct tcp_account;

/*
 * Loads the observer and adds it to the collector, which starts it. `expr`: TCP filter, borrowed.
 * `flows`: same as for tcp_ledger_new(). `trail`: keep a trail. STATUS_USAGE: `expr` matches
 * Ethernet addresses. STATUS_UNABLE: not possible with this kernel or these capabilities.
 */
int tcp_account_open(struct tcp_account **a, const char *expr, unsigned flows, bool trail,
		     struct live *l, struct error *err);
void tcp_account_tick(struct tcp_account *a); /* call several times per second */

/*
 * Reports the outcome so far for segments that were retransmitted at least TCP_LOOK_NS ago, as
 * tcp_ledger_look() does. By then, any drop event and acknowledgment have arrived. Fills in only
 * the sums, the flows and the missed events. Returns 0 or -errno, -EALREADY after
 * tcp_account_end().
 */
#define TCP_LOOK_NS 5000000000ULL
int tcp_account_look(struct tcp_account *a, struct tcp_balance *b);

/* Takes the last readings. Call this once. */
int tcp_account_end(struct tcp_account *a, struct error *err);

/* Fills `b`. Call this after tcp_account_end(). `s`: the collector's, which know the listeners. */
void tcp_account_balance(struct tcp_account *a, const struct sources *s, struct tcp_balance *b);
void tcp_account_close(struct tcp_account *a); /* NULL is allowed */

#endif
