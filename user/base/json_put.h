/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of JSON objects, so that what is printed is valid whatever a name contains. */
#ifndef PKTLEDGER_BASE_JSON_PUT_H
#define PKTLEDGER_BASE_JSON_PUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Members. A string that is NULL or empty is null, bytes that are not UTF-8 become U+FFFD; a number
 * that is not finite is null.
 */
void json_put(struct json_object *o, const char *key, struct json_object *value);
void json_put_text(struct json_object *o, const char *key, const char *s);
void json_put_u64(struct json_object *o, const char *key, uint64_t v);
void json_put_bool(struct json_object *o, const char *key, bool v);
void json_put_double(struct json_object *o, const char *key, double v); /* three decimals */
struct json_object *json_text(const char *s);
struct json_object *json_double(double v);

/* "2024-05-01T12:00:00.000000Z" from CLOCK_REALTIME ns (RFC 3339); at least 32 bytes. */
char *json_time(char *buf, size_t size, uint64_t realtime_ns);

#endif
