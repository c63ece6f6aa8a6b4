/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs between many hosts as one table: from whom, to whom, what was lost, and where most. */
#ifndef PKTLEDGER_REPORT_MATRIX_H
#define PKTLEDGER_REPORT_MATRIX_H

#include <json-c/json.h>

#include "base/err.h"
#include "report/print.h"

#define MATRIX_NODES 64

/*
 * From documents of run, and of runs that were joined (report/joined.h):
 *
 *	{ "nodes":["a","b"], "pairs":[ {"from","to","runs","sent","delivered","lost_share",
 *	                                "stage","balanced"} ] }
 *
 * A node is the name of a host; in a run on one host, the address. Runs of the same pair are added
 * up; `stage` lost most in all of them, null: nothing was dropped. What has no end is left out. To
 * be put. STATUS_USAGE: more than MATRIX_NODES, STATUS_FAILED: no document is of a pair.
 */
int matrix_new(struct json_object *const *docs, unsigned n, struct json_object **matrix,
	       struct error *err);

/* The pair of two nodes, borrowed; NULL: no run. */
struct json_object *matrix_pair(struct json_object *matrix, const char *from, const char *to);

/* As a table for people: senders down, receivers across. */
void matrix_print(const struct print_view *v, struct json_object *matrix);

#endif
