/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The intervals of a document as a table that a person reads: some rows of a round length. */
#ifndef PKTLEDGER_REPORT_STEPS_H
#define PKTLEDGER_REPORT_STEPS_H

#include "report/load.h"
#include "stages.h"

#define STEPS_MAX 32

struct step {
	uint64_t from_ns, to_ns;	   /* CLOCK_REALTIME */
	uint64_t sent, delivered, dropped; /* sent, delivered: 0 in a trace */
	uint64_t stage[STAGE_COUNT];	   /* packets; of those in `dropped` */
	double peak_pps; /* lost, in the worst interval of it; 0: of no length that is known */
};

struct steps {
	struct step at[STEPS_MAX];
	unsigned n;
	uint64_t length_ns;
};

/*
 * What happened in each step; those in which there was no interval are left out. An interval
 * belongs to the step in which it ended, and steps are not shorter than intervals.
 */
void steps_make(struct steps *s, const struct ledgers_document *d);

#endif
