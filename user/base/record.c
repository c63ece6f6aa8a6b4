// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/record.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/list.h"
#include "base/clock.h"

/* Returns the address of a number of that size within eight bytes. */
static void *low_bytes(uint64_t *v, size_t size)
{
	return (char *)v + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(*v) - size : 0);
}

static uint64_t load_uint(const void *at, size_t size)
{
	uint64_t v = 0;

	memcpy(low_bytes(&v, size), at, size);
	return v;
}

static void store_uint(void *at, size_t size, uint64_t v)
{
	memcpy(at, low_bytes(&v, size), size);
}

static struct json_object *write_counted(const struct record_field *f, const uint64_t *counts)
{
	struct json_object *list = json_object_new_array(), *o;

	for (unsigned i = 0; i < f->names_n; i++) {
		if (!counts[i])
			continue;
		o = json_add_object(list);
		json_put_text(o, f->counted[0], f->names[i]);
		json_put_u64(o, f->counted[1], counts[i]);
	}
	return list;
}

static struct json_object *value_of(const struct record_field *f, const void *at)
{
	unsigned value;
	uint64_t ns;
	double v;

	switch (f->type) {
	case RECORD_UINT:
		return json_object_new_uint64(load_uint(at, f->size));
	case RECORD_INT:
		return json_object_new_int64(f->size == sizeof(int32_t) ? *(const int32_t *)at
									: *(const int64_t *)at);
	case RECORD_BOOL:
		return json_object_new_boolean(*(const bool *)at);
	case RECORD_DOUBLE:
		v = *(const double *)at;
		return f->how & RECORD_MILLI ? json_double(v)
		       : isfinite(v)	     ? json_object_new_double(v)
					     : NULL;
	case RECORD_TEXT:
		return json_text(at);
	case RECORD_POINTER:
	case RECORD_WORD:
		return json_text(*(const char *const *)at);
	case RECORD_ENUM:
		value = *(const unsigned *)at; /* a negative value exceeds all names */
		return json_text(value < f->names_n ? f->names[value] : NULL);
	case RECORD_TIME:
		ns = *(const uint64_t *)at;
		return ns ? json_text(json_time(ns)) : NULL;
	case RECORD_NESTED:
		return record_write(f->rows, at);
	case RECORD_COUNTED:
		return write_counted(f, at);
	case RECORD_JSON:
		return json_object_get(*(struct json_object *const *)at);
	case RECORD_OWN:
		return f->write ? f->write(at) : NULL;
	case RECORD_ROWS:
		break;
	}
	return NULL;
}

/* Returns whether the member looks as if it had never been set. */
static bool is_zero(const struct record_field *f, const void *at)
{
	const char *bytes = at;

	if (f->type == RECORD_TEXT)
		return !*bytes;
	if (f->type == RECORD_POINTER || f->type == RECORD_WORD) {
		const char *text = *(const char *const *)at;

		return !text || !*text;
	}
	for (size_t i = 0; i < f->size; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

static size_t length_of(const struct record_field *f, const void *from)
{
	const char *at = (const char *)from + f->offset;
	size_t n = f->items;

	if (f->count) {
		unsigned counted = *(const unsigned *)((const char *)from + f->count - 1);

		return counted < n ? counted : n;
	}
	while (n && is_zero(f, at + (n - 1) * f->size))
		n--;
	return n;
}

static bool is_there(const struct record_field *f, const void *from)
{
	if (f->when)
		return *(const bool *)((const char *)from + f->when - 1);
	if (!(f->how & (RECORD_OMITTED | RECORD_NULL)))
		return true;
	return f->items ? length_of(f, from) : !is_zero(f, (const char *)from + f->offset);
}

void record_put(struct json_object *o, const struct record_field *rows, const void *from)
{
	for (const struct record_field *f = rows; f && f->key; f++) {
		const char *at = (const char *)from + f->offset;
		bool there = is_there(f, from);
		struct json_object *value = NULL;

		if (f->type == RECORD_ROWS)
			record_put(o, f->rows, at);
		if (f->type == RECORD_ROWS || (!there && f->how & RECORD_OMITTED))
			continue;
		if (there)
			value = f->items ? json_object_new_array() : value_of(f, at);
		for (size_t i = 0, n = there && f->items ? length_of(f, from) : 0; i < n; i++)
			json_object_array_add(value, value_of(f, at + i * f->size));
		json_put(o, f->key, value);
	}
}

struct json_object *record_write(const struct record_field *rows, const void *from)
{
	struct json_object *o = json_object_new_object();

	record_put(o, rows, from);
	return o;
}

struct json_object *record_items(const struct record_field *rows, const struct list *items)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < items->n; i++)
		json_object_array_add(
			list, record_write(rows, (const char *)items->at + i * items->size));
	return list;
}

static int read_uint(struct json_object *o, const struct record_field *f, void *to)
{
	uint64_t most = f->size < sizeof(most) ? (1ULL << 8 * f->size) - 1 : UINT64_MAX, v;

	/* a negative number is only recognised by its sign, because json-c clamps it to 0 */
	if (!json_object_is_type(o, json_type_int) || json_object_get_int64(o) < 0)
		return -EBADMSG;
	v = json_object_get_uint64(o);
	if (v > (f->max ? f->max : most))
		return -EBADMSG;
	store_uint(to, f->size, v);
	return 0;
}

static int read_int(struct json_object *o, const struct record_field *f, void *to)
{
	int64_t v = json_object_get_int64(o);

	if (!json_object_is_type(o, json_type_int) ||
	    (v == INT64_MAX && json_object_get_uint64(o) > INT64_MAX) ||
	    (f->size == sizeof(int32_t) && (v < INT32_MIN || v > INT32_MAX)))
		return -EBADMSG;
	store_uint(to, f->size, (uint64_t)v);
	return 0;
}

static int read_double(struct json_object *o, double *to)
{
	double v = json_object_get_double(o);

	if ((!json_object_is_type(o, json_type_double) && !json_object_is_type(o, json_type_int)) ||
	    !isfinite(v) || v < 0)
		return -EBADMSG;
	*to = v;
	return 0;
}

static int read_word(const struct record_field *f, const char *word, void *to)
{
	for (unsigned i = 0; i < f->names_n; i++) {
		if (!f->names[i] || strcmp(f->names[i], word))
			continue;
		if (f->type == RECORD_ENUM)
			*(int *)to = (int)i;
		else
			*(const char **)to = f->names[i];
		return 0;
	}
	return f->how & RECORD_OPEN ? 0 : -EBADMSG;
}

static int read_string(struct json_object *o, const struct record_field *f, void *to)
{
	const char *s;

	if (!json_object_is_type(o, json_type_string))
		return -EBADMSG;
	s = json_object_get_string(o);
	if (f->type == RECORD_TIME)
		return when_date(s, to) ? -EBADMSG : 0;
	if (f->type == RECORD_WORD || f->type == RECORD_ENUM)
		return read_word(f, s, to);
	if (f->type == RECORD_TEXT)
		utf8_tame(memcpy(to, s, strnlen(s, f->size - 1)));
	else
		*(const char **)to = s;
	return 0;
}

/* Ignores names that are unknown, as those of a later version. */
static int read_counted(struct json_object *list, const struct record_field *f, uint64_t *counts)
{
	if (!json_object_is_type(list, json_type_array))
		return -EBADMSG;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		for (unsigned k = 0; k < f->names_n; k++) {
			if (f->names[k] && !strcmp(f->names[k], json_get_text(o, f->counted[0])))
				counts[k] = json_get_u64(o, f->counted[1]);
		}
	}
	return 0;
}

/* Reads a value. `to` has been zeroed. */
static int read_value(struct json_object *o, const struct record_field *f, void *to)
{
	switch (f->type) {
	case RECORD_UINT:
		return read_uint(o, f, to);
	case RECORD_INT:
		return read_int(o, f, to);
	case RECORD_BOOL:
		if (!json_object_is_type(o, json_type_boolean))
			return -EBADMSG;
		*(bool *)to = json_object_get_boolean(o);
		return 0;
	case RECORD_DOUBLE:
		return read_double(o, to);
	case RECORD_NESTED:
		return json_object_is_type(o, json_type_object) ? record_read(o, f->rows, to)
								: -EBADMSG;
	case RECORD_COUNTED:
		return read_counted(o, f, to);
	case RECORD_JSON:
		*(struct json_object **)to = o;
		return 0;
	default:
		return read_string(o, f, to);
	}
}

/*
 * Zeroes each member individually. Parts of an object may be anywhere in the struct, so memset()
 * will not do.
 */
static void clear(const struct record_field *rows, void *to)
{
	for (const struct record_field *f = rows; f && f->key; f++) {
		char *at = (char *)to + f->offset;
		const size_t n = f->items ? f->items : 1;

		if (f->count)
			*(unsigned *)((char *)to + f->count - 1) = 0;
		if (f->when)
			*(bool *)((char *)to + f->when - 1) = false;
		if (f->type == RECORD_OWN && f->read)
			f->read(NULL, at);
		else if (f->type != RECORD_NESTED && f->type != RECORD_ROWS)
			memset(at, 0, n * f->size);
		for (size_t i = 0; i < n; i++) {
			if (f->type == RECORD_NESTED || f->type == RECORD_ROWS)
				clear(f->rows, at + i * f->size);
			else if (f->type == RECORD_ENUM)
				((int *)at)[i] = f->unknown;
		}
	}
}

/* Returns whether null is a valid value for the type. */
static bool has_null(enum record_type type)
{
	return type != RECORD_UINT && type != RECORD_INT && type != RECORD_BOOL &&
	       type != RECORD_DOUBLE && type != RECORD_NESTED && type != RECORD_COUNTED;
}

static int read_list(struct json_object *list, const struct record_field *f, void *to)
{
	size_t n, taken = 0;
	int rc = 0;

	if (!json_object_is_type(list, json_type_array))
		return -EBADMSG;
	n = json_object_array_length(list);
	if (n > f->items) {
		n = f->items;
		rc = -EBADMSG;
	}
	for (; taken < n; taken++) {
		struct json_object *item = json_object_array_get_idx(list, taken);

		if (!item && has_null(f->type))
			continue;
		if (read_value(item, f, (char *)to + f->offset + taken * f->size))
			rc = -EBADMSG;
	}
	if (f->count)
		*(unsigned *)((char *)to + f->count - 1) = (unsigned)taken;
	return rc;
}

static int read_field(const struct json_object *o, const struct record_field *f, void *to)
{
	const unsigned may_lack = RECORD_OPTIONAL | RECORD_OMITTED;
	struct json_object *value = NULL;
	int rc;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, f->key, &value))
		return f->how & may_lack ? 0 : -EBADMSG;
	if (!value &&
	    ((has_null(f->type) && !f->items) || f->when || f->how & (may_lack | RECORD_NULL)))
		return 0;
	rc = f->items ? read_list(value, f, to) : read_value(value, f, (char *)to + f->offset);
	if (!rc && f->when)
		*(bool *)((char *)to + f->when - 1) = true;
	return rc;
}

static int read_rows(const struct json_object *o, const struct record_field *rows, void *to)
{
	int rc = 0;

	for (const struct record_field *f = rows; f && f->key; f++) {
		char *at = (char *)to + f->offset;

		if (f->type == RECORD_ROWS ? read_rows(o, f->rows, at)
		    : f->type != RECORD_OWN ? read_field(o, f, to)
					    : 0)
			rc = -EBADMSG;
		if (f->type == RECORD_OWN && f->read)
			f->read(json_get(o, f->key), at);
	}
	return rc;
}

int record_read(const struct json_object *o, const struct record_field *rows, void *to)
{
	clear(rows, to);
	return read_rows(o, rows, to);
}

/* Schemas */

struct json_object *record_schema_time(void)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "type", "string");
	json_put_text(o, "pattern",
		      "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$");
	return o;
}

struct json_object *record_schema_or_null(struct json_object *schema)
{
	struct json_object *words = json_get(schema, "enum"), *either, *list;

	if (words) {
		json_object_array_add(words, NULL);
		return schema;
	}
	either = json_object_new_object();
	list = json_put_list(either, "anyOf");
	json_object_array_add(list, schema);
	json_put_text(json_add_object(list), "type", "null");
	return either;
}

static struct json_object *list_schema(struct json_object *items)
{
	struct json_object *list = json_object_new_object();

	json_put_text(list, "type", "array");
	json_put(list, "items", items);
	return list;
}

static struct json_object *schema_of(const struct record_field *f)
{
	static const char *const types[] = {
		[RECORD_UINT] = "integer", [RECORD_INT] = "integer", [RECORD_BOOL] = "boolean",
		[RECORD_DOUBLE] = "number", [RECORD_TEXT] = "string", [RECORD_POINTER] = "string"};
	const uint64_t most = f->size < sizeof(most) ? (1ULL << 8 * f->size) - 1 : UINT64_MAX;
	struct json_object *o, *words;

	if (f->type == RECORD_NESTED)
		return record_schema(f->rows);
	if (f->type == RECORD_COUNTED)
		return list_schema(record_schema((const struct record_field[]){
			{.key = f->counted[0],
			 .type = RECORD_WORD,
			 .how = RECORD_FULL,
			 .names = f->names,
			 .names_n = f->names_n},
			{.key = f->counted[1], .type = RECORD_UINT, .size = sizeof(uint64_t)},
			{0},
		}));
	if (f->type == RECORD_TIME)
		return record_schema_time();
	o = json_object_new_object();
	if (f->type < sizeof(types) / sizeof(*types))
		json_put_text(o, "type", types[f->type]);
	if (f->type == RECORD_UINT || f->type == RECORD_DOUBLE)
		json_put_u64(o, "minimum", 0);
	if (f->type == RECORD_UINT)
		json_put_u64(o, "maximum", f->max ? f->max : most);
	words = f->names ? json_put_list(o, "enum") : NULL;
	for (unsigned i = 0; i < f->names_n; i++) {
		if (f->names[i])
			json_object_array_add(words, json_text(f->names[i]));
	}
	return o;
}

/* Returns whether a written value may be null. */
static bool may_be_null(const struct record_field *f)
{
	if (f->how & (RECORD_OMITTED | RECORD_FULL))
		return false;
	return f->when || f->how & RECORD_NULL ||
	       (!f->items && has_null(f->type) && f->type != RECORD_OWN && f->type != RECORD_JSON);
}

static void add_schemas(struct json_object *properties, struct json_object *required,
			const struct record_field *rows)
{
	for (const struct record_field *f = rows; f && f->key; f++) {
		struct json_object *member;

		if (f->type == RECORD_ROWS) {
			add_schemas(properties, required, f->rows);
			continue;
		}
		member = f->items ? list_schema(schema_of(f)) : schema_of(f);
		if (may_be_null(f))
			member = record_schema_or_null(member);
		json_put(properties, f->key, member);
		if (!(f->how & (RECORD_OMITTED | RECORD_OPTIONAL)))
			json_object_array_add(required, json_text(f->key));
	}
}

struct json_object *record_schema(const struct record_field *rows)
{
	struct json_object *o = json_object_new_object(), *required;

	json_put_text(o, "type", "object");
	required = json_put_list(o, "required");
	add_schemas(json_put_object(o, "properties"), required, rows);
	return o;
}
