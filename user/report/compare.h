/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two runs side by side: first what was different before they began, then what came of it. */
#ifndef PKTLEDGER_REPORT_COMPARE_H
#define PKTLEDGER_REPORT_COMPARE_H

#include "report/load.h"
#include "report/print.h"

/*
 * Both documents are of run (or both of send, of recv, of sweep, of search). To be given away:
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

#endif
