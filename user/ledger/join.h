/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One ledger of two sites, number by number: who is believed, and what may be called lost on the
 * wire. That is a difference of two checkpoints: seen to leave the sender, and not seen to come to
 * the receiver while that one watched. What only one of the two can know, and does not, stays open.
 * The same for a site on another host, whose fates come over the wire and are written into those of
 * the local one before they are folded as always, and for ledgers that are joined afterwards. Pure.
 */
#ifndef PKTLEDGER_LEDGER_JOIN_H
#define PKTLEDGER_LEDGER_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/fates.h"

/* What a site reports of a number. */
enum claim {
	CLAIM_NOTHING, /* a receiver that watched: it did not come */
	CLAIM_OPEN,    /* it may have gone any way */
	CLAIM_REFUSED,
	CLAIM_GAP,
	CLAIM_SEEN, /* at the checkpoint of that site, and no more */
	CLAIM_DROPPED,
	CLAIM_GIVEN_UP, /* dropped by a receiver to which not all fragments had come */
	CLAIM_DELIVERED
};

enum joint {
	JOINT_IMPOSSIBLE, /* it came, and nobody sent it */
	JOINT_GAP,
	JOINT_REFUSED,
	JOINT_DELIVERED,
	JOINT_DROPPED_TX, /* as the sender reports */
	JOINT_DROPPED_RX, /* as the receiver reports */
	JOINT_WIRE,
	JOINT_OPEN
};

/*
 * What became of a number. Who receives a packet must have had it, so its word stands before the
 * sender's; but not where it only gave up what was lost before.
 */
enum joint join_decide(enum claim tx, enum claim rx);

/* Causes here count upwards from 1, those of the remote site downwards from below this one. */
#define JOIN_WIRE TRACE_CAUSE_DIFFERENCE

/* Numbers (from 0) of one stream with one fate, as fates_visitor reports them. */
struct join_run {
	uint16_t slot;
	uint64_t first, last;
	enum fate fate;
	uint8_t detail;
};

struct join {
	struct fates *fates;
	const uint8_t *ignored;		/* of TRACE_CAUSES: causes here that end no packet */
	bool remote_receives;		/* else the remote site is the sender */
	uint8_t cause_of[TRACE_CAUSES]; /* here, of a cause of the remote one; 0: not named yet */
	uint8_t lowest;			/* index given to one of them */
};

void join_init(struct join *j, struct fates *fates, const uint8_t *ignored, bool remote_receives);

/*
 * The index here of a cause of the remote site, which is about to be used; the same one if it is
 * named again. TRACE_CAUSE_FULL if there are too many.
 */
uint8_t join_cause(struct join *j, uint8_t remote_cause);

/*
 * A run that the remote site reports, of numbers of which all is known here. -EBADMSG: numbers
 * outside of the window, a fate that such a site cannot know, or a cause that it has not named.
 */
int join_run(struct join *j, const struct join_run *run);

#endif
