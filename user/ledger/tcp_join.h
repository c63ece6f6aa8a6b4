/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outcome of segments that a host retransmitted and could not explain, decided with the records of
 * other hosts on their path (drops/tcp_trail.h). For each number:
 *
 *	sent again + 1 = stayed at the sender + lost before the first host + came to its entry
 *	came to an entry = dropped there + lost before the next host + came to that
 *
 * So `wire` is the difference of two probes. A segment that arrived at the last host and was not
 * dropped there is not lost if its receiver already had it. Everything else stays undecided. Pure.
 */
#ifndef PKTLEDGER_LEDGER_TCP_JOIN_H
#define PKTLEDGER_LEDGER_TCP_JOIN_H

#include "drops/tcp_trail.h"
#include "stages.h"

#define TCP_JOIN_HOSTS 16

struct tcp_join_host {
	struct trail *trail;	     /* with sorted ranges */
	uint64_t began_ns, ended_ns; /* CLOCK_REALTIME */
	bool crowded;		     /* there was no room for some of its flows */
	bool torn; /* records were lost: an event may be missing in the report */
	uint64_t longest[TRAIL_WHATS]; /* private: longest range of each kind */
	bool refuses; /* its listeners lost connections, without events for each */
};

/* Reason why the outcome is unknown. */
enum tcp_join_why {
	JOIN_ELSEWHERE, /* no other host has seen the flow: it is not joined, */
	JOIN_SEQUENCE,	/* or not with these numbers */
	JOIN_WRAPPED,	/* or they are ambiguous */
	JOIN_REUSED,	/* of an earlier connection with the same tuple, whose numbers are gone */
	JOIN_BEFORE,	/* before the other host's tracing began */
	JOIN_AFTER,	/* or after its end */
	JOIN_UNSEEN,	/* segments of the flow bypassed the other host's entry */
	JOIN_FULL,	/* records found no room */
	JOIN_NO_EVENT,	/* it arrived at the last host, and no event showed its end */
	JOIN_WHYS,
};

struct tcp_joint {
	uint64_t segments, not_lost, undecided[JOIN_WHYS];
	uint64_t lost[TCP_JOIN_HOSTS][STAGE_COUNT];
	uint64_t wire[TCP_JOIN_HOSTS][TCP_JOIN_HOSTS]; /* from, to */
};

/* A flow of the sender, as known by the hosts on its path, in path order. */
struct tcp_join_flow {
	const struct trail_flow *flow;
	struct {
		unsigned host;
		const struct trail_flow *flow; /* with other addresses, if translated by NAT */
	} way[TCP_JOIN_HOSTS];
	unsigned n;
	uint64_t segments, lost, wire, not_lost, undecided;
	enum tcp_join_why unjoined; /* if n is 0 */
};

typedef void tcp_join_each(void *arg, const struct tcp_join_flow *f);

/* Call it before the first tcp_join() of these hosts. */
void tcp_join_prepare(struct tcp_join_host *hosts, unsigned n);

/*
 * Joins the segments sent by hosts[sender], in total and, by `each`, per flow. Hosts with the same
 * distance from the sender, by TTL, are on the path in the order of the list.
 */
void tcp_join(const struct tcp_join_host *hosts, unsigned n, unsigned sender, struct tcp_joint *sum,
	      tcp_join_each *each, void *arg);

#endif
