/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * More about why packets were lost, for the findings: what the reader of a full socket did, and
 * which rules of a firewall dropped. Watches what the collector finds, as one of its sources; it
 * adds no rows.
 */
#ifndef PKTLEDGER_MONITOR_WHY_H
#define PKTLEDGER_MONITOR_WHY_H

#include "diagnosis/findings.h"
#include "monitor/live.h"

struct why;

/* `owners` is borrowed. What is not there (nft, /proc) is no error: then there is less to say. */
int why_open(struct why **w, struct owners *owners, struct error *err);

/* For live_add_source(). Its start takes first samples of readers and rules. */
const struct live_source *why_source(const struct why *w);

/* To be called some times a second, after live_tick(). */
void why_tick(struct why *w);

/*
 * Fills what is known beyond `f` about a row of live_total(). Strings live until the next call. A
 * row of netfilter takes a second list of the rules: that may take seconds where there are many, so
 * it is for the end, and for as long as `patience_ms`.
 */
void why_fill(struct why *w, const struct live *l, const struct live_row *row, int patience_ms,
	      struct finding_facts *f);

void why_close(struct why *w); /* NULL is allowed */

#endif
