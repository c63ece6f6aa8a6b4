// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "report/series.h"
#include "drops/stagemap.h"
#include "report/trials.h"
#include "report/text.h"
#include "report/document.h"
#include "report/load.h"
#include "report/trace.h"

#define ROWS_WANTED (STEPS_MAX - 2) /* the first and the last may be parts of a step */

/*
 * The shortest round time of which the table needs at most so many, and in which about one interval
 * ends at least: else a row would tell of a longer time than it claims.
 */
static uint64_t round_length(uint64_t span_ns, uint64_t interval_ns)
{
	static const unsigned ms[] = {1,	10,	  100,	    200,       500,
				      1000,	2000,	  5000,	    10000,     15000,
				      30000,	60000,	  120000,   300000,    600000,
				      900000,	1800000,  3600000,  7200000,   10800000,
				      21600000, 43200000, 86400000, 172800000, 604800000};
	const unsigned n = sizeof(ms) / sizeof(ms[0]);
	uint64_t length = 0;

	for (unsigned i = 0; i < n; i++) {
		length = ms[i] * 1000000ULL;
		if (span_ns / length < ROWS_WANTED && length >= interval_ns / 4 * 3)
			return length;
	}
	return (span_ns / ROWS_WANTED / length + 1) * length;
}

/* The mean length of an interval. */
static uint64_t interval_length(const struct ledgers_document *d)
{
	size_t n = json_get_length(d->json, "intervals");
	uint64_t sum = 0;

	if (!n)
		return 0;
	if (!d->parts)
		return json_get_u64(json_get_item(d->json, "intervals", n - 1), "time_ns") / n;
	for (size_t i = 0; i < n; i++)
		sum += json_get_u64(json_get_item(d->json, "intervals", i), "interval_ns");
	return sum / n;
}

/* The step of a moment, from the first one on; it comes after those that are there. */
static struct step *step_of(struct steps *s, uint64_t to_ns)
{
	uint64_t from_ns = (to_ns ? to_ns - 1 : 0) / s->length_ns * s->length_ns;
	struct step *last = s->n ? &s->at[s->n - 1] : NULL;

	/* a clock that was set back, or more steps than there can be: to the last one */
	if (last && (last->from_ns >= from_ns || s->n == STEPS_MAX))
		return last;
	s->at[s->n] = (struct step){.from_ns = from_ns, .to_ns = from_ns + s->length_ns};
	return &s->at[s->n++];
}

static void note_peak(struct step *step, uint64_t lost, uint64_t length_ns)
{
	double pps = length_ns ? (double)lost * 1e9 / (double)length_ns : 0;

	if (pps > step->peak_pps)
		step->peak_pps = pps;
}

/* An interval of a trace. */
static void add_part(struct step *step, const struct json_object *interval)
{
	uint64_t lost = json_get_u64(interval, "dropped");

	step->dropped += lost;
	note_peak(step, lost, json_get_u64(interval, "interval_ns"));
	if (json_get_double(interval, "peak_pps") > step->peak_pps)
		step->peak_pps = json_get_double(interval, "peak_pps");
	for (size_t i = 0; i < json_get_length(interval, "stages"); i++) {
		const struct json_object *stage = json_get_item(interval, "stages", i);
		enum stage at = rows_stage(json_get_text(stage, "stage"));

		if (at != STAGE_NONE)
			step->stage[at] += json_get_u64(stage, "packets");
	}
}

/* Counters of a run, since the start. */
struct counters {
	uint64_t time_ns, sent, delivered, dropped;
	uint64_t stage[STAGE_COUNT];
};

static void read_counters(struct counters *c, const struct json_object *interval)
{
	*c = (struct counters){
		.time_ns = json_get_u64(interval, "time_ns"),
		.sent = json_get_u64(interval, "sent"),
		.delivered = json_get_u64(interval, "delivered"),
		.dropped = json_get_u64(interval, "dropped"),
	};
	for (size_t i = 0; i < json_get_length(interval, "stages"); i++) {
		const struct json_object *stage = json_get_item(interval, "stages", i);
		enum stage at = rows_stage(json_get_text(stage, "stage"));

		if (at != STAGE_NONE)
			c->stage[at] = json_get_u64(stage, "packets");
	}
}

/* Counts of packets under way may be corrected downwards. */
static uint64_t grown(uint64_t now, uint64_t last)
{
	return now > last ? now - last : 0;
}

static void add_growth(struct step *step, const struct counters *now, const struct counters *last)
{
	step->sent += grown(now->sent, last->sent);
	step->delivered += grown(now->delivered, last->delivered);
	step->dropped += grown(now->dropped, last->dropped);
	note_peak(step, grown(now->dropped, last->dropped), grown(now->time_ns, last->time_ns));
	for (int s = 0; s < STAGE_COUNT; s++)
		step->stage[s] += grown(now->stage[s], last->stage[s]);
}

/* When an interval ended. */
static uint64_t end_of(const struct json_object *interval, uint64_t started_ns)
{
	uint64_t ns;

	return when_date(json_get_text(interval, "time"), &ns)
		       ? started_ns + json_get_u64(interval, "time_ns")
		       : ns;
}

void steps_make(struct steps *s, const struct ledgers_document *d)
{
	struct counters last = {}, now;
	uint64_t started_ns = 0;

	memset(s, 0, sizeof(*s));
	s->length_ns =
		round_length(d->to_ns > d->from_ns ? d->to_ns - d->from_ns : 0, interval_length(d));
	when_date(json_get_text(json_get(d->json, "start"), "time"), &started_ns);
	for (size_t i = 0; i < json_get_length(d->json, "intervals"); i++) {
		const struct json_object *interval = json_get_item(d->json, "intervals", i);
		struct step *step = step_of(s, end_of(interval, started_ns));

		if (d->parts) {
			add_part(step, interval);
			continue;
		}
		read_counters(&now, interval);
		add_growth(step, &now, &last);
		last = now;
	}
	if (!d->parts && s->n && json_get(d->json, "end")) { /* what came after the last of them */
		read_counters(&now, json_get(d->json, "end"));
		add_growth(step_of(s, d->to_ns), &now, &last);
	}
}

#define WORST_SHOWN 5
#define DAY	    86400000000000ULL

/* Those of a thousandth at least, most first. Returns how many. */
static unsigned rank_stages(const uint64_t stage[STAGE_COUNT], uint64_t all, int rank[STAGE_COUNT])
{
	unsigned n = 0, at;

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (!stage[s] || stage[s] < all / 1000)
			continue;
		for (at = n++; at && stage[rank[at - 1]] < stage[s]; at--)
			rank[at] = rank[at - 1];
		rank[at] = s;
	}
	return n;
}

/* "rcvbuf 12,000, netfilter 345" */
static void put_stages(struct page *p, const uint64_t stage[STAGE_COUNT], uint64_t all)
{
	int rank[STAGE_COUNT];
	unsigned n = rank_stages(stage, all, rank);
	char count[FMT_MAX];

	for (unsigned i = 0; i < n; i++)
		page_words(p, STYLE_PLAIN, "%s\v%s%s", stage_name(rank[i]),
			   fmt_count(count, sizeof(count), stage[rank[i]]), i + 1 < n ? "," : "");
}

static void put_number(struct page *p, unsigned width, const char *text)
{
	char padded[FMT_MAX + 16];

	snprintf(padded, sizeof(padded), "%*s", (int)width, text);
	page_verbatim(p, padded);
}

static void put_head(struct page *p, const struct steps *s, bool sums, bool day)
{
	char length[FMT_MAX], each[FMT_MAX + 8], head[128];

	snprintf(each, sizeof(each), "each %s",
		 num_text_time(length, sizeof(length), s->length_ns));
	snprintf(head, sizeof(head), "%-*s ", day ? 20 : 12, each);
	page_text(p, 0, STYLE_DIM, head);
	p->indent = 0;
	if (sums) {
		put_number(p, 12, "sent");
		put_number(p, 12, "delivered");
	}
	put_number(p, 12, "lost");
	put_number(p, 12, "peak");
	page_end(p);
}

static void put_step(struct page *p, const struct step *step, bool sums, bool day)
{
	char text[WHEN_TEXT], line[WHEN_TEXT + 16], number[FMT_MAX];

	when_text(text, sizeof(text), step->from_ns, day);
	if (step->from_ns % 1000000000 || step->to_ns % 1000000000)
		snprintf(text + strlen(text), 8, ".%03u",
			 (unsigned)(step->from_ns % 1000000000 / 1000000));
	snprintf(line, sizeof(line), "%-*s ", day ? 20 : 12, text);
	page_text(p, 0, step->dropped ? STYLE_BOLD : STYLE_DIM, line);
	p->indent = 0;
	if (sums) {
		put_number(p, 12, fmt_count(number, sizeof(number), step->sent));
		put_number(p, 12, fmt_count(number, sizeof(number), step->delivered));
	}
	put_number(p, 12, fmt_count(number, sizeof(number), step->dropped));
	if (step->dropped) {
		put_number(p, 12,
			   step->peak_pps > 0 ? fmt_rate(number, sizeof(number), step->peak_pps)
					      : "-");
		page_verbatim(p, "  ");
		p->indent = p->column;
		put_stages(p, step->stage, step->dropped);
	}
	page_end(p);
}

static void print_steps(const struct print_view *v, const struct ledgers_document *d)
{
	bool sums = !d->parts;
	bool day = d->to_ns - d->from_ns >= DAY / 2;
	struct page p = print_page(v, 0);
	struct steps s;

	steps_make(&s, d);
	if (s.n < 2)
		return;
	page_end(&p);
	put_head(&p, &s, sums, day);
	for (unsigned i = 0; i < s.n; i++)
		put_step(&p, &s.at[i], sums, day);
}

/* The stage that lost most. */
static const char *main_stage(const struct json_object *interval)
{
	const struct json_object *best = NULL;

	for (size_t i = 0; i < json_get_length(interval, "stages"); i++) {
		const struct json_object *stage = json_get_item(interval, "stages", i);

		if (!best || json_get_u64(stage, "packets") > json_get_u64(best, "packets"))
			best = stage;
	}
	return json_get_text(best, "stage");
}

static void print_worst(const struct print_view *v, const struct ledgers_document *d)
{
	size_t n = json_get_length(d->json, "worst");
	struct page p = print_page(v, 0);

	if (n < 2 || json_get_u64(json_get(d->json, "covers"), "intervals") < 3)
		return;
	page_end(&p);
	for (size_t i = 0; i < n && i < WORST_SHOWN; i++) {
		const struct json_object *o = json_get_item(d->json, "worst", i);
		char text[WHEN_TEXT], number[FMT_MAX];
		uint64_t to_ns = d->from_ns;

		when_date(json_get_text(o, "time"), &to_ns);
		page_text(&p, 0, STYLE_BOLD, i ? "                " : "worst           ");
		page_words(&p, STYLE_PLAIN, "%s",
			   page_glue(when_text(text, sizeof(text), to_ns, true)));
		page_words(&p, STYLE_PLAIN, "%s",
			   page_glue(fmt_rate(number, sizeof(number),
					      json_get_double(o, "dropped_pps"))));
		page_words(
			&p, STYLE_PLAIN, "for %s",
			page_glue(fmt_ns(number, sizeof(number), json_get_u64(o, "interval_ns"))));
		page_words(&p, STYLE_PLAIN, "%s", main_stage(o));
		page_end(&p);
	}
}

/* Sweeps and searches of ledgers, as they printed themselves: the trials, and what was found. */

/* What is printed point by point. */
struct table {
	const struct json_object *document;
	struct rows rows;
	const char *name[ROWS_COLUMNS], *text[ROWS_COLUMNS];
	struct trials *trials; /* of one point */
	struct result *res;
	struct error failed; /* the last of the point */
};

static struct json_object *parameters_of(const struct table *t, size_t i)
{
	return json_get(json_get_item(t->document, "trials", i), "parameters");
}

static const char *value_of(struct json_object *parameters, const char *name)
{
	struct json_object *value = json_get(parameters, name);

	return value ? json_object_get_string(value) : "";
}

static void read_texts(struct table *t, size_t i)
{
	for (unsigned k = 0; k < t->rows.columns; k++)
		t->text[k] = value_of(parameters_of(t, i), t->name[k]);
}

/* Of what is there, and of what it did not come to. */
static size_t width_of(const struct table *t, const char *name)
{
	const struct json_object *values = json_get(json_get(t->document, "start"), "values");
	size_t width = 0, len;

	for (size_t i = 0; i < json_get_length(t->document, "trials"); i++) {
		len = strlen(value_of(parameters_of(t, i), name));
		width = len > width ? len : width;
	}
	for (size_t i = 0; i < json_get_length(values, name); i++) {
		len = strlen(json_get_item_text(values, name, i));
		width = len > width ? len : width;
	}
	return width;
}

static int open_table(struct table *t, FILE *out, const struct json_object *document)
{
	size_t n = json_get_length(document, "trials");
	unsigned columns;

	*t = (struct table){.document = document, .rows = {.out = out}};
	t->res = calloc(1, sizeof(*t->res));
	t->trials = trials_new((unsigned)n + 1);
	if (!t->res || !t->trials)
		return -ENOMEM;
	t->rows.repeated = json_get_u64(json_get(document, "start"), "repeat") > 1;
	columns = trialset_columns(document, t->name, ROWS_COLUMNS);
	for (unsigned k = 0; k < columns; k++)
		rows_column(&t->rows, t->name[k], (unsigned)width_of(t, t->name[k]));
	return 0;
}

static void close_table(struct table *t)
{
	trials_free(t->trials);
	free(t->res);
}

/* NULL: it came to no books. */
static const struct result *read_trial(struct table *t, size_t i)
{
	const struct json_object *trial = json_get_item(t->document, "trials", i);

	if (json_get(trial, "error"))
		json_read_error(json_get(trial, "error"), &t->failed);
	if (!json_get(trial, "attempted"))
		return NULL;
	json_read_end(trial, t->res);
	return t->res;
}

static bool is_last_of_point(const struct table *t, size_t i)
{
	return i + 1 == json_get_length(t->document, "trials") ||
	       !json_object_equal(parameters_of(t, i), parameters_of(t, i + 1));
}

static void print_points(const struct print_view *v, const struct json_object *document)
{
	struct table t;

	if (!open_table(&t, v->out, document)) {
		const struct json_object *preset = json_get(json_get(document, "start"), "preset");

		fputc('\n', v->out);
		if (preset)
			rows_about(v->out, json_get_text(preset, "title"),
				   json_get_text(preset, "about"));
		rows_heading(&t.rows);
		for (size_t i = 0; i < json_get_length(document, "trials"); i++) {
			const struct result *res = read_trial(&t, i);

			if (res)
				trials_add(t.trials, res);
			if (!is_last_of_point(&t, i))
				continue;
			read_texts(&t, i);
			rows_point(&t.rows, t.text, t.trials,
				   *t.failed.message || !trials_count(t.trials) ? &t.failed : NULL);
			trials_clear(t.trials);
			t.failed = (struct error){};
		}
	}
	close_table(&t);
}

/* Searches that came to a lower bound of that name. */
static unsigned count_lowers(const struct json_object *end, const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < json_get_length(end, "searches"); i++) {
		const struct json_object *rate = json_get(json_get_item(end, "searches", i), name);

		n += json_get(rate, "lower_pps") && json_get_bool(rate, "done");
	}
	return n;
}

static void print_spread(FILE *out, const struct json_object *end)
{
	struct json_object *all = json_get(end, "lower_pps_of_all");

	if (!json_object_is_type(all, json_type_object))
		return;
	json_object_object_foreach (all, name, o) {
		const struct trials_summary s = {
			.median = json_get_double(o, "median"),
			.min = json_get_double(o, "min"),
			.max = json_get_double(o, "max"),
			.spread = json_get_double(o, "spread"),
		};

		text_found_spread(out, name, &s, count_lowers(end, name));
	}
}

/* Each search behind its trials. */
static void print_search(const struct print_view *v, const struct json_object *document)
{
	const struct json_object *end = json_get(document, "end");
	size_t searches = json_get_length(end, "searches"), n = json_get_length(document, "trials");
	size_t shown = 0;
	struct found_trial t;
	struct found f;

	fputc('\n', v->out);
	for (size_t k = 0; k < (searches ? searches : 1); k++) {
		json_read_found(searches ? json_get_item(end, "searches", k) : end, &f);
		for (unsigned i = 0; shown < n && (k + 1 >= searches || i < f.trials); i++) {
			json_read_found_trial(json_get_item(document, "trials", shown), &t);
			text_found_trial(v->out, (unsigned)++shown, &t);
		}
		if (f.trials)
			text_found(v->out, &f);
	}
	print_spread(v->out, end);
}

static void print_trials(const struct print_view *v, const struct ledgers_document *d)
{
	if (!strcmp(d->command, "search"))
		print_search(v, d->json);
	else
		print_points(v, d->json);
}

void print_trials_csv(FILE *out, const struct json_object *document)
{
	struct table t;

	if (!open_table(&t, out, document)) {
		rows_csv_heading(&t.rows);
		for (size_t i = 0; i < json_get_length(document, "trials"); i++) {
			const struct json_object *trial = json_get_item(document, "trials", i);
			uint64_t number = json_get_u64(trial, "trial");
			const struct result *res = read_trial(&t, i);

			read_texts(&t, i);
			rows_csv_trial(&t.rows, t.text, number ? (unsigned)number : (unsigned)i + 1,
				       res, *t.failed.message ? &t.failed : NULL);
			t.failed = (struct error){};
		}
	}
	close_table(&t);
}

struct page print_page(const struct print_view *v, uint64_t most)
{
	struct page p = page_open(v->out, v->colour, most);

	if (v->html)
		return page_open_html(v->html);
	p.width = v->width;
	return p;
}

static void put_command(struct page *p, const struct json_object *start)
{
	size_t n = json_get_length(start, "command");

	if (!n)
		return;
	page_text(p, 2, STYLE_DIM, "command   ");
	for (size_t i = 1; i < n; i++)
		page_words(p, STYLE_PLAIN, "%s", json_get_item_text(start, "command", i));
	page_end(p);
}

static void put_joined(struct page *p, const struct json_object *document)
{
	const struct json_object *covers = json_get(document, "covers");
	char count[FMT_MAX];

	if (json_get_u64(covers, "joined") < 2)
		return;
	page_text(p, 2, STYLE_DIM, "intervals ");
	page_words(p, STYLE_PLAIN, "%s, put together by up to %u",
		   fmt_count(count, sizeof(count), json_get_u64(covers, "intervals")),
		   (unsigned)json_get_u64(covers, "joined"));
	page_end(p);
}

/* Where what is told is not all of it: --since, or --keep. */
static void put_begin(struct page *p, const struct ledgers_document *d,
		      const struct json_object *start)
{
	char text[WHEN_TEXT];
	uint64_t ns;

	if (when_date(json_get_text(start, "time"), &ns) || d->from_ns < ns + 2000000000)
		return;
	page_text(p, 2, STYLE_DIM, "began     ");
	page_words(p, STYLE_PLAIN, "%s", when_text(text, sizeof(text), ns, true));
	page_end(p);
}

static void put_fates(struct page *p, const struct json_object *document)
{
	if (!json_get(document, "fates_agree") || json_get_bool(document, "fates_agree"))
		return;
	page_text(p, 2, STYLE_BAD, "fates     ");
	page_words(p, STYLE_BAD, "those of the numbers do not add up to the books");
	page_end(p);
}

static void put_error(struct page *p, const struct json_object *error)
{
	if (!error)
		return;
	page_text(p, 2, STYLE_BAD, "failed    ");
	page_words(p, STYLE_BAD, "%s", json_get_text(error, "message"));
	page_end(p);
}

static void put_title(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *start = json_get(d->json, "start");
	struct page p = print_page(v, 0);
	char from[WHEN_TEXT], to[WHEN_TEXT];
	bool same_day;

	when_text(from, sizeof(from), d->from_ns, true);
	when_text(to, sizeof(to), d->to_ns, true);
	same_day = !strncmp(from, to, strcspn(from, " "));
	page_text(&p, 0, STYLE_BOLD, d->command);
	p.indent = 2;
	if (*json_get_text(start, "host"))
		page_words(&p, STYLE_BOLD, "on %s,", json_get_text(start, "host"));
	page_words(&p, STYLE_BOLD, "%s - %s", from, same_day ? strchr(to, ' ') + 1 : to);
	page_words(&p, STYLE_DIM, "(%s, %u)", json_get_text(d->json, "file"), d->number);
	page_end(&p);
	put_command(&p, start);
	put_begin(&p, d, start);
	put_joined(&p, d->json);
	put_fates(&p, d->json);
	put_error(&p, json_get(d->json, "error"));
	if (!json_get(d->json, "end") && strcmp(d->command, "capture")) {
		page_text(&p, 2, STYLE_WARN, "no end    ");
		page_words(&p, STYLE_WARN, "it was killed, or still writes");
		page_end(&p);
	}
}

/* The books of run, send and recv, as they printed them. */
static void put_books(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *end = json_get(d->json, "end");

	if (!end)
		return;
	fputc('\n', v->out);
	if (!strcmp(d->command, "send"))
		text_send(v->out, end);
	else if (!strcmp(d->command, "recv"))
		text_recv(v->out, end);
	else if (!strcmp(d->command, "run"))
		text_run(v->out, json_get(d->json, "start"), end, v->colour, v->verbosity);
}

void print_repeat(const struct print_view *v, const struct ledgers_document *d, unsigned n)
{
	struct result *res = calloc(1, sizeof(*res));
	struct trials *trials = trials_new(n);

	for (unsigned i = 0; res && trials && i < n; i++) {
		const struct json_object *end = json_get(d[i].json, "end");

		if (!end)
			continue;
		json_read_end(end, res);
		trials_add(trials, res);
		trials_print_row(v->out, trials, res);
	}
	if (trials && trials_count(trials))
		trials_print_end(v->out, trials);
	trials_free(trials);
	free(res);
}

void print_document(const struct print_view *v, const struct ledgers_document *d)
{
	put_title(v, d);
	if (trialset_is(d->json)) {
		print_trials(v, d);
		return;
	}
	print_steps(v, d);
	print_worst(v, d);
	if (!d->parts) {
		put_books(v, d);
		print_joined(v, d);
		return;
	}
	print_trace(v, d);
}
