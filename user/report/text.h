/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Documents (report/document.h) for people, as the commands print them at once, and `report` again.
 * Write errors are left in ferror(out).
 */
#ifndef PKTLEDGER_REPORT_TEXT_H
#define PKTLEDGER_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "experiment/search/search.h"
#include "report/document.h"
#include "report/page.h"
#include "report/trials.h"

/*
 * A run: the path of the packets from top to bottom, 80 columns wide; only a command, to be pasted,
 * may be longer. verbosity: -1 leaves the advice away, 1 and more show places in the kernel, number
 * ranges and every counter. A counter is marked = if it agrees, ~ if it disagrees as this kernel is
 * known to, != if not.
 */
void text_run(FILE *out, const struct json_object *start, const struct json_object *end,
	      bool colour, int verbosity);

/* The end of send, of recv. */
void text_send(FILE *out, const struct json_object *end);
void text_recv(FILE *out, const struct json_object *end);

/* A trial of a search as a line of the log, with a heading before number 1; then what was found. */
void text_found_trial(FILE *out, unsigned number, const struct found_trial *t);
void text_found(FILE *out, const struct found *f);

/* Of the lower bounds of `n` searches. */
void text_found_spread(FILE *out, const char *name, const struct trials_summary *s, unsigned n);

/* "rcvbuf", "the generator", "the sender's queue", or "" where nothing is to blame. */
const char *found_culprit(const struct found_rate *rate);

struct text_count {
	uint64_t count;
	const char *name;
};

/* "3 duplicated, 12 reordered": those that are not 0. */
void text_counts(struct page *p, enum style style, const struct text_count *count, unsigned n);

/* A line of them; none if all are 0. */
void text_counts_line(struct page *p, const char *label, enum style style,
		      const struct text_count *count, unsigned n);

#endif
