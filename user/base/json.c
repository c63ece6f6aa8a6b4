// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/json.h"

#include <inttypes.h>
#include <json-c/json_visit.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/num.h"

static bool is_utf8(const char *s, size_t len)
{
	size_t at = 0;

	for (unsigned n = 1; n && at < len; at += n)
		n = utf8_length(s + at);
	return at == len;
}

/* Rejects values that json-c accepts: NaN, and byte sequences that only look like UTF-8. */
static int check(struct json_object *o, int flags, struct json_object *parent, const char *key,
		 size_t *index, void *all)
{
	(void)flags;
	(void)parent;
	(void)index;
	if ((key && !is_utf8(key, strlen(key))) ||
	    (json_object_is_type(o, json_type_string) &&
	     !is_utf8(json_object_get_string(o), (size_t)json_object_get_string_len(o))) ||
	    (json_object_is_type(o, json_type_double) && !isfinite(json_object_get_double(o))))
		*(bool *)all = false;
	return *(bool *)all ? JSON_C_VISIT_RETURN_CONTINUE : JSON_C_VISIT_RETURN_STOP;
}

struct json_object *json_parse(const char *text, size_t len, int depth)
{
	struct json_tokener *tok = mem_need(json_tokener_new_ex(depth));
	struct json_object *o;
	bool all;

	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tok, text, (int)len);
	all = json_object_is_type(o, json_type_object) && json_tokener_get_parse_end(tok) == len;
	json_tokener_free(tok);
	if (all)
		json_c_visit(o, 0, check, &all);
	if (!all) {
		json_object_put(o);
		o = NULL;
	}
	return o;
}

struct json_object *json_get(const struct json_object *o, const char *key)
{
	struct json_object *member = NULL;

	if (!json_object_is_type(o, json_type_object))
		return NULL;
	json_object_object_get_ex(o, key, &member);
	return member;
}

static struct json_object *of_type(const struct json_object *o, const char *key,
				   enum json_type type)
{
	struct json_object *member = json_get(o, key);

	return json_object_is_type(member, type) ? member : NULL;
}

uint64_t json_get_u64(const struct json_object *o, const char *key)
{
	return json_object_get_uint64(of_type(o, key, json_type_int));
}

int64_t json_get_i64(const struct json_object *o, const char *key)
{
	return json_object_get_int64(of_type(o, key, json_type_int));
}

double json_get_double(const struct json_object *o, const char *key)
{
	const struct json_object *d = of_type(o, key, json_type_double);

	return d ? json_object_get_double(d) : (double)json_get_i64(o, key);
}

bool json_get_bool(const struct json_object *o, const char *key)
{
	return json_object_get_boolean(of_type(o, key, json_type_boolean));
}

const char *json_get_text(const struct json_object *o, const char *key)
{
	struct json_object *text = of_type(o, key, json_type_string);

	return text ? json_object_get_string(text) : "";
}

size_t json_get_length(const struct json_object *o, const char *key)
{
	const struct json_object *list = of_type(o, key, json_type_array);

	return list ? json_object_array_length(list) : 0;
}

struct json_object *json_get_item(const struct json_object *o, const char *key, size_t i)
{
	return i < json_get_length(o, key) ? json_object_array_get_idx(json_get(o, key), i) : NULL;
}

const char *json_get_item_text(const struct json_object *o, const char *key, size_t i)
{
	struct json_object *item = json_get_item(o, key, i);

	return json_object_is_type(item, json_type_string) ? json_object_get_string(item) : "";
}

struct json_each json_each(const struct json_object *o, const char *key)
{
	return (struct json_each){.list = of_type(o, key, json_type_array)};
}

bool json_next(struct json_each *each)
{
	if (!each->list || each->next == json_object_array_length(each->list))
		return false;
	each->item = json_object_array_get_idx(each->list, each->next++);
	return true;
}

void json_put(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add(o, key, value);
}

struct json_object *json_text(const char *s)
{
	struct json_object *o;
	size_t n = 0;
	char *clean;

	if (!s || !*s)
		return NULL;
	clean = mem_resize(NULL, strlen(s), 3);
	while (*s) {
		unsigned length = utf8_length(s);

		memcpy(clean + n, length ? s : UTF8_REPLACEMENT, length ? length : 3);
		n += length ? length : 3;
		s += length ? length : 1;
	}
	o = json_object_new_string_len(clean, (int)n);
	free(clean);
	return o;
}

void json_put_text(struct json_object *o, const char *key, const char *s)
{
	json_put(o, key, json_text(s));
}

void json_put_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_put(o, key, json_object_new_uint64(v));
}

void json_put_bool(struct json_object *o, const char *key, bool v)
{
	json_put(o, key, json_object_new_boolean(v));
}

struct json_object *json_put_list(struct json_object *o, const char *key)
{
	json_put(o, key, json_object_new_array());
	return json_get(o, key);
}

struct json_object *json_put_object(struct json_object *o, const char *key)
{
	json_put(o, key, json_object_new_object());
	return json_get(o, key);
}

struct json_object *json_add_object(struct json_object *list)
{
	struct json_object *o = json_object_new_object();

	json_object_array_add(list, o);
	return o;
}

void json_add_line(struct json_object *list, const char *fmt, ...)
{
	char *line;
	va_list ap;

	va_start(ap, fmt);
	line = mem_vprint(fmt, ap);
	va_end(ap);
	json_object_array_add(list, json_text(line));
	free(line);
}

/*
 * Returns the length in bytes of the character at `s` if it must not be printed (utf8_shown()),
 * otherwise 0. ASCII control characters except DEL have already been escaped.
 */
static unsigned hidden_length(const char *s)
{
	return (unsigned char)*s < 0x7f || utf8_shown(s) ? 0 : utf8_length(s);
}

static unsigned code_point(const char *s, unsigned length)
{
	unsigned code = (unsigned char)*s & (length == 1 ? 0x7f : 0xff >> (length + 1));

	for (unsigned i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)s[i] & 0x3f);
	return code;
}

void json_print(FILE *out, const char *json)
{
	while (*json) {
		unsigned control = hidden_length(json);
		size_t plain = control ? 0 : 1 + strcspn(json + 1, "\x7f\xc2\xd8\xe2");

		if (control)
			fprintf(out, "\\u%04x", code_point(json, control));
		fwrite(json, 1, plain, out);
		json += control + plain;
	}
}

struct json_object *json_double(double v)
{
	struct json_object *d = isfinite(v) ? json_object_new_double(v) : NULL;

	if (d)
		json_object_set_serializer(d, json_object_double_to_json_string, (void *)"%.3f",
					   NULL);
	return d;
}

void json_put_double(struct json_object *o, const char *key, double v)
{
	json_put(o, key, json_double(v));
}

char *json_time(uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char date[24], *text = fmt_buffer();
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, FMT_MAX, "%s.%06uZ", date, (unsigned)(realtime_ns % 1000000000 / 1000));
	return text;
}

void json_put_time(struct json_object *o, const char *key, uint64_t realtime_ns)
{
	json_put_text(o, key, json_time(realtime_ns));
}

/* Filling texts */

struct json_object *json_at(const struct json_object *o, const char *path)
{
	char copy[128], *rest = copy;
	struct json_object *at = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	while (rest)
		o = at = json_get(o, strsep(&rest, "."));
	return at;
}

char *json_number(const char *key, struct json_object *value)
{
	const double v = json_object_get_double(value);

	return strstr(key, "_ns")    ? fmt_ns(json_object_get_uint64(value))
	       : strstr(key, "_pps") ? fmt_rate(isfinite(v) ? v : 0)
				     : fmt_count(json_object_get_uint64(value));
}

/* Returns true if the member exists and is not 0, false or empty. */
static bool is_set(struct json_object *member)
{
	return json_object_is_type(member, json_type_object) ||
	       (json_object_is_type(member, json_type_string) ? json_object_get_string_len(member)
							      : json_object_get_boolean(member));
}

static char *one_word(char *text, char blank)
{
	for (char *c = text; (c = strchr(c, ' ')); c++)
		*c = blank;
	return text;
}

/* Formats a value that is not a list. `unit`: the text after #, or NULL. */
static const char *item_text(const char *key, struct json_object *value, const char *unit,
			     char blank, bool twice)
{
	char *text = fmt_buffer();

	if (json_object_is_type(value, json_type_string))
		return json_object_get_string(value);
	if (twice)
		snprintf(text, FMT_MAX, "%" PRIu64, 2 * json_object_get_uint64(value));
	else if (unit && *unit)
		text = fmt_many(json_object_get_uint64(value), unit);
	else if (unit || json_object_is_type(value, json_type_double))
		text = json_number(key, value);
	else
		return value ? json_object_get_string(value) : "";
	return one_word(text, blank);
}

static const char *value_text(const char *key, struct json_object *value, const char *unit,
			      char blank, bool twice)
{
	char text[FMT_MAX] = "";
	size_t used = 0;

	if (!json_object_is_type(value, json_type_array))
		return item_text(key, value, unit, blank, twice);
	if (unit && *unit)
		return one_word(fmt_many(json_object_array_length(value), unit), blank);
	for (size_t i = 0; i < json_object_array_length(value) && used < sizeof(text); i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s", i ? " " : "",
			item_text(key, json_object_array_get_idx(value, i), unit, blank, twice));
	return strcpy(fmt_buffer(), text);
}

/*
 * Returns the replacement for a word in braces, or NULL if its member is missing. `zero`: a number
 * that is missing is 0. Leaves the key in `key`.
 */
static const char *word_text(char *key, const struct json_object *o, char blank, bool zero)
{
	char *no = key, *none = key, *unit = key, *twice = key, *yes;
	struct json_object *value;

	strsep(&no, "|");
	yes = strsep(&no, "|");
	strsep(&none, ":");
	strsep(&unit, "#");
	strsep(&twice, "*");
	value = json_at(o, key);
	if (yes)
		return is_set(value) ? yes : no ? no : "";
	return value || (unit && zero) ? value_text(key, value, unit, blank, twice) : none;
}

/* Returns whether a word is {?key} or {<key}, and clears *shown if it leaves the text out. */
static bool is_condition(const char *word, const struct json_object *o, bool *shown)
{
	struct json_object *member = json_at(o, *word ? word + 1 : word);

	if (*word == '?')
		*shown = is_set(member);
	else if (*word == '<')
		*shown = json_object_get_int64(member) < 0;
	return *word == '?' || *word == '<';
}

bool json_fill(char *out, size_t size, const char *text, const struct json_object *o, char blank,
	       bool whole)
{
	bool optional = false, shown = true;
	size_t n = 0, begin = 0;

	while (text && *text && shown) {
		const bool braced = *text == '{';
		size_t length = braced ? strcspn(text, "}") : strcspn(text, "{[]");
		const char *value = text;
		char word[128];

		if (*text == '[' || *text == ']') {
			optional = *text++ == '[';
			begin = n;
			text += optional && !n && !strncmp(text, "; ", 2) ? 2 : 0;
			continue;
		}
		if (braced) {
			snprintf(word, sizeof(word), "%.*s", (int)length - 1, text + 1);
			text += length + 1;
			if (is_condition(word, o, &shown))
				continue;
			value = word_text(word, o, blank, !whole);
			if (!whole && optional && !is_set(json_at(o, word)))
				value = NULL;
			else if (!whole && !value)
				value = "";
			length = value ? strlen(value) : 0;
		} else {
			text += length;
		}
		if (value && (n + length < size || !whole)) {
			length = smaller(length, size - 1 - n);
			memcpy(out + n, value, length);
			n += length;
		} else if (optional) { /* all or nothing */
			n = begin;
			text += strcspn(text, "]");
		} else {
			shown = false;
		}
	}
	n = shown ? n : 0;
	out[n] = '\0';
	return n;
}

unsigned utf8_length(const char *text)
{
	static const struct {
		unsigned char first, last, low, high; /* bounds of the first and second byte */
		unsigned length;
	} forms[] = {
		{0x01, 0x7f, 0, 0, 1},	     {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	const unsigned char *s = (const unsigned char *)text;

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (*s < forms[i].first || *s > forms[i].last)
			continue;
		if (forms[i].length == 1)
			return 1;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (unsigned k = 2; k < forms[i].length; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].length;
	}
	return 0;
}

/*
 * Returns whether the character only changes the direction of text (Bidi_Control). Such characters
 * can make one name look like another: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
 */
static bool is_bidi(const char *s)
{
	static const char *const all[] = {
		"\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
		"\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae",
		"\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9",
	};

	for (unsigned i = 0; i < LENGTH(all); i++) {
		if (!strncmp(s, all[i], strlen(all[i])))
			return true;
	}
	return false;
}

unsigned utf8_shown(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned length = utf8_length(text);

	if (length == 1)
		return *s >= 0x20 && *s != 0x7f;
	return (length == 2 && *s == 0xc2 && s[1] < 0xa0) || is_bidi(text) ? 0 : length;
}

char *utf8_tame(char *s)
{
	for (char *at = s; *at;) {
		unsigned length = utf8_shown(at);

		if (!length)
			*at = '?';
		at += length ? length : 1;
	}
	return s;
}

unsigned utf8_columns(const char *s, size_t most)
{
	unsigned n = 0;

	for (; most && *s; most--, s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}
