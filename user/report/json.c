// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/record.h"

#define FLAGS JSON_C_TO_STRING_NOSLASHESCAPE

struct json_out {
	FILE *out;
	enum json_mode mode;
	const char *schema;
	struct json_object *doc; /* the document for JSON_DOC */
	bool begun;		 /* JSON_LINES: the schema has been written */
	int rc;			 /* -errno of the first failed write */
};

struct json_out *json_out_new(FILE *out, enum json_mode mode, const char *schema)
{
	struct json_out *o = mem_new(o);

	*o = (struct json_out){.out = out, .mode = mode, .schema = schema};
	if (mode == JSON_DOC) {
		o->doc = json_object_new_object();
		json_put_text(o->doc, "schema", schema);
	}
	return o;
}

static void write_object(struct json_out *o, struct json_object *object, int flags)
{
	const char *text = json_object_to_json_string_ext(object, flags);

	if (o->rc)
		return;
	errno = text ? EIO : ENOMEM;
	if (text)
		json_print(o->out, text);
	if (!text || ferror(o->out) || fputc('\n', o->out) == EOF || fflush(o->out) == EOF)
		o->rc = -errno;
}

struct json_object *json_event(const char *event, const char *schema, struct json_object *data)
{
	struct json_object *line = json_object_new_object();

	json_put_text(line, "event", event);
	if (schema)
		json_put_text(line, "schema", schema);
	json_put(line, "data", data);
	return line;
}

void json_out_once(struct json_out *o, const char *event, struct json_object *data)
{
	struct json_object *line;

	if (!o) {
		json_object_put(data);
	} else if (o->mode == JSON_DOC) {
		json_put(o->doc, event, data);
	} else {
		line = json_event(event, o->begun ? NULL : o->schema, data);
		o->begun = true;
		write_object(o, line, JSON_C_TO_STRING_PLAIN | FLAGS);
		json_object_put(line);
	}
}

void json_out_each(struct json_out *o, const char *event, struct json_object *data)
{
	struct json_object *list;
	char plural[32];

	if (!o || o->mode == JSON_LINES) {
		json_out_once(o, event, data);
		return;
	}
	snprintf(plural, sizeof(plural), "%ss", event);
	list = json_get(o->doc, plural);
	json_object_array_add(list ? list : json_put_list(o->doc, plural), data);
}

static const struct record_field error_rows[] = {
	RECORD("message", TEXT, error, message),
	RECORD("hint", TEXT, error, hint),
	RECORD("status", UINT, error, status, .max = STATUS_BROKEN),
	{0},
};

struct json_object *json_error(const struct error *err)
{
	return record_write(error_rows, err);
}

bool json_denies(const struct json_object *o, const char *key)
{
	return json_get(o, key) && !json_get_bool(o, key);
}

uint64_t json_sum(const struct json_object *o, const char *list, const char *key)
{
	uint64_t sum = 0;

	for (struct json_each e = json_each(o, list); json_next(&e);) {
		uint64_t v = json_get_u64(e.item, key);

		sum = sum + v < sum ? UINT64_MAX : sum + v;
	}
	return sum;
}

void json_put_all(struct json_object *to, struct json_object *from)
{
	if (!json_object_is_type(from, json_type_object))
		return;
	json_object_object_foreach (from, key, value)
		json_put(to, key, json_object_get(value));
}

int json_out_finish(struct json_out *o)
{
	int rc;

	if (!o)
		return 0;
	if (o->doc)
		write_object(o, o->doc, JSON_C_TO_STRING_PRETTY | FLAGS);
	rc = o->rc;
	json_object_put(o->doc);
	free(o);
	return rc;
}
