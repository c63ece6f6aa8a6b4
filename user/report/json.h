/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Output for machines. One writer for two forms of the same content:
 *
 *   JSON_DOC    {"schema":..,"start":{..},"intervals":[..],"end":{..}}, at json_out_finish()
 *   JSON_LINES  {"event":"start","schema":..,"data":{..}}, one a line, at once
 *
 * The document is the lines put together: what may come more than once is a list there, under the
 * plural of the event's name. It is written in one piece, so stdout carries a whole document or,
 * after SIGKILL, nothing.
 */
#ifndef PKTLEDGER_REPORT_JSON_H
#define PKTLEDGER_REPORT_JSON_H

#include <json-c/json.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "base/num.h"
#include "ledger/result.h"
#include "report/header.h"

enum json_mode { JSON_DOC, JSON_LINES };

struct json_out;

/* `schema` as in "pktledger/run/1", static. `out` is borrowed. NULL: no memory. */
struct json_out *json_out_new(FILE *out, enum json_mode mode, const char *schema);

/* An event that comes once ("start", "end"), or any number of times ("interval"). Takes `data`. */
void json_out_once(struct json_out *o, const char *event, struct json_object *data);
void json_out_each(struct json_out *o, const char *event, struct json_object *data);

/* Closes the document, whatever it has. Frees `o`. 0, or -errno of the first write that failed. */
int json_out_finish(struct json_out *o);

/* The events of run. `env` of env_read(), taken; NULL: left out. */
void json_out_start(struct json_out *o, const struct run_header *head, struct json_object *env);
void json_out_interval(struct json_out *o, const struct experiment_interval *now);
void json_out_limit(struct json_out *o, const struct limit *limit, double measured, bool broken);
void json_out_error(struct json_out *o, const struct error *err);
void json_out_end(struct json_out *o, const struct result *res);

/* The same as objects, to be given away or put. */
struct json_object *json_start(const struct run_header *head, struct json_object *env);
struct json_object *json_interval(const struct experiment_interval *now);
struct json_object *json_limit(const struct limit *limit, double measured, bool broken);
struct json_object *json_error(const char *message, const char *hint, enum status status);
struct json_object *json_end(const struct result *res);
struct json_object *json_stages(const struct result *res);
struct json_object *json_command(int argc, char *const *argv);
struct json_object *json_latency(const struct result_latency *l); /* NULL: not measured */
struct json_object *json_finding(const struct finding *f);

/* Parts of an end that send and recv have too. */
void json_put_sending(struct json_object *o, const struct result *res);
/* hist_quarters() as a list: {"from_ns","to_ns","packets"} of those that are not empty. */
struct json_object *json_quarters(const uint64_t count[HIST_QUARTERS]);
/* What the receiver saw beside the books: json_put_receiving() calls it. */
void json_put_arrivals(struct json_object *o, const struct arrivals *a);
void json_put_receiving(struct json_object *o, const struct result *res);
void json_put_tracing(struct json_object *o, const struct result *res);

#endif
