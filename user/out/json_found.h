/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A search for rates as JSON. */
#ifndef PKTLEDGER_OUT_JSON_FOUND_H
#define PKTLEDGER_OUT_JSON_FOUND_H

#include <json-c/json.h>

#include "books/found.h"

/* A trial: the end of a run with what was intended. */
struct json_object *json_found_trial(const struct found_trial *t, const struct result *res);

/* The end: ndr, pdr, mrr (null: not looked for), and between which limits. */
struct json_object *json_found(const struct found *f);

#endif
