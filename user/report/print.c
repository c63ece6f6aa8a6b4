// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "report/series.h"
#include "drops/stagemap.h"
#include "report/load.h"
#include "report/trace.h"

#define ROWS_WANTED (STEPS_MAX - 2) /* the first and last steps may be partial */

/*
 * Returns the shortest round length that needs at most ROWS_WANTED rows and at least about one
 * interval per row. With shorter steps, a row would cover more time than it claims.
 */
static uint64_t round_length(uint64_t span_ns, uint64_t interval_ns)
{
	static const unsigned ms[] = {1,	10,	  100,	    200,       500,
				      1000,	2000,	  5000,	    10000,     15000,
				      30000,	60000,	  120000,   300000,    600000,
				      900000,	1800000,  3600000,  7200000,   10800000,
				      21600000, 43200000, 86400000, 172800000, 604800000};
	const unsigned n = LENGTH(ms);
	uint64_t length = 0;

	for (unsigned i = 0; i < n; i++) {
		length = ms[i] * 1000000ULL;
		if (span_ns / length < ROWS_WANTED && length >= interval_ns / 4 * 3)
			return length;
	}
	return (span_ns / ROWS_WANTED / length + 1) * length;
}

/* Returns the mean interval length and the number of intervals. */
static uint64_t interval_length(const struct ledgers_document *d)
{
	uint64_t sum = 0, n = 0;

	for (struct parts p = parts_of(d); parts_next(&p); n++)
		sum += p.now.interval_ns;
	n -= n && !d->parts && json_get(d->json, "end"); /* the end has no length */
	return n ? sum / n : 0;
}

/* Returns the step for a point in time, appending it if new. */
static struct step *step_of(struct steps *s, uint64_t to_ns)
{
	uint64_t from_ns = (to_ns ? to_ns - 1 : 0) / s->length_ns * s->length_ns;
	struct step *last = s->n ? &s->at[s->n - 1] : NULL;

	/* the clock was set back or the table is full, so use the last step */
	if (last && (last->from_ns >= from_ns || s->n == STEPS_MAX))
		return last;
	s->at[s->n] = (struct step){.from_ns = from_ns, .to_ns = from_ns + s->length_ns};
	return &s->at[s->n++];
}

void steps_make(struct steps *s, const struct ledgers_document *d)
{
	memset(s, 0, sizeof(*s));
	s->length_ns =
		round_length(d->to_ns > d->from_ns ? d->to_ns - d->from_ns : 0, interval_length(d));
	for (struct parts p = parts_of(d); parts_next(&p);)
		part_add(&step_of(s, p.to_ns)->sum, &p.now);
}

#define WORST_SHOWN 5
#define DAY	    86400000000000ULL

/*
 * Prints "rcvbuf 12,000, netfilter 345": stages that account for at least a thousandth of the loss,
 * largest first.
 */
static void put_stages(struct page *p, const struct part *sum)
{
	const struct live_counts *stage = sum->stage;
	int rank[STAGE_COUNT];
	unsigned n = 0, at;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (!stage[s].packets || stage[s].packets < sum->dropped / 1000)
			continue;
		for (at = n++; at && stage[rank[at - 1]].packets < stage[s].packets; at--)
			rank[at] = rank[at - 1];
		rank[at] = s;
	}
	for (unsigned i = 0; i < n; i++)
		page_words(p, STYLE_PLAIN, "%s\v%s%s", stage_name(rank[i]),
			   fmt_count(stage[rank[i]].packets), i + 1 < n ? "," : "");
}

/* Prints the steps as a table. For a trace, prints nothing if nothing was lost. */
static void print_steps(const struct print_view *v, const struct ledgers_document *d)
{
	bool day = d->to_ns - d->from_ns >= DAY / 2;
	char each[FMT_MAX + 32], line[FMT_MAX], *text;
	struct page_column columns[] = {{each, day ? 21 : 13, false}, {"sent", 12, true},
					{"delivered", 12, true},      {"lost", 12, true},
					{"peak", 12, true},	      {0}};
	struct page p = print_page(v, 0);
	struct steps s;

	bool regular = true;
	uint64_t lost = 0;

	steps_make(&s, d);
	for (unsigned i = 0; i < s.n; i++) {
		lost += s.at[i].sum.dropped;
		regular &= !i || s.at[i].from_ns == s.at[i - 1].from_ns + s.length_ns;
	}
	if (s.n < 2 || (d->parts && !lost))
		return;
	if (d->parts)
		memmove(&columns[1], &columns[3], 3 * sizeof(*columns));
	text = mem_print("%s%s", regular ? "each " : "from",
			 regular ? num_text_time(s.length_ns) : "");
	snprintf(each, sizeof(each), "%-*s", (int)columns[0].width, text);
	free(text);
	page_end(&p);
	p.table = columns;
	for (unsigned i = 0; columns[i].name; i++)
		page_cell(&p, i ? STYLE_PLAIN : STYLE_DIM, columns[i].name);
	page_end(&p);
	for (const struct step *step = s.at; step < s.at + s.n; step++) {
		text = when_text(step->from_ns, day);
		if (step->from_ns % 1000000000 || step->to_ns % 1000000000)
			snprintf(text + strlen(text), 8, ".%03u",
				 (unsigned)(step->from_ns % 1000000000 / 1000000));
		snprintf(line, sizeof(line), "%-*s", (int)columns[0].width, text);
		p.indent = 0;
		page_cell(&p, step->sum.dropped ? STYLE_BOLD : STYLE_DIM, line);
		if (!d->parts) {
			page_cell(&p, STYLE_PLAIN, fmt_count(step->sum.sent));
			page_cell(&p, STYLE_PLAIN, fmt_count(step->sum.delivered));
		}
		page_cell(&p, STYLE_PLAIN, fmt_count(step->sum.dropped));
		if (step->sum.dropped) {
			page_cell(&p, STYLE_PLAIN,
				  step->sum.peak_pps > 0 ? fmt_rate(step->sum.peak_pps) : "-");
			page_verbatim(&p, "  ");
			p.indent = p.column;
			put_stages(&p, &step->sum);
		}
		page_end(&p);
	}
}

struct json_object *print_stage(const struct json_object *end, const char *name)
{
	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);) {
		if (!strcmp(json_get_text(stage.item, "stage"), name))
			return stage.item;
	}
	return NULL;
}

const char *print_worst_stage(const struct json_object *end)
{
	uint64_t packets[STAGE_COUNT] = {};

	rows_add_stages(packets, end);
	return rows_worst_stage(packets);
}

/*
 * Prints the intervals with the highest loss rate in a long document, for the user to examine next.
 */
static void put_worst(const struct print_view *v, const struct ledgers_document *d)
{
	size_t n = json_get_length(d->json, "worst");
	struct page p = print_page(v, 0);

	if (n < 2 || json_get_u64(json_get(d->json, "covers"), "intervals") < 3)
		return;
	page_end(&p);
	for (size_t i = 0; i < n && i < WORST_SHOWN; i++) {
		const struct json_object *o = json_get_item(d->json, "worst", i);
		const char *stage = print_worst_stage(o);
		uint64_t from_ns = d->from_ns, length_ns = json_get_u64(o, "interval_ns");

		if (!when_date(json_get_text(o, "time"), &from_ns)) /* time of its end */
			from_ns -= smaller(length_ns, from_ns);
		page_line(&p, 0, STYLE_BOLD, i ? "                " : "worst           ",
			  STYLE_PLAIN, "%s %s lost for %s%s%s", page_glue(when_text(from_ns, true)),
			  page_glue(fmt_rate(json_get_double(o, "dropped_pps"))),
			  page_glue(fmt_ns(length_ns)),
			  *stage ? ", most at " : "", stage);
	}
}

/* Prints a search from a ledger as the search printed it: each result after its trials. */
static void print_search(FILE *out, const struct json_object *document)
{
	const struct json_object *end = json_get(document, "end");
	size_t searches = json_get_length(end, "searches"), n = json_get_length(document, "trials");
	size_t shown = 0;

	for (size_t k = 0; k < (searches ? searches : 1); k++) {
		struct found found;

		json_read_found(searches ? json_get_item(end, "searches", k) : end, &found);
		for (unsigned i = 0; shown < n && (k + 1 >= searches || i < found.trials); i++) {
			struct found_trial t;

			json_read_found_trial(json_get_item(document, "trials", shown), &t);
			text_found_trial(out, (unsigned)++shown, &t);
		}
		if (found.trials)
			text_found(out, &found);
	}
	text_found_spread(out, end);
}

struct page print_page(const struct print_view *v, uint64_t most)
{
	struct page p = page_open(v->out, v->colour, most);

	if (v->width)
		p.width = v->width;
	return p;
}

/* Joined ledgers. */

static void put_sender(struct page *p, const struct json_object *sender)
{
	const struct json_object *end = json_get(sender, "end");
	const struct json_object *host =
		json_get(json_get(json_get(sender, "start"), "hosts"), "tx");

	page_row(p, STYLE_PLAIN, 2, json_get_text(host, "name"), json_get_u64(end, "sent"), 0);
	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);)
		page_fill(p, STYLE_BAD, stage.item, "{packets#}\v{stage},");
	page_fill(p, STYLE_BAD, end, "{?unaccounted}{unaccounted#}\vunaccounted,");
	page_fill(p, STYLE_PLAIN, end, "{delivered#}\vdelivered");
	page_fill(p, STYLE_DIM, sender, "({file}, {number})");
	page_end(p);
}

void print_joined(const struct print_view *v, const struct json_object *document)
{
	size_t senders = json_get_length(document, "senders");
	size_t notes = json_get_length(document, "notes");
	struct page p = print_page(v, json_get_u64(json_get(document, "end"), "attempted"));

	if (senders > 1 || json_get_length(document, "unknown_streams"))
		page_heading(&p, "sent by", "");
	for (size_t i = 0; senders > 1 && i < senders; i++)
		put_sender(&p, json_get_item(document, "senders", i));
	for (struct json_each o = json_each(document, "unknown_streams"); json_next(&o);)
		page_entry(&p, STYLE_WARN, 2, "not known", json_get_u64(o.item, "delivered"), 0,
			   "delivered of stream %" PRIu64 ", base %" PRIu64,
			   json_get_u64(o.item, "stream"), json_get_u64(o.item, "base"));
	if (notes)
		page_end(&p);
	for (size_t i = 0; i < notes; i++)
		page_line(&p, 0, STYLE_WARN, "- ", STYLE_WARN, "%s",
			  json_get_item_text(document, "notes", i));
}

/* Prints problems with a document: missing lines, an error, or a missing end. */
static void put_state(const struct print_view *v, const struct ledgers_document *d)
{
	struct page p = print_page(v, 0);
	uint64_t ns;

	/* only part of it is shown, because of --since or --keep */
	if (!when_date(json_get_text(json_get(d->json, "start"), "time"), &ns) &&
	    d->from_ns >= ns + 2000000000)
		page_line(&p, 2, STYLE_DIM, "began     ", STYLE_PLAIN, "%s", when_text(ns, true));
	if (json_get_u64(json_get(d->json, "covers"), "joined") >= 2)
		page_fill_line(&p, 2, STYLE_DIM, "intervals ", STYLE_PLAIN, d->json,
			       "{covers.intervals#}, grouped by up to {covers.joined}");
	if (json_denies(d->json, "outcomes_agree"))
		page_line(&p, 2, STYLE_BAD, "outcomes  ", STYLE_BAD,
			  "the sums over all numbers differ from the ledger");
	if (json_denies(d->json, "sums_agree"))
		page_line(&p, 2, STYLE_BAD, "sums      ", STYLE_BAD,
			  "the numbers of packets contradict each other");
	if (json_get(d->json, "error")) {
		page_text(&p, 2, STYLE_BAD, "failed    ");
		page_fill(&p, STYLE_BAD, d->json, "{error.message}");
		page_end(&p);
	}
	if (json_get(d->json, "end"))
		return;
	page_text(&p, 2, STYLE_WARN, "no end    ");
	page_words(&p, STYLE_WARN, "the writer was killed, or is still running");
	page_end(&p);
}

void print_repeat(const struct print_view *v, const struct ledgers_document *d, unsigned n)
{
	struct trials *trials = trials_new(n);
	struct result *r = mem_new(r);

	for (unsigned i = 0; i < n; i++) {
		const struct json_object *end = json_get(d[i].json, "end");

		if (!end)
			continue;
		json_read_end(end, r);
		trials_add(trials, r, 0);
		trials_print_row(v->out, trials, r);
	}
	if (trials->n)
		trials_print_end(v->out, trials);
	free(r);
	free(trials);
}

/* Prints where and when a document was recorded. */
static void put_title(const struct print_view *v, const struct ledgers_document *d)
{
	const char *from = when_text(d->from_ns, true), *to = when_text(d->to_ns, true);
	const struct json_object *start = json_get(d->json, "start");
	bool same_day = !strncmp(from, to, strcspn(from, " "));
	size_t words = json_get_length(start, "command");
	struct page p = print_page(v, 0);

	page_text(&p, 0, STYLE_BOLD, d->command);
	p.indent = 2;
	page_fill(&p, STYLE_BOLD, start, "{?host}on {host},");
	page_words(&p, STYLE_BOLD, "%s - %s", from, same_day ? strchr(to, ' ') + 1 : to);
	page_words(&p, STYLE_DIM, "(%s, %u)", document_file(d), d->number);
	page_end(&p);
	if (words)
		page_text(&p, 2, STYLE_DIM, "command   ");
	for (size_t i = 1; i < words; i++)
		page_words(&p, STYLE_PLAIN, "%s", json_get_item_text(start, "command", i));
	if (words)
		page_end(&p);
}

void print_run(const struct print_view *v, const struct json_object *start,
	       const struct json_object *end)
{
	struct result *r = mem_new(r);
	struct run_header h;

	json_read_start(start, &h);
	json_read_end(end, r);
	text_run(v, &h, r);
	free(r);
}

void print_end(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *start = json_get(d->json, "start");
	const struct json_object *end = json_get(d->json, "end");

	if (end && d->parts) {
		struct trace_end *e = trace_end_read(end);
		const struct trace_shown shown = trace_shown_of(v, start);

		print_trace_end(v, &shown, &e->s);
		trace_end_free(e);
	} else if (end && !strcmp(d->command, "run"))
		print_run(v, start, end);
	else if (end && (!strcmp(d->command, "send") || !strcmp(d->command, "recv")))
		text_one_end(v, end);
	else if (end && !strcmp(d->command, "check"))
		print_check(v, end);
}

void print_document(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *end = json_get(d->json, "end");

	put_title(v, d);
	put_state(v, d);
	if (trialset_is(d)) {
		fputc('\n', v->out);
		if (!strcmp(d->command, "search"))
			print_search(v->out, d->json);
		else
			rows_print(v->out, false, d->json);
		return;
	}
	print_steps(v, d);
	put_worst(v, d);
	if (d->parts) {
		print_trace(v, d);
		return;
	}
	if (end) {
		fputc('\n', v->out);
		print_end(v, d);
	}
	if (json_get(d->json, "between"))
		ends_print(v, json_get(d->json, "between"));
	print_joined(v, d->json);
}
