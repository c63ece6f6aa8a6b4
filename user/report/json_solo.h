/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events of send and recv: their side of what run tells. `env` is taken; NULL: left out. */
#ifndef PKTLEDGER_REPORT_JSON_SOLO_H
#define PKTLEDGER_REPORT_JSON_SOLO_H

#include "report/json.h"
#include "experiment/experiment.h"

/* When, where, by which command. */
struct json_object *json_solo_origin(int argc, char *const *argv, struct json_object *env);

struct json_object *json_send_start(int argc, char *const *argv, struct json_object *env,
				    const struct run_spec *spec, const struct result *res,
				    const struct experiment_streams *streams);
struct json_object *json_send_end(const struct result *res);

struct json_object *json_recv_start(int argc, char *const *argv, struct json_object *env,
				    const char *rx, uint16_t port, const struct result *res);
struct json_object *json_recv_end(const struct recv_result *r);

#endif
