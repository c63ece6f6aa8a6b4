// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/json_put.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"

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
	clean = malloc(3 * strlen(s) + 1);
	if (!clean)
		return NULL;
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

char *json_time(char *buf, size_t size, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char date[24];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, size, "%s.%06uZ", date, (unsigned)(realtime_ns % 1000000000 / 1000));
	return buf;
}
