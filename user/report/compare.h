/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Documents side by side: two of them, or runs between many hosts as one table. */
#ifndef PKTLEDGER_REPORT_COMPARE_H
#define PKTLEDGER_REPORT_COMPARE_H

#include "base/err.h"
#include "report/load.h"
#include "report/print.h"

#define MATRIX_NODES 64

/*
 * Two: first what was different before they began, then what came of it. Both are of run (or both
 * of send, of recv, of sweep, of search). To be given away:
 *
 *	{ "env":[{"name","a","b"}], "setup":[..], "results":[{"name","a","b","change"}] }
 *
 * env and setup list what differs, by the way to it ("sysctls.net.core.rmem_max"), null is absent.
 * results list what both have, and the stages at which either lost something; change is
 * (b - a) / a, null where a is 0; a_share and b_share are of the packets sent, where that is known.
 * Of sweeps they are the rates received at the points that both have, of searches what was found.
 */
struct json_object *compare_documents(const struct ledgers_document *a,
				      const struct ledgers_document *b);

/* `a`, `b` may be NULL: what they are stands elsewhere. */
void compare_print(const struct print_view *v, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct json_object *comparison);

/*
 * From whom, to whom, what was lost, and where most: from documents of run, and of runs that were
 * joined (report/load.h):
 *
 *	{ "nodes":["a","b"], "pairs":[ {"from","to","runs","sent","delivered","lost_share",
 *	                                "stage","balanced"} ] }
 *
 * A node is the name of a host; in a run on one host, the address. Runs of the same pair are added
 * up; `stage` lost most in all of them, null: nothing was dropped. What has no end is left out. To
 * be put. STATUS_USAGE: more than MATRIX_NODES, STATUS_FAILED: no document is of a pair.
 */
int matrix_new(const struct ledgers_document *docs, unsigned n, struct json_object **matrix,
	       struct error *err);

/* The pair of two nodes, borrowed; NULL: no run. */
struct json_object *matrix_pair(struct json_object *matrix, const char *from, const char *to);

/* As a table for people: senders down, receivers across. */
void matrix_print(const struct print_view *v, struct json_object *matrix);

#endif
