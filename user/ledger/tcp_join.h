/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Determines the outcome of segments that a host retransmitted and could not explain, using records
 * from other hosts on their path (drops/tcp_trail.h). For each number:
 *
 * 	sent again + 1 = stayed at the sender + lost before the first host + reached its entry
 * 	reached an entry = dropped there + lost before the next host + reached the next entry
 *
 * So `wire` is the difference between two probes. A segment that arrived at the last host and was
 * not dropped there was not lost if its receiver already had it. All other segments stay undecided.
 * Pure.
 */
#ifndef PKTLEDGER_LEDGER_TCP_JOIN_H
#define PKTLEDGER_LEDGER_TCP_JOIN_H

#include "drops/tcp_trail.h"
#include "stages.h"

#define TCP_JOIN_HOSTS 16

struct tcp_join_host {
	struct trail *trail;	     /* its ranges are sorted */
	uint64_t began_ns, ended_ns; /* CLOCK_REALTIME */
	bool crowded;		     /* some of its flows did not fit */
	bool torn; /* records were lost, so an event may be missing from the report */
	uint64_t longest[TRAIL_WHATS]; /* private: the longest range of each kind */
	bool refuses; /* its listeners lost connections without an event for each of them */
};

/* Why the outcome is unknown. */
enum tcp_join_why {
	JOIN_ELSEWHERE, /* no other host has seen the flow: not joined, */
	JOIN_SEQUENCE,	/* or not with these numbers */
	JOIN_WRAPPED,	/* or they are ambiguous */
	JOIN_REUSED,	/* from an earlier connection with the same tuple, whose numbers are gone */
	JOIN_BEFORE,	/* before the other host began tracing */
	JOIN_AFTER,	/* after it stopped tracing */
	JOIN_UNSEEN,	/* segments of the flow bypassed the other host's entry */
	JOIN_FULL,	/* records did not fit */
	JOIN_NO_EVENT,	/* it arrived at the last host, where no event showed its end */
	JOIN_WHYS,
};

struct tcp_joint {
	uint64_t segments, not_lost, undecided[JOIN_WHYS];
	uint64_t lost[TCP_JOIN_HOSTS][STAGE_COUNT];
	uint64_t wire[TCP_JOIN_HOSTS][TCP_JOIN_HOSTS]; /* from, to */
};

/* A sender's flow as known to the hosts on its path, in path order. */
struct tcp_join_flow {
	const struct trail_flow *flow;
	struct {
		unsigned host;
		const struct trail_flow *flow; /* with different addresses if NAT translated it */
	} way[TCP_JOIN_HOSTS];
	unsigned n;
	uint64_t segments, lost, wire, not_lost, undecided;
	enum tcp_join_why unjoined; /* set if n is 0 */
};

typedef void tcp_join_each(void *arg, const struct tcp_join_flow *f);

/* Call this before the first tcp_join() for these hosts. */
void tcp_join_prepare(struct tcp_join_host *hosts, unsigned n);

/*
 * Joins the segments sent by hosts[sender], both in total and, through `each`, per flow. If hosts
 * have the same distance from the sender by TTL, they are on the path in list order.
 */
void tcp_join(const struct tcp_join_host *hosts, unsigned n, unsigned sender, struct tcp_joint *sum,
	      tcp_join_each *each, void *arg);

#endif
