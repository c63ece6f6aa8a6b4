/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events of trace as JSON objects, to be given to json_out_*(). */
#ifndef PKTLEDGER_REPORT_JSON_TRACE_H
#define PKTLEDGER_REPORT_JSON_TRACE_H

#include "monitor/summary.h"
#include "report/json.h"

/* What is looked at; `spec` of live_open(). `env` is taken; NULL: left out. */
struct json_object *json_trace_start(int argc, char *const *argv, struct json_object *env,
				     const struct live_spec *spec, uint64_t interval_ns);

/* `by`: fields of the causes, as in struct live_spec. */
struct json_object *json_trace_interval(const struct live_table *t, unsigned by, uint64_t time_ns,
					uint64_t interval_ns);

/*
 * The same for a ledger: when it was, and the worst flows, by stage and flow; NULL: flows were not
 * told apart.
 */
struct json_object *json_trace_kept(const struct live_table *t, const struct live_table *flows,
				    unsigned by, uint64_t realtime_ns, uint64_t time_ns,
				    uint64_t interval_ns);

/* What the collector itself lost until now. */
struct json_object *json_trace_losses(const struct live_own *own);

struct json_object *json_trace_end(const struct live_summary *s, unsigned by);

#endif
