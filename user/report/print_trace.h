/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace for people, from its document (report/json_trace.h): as it goes on, at its end, and again
 * from its ledger. Nothing is known here that is not in the document, so all of them say the same.
 */
#ifndef PKTLEDGER_REPORT_PRINT_TRACE_H
#define PKTLEDGER_REPORT_PRINT_TRACE_H

#include "report/print.h"

/* Columns of the terminal at `out`, PAGE_WIDTH where there is none. */
unsigned print_columns(FILE *out);

/*
 * What was lost in an interval, a table; its microbursts and counters if it has them. Nothing if
 * nothing was lost, and with a verbosity below 0. `start`: the event that began the document.
 */
void print_trace_interval(const struct print_view *v, const struct json_object *start,
			  const struct json_object *interval);

/* What was lost in all, and where; own losses and cost, a flow's balance, and what to do. */
void print_trace_end(const struct print_view *v, const struct json_object *start,
		     const struct json_object *end);

/*
 * A document of a ledger or a capture: if all of it is there, what the trace printed, else the sum
 * of what was asked for; then the sockets and flows that lost most, and limits.
 */
void print_trace(const struct print_view *v, const struct ledgers_document *d);

#endif
