// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/json_put.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void json_put(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add(o, key, value);
}

/* Bytes of the well-formed sequence at `s` (RFC 3629), 0 if there is none. */
static unsigned utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char first, last, low, high; /* of the first byte, of the second */
		unsigned length;
	} forms[] = {
		{0x01, 0x7f, 0, 0, 1},	     {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

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
		unsigned length = utf8_length((const unsigned char *)s);

		memcpy(clean + n, length ? s : "\xef\xbf\xbd", length ? length : 3);
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

void json_put_double(struct json_object *o, const char *key, double v)
{
	struct json_object *d = isfinite(v) ? json_object_new_double(v) : NULL;

	if (d)
		json_object_set_serializer(d, json_object_double_to_json_string, (void *)"%.3f",
					   NULL);
	json_put(o, key, d);
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
