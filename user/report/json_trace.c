// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/record.h"
#include "monitor/session.h"
#include "monitor/sources.h"
#include "report/document.h"
#include "report/series.h"

struct json_object *json_fields(unsigned by)
{
	struct json_object *list = json_object_new_array();

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		if (by & LIVE_BIT(f))
			json_object_array_add(list, json_text(live_field_name(f)));
	}
	return list;
}

struct json_object *json_trace_start(int argc, char *const *argv, struct json_object *env,
				     const struct live_spec *spec, const struct trace_shown *shown)
{
	static const struct record_field rows[] = {
		RECORD("expression", POINTER, live_spec, expr),
		RECORD("inner", BOOL, live_spec, inner, .how = RECORD_OMITTED),
		RECORD("netns", POINTER, live_spec, netns),
		RECORD("ifname", POINTER, live_spec, ifname),
		RECORD("pid", INT, live_spec, pid, .how = RECORD_NULL),
		RECORD("cgroup", POINTER, live_spec, cgroup),
		RECORD_OTHER("stages", NULL),
		RECORD("reasons", POINTER, live_spec, reasons),
		{0},
	};
	struct json_object *o = json_origin(argc, argv, env);
	struct json_object *filter = record_write(rows, spec);
	struct json_object *stages = spec->stages ? json_put_list(filter, "stages") : NULL;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (spec->stages >> s & 1)
			json_object_array_add(stages, json_text(stage_name(s)));
	}
	json_put(o, "filter", filter);
	json_put(o, "by", json_fields(spec->by));
	json_put_u64(o, "interval_ns", shown->interval_ns);
	json_put_bool(o, "all", shown->all);
	json_put_text(o, "netns", shown->netns);
	return o;
}

/* Rows of a table */

static const struct record_field counts_rows[] = {
	RECORD("packets", UINT, live_counts, packets),
	RECORD("bytes", UINT, live_counts, bytes),
	RECORD("events", UINT, live_counts, events),
	{0},
};

/* Returns a cause without its stage, because the stage contains it. */
static struct json_object *cause(const struct live_row *row, unsigned by)
{
	struct json_object *o = json_object_new_object(), *burst;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
		const char *text = row->text[f];

		if (!(by & LIVE_BIT(f)) || f == LIVE_STAGE || f == LIVE_CLASS)
			continue;
		if (f == LIVE_CPU && *text)
			json_put_u64(o, live_field_name(f), strtoul(text, NULL, 10));
		else
			json_put_text(o, live_field_name(f), text);
	}
	record_put(o, counts_rows, &row->counts);
	json_put_text(o, "note", row->note);
	if (row->burst.packets) {
		burst = json_put_object(o, "burst");
		json_put_u64(burst, "packets", row->burst.packets);
		json_put_u64(burst, "window_ns", row->burst.window_ns);
		json_put_time(burst, "time", row->burst.time_ns);
	}
	return o;
}

/* Returns the text that all rows share, or NULL. */
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
	struct json_object *o = json_object_new_object(), *causes;
	struct live_counts sum = {};

	for (unsigned i = 0; i < n; i++)
		live_counts_add(&sum, &rows[i].counts);
	json_put_text(o, "stage", rows[0].text[LIVE_STAGE]);
	record_put(o, counts_rows, &sum);
	json_put_text(o, "source", common(rows, n, LIVE_SOURCE));
	json_put_text(o, "scope", common(rows, n, LIVE_SCOPE));
	causes = json_put_list(o, "causes");
	for (unsigned i = 0; i < n; i++)
		json_object_array_add(causes, cause(&rows[i], by));
	return o;
}

/* Returns a class's rows in path order, grouped by stage. */
static struct json_object *stages(const struct live_table *t, unsigned by, enum drop_class class)
{
	struct json_object *list = json_object_new_array();
	struct live_table rows;
	unsigned n;

	by |= LIVE_BY_STAGE;
	table_group(&rows, t, by, class == CLASS_EXPECTED ? LIVE_NO_LOSS : 1u << class);
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
	json_put_u64(o, "dropped", table_sum(t, 1u << CLASS_LOSS, STAGE_NONE).packets);
	for (enum drop_class class = 0; class < ROWS_CLASSES; class++)
		json_put(o, rows_classes[class], stages(t, by, class));
}

static struct json_object *flow_rows(const struct live_table *t)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < t->n; i++) {
		struct json_object *o;

		if (!*t->rows[i].text[LIVE_FLOW]) /* only counter rows lack a flow */
			continue;
		o = json_add_object(list);
		json_put_text(o, "stage", t->rows[i].text[LIVE_STAGE]);
		json_put_text(o, "flow", t->rows[i].text[LIVE_FLOW]);
		record_put(o, counts_rows, &t->rows[i].counts);
	}
	return list;
}

struct json_object *json_trace_interval(const struct live_table *t, const struct live_table *flows,
					unsigned by, const struct trace_time *time)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "time_ns", time->time_ns);
	json_put_u64(o, "interval_ns", time->interval_ns);
	json_put_time(o, "time", time->realtime_ns);
	put_classes(o, t, by);
	if (flows)
		json_put(o, "flows", flow_rows(flows));
	return o;
}

/* Path counters */

static struct json_object *add_of_device(struct json_object *list, const struct rates *r,
					 unsigned device)
{
	const struct rates_device *d = (const struct rates_device *)r->devices.at + device;
	struct json_object *o = json_add_object(list);

	json_put_text(o, "netns", r->netns);
	json_put_text(o, "ifname", d->link.ifname);
	return o;
}

static void put_traffic(struct json_object *o, const struct rates *r,
			const struct rtnl_link_stats64 *t, bool rx, bool tx)
{
	if (rx) {
		json_put_u64(o, "rx_packets", t->rx_packets);
		json_put_u64(o, "rx_bytes", t->rx_bytes);
		json_put_double(o, "rx_pps", per_second(t->rx_packets, r->interval));
		json_put_double(o, "rx_bps", per_second(t->rx_bytes * 8, r->interval));
	}
	if (tx) {
		json_put_u64(o, "tx_packets", t->tx_packets);
		json_put_u64(o, "tx_bytes", t->tx_bytes);
		json_put_double(o, "tx_pps", per_second(t->tx_packets, r->interval));
		json_put_double(o, "tx_bps", per_second(t->tx_bytes * 8, r->interval));
	}
}

static struct json_object *interfaces(const struct rates *r, bool all)
{
	static const struct record_field driver[] = {
		RECORD("driver", TEXT, rates_device, driver),
		RECORD("up", BOOL, rates_device, up),
		{0},
	};
	static const struct record_field qdisc[] = {
		RECORD("kind", TEXT, rates_device, qdisc.root.kind),
		RECORD("drops", UINT, rates_device, qdisc.drops),
		RECORD("clsact_drops", UINT, rates_device, qdisc.clsact_drops),
		RECORD("waiting_packets", UINT, rates_device, qdisc.qlen),
		RECORD("waiting_bytes", UINT, rates_device, qdisc.backlog),
		{0},
	};
	static const struct record_field drops[] = {
		RECORD("rx_dropped", UINT, rates_device, link.stats.rx_dropped),
		RECORD("rx_missed", UINT, rates_device, link.stats.rx_missed_errors),
		RECORD("rx_errors", UINT, rates_device, link.stats.rx_errors),
		RECORD("tx_dropped", UINT, rates_device, link.stats.tx_dropped),
		RECORD("tx_errors", UINT, rates_device, link.stats.tx_errors),
		RECORD_PART("qdisc", qdisc),
		{0},
	};
	const struct rates_device *d = r->devices.at;
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < r->devices.n; i++) {
		struct json_object *o;

		if (!d[i].moved && !all)
			continue;
		o = add_of_device(list, r, i);
		record_put(o, driver, &d[i]);
		put_traffic(o, r, &d[i].link.stats, true, true);
		record_put(o, drops, &d[i]);
	}
	return list;
}

static struct json_object *queues(const struct rates *r, bool all)
{
	const struct rates_queue *q = r->queues.at;
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < r->queues.n; i++) {
		struct json_object *o;

		if (!q[i].moved && !all)
			continue;
		o = add_of_device(list, r, q[i].device);
		json_put_u64(o, "queue", (uint64_t)q[i].queue);
		put_traffic(o, r, &q[i].stats, q[i].has_rx, q[i].has_tx);
	}
	return list;
}

static struct json_object *losses(const struct rates *r)
{
	const struct rates_loss *l = r->losses.at;
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < r->losses.n; i++) {
		const struct nic_item *item = l[i].loss.item;
		const struct nic_row *row = item->row;
		struct json_object *o = add_of_device(list, r, l[i].device);

		json_put_text(o, "name", l[i].loss.name);
		json_put(o, "queue", item->queue < 0 ? NULL : json_object_new_int(item->queue));
		json_put_text(o, "stage", row->stage == STAGE_NONE ? NULL : stage_name(row->stage));
		json_put_text(o, "class", nic_class_names[row->class]);
		json_put_text(o, "cause", nic_cause_names[row->cause]);
		json_put_u64(o, "delta", l[i].loss.packets);
		json_put_double(o, "per_second", per_second(l[i].loss.packets, r->interval));
		json_put_bool(o, "restarted", l[i].loss.restarted);
		json_put_text(o, "text", row->what);
	}
	return list;
}

static struct json_object *xsk_sockets(const struct rates *r)
{
	static const struct record_field rows[] = {
		RECORD("ifname", POINTER, rates_xsk, ifname),
		RECORD("queue", UINT, rates_xsk, moved.queue),
		RECORD("zero_copy", BOOL, rates_xsk, moved.zero_copy),
		RECORD("process", TEXT, rates_xsk, moved.process),
		RECORD("rx_dropped", UINT, rates_xsk, moved.rx_dropped),
		RECORD("rx_ring_full", UINT, rates_xsk, moved.rx_ring_full),
		RECORD("rx_fill_ring_empty", UINT, rates_xsk, moved.rx_fill_ring_empty),
		RECORD("rx_invalid_descs", UINT, rates_xsk, moved.rx_invalid_descs),
		RECORD("tx_invalid_descs", UINT, rates_xsk, moved.tx_invalid_descs),
		RECORD("tx_ring_empty", UINT, rates_xsk, moved.tx_ring_empty),
		{0},
	};

	return record_items(rows, &r->xsks);
}

static struct json_object *counters(const struct rates *r)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < r->deltas.n; i++) {
		const struct counter *d = &r->deltas.items[i];
		const bool host = !strcmp(d->scope, "host");
		struct json_object *o = json_add_object(list);

		json_put_text(o, "scope", host ? "host" : "netns");
		json_put_text(o, "netns", host ? NULL : r->netns);
		json_put_text(o, "name", d->name);
		json_put_u64(o, "delta", d->value);
		json_put_double(o, "per_second", per_second(d->value, r->interval));
	}
	return list;
}

struct json_object *json_rates(const struct rates *r, bool all)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "interval_ns", r->interval);
	json_put(o, "interfaces", interfaces(r, all));
	json_put(o, "queues", queues(r, all));
	json_put(o, "losses", losses(r));
	json_put(o, "xsk", xsk_sockets(r));
	json_put(o, "counters", counters(r));
	return o;
}

/* Balance of a flow */

static void add_translation(struct json_object *list, const struct nat_translation *t)
{
	struct json_object *o = json_add_object(list);

	json_put_text(o, "kind", t->kind == NAT_SOURCE ? "source" : "destination");
	json_put_text(o, "from", num_text_endpoint(&t->from));
	json_put_text(o, "to", num_text_endpoint(&t->to));
	json_put_u64(o, "datagrams", t->packets);
}

static const struct record_field culprit_rows[] = {
	RECORD("stage", POINTER, flow_balance, facts.culprit.stage),
	RECORD("socket", POINTER, flow_balance, facts.culprit.socket),
	RECORD("process", POINTER, flow_balance, facts.culprit.process),
	RECORD("packets", UINT, flow_balance, facts.culprit.packets),
	{0},
};

static const struct record_field sequence_rows[] = {
	RECORD("streams", UINT, flow_balance, facts.streams.streams),
	RECORD("numbers", UINT, flow_balance, facts.streams.seen),
	RECORD("missing", UINT, flow_balance, facts.streams.missing),
	RECORD("duplicated", UINT, flow_balance, facts.streams.duplicates),
	RECORD("reordered", UINT, flow_balance, facts.streams.reordered),
	RECORD("stray", UINT, flow_balance, facts.streams.stray),
	RECORD("restarts", UINT, flow_balance, facts.streams.restarts),
	RECORD("not_streams", UINT, flow_balance, facts.streams.strangers),
	{0},
};

/* Counts at each probe. */
static const struct record_field probes_rows[] = {
	RECORD("entered", UINT, flow_balance, entered),
	RECORD("left", UINT, flow_balance, left),
	RECORD("sent", UINT, flow_balance, sent),
	RECORD("dropped", UINT, flow_balance, dropped),
	RECORD("queued_before", UINT, flow_balance, facts.begin.queued),
	RECORD("queued_after", UINT, flow_balance, facts.end.queued),
	RECORD("window_ns", UINT, flow_balance, window_ns),
	RECORD("recursion_misses", UINT, flow_balance, facts.missed),
	{0},
};

const struct record_field balance_rows[] = {
	RECORD("arrived", INT, flow_balance, arrived),
	RECORD("delivered", UINT, flow_balance, delivered),
	RECORD("suspected_packets", UINT, flow_balance, suspected),
	RECORD("in_flight", INT, flow_balance, in_flight),
	RECORD("unaccounted", INT, flow_balance, unaccounted),
	RECORD("balanced", BOOL, flow_balance, balanced),
	RECORD("verdict", ENUM, flow_balance, verdict, RECORD_NAMES(flow_verdict_names),
	       .how = RECORD_OPEN, .unknown = FLOW_UNKNOWN),
	RECORD_PART("culprit", culprit_rows, RECORD_WHEN(flow_balance, has_culprit)),
	RECORD("rests_on", JSON, flow_balance, rests_on),
	RECORD_OTHER("nat", NULL),
	RECORD("lost_before", UINT, flow_balance, lost_before,
	       RECORD_WHEN(flow_balance, before_known)),
	RECORD_PART("sequence", sequence_rows, RECORD_WHEN(flow_balance, facts.numbered)),
	RECORD_PART("probes", probes_rows),
	{0},
};

static void put_balance(struct json_object *end, const struct flow_balance *b)
{
	struct json_object *nat;

	record_put(end, balance_rows, b);
	json_put(end, "rests_on", flow_balance_rests_on(b));
	nat = json_put_list(end, "nat");
	for (unsigned i = 0; i < b->facts.n_nat; i++)
		add_translation(nat, &b->facts.nat[i]);
}

/* The end */

const struct record_field overhead_rows[] = {
	RECORD("events", UINT, live_own, events),
	RECORD("ignored_events", UINT, live_own, ignored),
	RECORD("cpu_ns", UINT, live_own, cpu_ns),
	RECORD("paused_ns", UINT, live_own, paused_ns, .how = RECORD_OMITTED),
	RECORD("map_bytes", UINT, live_own, map_bytes),
	RECORD("slots", UINT, live_own, watch.slots),
	RECORD("slots_used", UINT, live_own, watch.slots_used),
	RECORD("overflow_keys", UINT, live_own, watch.overflow),
	RECORD("overflow_keys_used", UINT, live_own, watch.overflow_used),
	RECORD("overflow_events", UINT, live_own, watch.loss.overflow),
	{0},
};

static const struct record_field duration_rows[] = {
	RECORD("duration_ns", UINT, live_summary, duration_ns),
	{0},
};

static const struct record_field rest_rows[] = {
	RECORD("missed", NESTED, live_summary, own, .rows = live_missed_rows),
	RECORD("overhead", NESTED, live_summary, own, .rows = overhead_rows),
	RECORD_LIST("findings", NESTED, live_summary, finding, .rows = advice_rows,
		    RECORD_COUNT(live_summary, n_findings)),
	RECORD("interrupted", BOOL, live_summary, interrupted),
	{0},
};

struct json_object *json_trace_losses(const struct live_own *own)
{
	return record_write(live_missed_rows, own);
}

void json_read_losses(const struct json_object *missed, struct live_own *own)
{
	record_read(missed, live_missed_rows, own);
}

struct json_object *json_trace_end(const struct live_summary *s, unsigned by)
{
	struct json_object *o = record_write(duration_rows, s);

	put_classes(o, s->total, by);
	if (s->flow)
		put_balance(o, s->flow);
	if (s->tcp) {
		json_put_bool(o, "balanced", s->tcp->balanced && (!s->flow || s->flow->balanced));
		json_put(o, "tcp", json_tcp(s->tcp));
	}
	record_put(o, rest_rows, s);
	return o;
}

struct trace_end *trace_end_read(const struct json_object *end)
{
	struct trace_end *e = mem_new(e);

	record_read(end, duration_rows, &e->s);
	record_read(end, rest_rows, &e->s);
	record_read(end, balance_rows, &e->flow);
	if (!json_at(end, "probes.dropped")) /* in old documents */
		e->flow.dropped = json_get_u64(end, "dropped");
	table_init(&e->rows, LIVE_ROWS);
	rows_add(&e->rows, end, ~0u);
	e->flow.recorded = true;
	e->s.total = &e->rows;
	e->s.flow = json_get(end, "verdict") ? &e->flow : NULL;
	e->s.tcp = e->tcp = tcp_read(json_get(end, "tcp"));
	return e;
}

void trace_end_free(struct trace_end *e)
{
	table_free(&e->rows);
	free(e->tcp);
	free(e);
}
