/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the text output have in common: text.c the book, text_path.c the losses on the
 * way, text_notes.c what stands beside it. */
#ifndef PKTLEDGER_REPORT_TEXT_PARTS_H
#define PKTLEDGER_REPORT_TEXT_PARTS_H

#include "ledger/result.h"
#include "report/page.h"

/* One line for each stage that lost something, or whose counters disagree; more for several causes.
 */
void text_path(struct page *p, const struct result *res, int verbosity);

/* Counters that disagree, and not as documented. */
unsigned text_disagreements(const struct result *res);

struct text_count {
	uint64_t count;
	const char *name;
};

/* "3 duplicated, 12 reordered": those that are not 0. */
void text_counts(struct page *p, enum style style, const struct text_count *count, unsigned n);

/* A line of them; none if all are 0. */
void text_counts_line(struct page *p, const char *label, enum style style,
		      const struct text_count *count, unsigned n);

/* Latency, columns of their own, own losses: each only if there is something to tell. */
void text_beside(struct page *p, const struct result *res);

/* One finding: what it means, what was measured, what to change; `label` is its first word. */
void text_finding(struct page *p, const char *label, const struct finding *f, bool undo);

/* What to change, for each loss. */
void text_findings(struct page *p, const struct result *res, int verbosity);

#endif
