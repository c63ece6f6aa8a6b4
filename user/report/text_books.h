/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The books of a flow for people. */
#ifndef PKTLEDGER_REPORT_TEXT_BOOKS_H
#define PKTLEDGER_REPORT_TEXT_BOOKS_H

#include "monitor/flow.h"
#include "report/page.h"

/* `p` is as wide as the terminal; its counts may be made wider. */
void text_books(struct page *p, const struct flow_books *b, const struct balance_cost *cost);

#endif
