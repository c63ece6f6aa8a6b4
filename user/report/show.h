/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Documents of ledgers in the form that was asked for. */
#ifndef PKTLEDGER_REPORT_SHOW_H
#define PKTLEDGER_REPORT_SHOW_H

#include "report/json.h"
#include "report/print.h"

struct show_view {
	struct json_out *json; /* NULL: text or a table */
	int argc;
	char *const *argv; /* for the record */
	bool csv;
	bool matrix;	  /* runs between hosts as one table: report/matrix.h */
	const char *html; /* a page to be written; NULL: none */
	bool redact;	  /* the documents are changed */
	struct print_view text;
	const struct ledgers_document *a, *b; /* to be compared; NULL: nothing is */
};

/* 0, -ENOMEM, or as matrix_new() and html_file(). */
int show_ledgers(const struct show_view *v, struct ledgers *l, struct error *err);

/* Two captures compared (report/ends.h); `ends` is changed if names are to be hidden. */
int show_ends(const struct show_view *v, struct json_object *ends, struct error *err);

/*
 * In one of them the fates of the numbers say something else than the books; or it was joined, and
 * does not balance.
 */
bool show_disagrees(const struct ledgers *l);

#endif
