/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two captures of the same traffic, one at each end: what was lost between them, came twice, out of
 * order, and after which time. What a capture itself dropped, cut, or was not there for, is
 * unknown, and never loss.
 *
 * Each packet of A is looked for in B. Several that look the same are matched in their order; how
 * many there are is told as `ambiguous`. Packets that were merged before they were captured count
 * as one.
 */
#ifndef PKTLEDGER_REPORT_ENDS_H
#define PKTLEDGER_REPORT_ENDS_H

#include <json-c/json.h>

#include "report/capfile.h"
#include "report/print.h"

struct ends_spec {
	const char *a, *b;	     /* files */
	const char *expr;	     /* NULL or "": all packets */
	uint64_t since_ns, until_ns; /* of A's clock; 0, UINT64_MAX */
	bool choose;		     /* stamps if A has any, else bytes; `method` if not */
	enum packetid_method method;
};

/*
 * To be given away:
 *
 *	{ "method","a":{"file","packets","compared","cut","dropped_by_capture"},"b":{..},
 *	  "matched","lost","unknown":{"outside","dropped_or_cut"},"duplicated","reordered",
 *	  "only_b","ambiguous","gaps","longest_gap",
 *	  "delay_ns":{"min","p50","p90","p99","max"} or null, "delay_histogram":[..] or null,
 *	  "flows":[..] }
 *
 * matched + lost + unknown.outside + unknown.dropped_or_cut = a.compared. delay_ns is the time of B
 * less that of A, and so of two clocks: it may be negative, and then has no histogram. only_b: not
 * in A; reordered: RFC 4737, within a flow, by the order of A. flows: those that lost most.
 */
int ends_compare(const struct ends_spec *spec, struct json_object **out, struct error *err);

void ends_print(const struct print_view *v, const struct json_object *ends);

#endif
