/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What members of JSON objects say, whatever they are: of files that others may have written. */
#ifndef PKTLEDGER_BASE_JSON_GET_H
#define PKTLEDGER_BASE_JSON_GET_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* A member, borrowed; NULL: there is none, it is null, or `o` is no object. */
struct json_object *json_get(const struct json_object *o, const char *key);

/* Its value; 0, "", false if there is none, or it is of another type. Texts are borrowed. */
uint64_t json_get_u64(const struct json_object *o, const char *key);
int64_t json_get_i64(const struct json_object *o, const char *key);
double json_get_double(const struct json_object *o, const char *key);
bool json_get_bool(const struct json_object *o, const char *key);
const char *json_get_text(const struct json_object *o, const char *key);

/* A member that is a list: its length (0: there is none), and its items. */
size_t json_get_length(const struct json_object *o, const char *key);
struct json_object *json_get_item(const struct json_object *o, const char *key, size_t i);

#endif
