/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `trace` for people: a table an interval, and the sum at the end. */
#ifndef PKTLEDGER_REPORT_TEXT_TRACE_H
#define PKTLEDGER_REPORT_TEXT_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "monitor/summary.h"

struct text_trace {
	FILE *out;
	bool colour;
	unsigned width;	   /* columns; what is longer is wrapped below its beginning */
	unsigned by;	   /* fields told apart, as in struct live_spec */
	bool all;	   /* benign drops too */
	int verbosity;	   /* as in text_result() */
	const char *netns; /* the name of this process's namespace, which goes without saying */
};

/* Nothing if nothing was lost. `time_ns`: CLOCK_REALTIME of the interval's end. */
void text_trace_interval(const struct text_trace *v, const struct live_table *t, uint64_t time_ns,
			 uint64_t interval_ns);

/* Below it: when in the interval that was. */
void text_trace_bursts(const struct text_trace *v, const struct burst_report *r);

/* What was lost in all, and where; of `s` the table and the sums of its classes. */
void text_trace_total(const struct text_trace *v, const struct live_summary *s);

/* The same, with own losses, cost, and what to do. */
void text_trace_end(const struct text_trace *v, const struct live_summary *s);

/* Columns of the terminal at `out`, PAGE_WIDTH where there is none. */
unsigned text_trace_width(FILE *out);

#endif
