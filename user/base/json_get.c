// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/json_get.h"

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
