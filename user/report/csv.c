// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"
#include "report/series.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"

/* Row fields in column order, after the stage. */
static const enum live_field fields[] = {
	LIVE_REASON,	LIVE_LOCATION, LIVE_IFNAME, LIVE_NETNS,	    LIVE_DIRECTION,
	LIVE_HOOK,	LIVE_SOCKET,   LIVE_PROCESS, LIVE_CGROUP,   LIVE_CONTAINER,
	LIVE_POD,	LIVE_FLOW,     LIVE_CPU,    LIVE_SOURCE,    LIVE_SCOPE};

/* First columns in all rows of an interval. */
struct row {
	FILE *out;
	const struct ledgers_document *d;
	const char *kind;
	const char *time;
	uint64_t length_ns;
};

void csv_text(FILE *out, const char *text)
{
	bool formula, quoted;
	char *end;

	strtod(text, &end);
	/* the text starts like a formula and is not a number */
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
	for (unsigned i = 0; i < LENGTH(fields); i++)
		fprintf(out, ",%s", live_field_name(fields[i]));
	fputs(",packets,bytes,events,sent,delivered\n", out);
}

static void put_count(FILE *out, bool known, uint64_t n)
{
	fputc(',', out);
	if (known)
		fprintf(out, "%" PRIu64, n);
}

/* Writes a loss, or a total with the packets sent. NULL: unknown. */
static void put_row(const struct row *r, const struct live_row *row, const struct part *sent)
{
	const bool seen = row->counts.events;

	csv_text(r->out, document_file(r->d));
	fprintf(r->out, ",%u,%s,", r->d->number, r->d->command);
	csv_text(r->out, json_get_text(json_get(r->d->json, "start"), "host"));
	fputc(',', r->out);
	csv_text(r->out, r->time);
	fprintf(r->out, ",%" PRIu64 ",%s,%s,", r->length_ns, r->kind, row->text[LIVE_CLASS]);
	csv_text(r->out, row->text[LIVE_STAGE]);
	for (unsigned i = 0; i < LENGTH(fields); i++) {
		fputc(',', r->out);
		csv_text(r->out, row->text[fields[i]]);
	}
	put_count(r->out, true, row->counts.packets);
	put_count(r->out, seen, row->counts.bytes);
	put_count(r->out, seen, row->counts.events);
	put_count(r->out, sent, sent ? sent->sent : 0);
	put_count(r->out, sent, sent ? sent->delivered : 0);
	fputc('\n', r->out);
}

static struct live_row row_of(const char *class, const char *stage, const char *reason,
			      const char *location, const char *ifname, uint64_t packets)
{
	struct live_row row = {.counts.packets = packets};

	live_row_begin(&row, "", "");
	row.text[LIVE_CLASS] = class;
	row.text[LIVE_STAGE] = stage;
	row.text[LIVE_REASON] = reason;
	row.text[LIVE_LOCATION] = location;
	row.text[LIVE_IFNAME] = ifname;
	return row;
}

/* Writes the total for an interval or a run. */
static void put_whole(const struct row *r, const struct part *p, const struct json_object *from)
{
	const struct live_row row = row_of(r->d->parts ? "" : "loss", "", "", "", "", p->dropped);

	put_row(r, &row, json_get(from, "sent") ? p : NULL);
}

/* Writes the rows for an interval or an end. */
static void put_rows(struct row *r, const struct json_object *o)
{
	struct live_table rows, flows;
	const char *kind = r->kind;

	table_init(&rows, LIVE_ROWS);
	table_init(&flows, LIVE_ROWS);
	rows_add(&rows, o, ~0u);
	if (r->d->parts)
		rows_add_flows(&flows, o);
	for (unsigned i = 0; i < rows.n; i++)
		put_row(r, &rows.rows[i], NULL);
	r->kind = "flow";
	for (unsigned i = 0; i < flows.n; i++)
		put_row(r, &flows.rows[i], NULL);
	r->kind = kind;
	table_free(&rows);
	table_free(&flows);
}

/* Writes a number of TCP segments, with their outcome as `reason`. */
static void put_segments(const struct row *r, const char *class, const char *reason,
			 const char *stage, const char *location, const char *ifname,
			 const struct json_object *o, const char *key)
{
	const struct live_row row =
		row_of(class, stage, reason, location, ifname, json_get_u64(o, key));

	if (json_get(o, key))
		put_row(r, &row, NULL);
}

/* Writes the TCP balance and the results from other hosts, in separate classes. */
static void put_tcp(const struct row *r, const struct json_object *tcp,
		    const struct json_object *joined)
{
	static const char *const rest[] = {"spurious", "undecided", "unjoined"};
	char path[340];

	put_segments(r, "tcp", "retransmitted", "", "", "", tcp, "retransmitted");
	for (struct json_each e = json_each(tcp, "stages"); json_next(&e);)
		put_segments(r, "tcp", "lost_here", json_get_text(e.item, "stage"), "", "", e.item,
			     "segments");
	for (struct json_each e = json_each(tcp, "downstream"); json_next(&e);)
		put_segments(r, "tcp", "downstream", "", "", json_get_text(e.item, "interface"),
			     e.item, "segments");
	for (unsigned i = 0; i < 2 * LENGTH(rest); i++)
		put_segments(r, i < LENGTH(rest) ? "tcp" : "joined", rest[i % LENGTH(rest)], "", "",
			     "", i < LENGTH(rest) ? tcp : joined, rest[i % LENGTH(rest)]);
	for (struct json_each e = json_each(joined, "wire"); json_next(&e);) {
		snprintf(path, sizeof(path), "%s to %s", json_get_text(e.item, "from"),
			 json_get_text(e.item, "to"));
		put_segments(r, "joined", "wire", "wire", path, "", e.item, "segments");
	}
	for (struct json_each e = json_each(joined, "lost"); json_next(&e);)
		put_segments(r, "joined", "lost", json_get_text(e.item, "stage"),
			     json_get_text(e.item, "host"), "", e.item, "segments");
}

void csv_document(FILE *out, const struct ledgers_document *d)
{
	const struct json_object *end = json_get(d->json, "end"), *tcp = json_get(end, "tcp");
	struct row r = {.out = out, .d = d, .kind = "interval"};
	struct part whole;

	for (struct parts p = parts_of(d); parts_next(&p) && p.item != end;) {
		r.time = json_time(p.to_ns);
		r.length_ns = p.now.interval_ns;
		put_whole(&r, &p.now, p.item);
		if (d->parts)
			put_rows(&r, p.item);
		for (int s = 0; s < STAGE_COUNT && !d->parts; s++) {
			struct live_row row = row_of("loss", stage_name(s), "", "", "", 0);

			row.counts = p.now.stage[s];
			if (row.counts.events)
				put_row(&r, &row, NULL);
		}
	}
	if (!end)
		return;
	r.time = json_time(d->to_ns);
	r.length_ns = d->to_ns - d->from_ns;
	r.kind = "end";
	if (tcp)
		put_tcp(&r, tcp, json_get(d->json, "joined"));
	if (d->parts)
		return;
	part_read(&whole, end);
	put_whole(&r, &whole, end);
	put_rows(&r, end);
}
