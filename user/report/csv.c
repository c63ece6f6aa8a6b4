// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"
#include "report/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/clock.h"
#include "base/num.h"

/* Members of causes, stages and intervals, named as in JSON and in the first line. */
static const char *const keys[] = {"reason",  "location", "ifname",  "netns",  "direction",
				   "hook",    "socket",	  "process", "cgroup", "container",
				   "pod",     "flow",	  "cpu",     "source", "scope",
				   "packets", "bytes",	  "events",  "sent",   "delivered"};

/* First columns of all rows of an interval. */
struct row {
	FILE *out;
	const struct ledgers_document *d;
	const char *kind;
	const char *time;
	uint64_t length_ns;
	const char *class;
};

void csv_text(FILE *out, const char *text)
{
	bool formula, quoted;
	char *end;

	strtod(text, &end);
	/* starts like a formula and is not a number */
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

/* Writes a cause, a flow or a stage. Missing members are empty. */
static void put_row(const struct row *r, const char *stage, const struct json_object *o)
{
	csv_text(r->out, document_file(r->d));
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

/* Writes the total of an interval or a run: packets lost and, if known, sent and delivered. */
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
	for (struct json_each stage = json_each(o, list); json_next(&stage);) {
		const char *name = json_get_text(stage.item, "stage");

		if (!json_get_length(stage.item, "causes"))
			put_row(r, name, stage.item);
		for (struct json_each cause = json_each(stage.item, "causes"); json_next(&cause);)
			put_row(r, name, cause.item);
	}
}

static void put_part(struct row *r, const struct json_object *interval)
{
	r->time = json_get_text(interval, "time");
	r->length_ns = json_get_u64(interval, "interval_ns");
	r->kind = "interval";
	r->class = r->d->parts ? "" : "loss";
	put_whole(r, interval);
	for (enum drop_class class = 0; class < ROWS_CLASSES; class++) {
		r->class = class_name(class);
		put_stages(r, interval, rows_classes[class]);
	}
	r->kind = "flow";
	r->class = "loss";
	for (struct json_each flow = json_each(interval, "flows"); json_next(&flow);)
		put_row(r, json_get_text(flow.item, "stage"), flow.item);
}

/* Writes a number of TCP segments with their outcome as `reason`. */
static void put_segments(const struct row *r, const char *reason, const char *stage,
			 const char *location, const char *ifname, uint64_t segments)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "reason", reason);
	json_put_text(o, "location", location);
	json_put_text(o, "ifname", ifname);
	json_put_u64(o, "packets", segments);
	put_row(r, stage, o);
	json_object_put(o);
}

/* Writes the TCP balance and the results of other hosts, each with separate classes. */
static void put_tcp(struct row *r, const struct json_object *tcp, const struct json_object *joined)
{
	static const char *const rest[] = {"spurious", "undecided", "unjoined"};
	const struct json_object *of[] = {tcp, joined};
	char way[340];

	r->class = "tcp";
	put_segments(r, "retransmitted", "", "", "", json_get_u64(tcp, "retransmitted"));
	for (struct json_each e = json_each(tcp, "stages"); json_next(&e);)
		put_segments(r, "lost_here", json_get_text(e.item, "stage"), "", "",
			     json_get_u64(e.item, "segments"));
	for (struct json_each e = json_each(tcp, "downstream"); json_next(&e);)
		put_segments(r, "downstream", "", "", json_get_text(e.item, "ifname"),
			     json_get_u64(e.item, "segments"));
	for (unsigned i = 0; i < LENGTH(of) && of[i]; i++) {
		for (unsigned k = 0; k < LENGTH(rest); k++) {
			if (json_get(of[i], rest[k]))
				put_segments(r, rest[k], "", "", "", json_get_u64(of[i], rest[k]));
		}
		r->class = "joined";
	}
	for (struct json_each e = json_each(joined, "wire"); json_next(&e);) {
		snprintf(way, sizeof(way), "%s to %s", json_get_text(e.item, "from"),
			 json_get_text(e.item, "to"));
		put_segments(r, "wire", "wire", way, "", json_get_u64(e.item, "segments"));
	}
	for (struct json_each e = json_each(joined, "lost"); json_next(&e);)
		put_segments(r, "lost", json_get_text(e.item, "stage"),
			     json_get_text(e.item, "host"), "", json_get_u64(e.item, "segments"));
}

void csv_document(FILE *out, const struct ledgers_document *d)
{
	struct row r = {.out = out, .d = d, .class = "loss"};
	const struct json_object *last = NULL, *end = json_get(d->json, "end");
	uint64_t started_ns = 0;

	when_date(json_get_text(json_get(d->json, "start"), "time"), &started_ns);
	for (struct json_each interval = json_each(d->json, "intervals"); json_next(&interval);) {
		struct json_object *part = d->parts ? json_object_get(interval.item)
						    : series_growth(interval.item, last);

		if (!d->parts) /* intervals hold counts since the start */
			json_put_time(part, "time", started_ns + json_get_u64(part, "time_ns"));
		put_part(&r, part);
		json_object_put(part);
		last = interval.item;
	}
	if (!end)
		return;
	r.time = json_time(d->to_ns);
	r.length_ns = d->to_ns - d->from_ns;
	r.kind = "end";
	if (json_get(end, "tcp"))
		put_tcp(&r, json_get(end, "tcp"), json_get(d->json, "joined"));
	r.class = "loss";
	if (d->parts)
		return;
	put_whole(&r, end);
	put_stages(&r, end, "stages");
}
