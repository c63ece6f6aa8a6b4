// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/lostcap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "monitor/describe.h"
#include "report/json_trace.h"
#include "report/datagram.h"
#include "report/packetfilter.h"
#include "report/rows.h"
#include "report/series.h"

#define SECOND	  1000000000ULL
#define FLOWS_MAX 16
#define COMMENT	  "pktledger: stage=" /* report/drop.h */
#define BY	  (LIVE_BY_DEFAULT & ~LIVE_BIT(LIVE_DIRECTION))

struct lostcap {
	const struct load_spec *spec;
	struct packetfilter *filter;
	struct series *series;
	struct live_table rows;		/* of the second that is read, flows apart */
	uint64_t from_ns, to_ns;	/* of that second; 0: none yet */
	uint64_t first_ns, last_ns;	/* of all packets that are told */
	uint64_t file_first, file_last; /* of all */
	uint64_t strangers;		/* without a comment of ours */
};

/* What comments tell, beside the stage and the class: report/drop.c. */
static const enum live_field fields[] = {LIVE_STAGE,	LIVE_CLASS,  LIVE_REASON,
					 LIVE_LOCATION, LIVE_HOOK,   LIVE_IFNAME,
					 LIVE_NETNS,	LIVE_SOCKET, LIVE_PROCESS};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Where " key=" is; NULL: nowhere. */
static char *find_key(char *comment, const char *key)
{
	char word[32];

	snprintf(word, sizeof(word), " %s=", key);
	return strstr(comment, word);
}

/*
 * Cuts a comment into its values. All keys are found before any is ended: names of processes may
 * have blanks in them.
 */
static bool read_comment(char *comment, struct live_row *row)
{
	char *at[FIELDS], *packets;
	uint64_t n = 1;

	if (strncmp(comment, COMMENT, strlen(COMMENT)))
		return false;
	for (unsigned i = 0; i < FIELDS; i++)
		at[i] = find_key(comment, live_field_name(fields[i]));
	packets = find_key(comment, "packets");
	for (unsigned i = 0; i < FIELDS; i++) {
		if (!at[i])
			continue;
		*at[i] = '\0';
		row->text[fields[i]] = strchr(at[i] + 1, '=') + 1;
	}
	if (packets) {
		*packets = '\0';
		if (num_u64(packets + strlen(" packets="), 1, UINT32_MAX, &n))
			n = 1;
	}
	row->counts.packets = n;
	return true;
}

static enum noise noise_of(const char *class)
{
	int noise = NOISE_LOSS;

	while (noise < NOISE_NOTHING && strcmp(noise_name(noise), class))
		noise++;
	return noise < NOISE_NOTHING ? noise : NOISE_LOSS;
}

static int end_second(struct lostcap *c)
{
	const struct trace_time time = {c->to_ns, c->to_ns - c->first_ns, c->to_ns - c->from_ns};
	struct live_table flows;
	struct json_object *o;

	if (!c->rows.n)
		return 0;
	if (worst_rows(&flows, &c->rows, ROWS_BY_FLOW, 1u << NOISE_LOSS, FLOWS_MAX))
		return -ENOMEM;
	o = json_trace_interval(&c->rows, &flows, BY, &time);
	table_free(&flows);
	table_clear(&c->rows);
	return series_add(c->series, o, c->from_ns, c->to_ns);
}

static int add_row(struct lostcap *c, const struct live_row *row, uint64_t time_ns)
{
	int rc = 0;

	if (!c->first_ns)
		c->first_ns = time_ns / SECOND * SECOND;
	if (time_ns > c->last_ns)
		c->last_ns = time_ns;
	if (time_ns >= c->to_ns) { /* times may go back a little: then it is still this second */
		rc = end_second(c);
		c->from_ns = time_ns / SECOND * SECOND;
		c->to_ns = c->from_ns + SECOND;
	}
	table_add(&c->rows, row, BY | LIVE_BIT(LIVE_FLOW));
	return rc;
}

static int take_packet(void *arg, const struct capfile_packet *p)
{
	struct live_row row = {.counts = {.events = 1}};
	char comment[CAPFILE_COMMENT], flow[FLOW_TEXT];
	struct lostcap *c = arg;
	struct datagram d;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		row.text[f] = "";
	snprintf(comment, sizeof(comment), "%s", p->comment);
	if (!read_comment(comment, &row)) {
		c->strangers++;
		return 0;
	}
	if (!c->file_first)
		c->file_first = p->time_ns;
	if (p->time_ns > c->file_last)
		c->file_last = p->time_ns;
	if (p->time_ns < c->spec->since_ns || p->time_ns > c->spec->until_ns)
		return 0;
	datagram_read(&d, p);
	if (!packetfilter_match(c->filter, p, &d))
		return 0;
	row.stage = rows_stage(row.text[LIVE_STAGE]);
	row.noise = noise_of(row.text[LIVE_CLASS]);
	row.text[LIVE_CLASS] = noise_name(row.noise);
	row.text[LIVE_SOURCE] = "event";
	row.text[LIVE_SCOPE] = "flow";
	row.text[LIVE_FLOW] = describe_flow(&d.flow, flow, sizeof(flow));
	row.counts.bytes = d.flow.family ? d.ip_wire_len : p->wire_len;
	return add_row(c, &row, p->time_ns);
}

static struct json_object *by_names(void)
{
	struct json_object *list = json_object_new_array();

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (BY & LIVE_BIT(f))
			json_object_array_add(list, json_text(live_field_name(f)));
	}
	return list;
}

static struct json_object *document(struct lostcap *c, const char *path)
{
	struct json_object *o = json_object_new_object(), *start = json_object_new_object();
	struct json_object *covers = json_object_new_object();
	uint64_t from_ns, to_ns;
	char time[32];

	json_put_text(start, "time", json_time(time, sizeof(time), c->first_ns));
	json_put(start, "by", by_names());
	json_put_text(start, "expression", c->spec->expr);
	json_put_text(covers, "from", json_time(time, sizeof(time), c->first_ns));
	json_put_text(covers, "to", json_time(time, sizeof(time), c->last_ns));
	json_put_u64(covers, "intervals", series_count(c->series, &from_ns, &to_ns));
	json_put_u64(covers, "joined", series_joined(c->series));
	json_put_text(o, "schema", "pktledger/capture/1");
	json_put_text(o, "file", path);
	json_put_u64(o, "number", 1);
	json_put(o, "start", start);
	json_put(o, "covers", covers);
	json_put(o, "intervals", series_intervals(c->series));
	json_put(o, "worst", series_worst(c->series));
	json_put(o, "sum", series_sum(c->series));
	return o;
}

static int read_all(struct lostcap *c, const char *path, struct ledgers_document *d,
		    struct ledgers_file *file, struct error *err)
{
	struct capfile_state state;
	int rc = capfile_read(path, take_packet, c, &state, err);

	if (!rc)
		rc = end_second(c);
	if (rc)
		return error_set(err, STATUS_FAILED, rc, NULL, "cannot read %s: %s", path,
				 strerror(-rc));
	if (!state.packets)
		return error_set(err, STATUS_FAILED, -ENODATA, NULL, "%s has no packets", path);
	if (c->strangers)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "name the capture of the other end too, to compare them",
				 "%s: %llu of its %llu packets do not say why they were lost, as "
				 "those of `trace -w` do",
				 path, (unsigned long long)c->strangers,
				 (unsigned long long)state.packets);
	file->documents = 1;
	file->from_ns = c->file_first;
	file->to_ns = c->file_last;
	file->state.lines = state.packets;
	file->state.cut = state.cut;
	file->state.bad = state.cut;
	if (!c->last_ns)
		return 0;
	*d = (struct ledgers_document){
		.json = document(c, path),
		.command = "capture",
		.parts = true,
		.path = path,
		.number = 1,
		.from_ns = c->first_ns,
		.to_ns = c->last_ns,
	};
	return 0;
}

static int look_at_first(void *arg, const struct capfile_packet *p)
{
	*(bool *)arg = !strncmp(p->comment, COMMENT, strlen(COMMENT));
	return 1;
}

bool lostcap_is(const char *path)
{
	struct capfile_state state;
	struct error quiet = {};
	bool is = false;

	capfile_read(path, look_at_first, &is, &state, &quiet);
	return is;
}

int lostcap_read(const char *path, const struct load_spec *spec, struct ledgers_document *d,
		 struct ledgers_file *file, struct error *err)
{
	struct lostcap c = {.spec = spec};
	int rc = packetfilter_new(&c.filter, spec->expr, err);

	*d = (struct ledgers_document){};
	if (rc)
		return rc;
	c.series = series_new(SERIES_PARTS, BY);
	if (!c.series || table_init(&c.rows, LIVE_ROWS))
		rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	else
		rc = read_all(&c, path, d, file, err);
	table_free(&c.rows);
	series_free(c.series);
	packetfilter_free(c.filter);
	return rc;
}
