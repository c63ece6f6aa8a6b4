/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `trace --microburst` for people. */
#ifndef PKTLEDGER_REPORT_TEXT_BURSTS_H
#define PKTLEDGER_REPORT_TEXT_BURSTS_H

#include "monitor/summary.h"
#include "report/page.h"

/* A line for each stage: how much of its loss came at once, and the worst window. */
void text_bursts(struct page *p, const struct burst_report *r);

/* The same of the whole, with more windows; what has no time is said. */
void text_bursts_end(struct page *p, const struct live_summary *s);

#endif
