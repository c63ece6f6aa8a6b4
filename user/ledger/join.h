/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One ledger of two sites, range by range: who is believed, and what may be called lost on the
 * wire. A loss on the wire is the difference of two probes: seen to leave the sender, and not seen
 * to arrive at the receiver while that one watched. What only one of the two can know, and does
 * not know, stays open. The same for a site on another host, whose ranges arrive over the wire
 * while those of the local site are folded, and for ledger files that are joined afterwards. Pure.
 */
#ifndef PKTLEDGER_LEDGER_JOIN_H
#define PKTLEDGER_LEDGER_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/fates.h"

/*
 * The outcome of a number of which the sender reports `tx` and the receiver `rx`: GAP, REFUSED,
 * DELIVERED, DROPPED, WIRE, OPEN or IMPOSSIBLE. Who receives a packet must have had it, so its word
 * stands before the sender's; but not where it only gave up what was lost before.
 */
enum outcome join_decide(enum outcome tx, enum outcome rx);

/* Of DROPPED: the receiver's cause stands, else the sender's. */
bool join_believes_receiver(enum outcome tx, enum outcome rx);

/* Walks over ranges of one site, which ascend by stream and number. */
struct join_walk {
	const struct range *range;
	size_t n, at;
	uint64_t base; /* added to the numbers of the ranges */
	/* At the end of `range`, puts the next ones there; false, or NULL: there are none. */
	bool (*more)(void *arg, struct join_walk *w);
	void *arg;
	const struct range *now; /* it holds the number of join_to(); NULL: none does */
};

/* Moves to a number; returns the last number up to which `now` holds, UINT64_MAX: all. */
uint64_t join_to(struct join_walk *w, uint16_t stream, uint64_t number);

/* Causes here count upwards from 1, those of the remote site downwards from below this one. */
#define JOIN_WIRE TRACE_CAUSE_DIFFERENCE

struct join {
	const struct fates *fates;	/* of the site here */
	bool remote_receives;		/* else the remote site is the sender */
	uint8_t cause_of[TRACE_CAUSES]; /* here, of a cause of the remote one; 0: not named yet */
	uint8_t lowest;			/* index given to one of them */
	struct join_walk there;		/* ranges of the remote site */
};

void join_init(struct join *j, const struct fates *fates, bool remote_receives);

/*
 * The index here of a cause of the remote site, which is about to be used; the same one if it is
 * named again. TRACE_CAUSE_FULL if there are too many.
 */
uint8_t join_cause(struct join *j, uint8_t remote_cause);

/*
 * -EBADMSG: a range that the remote site cannot report: numbers outside of the window, an outcome
 * that such a site cannot know, or a cause that it has not named.
 */
int join_check(const struct join *j, const struct range *r);

/*
 * Gives a range of the site here, as decided together with what the remote site reports of the same
 * numbers, to the visitor, in as many ranges as it takes. Numbers of which that one reports nothing
 * may have gone any way.
 */
void join_here(struct join *j, const struct range *here, const struct range_visitor *visitor);

#endif
