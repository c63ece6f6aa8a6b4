/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of report/print.c, each with a blank line before it; nothing if there is nothing. */
#ifndef PKTLEDGER_REPORT_PRINT_PARTS_H
#define PKTLEDGER_REPORT_PRINT_PARTS_H

#include "report/page.h"
#include "report/print.h"

struct page print_page(const struct print_view *v, uint64_t most);

/* A row for each step of time; the worst moments. */
void print_steps(const struct print_view *v, const struct ledgers_document *d);
void print_worst(const struct print_view *v, const struct ledgers_document *d);

/* Of a sweep or a search. */
void print_trials(const struct print_view *v, const struct ledgers_document *d);

/* Of ledgers that were joined. */
void print_joined(const struct print_view *v, const struct ledgers_document *d);

#endif
