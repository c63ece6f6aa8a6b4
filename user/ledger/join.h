/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One ledger of two hosts. What the far end knows of the numbers is written into the fates of this
 * one, before they are folded as always. What then is left open, was seen to leave the sender and
 * not to enter the receiver, is lost on the wire: a difference of two checkpoints. What was not
 * seen to leave, or was seen to enter, stays open. Pure.
 */
#ifndef PKTLEDGER_LEDGER_JOIN_H
#define PKTLEDGER_LEDGER_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/fates.h"

/* Causes here are counted upwards from 1, those of the far end downwards from below this one. */
#define JOIN_WIRE TRACE_CAUSE_DIFFERENCE

/* Numbers (from 0) of one stream with one fate, as fates_visitor tells them. */
struct join_run {
	uint16_t slot;
	uint64_t first, last;
	enum fate fate;
	uint8_t detail;
};

struct join {
	struct fates *fates;
	const uint8_t *ignored;		/* of TRACE_CAUSES: causes here that end no packet */
	bool far_receives;		/* else the far end is the sender */
	uint8_t cause_of[TRACE_CAUSES]; /* here, of a cause of the far end; 0: not told yet */
	uint8_t lowest;			/* index given to one of them */
};

void join_init(struct join *j, struct fates *fates, const uint8_t *ignored, bool far_receives);

/*
 * The index here of a cause of the far end, which is about to be used; the same one if it is told
 * again. TRACE_CAUSE_FULL if there are too many.
 */
uint8_t join_cause(struct join *j, uint8_t far_cause);

/*
 * A run that the far end tells. What it tells of a packet stands before what was seen here if it
 * receives: who dropped it must have had it. -EBADMSG: numbers outside of the window, a fate that
 * such an end cannot tell, or a cause that it has not named.
 */
int join_run(struct join *j, const struct join_run *run);

/* Gives numbers of a stream below `upto` to the wire, which are not folded yet. */
void join_wire(const struct join *j, uint16_t slot, uint64_t upto);

#endif
