/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Documents of ledgers for people. */
#ifndef PKTLEDGER_REPORT_PRINT_H
#define PKTLEDGER_REPORT_PRINT_H

#include <stdio.h>

#include "report/load.h"

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

/* The trials of a sweep or a search as `sweep --csv` prints them, with a heading. */
void print_trials_csv(FILE *out, const struct json_object *document);

#endif
