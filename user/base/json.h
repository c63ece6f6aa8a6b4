/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads members of JSON objects from untrusted files, and writes members that are valid whatever
 * characters a name contains. Texts are UTF-8. The functions below decide which characters may be
 * shown. For whole structs see base/record.h.
 */
#ifndef PKTLEDGER_BASE_JSON_H
#define PKTLEDGER_BASE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns a member, borrowed. Returns NULL if it is missing or null, or if `o` is not an object. */
struct json_object *json_get(const struct json_object *o, const char *key);

/*
 * Returns a member's value, or 0, "" or false if it is missing or has a different type. Texts are
 * borrowed.
 */
uint64_t json_get_u64(const struct json_object *o, const char *key);
int64_t json_get_i64(const struct json_object *o, const char *key);
double json_get_double(const struct json_object *o, const char *key);
bool json_get_bool(const struct json_object *o, const char *key);
const char *json_get_text(const struct json_object *o, const char *key);

/* Returns a member, or if `path` has dots, a member of a member, borrowed: "hosts.tx". */
struct json_object *json_at(const struct json_object *o, const char *path);

/*
 * Formats a number in the unit given by the key, "_ns" or "_pps", otherwise as a count. The result
 * is valid for as long as a fmt_buffer().
 */
char *json_number(const char *key, struct json_object *value);

/*
 * Fills `text` with members of `o`:
 *
 *	{host} {hosts.tx}	the member. The items of a list are separated by blanks
 *	{sent#}			by json_number()
 *	{sent#packet}		by fmt_many() (for a list: its length)
 *	{limit*2}		twice the number
 *	{gro|on|off}		one of two texts
 *	{qdisc:none}		with a text for a missing member
 *	[, in {netns}]		left out if a member in it is missing, or without `whole` also
 *				if it is 0, false or empty
 *	{?waits} {<left}	the whole text is left out if the member is missing, 0, false or
 *				empty, or unless it is negative
 *
 * A text in brackets that begins with "; " loses it at the beginning. `blank` replaces the blanks
 * in formatted numbers. With `whole`, the text is also left out if another member is missing or it
 * does not fit. Returns false with "" if it is left out or empty.
 */
bool json_fill(char *out, size_t size, const char *text, const struct json_object *o, char blank,
	       bool whole);

/* Return a list's length (0 if it is missing) and its items. */
size_t json_get_length(const struct json_object *o, const char *key);
struct json_object *json_get_item(const struct json_object *o, const char *key, size_t i);
const char *json_get_item_text(const struct json_object *o, const char *key, size_t i);

/* Iterates over a list: for (struct json_each x = json_each(o, key); json_next(&x);) x.item */
struct json_each {
	const struct json_object *list; /* NULL if missing */
	size_t next;
	struct json_object *item; /* borrowed, NULL stands for null */
};

struct json_each json_each(const struct json_object *o, const char *key);
bool json_next(struct json_each *each);

/*
 * Parses `text` as an object with at most `depth` levels. All texts must be UTF-8 without NUL, and
 * all numbers finite, so that the object can be printed as JSON again. Returns NULL on error. The
 * caller must put the object.
 */
struct json_object *json_parse(const char *text, size_t len, int depth);
#define JSON_DEPTH 32 /* maximum number of levels in documents and ledgers */

/*
 * Add members. A NULL or empty string becomes null, as does a number that is not finite. Bytes that
 * are not UTF-8 become U+FFFD.
 */
void json_put(struct json_object *o, const char *key, struct json_object *value);
void json_put_text(struct json_object *o, const char *key, const char *s);
void json_put_u64(struct json_object *o, const char *key, uint64_t v);
void json_put_bool(struct json_object *o, const char *key, bool v);
void json_put_double(struct json_object *o, const char *key, double v); /* three decimals */
void json_put_time(struct json_object *o, const char *key, uint64_t realtime_ns);
struct json_object *json_text(const char *s);
struct json_object *json_double(double v);

/* Prints JSON text. DEL and C1 characters in it are printed as \u escapes. */
void json_print(FILE *out, const char *json);

/*
 * Adds a new list or object as a member, or a new object at the end of a list. Returns the new
 * value, borrowed.
 */
struct json_object *json_put_list(struct json_object *o, const char *key);
struct json_object *json_put_object(struct json_object *o, const char *key);
struct json_object *json_add_object(struct json_object *list);

/* Appends a sentence to a list. */
void json_add_line(struct json_object *list, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Formats ns of CLOCK_REALTIME as "2024-05-01T12:00:00.000000Z" (RFC 3339). The text stays valid as
 * described for fmt_buffer().
 */
char *json_time(uint64_t realtime_ns);

/*
 * Returns the length in bytes of the well-formed sequence at the start of `s` (RFC 3629). Returns 0
 * if it is malformed or the text ends.
 */
unsigned utf8_length(const char *s);

/*
 * Returns the character's length in bytes if it is printable. Returns 0 for control characters,
 * including two-byte ones (U+0080 to U+009F), and for characters that change the direction of text
 * (U+202E and others).
 */
unsigned utf8_shown(const char *s);

/* Replaces each byte that is not part of a printable character with '?', in place. Returns `s`. */
char *utf8_tame(char *s);

/* Returns how many columns the first `most` bytes occupy. */
unsigned utf8_columns(const char *s, size_t most);

/* U+FFFD, which replaces bytes that are not UTF-8. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

#endif
