/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is shown at the end: the sum of all intervals, what it means, what it cost. Plain data. */
#ifndef PKTLEDGER_MONITOR_SUMMARY_H
#define PKTLEDGER_MONITOR_SUMMARY_H

#include "diagnosis/findings.h"
#include "monitor/flow.h"
#include "monitor/live.h"

struct why;

/*
 * More about why packets were lost, for the findings: what the reader of a full socket did, and
 * which rules of a firewall dropped. Watches what the collector finds, as one of its sources, whose
 * start takes first samples; it adds no rows. `owners` is borrowed. What is not there (nft, /proc)
 * is no error: then there is less to say.
 */
int why_open(struct why **w, struct owners *owners, struct live *l, struct error *err);

/* To be called some times a second, after live_tick(). */
void why_tick(struct why *w);

void why_close(struct why *w); /* NULL is allowed */

struct live_summary {
	uint64_t duration_ns;
	struct live_counts lost, suspect, benign;
	struct live_counts stage[STAGE_COUNT]; /* losses */
	const struct live_table *total;	       /* lives as long as the collector */
	struct live_own own;
	struct burst_report bursts; /* window_ns 0: they were not asked for */
	struct finding finding[STAGE_COUNT];
	unsigned n_findings;
	/* Set by the caller: */
	bool interrupted;		/* by a signal */
	const struct flow_books *books; /* NULL: none were asked for */
	const struct balance_cost *books_cost;
};

/* `why`: more about the losses; NULL: that is not known. It may take a second. */
void live_summarise(const struct live *l, struct why *why, struct live_summary *out);

#endif
