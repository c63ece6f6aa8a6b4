// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/record.h"
#include "report/load.h"
#include "report/trace.h"

unsigned rows_by(const struct json_object *start)
{
	unsigned by = 0;

	for (size_t i = 0; i < json_get_length(start, "by"); i++) {
		for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
			if (!strcmp(live_field_name(f), json_get_item_text(start, "by", i)))
				by |= LIVE_BIT(f);
		}
	}
	return by ? by | LIVE_BY_STAGE : LIVE_BY_DEFAULT;
}

enum stage rows_stage(const char *name)
{
	int stage = 0;

	while (stage < STAGE_COUNT && strcmp(stage_name(stage), name))
		stage++;
	return stage;
}

uint64_t lost_packets(uint64_t sent, uint64_t delivered, uint64_t in_flight)
{
	const uint64_t left = sent > delivered ? sent - delivered : 0;

	return left > in_flight ? left - in_flight : 0;
}

double fraction_of(double part, double whole)
{
	return part > 0 && whole > 0 ? fmin(part / whole, 1) : 0;
}

double lost_fraction(const struct json_object *end)
{
	const uint64_t sent = json_get_u64(end, "sent");
	const uint64_t lost = json_get(end, "delivered")
				      ? lost_packets(sent, json_get_u64(end, "delivered"),
						     json_get_u64(end, "in_flight"))
				      : json_get_u64(end, "dropped"); /* send */

	if (json_get(end, "loss_fraction"))
		return fraction_of(json_get_double(end, "loss_fraction"), 1);
	return fraction_of((double)lost, (double)sent);
}

void rows_add_stages(uint64_t packets[STAGE_COUNT], const struct json_object *o)
{
	for (struct json_each stage = json_each(o, "stages"); json_next(&stage);) {
		enum stage s = rows_stage(json_get_text(stage.item, "stage"));

		if (s != STAGE_NONE)
			packets[s] += json_get_u64(stage.item, "packets");
	}
}

const char *rows_worst_stage(const uint64_t packets[STAGE_COUNT])
{
	int worst = 0;

	for (int s = 1; s < STAGE_COUNT; s++) {
		if (packets[s] > packets[worst])
			worst = s;
	}
	return packets[worst] ? stage_name(worst) : "";
}

static struct live_row row_of(const struct json_object *stage, enum drop_class class)
{
	const char *name = json_get_text(stage, "stage");
	struct live_row row = {.class = class, .stage = rows_stage(name)};

	live_row_begin(&row, json_get_text(stage, "source"), json_get_text(stage, "scope"));
	row.text[LIVE_STAGE] = name; /* including stages added by a later version */
	return row;
}

static void add(struct live_table *t, struct live_row *row, const struct json_object *counts,
		unsigned by)
{
	const struct json_object *burst = json_get(counts, "burst");

	row->counts = (struct live_counts){
		.events = json_get_u64(counts, "events"),
		.packets = json_get_u64(counts, "packets"),
		.bytes = json_get_u64(counts, "bytes"),
	};
	row->burst = (struct live_burst){
		.packets = json_get_u64(burst, "packets"),
		.window_ns = json_get_u64(burst, "window_ns"),
	};
	when_date(json_get_text(burst, "time"), &row->burst.time_ns);
	table_add(t, row, by);
}

static void add_stage(struct live_table *t, const struct json_object *stage, enum drop_class class,
		      unsigned by)
{
	struct live_row row = row_of(stage, class);

	if (!json_get_length(stage, "causes"))
		add(t, &row, stage, by);
	for (struct json_each cause = json_each(stage, "causes"); json_next(&cause);) {
		for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
			struct json_object *member = json_get(cause.item, live_field_name(f));

			if (member && f != LIVE_STAGE && f != LIVE_CLASS)
				row.text[f] = json_object_get_string(member);
			else if (f > LIVE_CLASS && f < LIVE_SOURCE)
				row.text[f] = "";
		}
		row.note = json_get_text(cause.item, "note");
		add(t, &row, cause.item, by);
	}
}

const char *const rows_classes[] = {
	[CLASS_LOSS] = "stages", [CLASS_SUSPECTED] = "suspected", [CLASS_EXPECTED] = "expected"};

void rows_add(struct live_table *t, const struct json_object *interval, unsigned by)
{
	for (enum drop_class class = 0; class < ROWS_CLASSES; class++) {
		for (struct json_each s = json_each(interval, rows_classes[class]); json_next(&s);)
			add_stage(t, s.item, class, by);
	}
}

void rows_add_flows(struct live_table *t, const struct json_object *interval)
{
	for (struct json_each flow = json_each(interval, "flows"); json_next(&flow);) {
		struct live_row row = row_of(flow.item, CLASS_LOSS);

		row.text[LIVE_FLOW] = json_get_text(flow.item, "flow");
		add(t, &row, flow.item, ROWS_BY_FLOW);
	}
}

/* Increases */

static const struct record_field part_rows[] = {
	RECORD("time_ns", UINT, part, time_ns),
	RECORD("interval_ns", UINT, part, interval_ns),
	RECORD("sent", UINT, part, sent),
	RECORD("delivered", UINT, part, delivered),
	RECORD("dropped", UINT, part, dropped),
	{0},
};

static double rate_of(const struct part *p)
{
	return p->interval_ns ? (double)p->dropped * 1e9 / (double)p->interval_ns : 0;
}

void part_read(struct part *p, const struct json_object *o)
{
	*p = (struct part){};
	record_read(o, part_rows, p);
	p->peak_pps = json_get_double(o, "peak_pps");
	for (struct json_each stage = json_each(o, "stages"); json_next(&stage);) {
		enum stage s = rows_stage(json_get_text(stage.item, "stage"));

		if (s != STAGE_NONE)
			live_counts_add(&p->stage[s], &(struct live_counts){
							      json_get_u64(stage.item, "events"),
							      json_get_u64(stage.item, "packets"),
							      json_get_u64(stage.item, "bytes"), 0});
	}
}

/*
 * Subtracts a count. Counts of packets in transit may be corrected downwards, which is not an
 * increase.
 */
static void subtract(uint64_t *n, uint64_t last)
{
	*n = *n > last ? *n - last : 0;
}

/*
 * Reads an interval. `last` is the previous reading if counts are since the start, and is updated.
 * NULL: counts are for the interval.
 */
static void read_increase(struct part *p, const struct json_object *o, struct part *last)
{
	struct part now;

	part_read(p, o);
	now = *p;
	if (last) {
		p->interval_ns = p->time_ns;
		subtract(&p->interval_ns, last->time_ns);
		subtract(&p->sent, last->sent);
		subtract(&p->delivered, last->delivered);
		subtract(&p->dropped, last->dropped);
		for (int s = 0; s < STAGE_COUNT; s++) {
			subtract(&p->stage[s].events, last->stage[s].events);
			subtract(&p->stage[s].packets, last->stage[s].packets);
			subtract(&p->stage[s].bytes, last->stage[s].bytes);
		}
		*last = now;
	}
	if (!p->peak_pps)
		p->peak_pps = rate_of(p);
}

struct parts parts_of(const struct ledgers_document *d)
{
	struct parts p = {.each = json_each(d->json, "intervals"),
			  .end = d->parts ? NULL : json_get(d->json, "end"),
			  .own = d->parts,
			  .end_ns = d->to_ns};

	when_date(json_get_text(json_get(d->json, "start"), "time"), &p.start_ns);
	return p;
}

bool parts_next(struct parts *p)
{
	const bool more = json_next(&p->each);

	p->item = more ? p->each.item : p->any ? p->end : NULL;
	if (!more && !p->item)
		return false;
	p->end = more ? p->end : NULL;
	p->any = more;
	read_increase(&p->now, p->item, p->own ? NULL : &p->last);
	if (!more)
		p->to_ns = p->end_ns;
	else if (when_date(json_get_text(p->item, "time"), &p->to_ns))
		p->to_ns = p->start_ns + p->now.time_ns;
	return true;
}

void part_add(struct part *sum, const struct part *p)
{
	sum->interval_ns += p->interval_ns;
	sum->sent += p->sent;
	sum->delivered += p->delivered;
	sum->dropped += p->dropped;
	sum->peak_pps = fmax(sum->peak_pps, p->peak_pps);
	for (int s = 0; s < STAGE_COUNT; s++)
		live_counts_add(&sum->stage[s], &p->stage[s]);
}

/* The history */

#define FLOWS_MAX 32 /* flows in a sum (the rest become "others") */

/* Sum of several parts. */
struct heap {
	struct live_table rows, flows;
	uint64_t time_ns, length_ns, to_ns;
	bool any, has_flows;
	struct json_object *losses; /* the most recent missed events, with a reference held */
	struct tcp_balance *tcp;    /* sum over all parts, or NULL */
};

struct series {
	bool parts;
	unsigned by, max;
	struct json_object *list[SERIES_MAX];
	double peak[SERIES_MAX];  /* pps, loss rate in each item's worst interval */
	unsigned n;
	unsigned stride, in_open; /* intervals per item, and intervals in the newest item */
	struct heap open;
	struct part last;			 /* without `parts`: the previous reading */
	struct json_object *worst[SERIES_WORST]; /* sorted by "dropped_pps" */
	unsigned worsts;
	uint64_t count, from_ns, to_ns;
};

/* Clears the sum. */
static void heap_clear(struct heap *h)
{
	table_free(&h->rows);
	table_free(&h->flows);
	json_object_put(h->losses);
	free(h->tcp);
	*h = (struct heap){.rows = {.max = LIVE_ROWS}, .flows = {.max = LIVE_ROWS}};
}

static void heap_add(struct heap *h, const struct json_object *interval, unsigned by,
		     uint64_t to_ns)
{
	uint64_t time_ns = json_get_u64(interval, "time_ns");
	struct json_object *losses = json_get(interval, "missed");
	struct tcp_balance *tcp = tcp_read(json_get(interval, "tcp"));

	rows_add(&h->rows, interval, by);
	rows_add_flows(&h->flows, interval);
	h->has_flows |= json_get(interval, "flows") != NULL;
	/* from the start of the first part to the end of the last */
	h->length_ns += h->any && time_ns > h->time_ns ? time_ns - h->time_ns
						       : json_get_u64(interval, "interval_ns");
	h->time_ns = time_ns;
	h->to_ns = to_ns;
	h->any = true;
	if (losses) {
		json_object_put(h->losses);
		h->losses = json_object_get(losses);
	}
	if (h->tcp && tcp)
		tcp_add(h->tcp, tcp, false);
	else if (tcp)
		h->tcp = tcp;
	if (h->tcp != tcp)
		free(tcp);
}

/* Returns the sum as an interval and clears it. */
static struct json_object *heap_json(struct heap *h, unsigned by, double peak_pps)
{
	const struct trace_time time = {h->to_ns, h->time_ns, h->length_ns};
	struct live_table flows = {};
	struct json_object *o;

	for (unsigned i = 0; i < h->rows.n; i++)
		h->rows.rows[i].note = NULL; /* the note belongs to a part that will be freed */
	if (h->has_flows)
		worst_rows(&flows, &h->flows, ROWS_BY_FLOW, 0, FLOWS_MAX);
	o = json_trace_interval(&h->rows, h->has_flows ? &flows : NULL, by, &time);
	json_put_double(o, "peak_pps", peak_pps);
	if (h->losses)
		json_put(o, "missed", json_object_get(h->losses));
	if (h->tcp)
		json_put(o, "tcp", json_tcp_resent(h->tcp));
	table_free(&flows);
	heap_clear(h);
	return o;
}

struct series *series_new(bool parts, unsigned by, unsigned max)
{
	struct series *s = mem_new(s);

	s->parts = parts;
	s->by = by;
	s->max = max;
	s->stride = 1;
	heap_clear(&s->open);
	return s;
}

void series_free(struct series *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++)
		json_object_put(s->list[i]);
	for (unsigned i = 0; i < s->worsts; i++)
		json_object_put(s->worst[i]);
	heap_clear(&s->open);
	free(s);
}

/* Merges the items in pairs. */
static void halve(struct series *s)
{
	for (unsigned i = 0; i + 1 < s->n; i += 2) {
		struct json_object *one = s->list[i], *two = s->list[i + 1], *both = two;
		const double peak = fmax(s->peak[i], s->peak[i + 1]);
		uint64_t to_ns;

		if (s->parts) {
			if (when_date(json_get_text(two, "time"), &to_ns))
				to_ns = 0; /* the end is unknown */
			heap_add(&s->open, one, s->by, 0);
			heap_add(&s->open, two, s->by, to_ns);
			both = heap_json(&s->open, s->by, peak);
			json_object_put(two);
		}
		json_object_put(one);
		s->list[i / 2] = both;
		s->peak[i / 2] = peak;
	}
	s->n /= 2;
	s->stride *= 2;
}

/* Adds to the newest item, or starts a new item. */
static void keep(struct series *s, struct json_object *interval, uint64_t to_ns, double peak_pps)
{
	if (!s->in_open) {
		if (s->n == s->max)
			halve(s);
		s->list[s->n] = NULL;
		s->peak[s->n++] = 0;
	}
	s->in_open = (s->in_open + 1) % s->stride;
	s->peak[s->n - 1] = fmax(s->peak[s->n - 1], peak_pps);
	if (s->parts && s->stride > 1) {
		heap_add(&s->open, interval, s->by, to_ns);
		if (!s->in_open)
			s->list[s->n - 1] = heap_json(&s->open, s->by, s->peak[s->n - 1]);
		return;
	}
	/* for counts since the start, an item's last reading includes all of them */
	json_object_put(s->list[s->n - 1]);
	s->list[s->n - 1] = json_object_get(interval);
}

/* Inserts a copy of an interval if it is among the worst. */
static void rank(struct series *s, struct json_object *interval, const struct part *p,
		 uint64_t to_ns)
{
	const double pps = rate_of(p);
	struct json_object *copy = NULL;
	unsigned at = s->worsts;

	while (at && json_get_double(s->worst[at - 1], "dropped_pps") < pps)
		at--;
	if (!p->dropped || p->dropped > INT64_MAX || at == SERIES_WORST)
		return; /* negative: the counter was reset */
	if (!s->parts)
		copy = record_write(part_rows, p);
	else if (json_object_deep_copy(interval, &copy, NULL))
		return;
	if (s->worsts == SERIES_WORST)
		json_object_put(s->worst[--s->worsts]);
	memmove(&s->worst[at + 1], &s->worst[at], (s->worsts - at) * sizeof(s->worst[0]));
	s->worsts++;
	s->worst[at] = copy;
	json_put_time(copy, "time", to_ns);
	json_put_double(copy, "dropped_pps", pps);
}

void series_add(struct series *s, struct json_object *interval, uint64_t from_ns, uint64_t to_ns)
{
	struct part p;

	if (!s->count++)
		s->from_ns = from_ns;
	s->to_ns = to_ns;
	read_increase(&p, interval, s->parts ? NULL : &s->last);
	rank(s, interval, &p, to_ns);
	keep(s, interval, to_ns, p.peak_pps);
}

uint64_t series_count(const struct series *s, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = s->from_ns;
	*to_ns = s->to_ns;
	return s->count;
}

struct json_object *series_covers(const struct series *s, uint64_t from_ns, uint64_t to_ns)
{
	struct json_object *o = json_object_new_object();

	json_put_time(o, "from", from_ns);
	json_put_time(o, "to", to_ns);
	json_put_u64(o, "intervals", s ? s->count : 0);
	json_put_u64(o, "joined", s ? s->stride : 0);
	return o;
}

static struct json_object *list_of(struct json_object *const *o, unsigned n)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, json_object_get(o[i]));
	return list;
}

/* Ends the newest item, which may contain fewer intervals than the rest. */
static void close_open(struct series *s)
{
	if (s->n && !s->list[s->n - 1])
		s->list[s->n - 1] = heap_json(&s->open, s->by, s->peak[s->n - 1]);
	s->in_open = 0;
}

struct json_object *series_intervals(struct series *s)
{
	close_open(s);
	for (unsigned i = 0; i < s->n && !s->parts && s->stride > 1; i++) {
		struct json_object *o = json_object_new_object(); /* the reading may be shared */

		json_put_all(o, s->list[i]);
		json_put_double(o, "peak_pps", s->peak[i]);
		json_object_put(s->list[i]);
		s->list[i] = o;
	}
	return list_of(s->list, s->n);
}

struct json_object *series_worst(struct series *s)
{
	return list_of(s->worst, s->worsts);
}

struct json_object *series_sum(struct series *s)
{
	double peak = 0;

	if (!s->parts)
		return NULL;
	close_open(s);
	for (unsigned i = 0; i < s->n; i++) {
		heap_add(&s->open, s->list[i], s->by, s->to_ns);
		peak = fmax(peak, s->peak[i]);
	}
	return heap_json(&s->open, s->by, peak);
}
