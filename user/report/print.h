/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Documents of ledgers for people. */
#ifndef PKTLEDGER_REPORT_PRINT_H
#define PKTLEDGER_REPORT_PRINT_H

#include <stdio.h>

#include "report/load.h"
#include "report/page.h"
#include "stages.h"

struct html;

struct print_view {
	FILE *out;
	bool colour;
	unsigned width;	   /* columns */
	int verbosity;	   /* as in text_result() */
	struct html *html; /* NULL: text; else print_page() opens a part of this page */
};

/* Whose it is and when it was; what happened in time; its books, or sums; what it means. */
void print_document(const struct print_view *v, const struct ledgers_document *d);

/* The trials of `run --repeat`, each a document, as the table that it printed. */
void print_repeat(const struct print_view *v, const struct ledgers_document *d, unsigned n);

/* The intervals of a document as a table that a person reads: some rows of a round length. */

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

/* The parts of a document, each with a blank line before it; nothing if there is nothing. */
struct page print_page(const struct print_view *v, uint64_t most);

/* Of ledgers that were joined. */
void print_joined(const struct print_view *v, const struct ledgers_document *d);

#endif
