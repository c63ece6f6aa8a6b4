/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins the ledgers of two sites, range by range. Decides which site is right and which packets
 * count as lost on the wire. A packet is lost on the wire if it was seen leaving the sender and was
 * not seen arriving at the receiver while the receiver was watching. If only one site could report
 * a fact and does not report it, the packet stays open. Used both for a site on another host that
 * sends its ranges over the network while the local ranges are folded, and for ledger files joined
 * afterwards. Pure.
 */
#ifndef PKTLEDGER_LEDGER_JOIN_H
#define PKTLEDGER_LEDGER_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/outcomes.h"

/*
 * Returns the outcome of a number with outcome `tx` at the sender and `rx` at the receiver: GAP,
 * REFUSED, DELIVERED, DROPPED, WIRE, OPEN or IMPOSSIBLE. A site that receives a packet must have
 * had it, so the receiver overrides the sender unless it only gave up on a packet that was lost
 * earlier.
 */
enum outcome join_decide(enum outcome tx, enum outcome rx);

/* For DROPPED: returns true if the receiver's cause is used, false for the sender's. */
bool join_believes_receiver(enum outcome tx, enum outcome rx);

/* Walks over one site's ranges, in ascending order of stream and number. */
struct join_walk {
	const struct range *range;
	size_t n, at;
	uint64_t base; /* added to the numbers of the ranges */
	/*
	 * Replaces the ranges when the end of `range` is reached. Returns false if there are no
	 * more. NULL: no more ranges.
	 */
	bool (*more)(void *arg, struct join_walk *w);
	void *arg;
	const struct range *now; /* range that contains the number passed to join_to(), or NULL */
};

/* Moves to a number. Returns the last number for which `now` is valid; UINT64_MAX: all numbers. */
uint64_t join_to(struct join_walk *w, uint16_t stream, uint64_t number);

/* This site's causes count up from 1, and the remote site's count down from just below this. */
#define JOIN_WIRE TRACE_CAUSE_DIFFERENCE

struct join {
	const struct outcomes *outcomes; /* the local site's outcomes */
	bool remote_receives;		/* true: the remote site is the receiver; false: sender */
	uint8_t cause_of[TRACE_CAUSES]; /* local index of a remote cause; 0: not named yet */
	uint8_t lowest;			/* lowest index assigned to a remote cause */
	struct join_walk there;		/* the remote site's ranges */
};

void join_init(struct join *j, const struct outcomes *outcomes, bool remote_receives);

/*
 * Returns the local index for a cause at the remote site, before that cause is first used. The same
 * cause always gets the same index. Returns TRACE_CAUSE_FULL if there are too many.
 */
uint8_t join_cause(struct join *j, uint8_t remote_cause);

/*
 * Returns -EBADMSG for a range that the remote site cannot report: numbers outside the window, an
 * outcome that is impossible at such a site, or a cause that it has not named.
 */
int join_check(const struct join *j, const struct range *r);

/*
 * Passes a range of the local site to the visitor, joined with the remote site's report on the same
 * numbers, split into as many ranges as necessary. Numbers that the remote site does not report may
 * have any outcome.
 */
void join_here(struct join *j, const struct range *here, const struct range_visitor *visitor);

#endif
