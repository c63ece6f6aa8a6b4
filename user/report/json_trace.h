/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of a trace as JSON, to be given to json_out_*(), to a ledger, and to the printer
 * (report/print_trace.h). Of an interval and of the end:
 *
 *	"dropped": packets lost; "stages", "suspect", "benign": the rows of each class, those of a
 *	stage together in "causes", in the order of the path and there most packets first
 */
#ifndef PKTLEDGER_REPORT_JSON_TRACE_H
#define PKTLEDGER_REPORT_JSON_TRACE_H

#include "monitor/session.h"
#include "report/json.h"

/* How a trace is shown, beside what it looks at. */
struct trace_shown {
	uint64_t interval_ns;
	bool all;	   /* benign drops too */
	const char *netns; /* the own one, which text leaves out; "": not known */
};

/* What is looked at; `spec` of live_open(). `env` is taken; NULL: left out. */
struct json_object *json_trace_start(int argc, char *const *argv, struct json_object *env,
				     const struct live_spec *spec, const struct trace_shown *shown);

/* Names of fields as a list; `by` as in struct live_spec. */
struct json_object *json_fields(unsigned by);

/* When an interval ended: CLOCK_REALTIME and from the start; and how long it was. */
struct trace_time {
	uint64_t realtime_ns, time_ns, interval_ns;
};

/*
 * `by`: fields of the causes, as in struct live_spec. `flows`: the worst, by stage and flow; NULL:
 * left out.
 */
struct json_object *json_trace_interval(const struct live_table *t, const struct live_table *flows,
					unsigned by, const struct trace_time *time);

/* What the collector itself lost until now: "own_losses" of an interval, and of the end. */
struct json_object *json_trace_losses(const struct live_own *own);

/* When packets were lost: "microbursts" of an interval, and of the end. */
struct json_object *json_bursts(const struct burst_report *r);

/*
 * One sample of the counters of the path, "counters" of an interval: {"interval_ns",
 * "interfaces":[..],"queues":[..],"losses":[..],"xsk":[..],"counters":[..]}. Counts are of the
 * interval; `_pps` and `_bps` are per second, from what the device counts (bytes without FCS, on
 * most). `all`: what did not move too.
 */
struct json_object *json_rates(const struct rates *r, bool all);

struct json_object *json_trace_end(const struct live_summary *s, unsigned by);

#endif
