// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/list.h"

struct outcome {
	struct json_object *data; /* of its line */
	uint64_t packets, ranges, longest;
};

struct fatesum {
	struct list outcome; /* struct outcome */
	bool keep;
	struct list run; /* struct fatesum_run */
};

static struct outcome *outcome_at(const struct fatesum *f, unsigned i)
{
	return (struct outcome *)f->outcome.at + i;
}

struct fatesum *fatesum_new(bool keep)
{
	struct fatesum *f = calloc(1, sizeof(*f));

	if (f)
		*f = (struct fatesum){.keep = keep,
				      .outcome.size = sizeof(struct outcome),
				      .run.size = sizeof(struct fatesum_run)};
	return f;
}

void fatesum_free(struct fatesum *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->outcome.n; i++)
		json_object_put(outcome_at(f, i)->data);
	list_free(&f->outcome);
	list_free(&f->run);
	free(f);
}

int fatesum_name(struct fatesum *f, struct json_object *data)
{
	struct outcome *more;

	if (json_get_u64(data, "id") != f->outcome.n || !*json_get_text(data, "fate"))
		return -EINVAL;
	more = list_add(&f->outcome);
	if (!more)
		return -ENOMEM;
	more->data = json_object_get(data);
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

static bool add(struct fatesum *f, uint16_t stream, const uint64_t v[3])
{
	uint64_t packets = v[1] - v[0] + 1;
	struct fatesum_run *run;
	struct outcome *o;

	if (v[0] > v[1] || v[2] >= f->outcome.n)
		return false;
	o = outcome_at(f, (unsigned)v[2]);
	o->packets += packets;
	o->ranges++;
	if (packets > o->longest)
		o->longest = packets;
	run = f->keep ? list_add(&f->run) : NULL;
	if (run)
		*run = (struct fatesum_run){v[0], v[1], stream, (uint16_t)v[2]};
	return run || !f->keep;
}

/* What stands behind a key; NULL: it is not there. */
static const char *behind(const char *json, size_t len, const char *key)
{
	const char *p = memmem(json, len, key, strlen(key));

	return p ? p + strlen(key) : NULL;
}

/* Millions of them: by hand, for a parser of JSON takes ten times as long. */
int fatesum_ranges(struct fatesum *f, const char *json, size_t len)
{
	const char *end = json + len, *p = behind(json, len, "\"ranges\":["), *number;
	uint64_t stream = 0, v[3];

	if (!p)
		return -EINVAL;
	number = behind(json, (size_t)(p - json), "\"stream\":");
	if (number)
		read_number(&number, p, &stream);
	while (p < end && *p != ']') {
		if (*p == ',')
			p++;
		if (!read_range(&p, end, v) || !add(f, (uint16_t)stream, v))
			return -EINVAL;
	}
	return 0;
}

struct json_object *fatesum_json(const struct fatesum *f)
{
	struct json_object *list = f->outcome.n ? json_object_new_array() : NULL;

	for (unsigned i = 0; i < f->outcome.n; i++) {
		const struct outcome *outcome = outcome_at(f, i);
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

	for (unsigned i = 0; i < f->outcome.n; i++) {
		if (!strcmp(json_get_text(outcome_at(f, i)->data, "fate"), fate))
			packets += outcome_at(f, i)->packets;
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
	if (f->run.n)
		qsort(f->run.at, f->run.n, f->run.size, by_number);
	*n = f->run.n;
	return f->run.at;
}

const struct json_object *fatesum_outcome(const struct fatesum *f, unsigned outcome)
{
	return outcome < f->outcome.n ? outcome_at(f, outcome)->data : NULL;
}

bool fatesum_agrees(const struct fatesum *f, const struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), dropped = json_get_u64(end, "dropped");
	uint64_t not_delivered = packets_of(f, "dropped") + packets_of(f, "unaccounted");
	bool delivered = packets_of(f, "delivered") == json_get_u64(end, "delivered");
	bool refused = packets_of(f, "refused") == json_get_u64(end, "refused");

	if (!json_get(end, "sent")) /* recv */
		return delivered;
	if (!json_get(end, "unaccounted")) /* send */
		return refused && packets_of(f, "dropped") == dropped &&
		       not_delivered + packets_of(f, "left") == sent;
	return delivered && refused &&
	       not_delivered ==
		       dropped + json_get_u64(end, "in_flight") + json_get_u64(end, "unaccounted");
}
