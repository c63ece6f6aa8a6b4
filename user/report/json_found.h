/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A search for rates as JSON. */
#ifndef PKTLEDGER_REPORT_JSON_FOUND_H
#define PKTLEDGER_REPORT_JSON_FOUND_H

#include <json-c/json.h>

#include "experiment/search/search.h"

/* What limited_by says, by enum found_limit; NULL: nothing is to blame. */
extern const char *const found_limits[FOUND_LIMIT_QUEUE + 1];

/* What is told of a trial beside the end of its run: what was intended, what came of it. */
struct json_object *json_found_trial(const struct found_trial *t);

/* The end: ndr, pdr, mrr (null: not looked for), and between which limits. */
struct json_object *json_found(const struct found *f);

#endif
