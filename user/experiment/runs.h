/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fates as text, for a line between two hosts: runs that follow each other without a gap,
 *
 *	d0x70212,c3x2,d0x9,o1x1
 *
 * A letter (d delivered, c dropped, r refused, g left out, o open), its detail as fates_visitor
 * tells it, and how many numbers. Pure.
 */
#ifndef PKTLEDGER_EXPERIMENT_RUNS_H
#define PKTLEDGER_EXPERIMENT_RUNS_H

#include <stddef.h>

#include "ledger/join.h"

#define RUNS_TEXT 49152 /* bytes of one text, its NUL included */

struct runs {
	char text[RUNS_TEXT];
	size_t used;
	uint16_t slot;
	uint64_t first, next; /* numbers from 0: of the text, and behind it */
};

/* -ENOSPC: there is no room, or the run does not follow: begin another text with runs_begin(). */
int runs_put(struct runs *r, const struct join_run *run);

/* Empties the text; the next run may be any. */
void runs_begin(struct runs *r);

/*
 * The next run of a text, which begins with the number run->last + 1. *at moves behind it. 1; 0 at
 * the end; -EBADMSG.
 */
int runs_next(const char **at, struct join_run *run);

#endif
