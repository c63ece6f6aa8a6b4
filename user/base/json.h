/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What members of JSON objects say, whatever they are: of files that others may have written; and
 * members that are valid whatever a name contains. The text in them is UTF-8: what of it may be
 * shown. Whole structs: base/record.h.
 */
#ifndef PKTLEDGER_BASE_JSON_H
#define PKTLEDGER_BASE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
const char *json_get_item_text(const struct json_object *o, const char *key, size_t i);

/* Its items in turn: for (struct json_each x = json_each(o, key); json_next(&x);) x.item */
struct json_each {
	const struct json_object *list; /* NULL: there is none */
	size_t next;
	struct json_object *item; /* borrowed; NULL: it is null */
};

struct json_each json_each(const struct json_object *o, const char *key);
bool json_next(struct json_each *each);

/*
 * The object that `text` is, if it has no more than `depth` levels, its texts are UTF-8 without
 * NUL, and its numbers finite: it can be printed again as JSON. To be put; NULL: it is none.
 */
struct json_object *json_parse(const char *text, size_t len, int depth);
#define JSON_DEPTH 32 /* of documents and ledgers */

/*
 * Members. A string that is NULL or empty is null, what is not UTF-8 becomes U+FFFD; not finite is
 * null.
 */
void json_put(struct json_object *o, const char *key, struct json_object *value);
void json_put_text(struct json_object *o, const char *key, const char *s);
void json_put_u64(struct json_object *o, const char *key, uint64_t v);
void json_put_bool(struct json_object *o, const char *key, bool v);
void json_put_double(struct json_object *o, const char *key, double v); /* three decimals */
void json_put_time(struct json_object *o, const char *key, uint64_t realtime_ns);
struct json_object *json_text(const char *s);
struct json_object *json_double(double v);

/* Prints a text of JSON; DEL and C1, which it may have as they are, as \u and their number. */
void json_print(FILE *out, const char *json);

/* A new list or object as a member, and a new object at the end of a list; borrowed. */
struct json_object *json_put_list(struct json_object *o, const char *key);
struct json_object *json_put_object(struct json_object *o, const char *key);
struct json_object *json_add_object(struct json_object *list);

/* A sentence at the end of a list. */
void json_add_line(struct json_object *list, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "2024-05-01T12:00:00.000000Z" from CLOCK_REALTIME ns (RFC 3339), as fmt_buffer() keeps it. */
char *json_time(uint64_t realtime_ns);

/* Bytes of the well-formed sequence at the beginning of `s` (RFC 3629); 0: none, or the end. */
unsigned utf8_length(const char *s);

/*
 * The same if the character can be shown. 0 for control characters, also those of two bytes (U+0080
 * to U+009F), and for those that change the direction of text (U+202E and others).
 */
unsigned utf8_shown(const char *s);

/* Makes a '?' of each byte that is no part of such a character, in place. Returns `s`. */
char *utf8_tame(char *s);

/* Columns that its first `most` bytes take. */
unsigned utf8_columns(const char *s, size_t most);

/* What stands for bytes that are not UTF-8: U+FFFD. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

#endif
