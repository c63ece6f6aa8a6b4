// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/trace.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "host/nic.h"
#include "monitor/tcp.h"
#include "report/print.h"
#include "report/series.h"

#define ROWS_MAX	24 /* rows per class in an interval's table (the rest share a line) */
#define ROWS_END	3  /* rows per class at the end, after the tables of the intervals */
#define ROW		"%10s %8s  %s" /* packets, percentage, stage */
#define ROW_DETAIL	36	       /* column where details start after these fields */
#define BENIGN_PLACES	4  /* places named on the line about expected drops */
#define WORST_SHOWN	8
#define LIMITS_SHOWN	20
#define INTERVALS_SHOWN 60 /* intervals shown from a ledger, unless -v is given */

struct trace_text {
	struct page page;
	int verbosity;
	bool all;	   /* show expected drops */
	const char *netns; /* the trace's namespace, omitted from text, "": unknown */
	struct live_table rows;
};

/* Style for each class, and the mark after the stage. */
static const struct {
	enum style style;
	const char *mark;
} classes[ROWS_CLASSES] = {[CLASS_LOSS] = {STYLE_BAD, ""},
			   [CLASS_SUSPECTED] = {STYLE_WARN, "?"},
			   [CLASS_EXPECTED] = {STYLE_DIM, ""}};

static struct live_counts sum_of(const struct trace_text *t, enum drop_class class)
{
	return table_sum(&t->rows, 1u << class, STAGE_NONE);
}

/* Returns these rows, with a page that fits the widest count. The caller frees t.rows. */
static struct trace_text text_of(const struct print_view *v, const struct trace_shown *shown,
				 const struct live_table *rows)
{
	struct trace_text t = {.verbosity = v->verbosity, .all = shown->all, .netns = shown->netns};

	table_init(&t.rows, LIVE_ROWS);
	for (unsigned i = 0; i < rows->n; i++) {
		struct live_row row = rows->rows[i];

		if (row.class == CLASS_COPY) { /* as in a document, including expected drops */
			row.class = CLASS_EXPECTED;
			row.text[LIVE_CLASS] = class_name(row.class);
		}
		table_add(&t.rows, &row, ~0u);
	}
	t.page = print_page(
		v, larger(sum_of(&t, CLASS_LOSS).packets, sum_of(&t, CLASS_EXPECTED).packets));
	return t;
}

/* Causes */

/* Prints "burst 1,500 in 1ms at 12:31:04.512", with the local time at which the window began. */
static void put_burst(struct page *p, const struct live_burst *b)
{
	const bool fine = b->window_ns < 1000000;

	page_words(p, STYLE_WARN, "burst\v%s in\v%s at\v%s.%0*u", fmt_count(b->packets),
		   num_text_time(b->window_ns), when_text(b->time_ns, false), fine ? 4 : 3,
		   (unsigned)(b->time_ns % 1000000000 / (fine ? 100000 : 1000000)));
}

/* Returns true if the hook, such as "bridge forward", already says the direction. */
static bool says_direction(const char *hook, const char *direction)
{
	const char *last = strrchr(hook, ' ');

	return !strcmp(last ? last + 1 : hook, direction);
}

/* Prints the details of a cause, in this order. Omits the source if it is "event", the default. */
static void put_details(struct trace_text *t, const struct live_row *row)
{
	static const struct {
		enum live_field field;
		const char *before, *after;
	} details[] = {
		{LIVE_SOCKET, "", ""},	   {LIVE_PROCESS, "", ""},  {LIVE_CGROUP, "", ""},
		{LIVE_CONTAINER, "", ""},  {LIVE_POD, "", ""},	    {LIVE_FLOW, "", ""},
		{LIVE_HOOK, "", ""},	   {LIVE_DIRECTION, "", ""}, {LIVE_IFNAME, "", ""},
		{LIVE_NETNS, "in\v", ""},  {LIVE_CPU, "cpu\v", ""}, {LIVE_REASON, "", ""},
		{LIVE_LOCATION, "", ""},   {LIVE_SOURCE, "(", ","}, {LIVE_SCOPE, "", ")"},
	};
	const bool counted = strcmp(row->text[LIVE_SOURCE], "event");

	for (unsigned i = 0; i < LENGTH(details) - (counted ? 0 : 2); i++) {
		const char *text = row->text[details[i].field];
		char word[512];

		if (!*text ||
		    (details[i].field == LIVE_DIRECTION &&
		     says_direction(row->text[LIVE_HOOK], text)) ||
		    (details[i].field == LIVE_NETNS && *t->netns && !strcmp(text, t->netns)))
			continue;
		snprintf(word, sizeof(word), "%s", text);
		if (details[i].field != LIVE_FLOW) /* a long text may wrap at its blanks */
			page_glue(word);
		page_words(&t->page, STYLE_PLAIN, "%s%s%s", details[i].before, word,
			   details[i].after);
	}
	if (!row->counts.packets)
		page_words(&t->page, STYLE_PLAIN, "%s", fmt_many(row->counts.events, "time"));
	if (row->burst.packets > 1)
		put_burst(&t->page, &row->burst);
}

/* Intervals */

/* Formats small rates as whole packets, because an interval is never exactly one second long. */
static char *rate_text(double pps)
{
	char *text = fmt_rate(pps);

	if (pps >= 0.5 && pps < 999.5)
		snprintf(text, FMT_MAX, "%.0f pps", pps);
	return text;
}

/* Prints the column headings for losses. */
static void put_head(struct page *p)
{
	char head[192];

	snprintf(head, sizeof(head), ROW "%*s", "packets", "loss", "stage",
		 p->width < PAGE_WIDTH ? 0 : ROW_DETAIL - 26 + 13, "where and why");
	page_text(p, 0, STYLE_DIM, head);
	page_end(p);
}

/* Starts a row with the packet count, its percentage of `whole` (0: none), and its label. */
static void put_row(struct page *p, enum style style, const char *label, const char *mark,
		    uint64_t packets, uint64_t whole)
{
	char head[192];

	snprintf(head, sizeof(head), ROW "%s", fmt_count(packets), page_share(packets, whole), label,
		 mark);
	page_text(p, 0, style, head);
	page_detail(p, 2, ROW_DETAIL);
}

/*
 * Prints the rows in a class, each with its percentage of `whole` (0: none). If there are more than
 * `most` rows, combines the smallest into one.
 */
static void put_rows(struct trace_text *t, enum drop_class class, unsigned most, uint64_t whole)
{
	struct live_counts others = {};
	struct page *p = &t->page;
	struct live_table rows;
	unsigned shown;

	table_group(&rows, &t->rows, ~0u, 1u << class);
	shown = rows.n && rows.n - 1 > most ? most : rows.n; /* a single row takes no more lines */
	table_sort(&rows, shown < rows.n ? TABLE_BY_PACKETS : TABLE_BY_PATH);
	for (unsigned i = 0; i < shown; i++) {
		const struct live_row *row = &rows.rows[i];

		put_row(p, classes[class].style, *row->text[LIVE_STAGE] ? row->text[LIVE_STAGE] : "copy",
			classes[class].mark, row->counts.packets, whole);
		put_details(t, row);
		if (most > ROWS_MAX && row->note && *row->note) {
			page_break(p);
			page_words(p, STYLE_DIM, "%s", row->note);
		}
		page_end(p);
	}
	for (unsigned i = shown; i < rows.n; i++)
		live_counts_add(&others, &rows.rows[i].counts);
	if (shown < rows.n) {
		put_row(p, STYLE_DIM, "others", "", others.packets, whole);
		page_words(p, STYLE_DIM, "%s more", fmt_many(rows.n - shown, "row"));
		page_end(p);
	}
	table_free(&rows);
}

static void put_interval(struct trace_text *t, const struct trace_time *time, bool *headed)
{
	const uint64_t packets = sum_of(t, CLASS_LOSS).packets;

	if (!sum_of(t, CLASS_LOSS).events && !sum_of(t, CLASS_SUSPECTED).events &&
	    !(t->all && sum_of(t, CLASS_EXPECTED).events))
		return;
	if (!*headed)
		put_head(&t->page);
	*headed = true;
	page_line(&t->page, 0, STYLE_BOLD, when_text(time->realtime_ns, false), STYLE_BOLD,
		  "\v\v%s lost, %s", fmt_count(packets),
		  page_glue(rate_text(per_second(packets, time->interval_ns))));
	put_rows(t, CLASS_LOSS, ROWS_MAX, packets);
	put_rows(t, CLASS_SUSPECTED, ROWS_MAX, 0);
	if (t->all)
		put_rows(t, CLASS_EXPECTED, ROWS_MAX, 0);
}

/* Counters */

#define COUNTER_WIDTH 40

static bool same_text(const struct json_object *a, const struct json_object *b, const char *key)
{
	return !strcmp(json_get_text(a, key), json_get_text(b, key));
}

static void put_rate(struct page *p, enum style style, double rate)
{
	page_cell(p, rate > 0 ? style : STYLE_DIM, rate > 0 ? fmt_short(rate) : "-");
}

/*
 * Prints the rates for an interface or a queue. Prints 0 as a dash so that other values stand out.
 */
static void put_traffic(struct page *p, enum style style, unsigned indent, const char *name,
			const struct json_object *o, double seconds)
{
	const double moved[] = {
		json_get_double(o, "rx_packets"), json_get_double(o, "rx_bytes") * 8,
		json_get_double(o, "tx_packets"), json_get_double(o, "tx_bytes") * 8};

	p->indent = indent;
	page_cell(p, style, name);
	for (unsigned i = 0; i < LENGTH(moved); i++)
		put_rate(p, STYLE_PLAIN, moved[i] / seconds);
}

static void put_device(struct page *p, const struct json_object *rates, const struct json_object *d,
		       double seconds)
{
	const struct json_object *qdisc = json_get(d, "qdisc");
	const uint64_t losses[] = {json_get_u64(d, "rx_dropped") + json_get_u64(d, "rx_missed"),
				   json_get_u64(d, "tx_dropped") + json_get_u64(qdisc, "drops") +
					   json_get_u64(qdisc, "clsact_drops"),
				   json_get_u64(d, "rx_errors") + json_get_u64(d, "tx_errors")};

	put_traffic(p, STYLE_BOLD, 0, json_get_text(d, "ifname"), d, seconds);
	for (unsigned i = 0; i < LENGTH(losses); i++)
		put_rate(p, STYLE_BAD, (double)losses[i] / seconds);
	page_end(p);
	for (struct json_each q = json_each(rates, "queues"); json_next(&q);) {
		char name[32];

		if (!same_text(q.item, d, "ifname") || !same_text(q.item, d, "netns"))
			continue;
		snprintf(name, sizeof(name), "queue %u", (unsigned)json_get_u64(q.item, "queue"));
		put_traffic(p, STYLE_PLAIN, 2, name, q.item, seconds);
		page_end(p);
	}
}

static void put_devices(struct page *p, const struct json_object *rates, double seconds)
{
	static const struct page_column columns[] = {
		{"interface", 20, false}, {"rx pps", 9, true},	 {"rx bit/s", 9, true},
		{"tx pps", 9, true},	  {"tx bit/s", 9, true}, {"rx lost", 8, true},
		{"tx lost", 8, true},	  {"errors", 8, true},	 {0},
	};
	const struct json_object *last = NULL;

	p->indent = 0;
	if (json_get_length(rates, "interfaces"))
		page_table(p, columns);
	for (struct json_each d = json_each(rates, "interfaces"); json_next(&d);) {
		if (!same_text(d.item, last, "netns"))
			page_fill_line(p, 0, STYLE_DIM, "in ", STYLE_DIM, d.item, "{netns}");
		last = d.item;
		put_device(p, rates, d.item, seconds);
	}
}

/* Starts a line with "name   rate  ". The text that follows wraps to the column after it. */
static void put_counter(struct page *p, const char *name, enum style style, double rate)
{
	char text[128];

	snprintf(text, sizeof(text), "%-*s%8s  ", COUNTER_WIDTH, name, fmt_short(rate));
	page_text(p, 0, style, text);
}

static void put_losses(struct page *p, const struct json_object *rates, double seconds)
{
	for (struct json_each each = json_each(rates, "losses"); json_next(&each);) {
		const struct json_object *l = each.item;
		const char *name = json_get_text(l, "name"), *class = json_get_text(l, "class");
		bool loss = !strcmp(class, nic_class_names[NIC_LOSS]);
		bool bound = !strcmp(class, nic_class_names[NIC_BOUND]);
		char text[80], queue[24] = "";

		if (json_get(l, "queue") && !strpbrk(name, "0123456789"))
			snprintf(queue, sizeof(queue), ", queue %u",
				 (unsigned)json_get_u64(l, "queue"));
		snprintf(text, sizeof(text), "%s %s%s", json_get_text(l, "ifname"), name, queue);
		put_counter(p, text,
			    loss    ? STYLE_BAD
			    : bound ? STYLE_WARN
				    : STYLE_PLAIN,
			    json_get_double(l, "delta") / seconds);
		page_fill(p, STYLE_PLAIN, l, loss ? "{?stage}{stage}:" : "{?stage}{stage}?:");
		page_fill(p, STYLE_PLAIN, l, "{text}");
		page_end(p);
	}
}

static void put_sockets(struct page *p, const struct json_object *rates, double seconds)
{
	static const char *const counters[][2] = {
		{"rx_ring_full", "xsk: the program does not empty its RX ring"},
		{"rx_dropped", "xsk: no buffer in the fill ring, or the frame was too long"},
		{"rx_fill_ring_empty", NULL}, /* cause varies */
		{"rx_invalid_descs", "the program filled in wrong buffers"},
		{"tx_invalid_descs", "the program's descriptor was wrong: not sent"},
	};

	for (struct json_each x = json_each(rates, "xsk"); json_next(&x);) {
		for (unsigned c = 0; c < LENGTH(counters); c++) {
			const char *key = counters[c][0], *what = counters[c][1];
			double moved = json_get_double(x.item, key);
			char text[80];

			if (moved <= 0)
				continue;
			snprintf(text, sizeof(text), "%s xsk queue %u %s",
				 json_get_text(x.item, "ifname"),
				 (unsigned)json_get_u64(x.item, "queue"), key);
			put_counter(p, text, STYLE_BAD, moved / seconds);
			if (!what)
				what = json_get_bool(x.item, "zero_copy")
					       ? "tries; packets are lost in the NIC's ring"
					       : "the same packets as rx_dropped";
			page_words(p, STYLE_PLAIN, "%s", what);
			page_fill(p, STYLE_PLAIN, x.item, "{?process}({process})");
			page_end(p);
		}
	}
}

static void put_counters(struct page *p, const struct json_object *rates)
{
	const double seconds = json_get_double(rates, "interval_ns") * 1e-9;

	if (!json_get_u64(rates, "interval_ns")) /* a single sample has no rates */
		return;
	put_devices(p, rates, seconds);
	page_text(p, 0, STYLE_DIM, "counter                                       /s");
	page_end(p);
	put_losses(p, rates, seconds);
	put_sockets(p, rates, seconds);
	for (struct json_each c = json_each(rates, "counters"); json_next(&c);) {
		put_counter(p, json_get_text(c.item, "name"), STYLE_PLAIN,
			    json_get_double(c.item, "delta") / seconds);
		page_fill(p, STYLE_DIM, c.item, "{?netns}in {netns}");
		if (!strcmp(json_get_text(c.item, "scope"), "host"))
			page_words(p, STYLE_DIM, "(whole host)");
		page_end(p);
	}
}

void print_trace_interval(const struct print_view *v, const struct trace_shown *shown,
			  const struct live_table *rows, const struct trace_time *time,
			  const struct json_object *rates, bool *headed)
{
	struct trace_text t;

	if (v->verbosity < 0)
		return;
	t = text_of(v, shown, rows);
	put_interval(&t, time, headed);
	put_counters(&t.page, rates);
	table_free(&t.rows);
}

static void print_recorded(const struct print_view *v, const struct trace_shown *shown,
			   const struct json_object *interval, bool *headed)
{
	struct trace_time time = {.interval_ns = json_get_u64(interval, "interval_ns")};
	struct live_table rows;

	table_init(&rows, LIVE_ROWS);
	rows_add(&rows, interval, ~0u);
	when_date(json_get_text(interval, "time"), &time.realtime_ns);
	print_trace_interval(v, shown, &rows, &time, json_get(interval, "counters"), headed);
	table_free(&rows);
}

/* The sum */

/* Prints one line with the number of expected drops and where most of them occurred. */
static void put_benign(struct trace_text *t)
{
	struct page *p = &t->page;
	struct live_table rows;

	table_group(&rows, &t->rows, LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_LOCATION),
		    1u << CLASS_EXPECTED);
	table_sort(&rows, TABLE_BY_PACKETS);
	page_row(p, STYLE_DIM, 0, "expected", sum_of(t, CLASS_EXPECTED).packets, 0);
	for (unsigned i = 0; i < rows.n && i < BENIGN_PLACES; i++) {
		const struct live_row *row = &rows.rows[i];
		const char *at = row->text[LIVE_LOCATION];

		page_words(p, STYLE_DIM, "%s\v%s", *at ? at : row->text[LIVE_REASON],
			   fmt_count(row->counts.packets));
	}
	if (rows.n > BENIGN_PLACES)
		page_words(p, STYLE_DIM, "...");
	page_end(p);
	table_free(&rows);
}

static void put_total(struct trace_text *t, uint64_t duration_ns)
{
	const uint64_t packets = sum_of(t, CLASS_LOSS).packets;
	const struct live_counts perhaps = sum_of(t, CLASS_SUSPECTED);
	const unsigned most = t->verbosity > 0 ? UINT_MAX : t->verbosity < 0 ? ROWS_MAX : ROWS_END;
	struct page *p = &t->page;

	page_row(p, STYLE_BOLD, 0, "drops", packets, 0);
	page_words(p, STYLE_PLAIN, "%s in %s",
		   page_glue(fmt_rate(per_second(packets, duration_ns))),
		   page_glue(fmt_ns(duration_ns)));
	page_end(p);
	if (packets || sum_of(t, CLASS_LOSS).events || perhaps.events)
		put_head(p);
	put_rows(t, CLASS_LOSS, most, packets);
	if (perhaps.events) {
		page_row(p, STYLE_BOLD, 0, "suspected", perhaps.packets, 0);
		page_end(p);
		put_rows(t, CLASS_SUSPECTED, most, 0);
	}
	if (sum_of(t, CLASS_EXPECTED).packets)
		put_benign(t);
	if (t->all)
		put_rows(t, CLASS_EXPECTED, most, 0);
}

static void put_own_losses(struct page *p, const struct live_own *own)
{
	const struct page_sum missed[] = {
		{own->watch.recursion_misses, "while the tracer was active on that CPU"},
		{own->watch.loss.merged, "counted without socket or flow (table full)"},
		{own->watch.loss.uncounted.events, "counted without cause (table full)"},
		{own->unplaced, "could not be assigned to a namespace"},
		{own->watch.loss.unsampled, "counted, not shown: too fast"},
		{own->watch.loss.unwindowed, "counted, not in a window: too fast"},
		{own->rows_merged, "rows counted as other"},
		{own->watch.filter_unread, "unreadable by the filter"},
	};

	page_sums(p, "missed events   ", STYLE_WARN, missed, LENGTH(missed));
}

static void put_own_cost(struct page *p, const struct live_own *own, bool more)
{
	page_text(p, 0, STYLE_DIM, "overhead        ");
	page_words(p, STYLE_DIM, "%s of CPU time for %s;", page_ns(own->cpu_ns),
		   page_many(own->events, "event"));
	if (own->paused_ns)
		page_words(p, STYLE_WARN, "detached for %s;", page_ns(own->paused_ns));
	page_words(p, STYLE_DIM, "tables of %s%s", page_glue(fmt_bytes(own->map_bytes)),
		   more ? "," : "");
	if (more)
		page_words(p, STYLE_DIM,
			   "%" PRIu64 " of %" PRIu64 " slots and %" PRIu64 " of %" PRIu64
			   " overflow keys in use",
			   own->watch.slots_used, own->watch.slots, own->watch.overflow_used,
			   own->watch.overflow);
	page_end(p);
}

/* Names what a trace without any loss did not cover. */
static void put_uncovered(struct page *p, const struct trace_shown *shown)
{
	page_text(p, 0, STYLE_DIM, "not covered     ");
	page_words(p, STYLE_PLAIN,
		   "losses before and after this host%s%s; `pktledger check` reads counters and "
		   "settings",
		   shown->filtered ? ", packets that the filter excludes" : "",
		   shown->one_netns ? ", other network namespaces" : "");
	page_end(p);
}

/* Balance of a flow */

static void put_sums(struct page *p, const struct flow_balance *b)
{
	const struct {
		const char *label;
		enum style style, of_text;
		int64_t n;
		bool shared;	  /* shown as a percentage of `arrived` */
		const char *text; /* shown if the term is negative */
		const char *rest; /* shown otherwise, and the row is omitted if it is 0 */
	} terms[] = {
		{"arrived", STYLE_BOLD, STYLE_BOLD, b->arrived,
		 .text = "more left this host than entered"},
		{"delivered", .n = (int64_t)b->delivered, .shared = true},
		{"dropped", STYLE_BAD, .n = (int64_t)b->dropped, .shared = true},
		{"suspected", STYLE_WARN, .n = (int64_t)b->suspected, .shared = true, .rest = ""},
		{"in flight", .n = b->in_flight, .text = "less than at the beginning"},
		{"unaccounted", STYLE_WARN, STYLE_WARN, b->unaccounted,
		 .text = "more accounted for than arrived"},
		{"passed on", STYLE_DIM, STYLE_DIM, (int64_t)b->left,
		 .rest = "crossed this host (not in the sum)"},
		{"sent", STYLE_DIM, STYLE_DIM, (int64_t)b->sent,
		 .rest = "sent by this host (not in the sum)"},
	};

	for (unsigned i = 0; i < LENGTH(terms); i++) {
		const int64_t n = terms[i].n;
		const bool loss = terms[i].style == STYLE_BAD || terms[i].style == STYLE_WARN;
		const char *text = n < 0 ? terms[i].text : terms[i].rest;

		if (terms[i].rest && !n)
			continue;
		page_row(p, loss && !n ? STYLE_PLAIN : terms[i].style, 0, terms[i].label,
			 n < 0 ? -(uint64_t)n : (uint64_t)n,
			 terms[i].shared && b->arrived > 0 ? (uint64_t)b->arrived : 0);
		page_words(p, terms[i].of_text, "%s", text ? text : "");
		page_end(p);
	}
}

static void put_numbers(struct page *p, const struct balance_streams *s)
{
	const struct page_sum more[] = {
		{s->duplicates, "twice"},
		{s->reordered, "late"},
		{s->restarts, "restart|restarts"},
		{s->stray, "out of window"},
	};

	if (!s->streams)
		return;
	page_row(p, s->missing ? STYLE_BAD : STYLE_PLAIN, 0, "lost before", s->missing,
		 s->missing + s->seen);
	page_words(p, STYLE_PLAIN, "of the numbers in %s%s", page_many(s->streams, "stream"),
		   s->duplicates || s->reordered || s->restarts || s->stray ? " -" : "");
	page_sums(p, NULL, STYLE_PLAIN, more, LENGTH(more));
	page_end(p);
}

void print_verdict(struct page *p, const char *verdict, const struct flow_culprit *culprit,
		   struct json_object *rests_on)
{
	bool none = !strcmp(verdict, "none_seen");
	bool here = !strcmp(verdict, "this_host") || !strcmp(verdict, "both");

	page_text(p, 0, STYLE_BOLD, "result          ");
	page_words(p,
		   none				 ? STYLE_PLAIN
		   : !strcmp(verdict, "unknown") ? STYLE_WARN
						 : STYLE_BAD,
		   "%s", none ? "no loss seen on this host" : verdict);
	if (here && culprit)
		page_words(p, STYLE_PLAIN, "- %s %s %s", culprit->stage,
			   culprit->socket ? culprit->socket : "",
			   culprit->process ? culprit->process : "");
	page_end(p);
	if (json_object_is_type(rests_on, json_type_array)) {
		for (struct json_each e = {.list = rests_on}; json_next(&e);)
			page_line(p, 2, STYLE_PLAIN, "- ", STYLE_PLAIN, "%s",
				  e.item ? json_object_get_string(e.item) : "");
	}
	json_object_put(rests_on);
}

static void put_balance(struct page *p, const struct live_summary *s)
{
	const struct flow_balance *b = s->flow;

	/* print a blank line before each balance, and titles if there are two */
	if (s->tcp && b)
		page_heading(p, "TCP", "");
	else if (s->tcp)
		page_end(p);
	if (s->tcp)
		print_tcp(p, s->tcp, false);
	if (!b)
		return;
	if (s->tcp)
		page_heading(p, "UDP", "");
	else
		page_end(p);
	put_sums(p, b);
	if (b->facts.numbered)
		put_numbers(p, &b->facts.streams);
	print_verdict(p, flow_verdict_names[b->verdict], b->has_culprit ? &b->facts.culprit : NULL,
		      b->recorded ? json_object_get(b->rests_on) : flow_balance_rests_on(b));
}

/* The end */

void print_trace_end(const struct print_view *v, const struct trace_shown *shown,
		     const struct live_summary *s)
{
	struct trace_text t = text_of(v, shown, s->total);

	put_total(&t, s->duration_ns);
	put_own_cost(&t.page, &s->own, t.verbosity > 0);
	put_own_losses(&t.page, &s->own);
	if (!s->flow && !s->tcp && !sum_of(&t, CLASS_LOSS).packets &&
	    !sum_of(&t, CLASS_SUSPECTED).packets)
		put_uncovered(&t.page, shown);
	put_balance(&t.page, s);
	text_findings(&t.page, s->finding, s->n_findings, t.verbosity > 0);
	table_free(&t.rows);
}

/* Documents */

/* Prints the rows with the largest losses for which a socket, process or flow is known. */
static void put_worst(const struct print_view *v, struct live_table *t, const char *title)
{
	struct page p = print_page(v, table_sum(t, 1u << CLASS_LOSS, STAGE_NONE).packets);
	unsigned shown = 0;

	table_sort(t, TABLE_BY_PACKETS);
	for (unsigned i = 0; i < t->n && shown < WORST_SHOWN; i++) {
		const struct live_row *row = &t->rows[i];

		if (row->class != CLASS_LOSS ||
		    (!*row->text[LIVE_SOCKET] && !*row->text[LIVE_PROCESS] &&
		     !*row->text[LIVE_FLOW]))
			continue;
		if (!shown++)
			page_end(&p);
		page_row(&p, shown == 1 ? STYLE_BOLD : STYLE_PLAIN, 0, shown == 1 ? title : "",
			 row->counts.packets, 0);
		for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
			if (*row->text[f] && f != LIVE_CLASS)
				page_words(&p, STYLE_PLAIN, "%s", row->text[f]);
		}
		page_end(&p);
	}
}

static void put_sockets_and_flows(const struct print_view *v, const struct trace_text *t,
				  const struct json_object *sum)
{
	const unsigned by = LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS) |
			    LIVE_BIT(LIVE_NETNS) | LIVE_BIT(LIVE_POD);
	struct live_table rows, flows = {.max = LIVE_ROWS};

	table_group(&rows, &t->rows, by, 0);
	rows_add_flows(&flows, sum);
	put_worst(v, &rows, "lost by socket");
	put_worst(v, &flows, "lost by flow");
	table_free(&rows);
	table_free(&flows);
}

static void put_limits(const struct print_view *v, const struct json_object *document)
{
	size_t n = json_get_length(document, "limits");
	struct page p = print_page(v, 0);

	if (n)
		page_end(&p);
	for (struct json_each o = json_each(document, "limits");
	     json_next(&o) && o.next <= LIMITS_SHOWN;) {
		uint64_t ns;

		page_text(&p, 0, STYLE_BAD, o.next > 1 ? "                " : "limits broken   ");
		if (!when_date(json_get_text(o.item, "time"), &ns))
			page_words(&p, STYLE_PLAIN, "%s", page_glue(when_text(ns, true)));
		page_fill(&p, STYLE_PLAIN, o.item,
			  strcmp(json_get_text(o.item, "unit"), "pps")
				  ? "{limit}, measured {measured#}"
				  : "{limit}, measured {measured#}/s");
		page_end(&p);
	}
	if (n > LIMITS_SHOWN)
		page_line(&p, 16, STYLE_DIM, "", STYLE_DIM, "and %zu more", n - LIMITS_SHOWN);
}

struct trace_shown trace_shown_of(const struct print_view *v, const struct json_object *start)
{
	const struct json_object *filter = json_get(start, "filter");

	return (struct trace_shown){
		.all = json_get(start, "all") ? json_get_bool(start, "all") : v->verbosity > 0,
		.netns = json_get_text(start, "netns"),
		.filtered = *json_get_text(filter, "expression"),
		.one_netns = *json_get_text(filter, "netns"),
	};
}

/* Prints the sum of the selected intervals of an incomplete document. */
static void print_part(struct trace_text *t, const struct json_object *sum)
{
	struct tcp_balance *tcp = tcp_read(json_get(sum, "tcp"));
	struct live_own own = {};

	json_read_losses(json_get(sum, "missed"), &own);
	put_total(t, json_get_u64(sum, "interval_ns"));
	put_own_losses(&t->page, &own);
	if (tcp)
		print_tcp(&t->page, tcp, true);
	free(tcp);
}

void print_trace(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *start = json_get(d->json, "start"),
				 *end = json_get(d->json, "end");
	const struct json_object *sum = json_get(d->json, "sum");
	const struct trace_shown shown = trace_shown_of(v, start);
	size_t n = json_get_length(d->json, "intervals"), lossy = 0;
	struct trace_end *e = end ? trace_end_read(end) : NULL;
	struct live_table rows;
	struct trace_text t;
	bool whole, headed = false;

	table_init(&rows, LIVE_ROWS);
	rows_add(&rows, sum, ~0u);
	t = text_of(v, &shown, &rows);
	whole = e && (!sum /* as printed by -j */ ||
		      json_get_u64(sum, "interval_ns") == e->s.duration_ns);
	page_end(&t.page);
	if (whole) {
		/* print the recorded intervals unless there are too many or they were merged */
		for (struct json_each i = json_each(d->json, "intervals"); json_next(&i);)
			lossy += !!json_get_u64(i.item, "dropped");
		if (json_get_u64(json_get(d->json, "covers"), "joined") > 1 ||
		    (lossy > INTERVALS_SHOWN && v->verbosity <= 0))
			n = 0;
		for (size_t i = 0; i < n; i++)
			print_recorded(v, &shown, json_get_item(d->json, "intervals", i), &headed);
		print_trace_end(v, &shown, &e->s);
	} else if (sum) {
		print_part(&t, sum);
	}
	if (sum)
		put_sockets_and_flows(v, &t, sum);
	put_limits(v, d->json);
	if (!whole && e) {
		put_balance(&t.page, &e->s);
		text_findings(&t.page, e->s.finding, e->s.n_findings, t.verbosity > 0);
	}
	print_joined_tcp(&t.page, d->json);
	table_free(&t.rows);
	table_free(&rows);
	if (e)
		trace_end_free(e);
}
