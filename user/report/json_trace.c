// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_trace.h"

#include <stdlib.h>
#include <string.h>

#include "report/json_books.h"
#include "report/json_bursts.h"
#include "report/json_solo.h"

static struct json_object *field_names(unsigned by)
{
	struct json_object *list = json_object_new_array();

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (by & LIVE_BIT(f))
			json_object_array_add(list, json_text(live_field_name(f)));
	}
	return list;
}

static struct json_object *list_stages(uint64_t stages)
{
	struct json_object *list;

	if (!stages)
		return NULL;
	list = json_object_new_array();
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (stages >> s & 1)
			json_object_array_add(list, json_text(stage_name(s)));
	}
	return list;
}

struct json_object *json_trace_start(int argc, char *const *argv, struct json_object *env,
				     const struct live_spec *spec, uint64_t interval_ns)
{
	struct json_object *o = json_solo_origin(argc, argv, env);
	struct json_object *filter = json_object_new_object();

	json_put_text(filter, "expression", spec->expr);
	json_put_text(filter, "netns", spec->netns);
	json_put_text(filter, "ifname", spec->ifname);
	json_put(filter, "pid", spec->pid ? json_object_new_int(spec->pid) : NULL);
	json_put_text(filter, "cgroup", spec->cgroup);
	json_put(filter, "stages", list_stages(spec->stages));
	json_put_text(filter, "reasons", spec->reasons);
	json_put(o, "filter", filter);
	json_put(o, "by", field_names(spec->by));
	json_put_u64(o, "interval_ns", interval_ns);
	return o;
}

static void put_counts(struct json_object *o, const struct live_counts *c)
{
	json_put_u64(o, "packets", c->packets);
	json_put_u64(o, "bytes", c->bytes);
	json_put_u64(o, "events", c->events);
}

/* The stage is told above it. */
static struct json_object *cause(const struct live_row *row, unsigned by)
{
	struct json_object *o = json_object_new_object();

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		const char *text = row->text[f];

		if (!(by & LIVE_BIT(f)) || f == LIVE_STAGE || f == LIVE_CLASS)
			continue;
		if (f == LIVE_CPU && *text)
			json_put_u64(o, live_field_name(f), strtoul(text, NULL, 10));
		else
			json_put_text(o, live_field_name(f), text);
	}
	put_counts(o, &row->counts);
	json_put_text(o, "note", row->note);
	return o;
}

/* What all rows say, or NULL. */
static const char *common(const struct live_row *rows, unsigned n, enum live_field field)
{
	for (unsigned i = 1; i < n; i++) {
		if (strcmp(rows[i].text[field], rows[0].text[field]))
			return NULL;
	}
	return rows[0].text[field];
}

static struct json_object *stage(const struct live_row *rows, unsigned n, unsigned by)
{
	struct json_object *o = json_object_new_object(), *causes = json_object_new_array();
	struct live_counts sum = {};

	for (unsigned i = 0; i < n; i++) {
		live_counts_add(&sum, &rows[i].counts);
		json_object_array_add(causes, cause(&rows[i], by));
	}
	json_put_text(o, "stage", rows[0].text[LIVE_STAGE]);
	put_counts(o, &sum);
	json_put_text(o, "source", common(rows, n, LIVE_SOURCE));
	json_put_text(o, "scope", common(rows, n, LIVE_SCOPE));
	json_put(o, "causes", causes);
	return o;
}

/* The rows of a class, in the order of the path, those of a stage together. */
static struct json_object *stages(const struct live_table *t, unsigned by, enum noise noise)
{
	struct json_object *list = json_object_new_array();
	struct live_table rows;
	unsigned n;

	by |= LIVE_BY_STAGE;
	if (table_group(&rows, t, by, 1u << noise))
		return list;
	table_sort(&rows, TABLE_BY_PATH);
	for (unsigned i = 0; i < rows.n; i += n) {
		for (n = 1; i + n < rows.n && rows.rows[i + n].stage == rows.rows[i].stage;)
			n++;
		json_object_array_add(list, stage(&rows.rows[i], n, by));
	}
	table_free(&rows);
	return list;
}

static void put_classes(struct json_object *o, const struct live_table *t, unsigned by)
{
	json_put_u64(o, "dropped", table_sum(t, 1u << NOISE_LOSS).packets);
	json_put(o, "stages", stages(t, by, NOISE_LOSS));
	json_put(o, "suspect", stages(t, by, NOISE_SUSPECT));
	json_put(o, "benign", stages(t, by, NOISE_BENIGN));
}

struct json_object *json_trace_interval(const struct live_table *t, unsigned by, uint64_t time_ns,
					uint64_t interval_ns)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "time_ns", time_ns);
	json_put_u64(o, "interval_ns", interval_ns);
	put_classes(o, t, by);
	return o;
}

static struct json_object *flow_rows(const struct live_table *t)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < t->n; i++) {
		struct json_object *o;

		if (!*t->rows[i].text[LIVE_FLOW]) /* a counter told it */
			continue;
		o = json_object_new_object();
		json_put_text(o, "stage", t->rows[i].text[LIVE_STAGE]);
		json_put_text(o, "flow", t->rows[i].text[LIVE_FLOW]);
		put_counts(o, &t->rows[i].counts);
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *json_trace_kept(const struct live_table *t, const struct live_table *flows,
				    unsigned by, uint64_t realtime_ns, uint64_t time_ns,
				    uint64_t interval_ns)
{
	struct json_object *o = json_object_new_object();
	char time[32];

	json_put_u64(o, "time_ns", time_ns);
	json_put_u64(o, "interval_ns", interval_ns);
	json_put_text(o, "time", json_time(time, sizeof(time), realtime_ns));
	put_classes(o, t, by);
	if (flows)
		json_put(o, "flows", flow_rows(flows));
	return o;
}

struct json_object *json_trace_losses(const struct live_own *own)
{
	struct live_own_loss losses[LIVE_OWN_LOSSES];
	struct json_object *o = json_object_new_object();

	live_own_losses(own, losses);
	for (unsigned i = 0; i < LIVE_OWN_LOSSES; i++)
		json_put_u64(o, losses[i].name, losses[i].n);
	json_put_bool(o, "no_places", own->no_places);
	json_put_bool(o, "no_reasons", own->no_reasons);
	json_put_bool(o, "no_sockets", own->no_sockets);
	return o;
}

static struct json_object *own_cost(const struct live_own *own)
{
	const struct watch_state *w = &own->watch;
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "events", own->events);
	json_put_u64(o, "ignored_events", own->ignored);
	json_put_u64(o, "cpu_ns", own->cpu_ns);
	if (w->runs)
		json_put_double(o, "kernel_ns_per_event", (double)w->run_ns / (double)w->runs);
	else
		json_put(o, "kernel_ns_per_event", NULL);
	json_put_u64(o, "map_bytes", own->map_bytes);
	json_put_u64(o, "slots", w->slots);
	json_put_u64(o, "slots_used", w->slots_used);
	json_put_u64(o, "overflow_keys", w->overflow);
	json_put_u64(o, "overflow_keys_used", w->overflow_used);
	json_put_u64(o, "overflow_events", w->loss.overflow);
	return o;
}

struct json_object *json_trace_end(const struct live_summary *s, unsigned by)
{
	struct json_object *o = json_object_new_object(), *findings = json_object_new_array();

	json_put_u64(o, "duration_ns", s->duration_ns);
	put_classes(o, s->total, by);
	if (s->books)
		json_put_books(o, s->books, s->books_cost);
	if (s->bursts.window_ns)
		json_put(o, "microbursts", json_bursts(&s->bursts));
	json_put(o, "own_losses", json_trace_losses(&s->own));
	json_put(o, "own_cost", own_cost(&s->own));
	for (unsigned i = 0; i < s->n_findings; i++)
		json_object_array_add(findings, json_finding(&s->finding[i]));
	json_put(o, "findings", findings);
	json_put_bool(o, "interrupted", s->interrupted);
	return o;
}
