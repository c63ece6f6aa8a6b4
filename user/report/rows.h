/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the JSON of a trace back to the tables that it was made of: report/json_trace.h. */
#ifndef PKTLEDGER_REPORT_ROWS_H
#define PKTLEDGER_REPORT_ROWS_H

#include "base/json.h"
#include "monitor/table.h"

/* The fields that the rows of a trace are told apart by; `start`: its event. */
unsigned rows_by(const struct json_object *start);

/* Adds all rows of an interval, of a sum, or of an end. Texts are copied. */
void rows_add(struct live_table *t, const struct json_object *interval, unsigned by);

/* Adds its worst flows: rows by stage and flow. */
#define ROWS_BY_FLOW (LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_FLOW))
void rows_add_flows(struct live_table *t, const struct json_object *interval);

/* STAGE_NONE: no such stage. */
enum stage rows_stage(const char *name);

#endif
