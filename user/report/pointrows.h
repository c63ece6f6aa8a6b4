/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What became of points that were measured: a table for people, or CSV. */
#ifndef PKTLEDGER_REPORT_POINTROWS_H
#define PKTLEDGER_REPORT_POINTROWS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "ledger/result.h"
#include "report/trials.h"

#define ROWS_COLUMNS 8

struct rows {
	FILE *out;
	unsigned columns;
	const char *title[ROWS_COLUMNS]; /* of what tells points apart; borrowed */
	unsigned width[ROWS_COLUMNS];
	bool repeated; /* several trials a point: medians */
};

/* `text` of each column has at most `width` characters; at least that of the title is taken. */
void rows_column(struct rows *r, const char *title, unsigned width);

/*
 * The table: a row a point, from all its trials. `failed`: why there are none, or fewer than asked
 * for; NULL: all are there.
 */
void rows_heading(const struct rows *r);
void rows_point(const struct rows *r, const char *const *text, const struct trials *t,
		const struct error *failed);

/* CSV as in RFC 4180, but for the LF: a line a trial. `res` NULL: it failed. */
void rows_csv_heading(const struct rows *r);
void rows_csv_trial(const struct rows *r, const char *const *text, unsigned trial,
		    const struct result *res, const struct error *failed);

#endif
