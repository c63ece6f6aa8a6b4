// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct outcome {
	struct json_object *data; /* of its line */
	uint64_t packets, ranges, longest;
};

struct fatesum {
	struct outcome *outcome;
	unsigned n;
	bool keep;
	struct fatesum_run *run;
	size_t runs, room;
};

struct fatesum *fatesum_new(bool keep)
{
	struct fatesum *f = calloc(1, sizeof(*f));

	if (f)
		f->keep = keep;
	return f;
}

void fatesum_free(struct fatesum *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->n; i++)
		json_object_put(f->outcome[i].data);
	free(f->outcome);
	free(f->run);
	free(f);
}

int fatesum_name(struct fatesum *f, struct json_object *data)
{
	struct outcome *more;

	if (json_get_u64(data, "id") != f->n || !*json_get_text(data, "fate"))
		return -EINVAL;
	more = realloc(f->outcome, (f->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->outcome = more;
	f->outcome[f->n++] = (struct outcome){.data = json_object_get(data)};
	return 0;
}

static bool read_number(const char **p, const char *end, uint64_t *value)
{
	const char *start = *p;

	for (*value = 0; *p < end && **p >= '0' && **p <= '9'; ++*p) {
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(**p - '0'), value))
			return false;
	}
	return *p > start;
}

static bool read_char(const char **p, const char *end, char c)
{
	return *p < end && *(*p)++ == c;
}

/* [first,last,id] */
static bool read_range(const char **p, const char *end, uint64_t v[3])
{
	for (int i = 0; i < 3; i++) {
		if (!read_char(p, end, i ? ',' : '[') || !read_number(p, end, &v[i]))
			return false;
	}
	return read_char(p, end, ']');
}

static bool keep(struct fatesum *f, uint16_t stream, const uint64_t v[3])
{
	if (f->runs == f->room) {
		size_t room = f->room ? f->room * 2 : 1024;
		struct fatesum_run *more = realloc(f->run, room * sizeof(*more));

		if (!more)
			return false;
		f->run = more;
		f->room = room;
	}
	f->run[f->runs++] = (struct fatesum_run){v[0], v[1], stream, (uint16_t)v[2]};
	return true;
}

static bool add(struct fatesum *f, uint16_t stream, const uint64_t v[3])
{
	uint64_t packets = v[1] - v[0] + 1;
	struct outcome *o;

	if (v[0] > v[1] || v[2] >= f->n)
		return false;
	o = &f->outcome[v[2]];
	o->packets += packets;
	o->ranges++;
	if (packets > o->longest)
		o->longest = packets;
	return !f->keep || keep(f, stream, v);
}

static uint16_t stream_of(const char *json, size_t len)
{
	static const char key[] = "\"stream\":";
	const char *p = memmem(json, len, key, sizeof(key) - 1);
	uint64_t stream = 0;

	if (p) {
		p += sizeof(key) - 1;
		read_number(&p, json + len, &stream);
	}
	return (uint16_t)stream;
}

/* Millions of them: by hand, for a parser of JSON takes ten times as long. */
int fatesum_ranges(struct fatesum *f, const char *json, size_t len)
{
	static const char key[] = "\"ranges\":[";
	const char *end = json + len, *p = memmem(json, len, key, sizeof(key) - 1);
	uint16_t stream;
	uint64_t v[3];

	if (!p)
		return -EINVAL;
	stream = stream_of(json, (size_t)(p - json));
	p += sizeof(key) - 1;
	while (p < end && *p != ']') {
		if (*p == ',')
			p++;
		if (!read_range(&p, end, v) || !add(f, stream, v))
			return -EINVAL;
	}
	return 0;
}

struct json_object *fatesum_json(const struct fatesum *f)
{
	struct json_object *list = f->n ? json_object_new_array() : NULL;

	for (unsigned i = 0; i < f->n; i++) {
		const struct outcome *outcome = &f->outcome[i];
		struct json_object *o = NULL;

		if (json_object_deep_copy(outcome->data, &o, NULL))
			continue;
		json_object_object_del(o, "id");
		json_put_u64(o, "packets", outcome->packets);
		json_put_u64(o, "ranges", outcome->ranges);
		json_put_u64(o, "longest", outcome->longest);
		json_object_array_add(list, o);
	}
	return list;
}

static uint64_t packets_of(const struct fatesum *f, const char *fate)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < f->n; i++) {
		if (!strcmp(json_get_text(f->outcome[i].data, "fate"), fate))
			packets += f->outcome[i].packets;
	}
	return packets;
}

static int by_number(const void *va, const void *vb)
{
	const struct fatesum_run *a = va, *b = vb;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

const struct fatesum_run *fatesum_runs(struct fatesum *f, size_t *n)
{
	if (f->runs)
		qsort(f->run, f->runs, sizeof(*f->run), by_number);
	*n = f->runs;
	return f->run;
}

const struct json_object *fatesum_outcome(const struct fatesum *f, unsigned outcome)
{
	return outcome < f->n ? f->outcome[outcome].data : NULL;
}

bool fatesum_agrees(const struct fatesum *f, const struct json_object *end)
{
	if (!json_get(end, "sent")) /* recv */
		return packets_of(f, "delivered") == json_get_u64(end, "delivered");
	if (!json_get(end, "unaccounted")) /* send */
		return packets_of(f, "refused") == json_get_u64(end, "refused") &&
		       packets_of(f, "dropped") == json_get_u64(end, "dropped") &&
		       packets_of(f, "dropped") + packets_of(f, "left") +
				       packets_of(f, "unaccounted") ==
			       json_get_u64(end, "sent");
	return packets_of(f, "delivered") == json_get_u64(end, "delivered") &&
	       packets_of(f, "refused") == json_get_u64(end, "refused") &&
	       packets_of(f, "dropped") + packets_of(f, "unaccounted") ==
		       json_get_u64(end, "dropped") + json_get_u64(end, "in_flight") +
			       json_get_u64(end, "unaccounted");
}
