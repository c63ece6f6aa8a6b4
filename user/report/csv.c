// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/clock.h"
#include "report/print.h"

/* Members of causes, stages and intervals, as they are called in JSON and in the first line. */
static const char *const keys[] = {"reason",  "location", "ifname",  "netns",  "direction",
				   "hook",    "socket",	  "process", "cgroup", "container",
				   "pod",     "flow",	  "cpu",     "source", "scope",
				   "packets", "bytes",	  "events",  "sent",   "delivered"};

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

/* What all rows of an interval begin with. */
struct row {
	FILE *out;
	const struct ledgers_document *d;
	const char *kind;
	char time[32];
	uint64_t length_ns;
	const char *class;
};

void csv_text(FILE *out, const char *text)
{
	bool formula, quoted;
	char *end;

	strtod(text, &end);
	/* what a spreadsheet takes for one, and is no number */
	formula = *text && strchr("=+-@", *text) && (end == text || *end);
	quoted = formula || text[strcspn(text, ",\"\r\n")];
	if (quoted)
		fputc('"', out);
	if (formula)
		fputc('\'', out);
	while (*text) {
		unsigned length = utf8_shown(text);

		if (*text == '"')
			fputc('"', out);
		if (length || *text == '\n')
			fwrite(text, 1, length ? length : 1, out);
		else
			fputc('?', out);
		text += length ? length : 1;
	}
	if (quoted)
		fputc('"', out);
}

void csv_head(FILE *out)
{
	fputs("file,number,command,host,time,interval_ns,kind,class,stage", out);
	for (unsigned i = 0; i < LENGTH(keys); i++)
		fprintf(out, ",%s", keys[i]);
	fputc('\n', out);
}

/* A cause, a flow or a stage; members that it does not have are empty. */
static void put_row(const struct row *r, const char *stage, const struct json_object *o)
{
	csv_text(r->out, json_get_text(r->d->json, "file"));
	fprintf(r->out, ",%u,%s,", r->d->number, r->d->command);
	csv_text(r->out, json_get_text(json_get(r->d->json, "start"), "host"));
	fputc(',', r->out);
	csv_text(r->out, r->time);
	fprintf(r->out, ",%llu,%s,%s,", (unsigned long long)r->length_ns, r->kind, r->class);
	csv_text(r->out, stage);
	for (unsigned i = 0; i < LENGTH(keys); i++) {
		struct json_object *member = json_get(o, keys[i]);

		fputc(',', r->out);
		if (member)
			csv_text(r->out, json_object_get_string(member));
	}
	fputc('\n', r->out);
}

/* All of an interval or a run: what was lost, and where it is known, sent and delivered. */
static void put_whole(const struct row *r, const struct json_object *from)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "packets", json_get_u64(from, "dropped"));
	if (json_get(from, "sent")) {
		json_put_u64(o, "sent", json_get_u64(from, "sent"));
		json_put_u64(o, "delivered", json_get_u64(from, "delivered"));
	}
	put_row(r, "", o);
	json_object_put(o);
}

static void put_stages(const struct row *r, const struct json_object *o, const char *list)
{
	const struct json_object *stage, *cause;

	for (size_t i = 0; (stage = json_get_item(o, list, i)); i++) {
		const char *name = json_get_text(stage, "stage");

		if (!json_get_length(stage, "causes"))
			put_row(r, name, stage);
		for (size_t k = 0; (cause = json_get_item(stage, "causes", k)); k++)
			put_row(r, name, cause);
	}
}

static void put_part(struct row *r, const struct json_object *interval)
{
	static const char *const classes[][2] = {
		{"stages", "loss"}, {"suspect", "suspect"}, {"benign", "benign"}};
	const struct json_object *flow;

	snprintf(r->time, sizeof(r->time), "%s", json_get_text(interval, "time"));
	r->length_ns = json_get_u64(interval, "interval_ns");
	r->kind = "interval";
	r->class = "";
	put_whole(r, interval);
	for (unsigned i = 0; i < LENGTH(classes); i++) {
		r->class = classes[i][1];
		put_stages(r, interval, classes[i][0]);
	}
	r->kind = "flow";
	r->class = "loss";
	for (size_t i = 0; (flow = json_get_item(interval, "flows", i)); i++)
		put_row(r, json_get_text(flow, "stage"), flow);
}

static uint64_t grown(const struct json_object *now, const struct json_object *last,
		      const char *key)
{
	uint64_t a = json_get_u64(last, key), b = json_get_u64(now, key);

	return b > a ? b - a : 0;
}

/* Counts since the start: what has been added since the last. */
static void put_growth(struct row *r, const struct json_object *now, const struct json_object *last,
		       uint64_t started_ns)
{
	static const char *const sums[] = {"dropped", "sent", "delivered"};
	static const char *const counts[] = {"packets", "bytes", "events"};
	struct json_object *whole = json_object_new_object();

	json_time(r->time, sizeof(r->time), started_ns + json_get_u64(now, "time_ns"));
	r->length_ns = grown(now, last, "time_ns");
	r->kind = "interval";
	for (unsigned i = 0; i < LENGTH(sums); i++)
		json_put_u64(whole, sums[i], grown(now, last, sums[i]));
	put_whole(r, whole);
	json_object_put(whole);
	for (size_t i = 0; i < json_get_length(now, "stages"); i++) {
		const struct json_object *stage = json_get_item(now, "stages", i);
		const char *name = json_get_text(stage, "stage");
		struct json_object *row = json_object_new_object();

		for (unsigned k = 0; k < LENGTH(counts); k++)
			json_put_u64(row, counts[k],
				     grown(stage, print_stage(last, name), counts[k]));
		put_row(r, name, row);
		json_object_put(row);
	}
}

void csv_document(FILE *out, const struct ledgers_document *d)
{
	struct row r = {.out = out, .d = d, .class = d->parts ? "" : "loss"};
	const struct json_object *last = NULL, *now, *end = json_get(d->json, "end");
	uint64_t started_ns = 0;

	when_date(json_get_text(json_get(d->json, "start"), "time"), &started_ns);
	for (size_t i = 0; (now = json_get_item(d->json, "intervals", i)); i++, last = now) {
		if (d->parts)
			put_part(&r, now);
		else
			put_growth(&r, now, last, started_ns);
	}
	if (d->parts || !end)
		return;
	json_time(r.time, sizeof(r.time), d->to_ns);
	r.length_ns = d->to_ns - d->from_ns;
	r.kind = "end";
	put_whole(&r, end);
	put_stages(&r, end, "stages");
}
