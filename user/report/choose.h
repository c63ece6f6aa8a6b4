/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether documents belong side by side, and which of them are compared. */
#ifndef PKTLEDGER_REPORT_CHOOSE_H
#define PKTLEDGER_REPORT_CHOOSE_H

#include "report/load.h"

/*
 * Two files that are not of traces are compared: *a and *b are their documents, else NULL.
 * STATUS_USAGE: they are of several commands, there are more than two, or one has more than one
 * document; STATUS_FAILED: one has no end.
 */
int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err);

#endif
