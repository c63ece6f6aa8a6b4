/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Documents of ledgers as one table for spreadsheets: RFC 4180, with LF. The first line names the
 * columns; `kind` says what a row is. An `interval` is a cause of a trace in an interval, or a
 * stage of a run; without a stage it is all of the interval, in a run also what was sent and
 * delivered in it. A `flow` is one of the worst flows of a trace in an interval. An `end` is a
 * cause in the end of a run; without a stage it is all of it.
 */
#ifndef PKTLEDGER_REPORT_CSV_H
#define PKTLEDGER_REPORT_CSV_H

#include <stdio.h>

#include "report/load.h"

/*
 * A field: quoted where it must be. What a terminal would obey becomes '?', and before what a
 * spreadsheet would compute stands a "'".
 */
void csv_text(FILE *out, const char *text);

/* The first line; then each document in turn. */
void csv_head(FILE *out);
void csv_document(FILE *out, const struct ledgers_document *d);

#endif
