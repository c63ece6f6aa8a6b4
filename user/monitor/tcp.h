/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The balance of TCP flows on this host (`trace --balance` of TCP): the observer and its ledger
 * (drops/tcp.h) from the collector's start to its end, with the kernel's own counters before and
 * after beside them.
 */
#ifndef PKTLEDGER_MONITOR_TCP_H
#define PKTLEDGER_MONITOR_TCP_H

#include <net/if.h>

#include "drops/tcp.h"
#include "monitor/describe.h"
#include "monitor/live.h"

enum tcp_verdict {
	TCP_NONE_SEEN,
	TCP_THIS_HOST,	 /* lost on this host */
	TCP_BEYOND_HOST, /* lost behind the device that it left by */
	TCP_BOTH,
	TCP_UNKNOWN,
	TCP_VERDICTS,
};
extern const char *const tcp_verdict_names[TCP_VERDICTS];
extern const char *const tcp_kind_names[TCP_KINDS]; /* "fast", "rto" ... */
extern const char *const tcp_why_names[TCP_WHYS];   /* "late", "open" ... */

/* A counter of a namespace, of all sockets there, and what events showed of it. */
struct tcp_counter {
	char netns[OWNER_NETNS];
	const char *name;	/* as host/counters.h has it */
	uint64_t delta, events; /* events: only if it is compared */
	/* Retransmitted between the readings of counter and events: by so much they may differ. */
	uint64_t slack;
	bool compared, agrees;
};

/* Where segments were lost behind this host, or may have been. */
struct tcp_beyond {
	char device[IF_NAMESIZE], netns[OWNER_NETNS];
	uint64_t segments;
};

/* A listener that refused connections: what its counter says, and its accept queue at the end. */
struct tcp_refusing {
	char socket[SOCKET_TEXT], netns[OWNER_NETNS], process[32];
	uint64_t lost, waiting, room;
	uint64_t inode;
	uint32_t inum;	/* of netns */
	bool half_open; /* its accept queue was not full: too many are half open, or memory is short
			 */
};

#define TCP_FLOWS_SHOWN 32
#define TCP_LISTENERS	16
#define TCP_BEYOND_MAX	16

struct tcp_shown {
	struct tcp_flow flow;
	char netns[OWNER_NETNS]; /* of who sends */
};

/* Lists live as long as the account. */
struct tcp_balance {
	struct tcp_sum sum;
	uint64_t window_ns, undecided;
	bool so_far;	  /* of tcp_account_look() */
	uint64_t pending; /* then: sent again, and not decided yet */
	/* From a drop here to its retransmission; and until it came again, of senders elsewhere. */
	struct tcp_stall {
		uint64_t p50, p99, max;
	} stall, received_stall;
	bool has_stall, has_received_stall;
	uint64_t fresh;	  /* segments that were new: of data_segs_out, what the others leave */
	uint64_t refused; /* tcp_ledger_refused() */
	uint64_t memory;  /* tcp_observer_bytes() */
	uint64_t received_timed; /* of sum.received_again, how long it took is known of so many */
	struct tcp_losses own;
	uint64_t missed;      /* tcp_observer_missed() */
	struct list counters; /* struct tcp_counter */
	unsigned disagree;    /* of those */
	unsigned uncompared;  /* namespaces whose counters could not be read */
	struct tcp_beyond beyond[TCP_BEYOND_MAX];
	unsigned n_beyond;
	struct tcp_refusing listeners[TCP_LISTENERS];
	unsigned n_listeners;
	struct tcp_shown flows[TCP_FLOWS_SHOWN]; /* that lost most first */
	unsigned n_flows;
	uint64_t all_flows;	   /* those that are not shown, too */
	const struct trail *trail; /* NULL: none is kept */
	uint64_t realtime_ns;	   /* CLOCK_REALTIME where the window began, */
	uint64_t began_ns;	   /* and bpf_ktime_get_ns() */
	bool balanced;
	enum tcp_verdict verdict;
};

/* What the verdict rests on: a list of sentences without full stops; the caller's. */
struct json_object *tcp_balance_rests_on(const struct tcp_balance *b);

/* Balanced, and the verdict; from all else. */
void tcp_balance_judge(struct tcp_balance *b);

struct tcp_account;

/*
 * Loads, and adds it to the collector, with which it begins. `expr`: of TCP, borrowed; `flows`:
 * of tcp_ledger_new(); `trail`: one is kept.
 * STATUS_USAGE: it asks for Ethernet addresses; STATUS_UNABLE: kernel or capability.
 */
int tcp_account_open(struct tcp_account **a, const char *expr, unsigned flows, bool trail,
		     struct live *l, struct error *err);
void tcp_account_tick(struct tcp_account *a); /* to be called some times a second */

/*
 * What became so far of what was sent again TCP_LOOK_NS ago and more, as tcp_ledger_look(): by then
 * its drop, if there is one, and an acknowledgment have come. With its flows, and own losses;
 * nothing else is filled. 0 or -errno; -EALREADY: after tcp_account_end().
 */
#define TCP_LOOK_NS 5000000000ULL
int tcp_account_look(struct tcp_account *a, struct tcp_balance *b);

/* The last readings. Once. */
int tcp_account_end(struct tcp_account *a, struct error *err);

/* After tcp_account_end(). */
void tcp_account_balance(struct tcp_account *a, struct tcp_balance *b);
void tcp_account_close(struct tcp_account *a); /* NULL is allowed */

#endif
