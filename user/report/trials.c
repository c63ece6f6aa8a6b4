// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/record.h"
#include "report/load.h"
#include "report/page.h"
#include "report/series.h"

#define MEASURE(member, ...) offsetof(struct result, member), ##__VA_ARGS__

/* Names in a run's end, and members of its struct. Two measures are computed. */
static const struct {
	const char *name;
	size_t at; /* 0: computed */
	bool real; /* a double, otherwise a uint64_t */
} kinds[TRIALS_MEASURES] = {
	[TRIALS_TX_PPS] = {"tx_pps", MEASURE(tx_pps, true)},
	[TRIALS_RX_PPS] = {"rx_pps", MEASURE(rx_pps, true)},
	[TRIALS_DELIVERED] = {"delivered", MEASURE(delivered)},
	[TRIALS_DROPPED] = {"dropped", MEASURE(dropped)},
	[TRIALS_LOST] = {"lost_fraction"},
	[TRIALS_TIME] = {"duration_ns", MEASURE(duration_ns)},
	[TRIALS_PAYLOAD] = {"payload_bps"},
	[TRIALS_WAITS] = {"waits", MEASURE(waits)},
	[TRIALS_TX_CALLS] = {"tx_calls", MEASURE(tx_cost.calls)},
	[TRIALS_RX_CALLS] = {"rx_calls", MEASURE(rx_cost.calls)},
	[TRIALS_TX_CPU] = {"tx_cpu_ns", MEASURE(tx_cost.cpu_ns)},
	[TRIALS_RX_CPU] = {"rx_cpu_ns", MEASURE(rx_cost.cpu_ns)},
	[TRIALS_FRAGMENTS] = {"fragments_made", MEASURE(fragments.made)},
	[TRIALS_SEEN] = {"fragments_seen", MEASURE(fragments.seen)},
	[TRIALS_CUT] = {"fragments_dropped", MEASURE(fragments.dropped)},
	[TRIALS_REASSEMBLED] = {"datagrams_reassembled", MEASURE(reassembled)},
};

struct trials *trials_new(unsigned max)
{
	struct trials *t = mem_zero(1, sizeof(*t) + sizeof(double[TRIALS_MEASURES]) * max);

	t->max = max;
	t->value = (double *)(t + 1);
	return t;
}

void trials_add(struct trials *t, const struct result *r, uint64_t payload_bytes)
{
	double *v = t->value + t->n;

	if (t->n == t->max)
		return;
	for (int m = 0; m < TRIALS_MEASURES; m++) { /* a file may contain any number */
		const void *at = (const char *)r + kinds[m].at;

		v[m * t->max] = fmin(
			kinds[m].real ? *(const double *)at : (double)*(const uint64_t *)at, 1e18);
	}
	v[TRIALS_LOST * t->max] = fraction_of(
		(double)lost_packets(r->sent, r->delivered, r->in_flight), (double)r->sent);
	v[TRIALS_PAYLOAD * t->max] = v[TRIALS_RX_PPS * t->max] * (double)payload_bytes * 8;
	for (int s = 0; s < STAGE_COUNT; s++)
		t->stage[s] += r->stage[s].packets;
	t->balanced += r->balanced;
	t->n++;
}

void trials_clear(struct trials *t)
{
	t->n = t->balanced = 0;
	memset(t->stage, 0, sizeof(t->stage));
}

const char *trials_stage(const struct trials *t)
{
	return rows_worst_stage(t->stage);
}

void trials_print_row(FILE *out, const struct trials *t, const struct result *r)
{
	uint64_t packets[STAGE_COUNT];
	const char *where;

	for (int s = 0; s < STAGE_COUNT; s++)
		packets[s] = r->stage[s].packets;
	where = rows_worst_stage(packets);
	if (t->n == 1)
		fprintf(out, "%5s %11s %11s %11s %11s %11s  where\n", "trial", "sent", "delivered",
			"dropped", "sent at", "received");
	fprintf(out, "%5u %11s %11s %11s %11s %11s%s%s%s%s\n", t->n, fmt_count(r->sent),
		fmt_count(r->delivered), fmt_count(r->dropped), fmt_rate(r->tx_pps),
		fmt_rate(r->rx_pps), r->balanced && !*where ? "" : "  ", where,
		r->balanced || !*where ? "" : ", ", r->balanced ? "" : "NOT BALANCED");
}

struct summary trials_summarise(const struct trials *t, enum trials_measure m)
{
	return num_summary(t->value + m * t->max, t->n);
}

static double median_of(const struct trials *t, enum trials_measure m)
{
	return trials_summarise(t, m).median;
}

/* Returns the spread of whichever rate spreads more. */
static double spread_of(const struct trials *t)
{
	return fmax(trials_summarise(t, TRIALS_TX_PPS).spread,
		    trials_summarise(t, TRIALS_RX_PPS).spread);
}

bool trials_steady(const struct trials *t)
{
	return spread_of(t) <= TRIALS_SPREAD;
}

void trials_put_spread(struct page *p, const char *title, struct summary s, const char *single)
{
	page_text(p, 0, STYLE_PLAIN, title);
	p->indent = 0;
	page_words(p, STYLE_PLAIN, "median %s, lowest %s, highest %s, spread %.1f\v%%",
		   fmt_rate(s.median), fmt_rate(s.min), fmt_rate(s.max), s.spread * 100);
	if (s.spread > TRIALS_SPREAD)
		page_words(p, STYLE_PLAIN, "(more than 5 %%: do not compare single %s)", single);
	page_end(p);
}

void trials_print_end(FILE *out, const struct trials *t)
{
	struct summary lost = trials_summarise(t, TRIALS_LOST);
	struct page p = page_open(out, false, 0);

	page_end(&p);
	trials_put_spread(&p, "sent at    :", trials_summarise(t, TRIALS_TX_PPS), "runs");
	trials_put_spread(&p, "received at:", trials_summarise(t, TRIALS_RX_PPS), "runs");
	fprintf(out, "lost       : median %.3g %%, lowest %.3g %%, highest %.3g %%\n",
		lost.median * 100, lost.min * 100, lost.max * 100);
	fprintf(out, "%u of %u balanced\n", t->balanced, t->n);
}

static const struct record_field summary_rows[] = {
	RECORD("median", DOUBLE, summary, median),
	RECORD("min", DOUBLE, summary, min),
	RECORD("max", DOUBLE, summary, max),
	RECORD("spread", DOUBLE, summary, spread),
	{0},
};

struct json_object *trials_summary_json(struct summary s)
{
	return record_write(summary_rows, &s);
}

struct summary trials_summary_read(const struct json_object *o)
{
	struct summary s;

	record_read(o, summary_rows, &s);
	return s;
}

void trials_put(struct json_object *o, const struct trials *t)
{
	json_put_u64(o, "trials", t->n);
	json_put_bool(o, "balanced", t->balanced == t->n);
	if (t->n)
		json_put_bool(o, "steady", trials_steady(t));
	for (int m = 0; m < TRIALS_MEASURES && t->n; m++)
		json_put(o, kinds[m].name, trials_summary_json(trials_summarise(t, m)));
}

/* Returns a parameter's value, or "" if there is no such parameter. */
static const char *value_of(const struct json_object *parameters, const char *name)
{
	struct json_object *value = json_get(parameters, name);

	return value ? json_object_get_string(value) : "";
}

/*
 * Returns the column width: the width of the widest value, including points that were not reached.
 */
static size_t width_of(const struct json_object *document, const char *name)
{
	const struct json_object *values = json_get(json_get(document, "start"), "values");
	size_t width = strlen(name), len;

	for (struct json_each trial = json_each(document, "trials"); json_next(&trial);) {
		len = strlen(value_of(json_get(trial.item, "parameters"), name));
		width = len > width ? len : width;
	}
	for (size_t i = 0; i < json_get_length(values, name); i++) {
		len = strlen(json_get_item_text(values, name, i));
		width = len > width ? len : width;
	}
	return width;
}

/* Columns that a CSV line takes from the end of a trial, in this order. */
static const char *const csv_columns[] = {
	"attempted",	  "refused",	    "sent",
	"delivered",	  "dropped",	    "lost_fraction",
	"tx_pps",	  "rx_pps",	    "stage",
	"balanced",	  "payload_bytes",  "duration_ns",
	"waits",	  "error",	    "tx_calls",
	"rx_calls",	  "tx_cpu_ns",	    "rx_cpu_ns",
	"fragments_made", "fragments_seen", "datagrams_reassembled"};
#define CSV_COLUMNS LENGTH(csv_columns)

/* Table columns after the parameters. */
enum { SENT_AT, RECEIVED, PAYLOAD, TIME, CALLS, CPU, LOST, MEASURES };

#define WHERE_COLUMNS 14 /* minimum width of the last column */

static const struct {
	const char *name;
	unsigned width;
} measures[MEASURES] = {{"sent at", 10}, {"received", 10}, {"payload", 12}, {"time", 7},
			{"calls", 11},	 {"CPU, %", 7},	   {"lost", 8}};

/* Chooses the columns that fit on the terminal. CSV and JSON contain all columns. */
static void choose_measures(struct rows *r)
{
	static const uint8_t less[] = {CALLS, CPU, PAYLOAD, TIME};
	const struct page p = page_open(r->out, false, 0);

	r->shown = (1u << MEASURES) - 1;
	for (unsigned i = 0; i < r->columns; i++)
		r->where += (unsigned)r->width[i] + 2;
	for (unsigned m = 0; m < MEASURES; m++)
		r->where += measures[m].width + 2;
	for (unsigned i = 0; i < LENGTH(less) && r->where + WHERE_COLUMNS > p.width; i++) {
		r->shown &= ~(1u << less[i]);
		r->where -= measures[less[i]].width + 2;
	}
}

/* Prints the rest of a row: numbers (NULL: their titles) and remarks. */
static void put_measures(const struct rows *r, const char *const *text, const char *where)
{
	struct page p = page_open(r->out, false, 0);

	for (unsigned m = 0; m < MEASURES; m++) {
		if (r->shown & 1u << m)
			fprintf(r->out, "%*s%s", (int)measures[m].width,
				text ? text[m] : measures[m].name, m == LOST ? "" : "  ");
	}
	p.column = r->where - 2;
	p.indent = r->where;
	if (*where)
		page_words(&p, STYLE_PLAIN, "%s", where);
	page_end(&p);
}

void rows_open(struct rows *r, FILE *out, bool csv, const struct json_object *document)
{
	const struct json_object *start = json_get(document, "start");

	*r = (struct rows){.out = out, .repeated = json_get_u64(start, "repeat") > 1};
	r->columns = trialset_columns(document, r->name, ROWS_COLUMNS);
	for (unsigned i = 0; i < r->columns; i++) {
		r->width[i] = (int)width_of(document, r->name[i]);
		if (!csv) {
			fprintf(out, "%-*s  ", r->width[i], r->name[i]);
			continue;
		}
		csv_text(out, r->name[i]);
		fputc(',', out);
	}
	if (!csv) {
		choose_measures(r);
		put_measures(r, NULL, "where");
		return;
	}
	fputs("trial", out);
	for (unsigned i = 0; i < CSV_COLUMNS; i++)
		fprintf(out, ",%s", csv_columns[i]);
	fputc('\n', out);
}

/* Appends a remark after a comma. */
__attribute__((format(printf, 2, 3))) static void remark(char buf[512], const char *format, ...)
{
	size_t at = strlen(buf);
	va_list args;

	if (at)
		at += (size_t)snprintf(buf + at, 512 - at, ", ");
	va_start(args, format);
	if (at < 512)
		vsnprintf(buf + at, 512 - at, format, args);
	va_end(args);
}

/* Collects remarks about the trials: the stage with the largest loss, waits, and fragments. */
static void fill_remarks(const struct rows *r, const struct trials *t, const char *failed,
			 char where[512])
{
	uint64_t waits = t->n ? (uint64_t)median_of(t, TRIALS_WAITS) : 0;
	double fragments = t->n ? median_of(t, TRIALS_FRAGMENTS) : 0;

	snprintf(where, 512, "%s", trials_stage(t));
	if (waits)
		remark(where, "%s", fmt_many(waits, "wait"));
	if (fragments > 0)
		remark(where, "%s, %s seen, %s of them", fmt_many((uint64_t)fragments, "fragment"),
		       fmt_count((uint64_t)median_of(t, TRIALS_SEEN)),
		       fmt_many((uint64_t)median_of(t, TRIALS_REASSEMBLED), "datagram"));
	if (r->repeated && t->n)
		remark(where, "spread %.1f %%%s", spread_of(t) * 100,
		       trials_steady(t) ? "" : " (more than 5 %)");
	if (t->balanced != t->n)
		remark(where, "NOT BALANCED");
	if (failed)
		remark(where, "failed: %s", failed);
	utf8_tame(where);
}

void rows_point(const struct rows *r, const struct json_object *parameters, const struct trials *t,
		const char *failed)
{
	char calls[2 * FMT_MAX], cpu[64] = "-", where[512];
	double ns;

	for (unsigned i = 0; i < r->columns; i++)
		fprintf(r->out, "%-*s  ", r->width[i], value_of(parameters, r->name[i]));
	fill_remarks(r, t, failed, where);
	if (!t->n) {
		put_measures(r, (const char *[MEASURES]){"-", "-", "-", "-", "-", "-", "-"}, where);
		return;
	}
	ns = median_of(t, TRIALS_TIME);
	if (ns > 0) /* from the first packet sent to the last */
		snprintf(cpu, sizeof(cpu), "%.0f+%.0f", 100 * median_of(t, TRIALS_TX_CPU) / ns,
			 100 * median_of(t, TRIALS_RX_CPU) / ns);
	snprintf(calls, sizeof(calls), "%s+%s", fmt_short(median_of(t, TRIALS_TX_CALLS)),
		 fmt_short(median_of(t, TRIALS_RX_CALLS)));
	put_measures(r,
		     (const char *[MEASURES]){fmt_rate(median_of(t, TRIALS_TX_PPS)),
					      fmt_rate(median_of(t, TRIALS_RX_PPS)),
					      fmt_bps(median_of(t, TRIALS_PAYLOAD)),
					      fmt_ns((uint64_t)ns), calls, cpu,
					      page_percent(median_of(t, TRIALS_LOST))},
		     where);
}

static void csv_value(FILE *out, const struct json_object *trial, const char *key)
{
	if (!strcmp(key, "error")) /* present even if the trial has no results */
		csv_text(out, json_get_text(json_get(trial, key), "message"));
	else if (!json_get(trial, "attempted"))
		return;
	else if (!strcmp(key, "lost_fraction"))
		fprintf(out, "%.9g", lost_fraction(trial));
	else if (!strcmp(key, "stage"))
		fputs(print_worst_stage(trial), out);
	else if (!strcmp(key, "balanced"))
		fputs(json_get_bool(trial, key) ? "true" : "false", out);
	else if (strstr(key, "_pps"))
		fprintf(out, "%.3f", json_get_double(trial, key));
	else
		fprintf(out, "%" PRIu64, json_get_u64(trial, key));
}

void rows_csv_trial(const struct rows *r, const struct json_object *trial, size_t number)
{
	for (unsigned i = 0; i < r->columns; i++) {
		csv_text(r->out, value_of(json_get(trial, "parameters"), r->name[i]));
		fputc(',', r->out);
	}
	fprintf(r->out, "%zu", number);
	for (unsigned i = 0; i < CSV_COLUMNS; i++) {
		fputc(',', r->out);
		csv_value(r->out, trial, csv_columns[i]);
	}
	fputc('\n', r->out);
}

void rows_print(FILE *out, bool csv, const struct json_object *document)
{
	size_t n = json_get_length(document, "trials");
	struct trials *t = trials_new((unsigned)n + 1); /* all trials for one point */
	struct result *result = mem_new(result);
	const char *failed = NULL;
	struct rows r;

	rows_open(&r, out, csv, document);
	for (size_t i = 0; i < n; i++) {
		const struct json_object *trial = json_get_item(document, "trials", i);
		struct json_object *parameters = json_get(trial, "parameters");
		uint64_t number = json_get_u64(trial, "trial");

		if (csv) {
			rows_csv_trial(&r, trial, number ? number : i + 1);
			continue;
		}
		if (json_get(trial, "error"))
			failed = json_get_text(json_get(trial, "error"), "message");
		if (json_get(trial, "attempted")) {
			json_read_end(trial, result);
			trials_add(t, result, json_get_u64(trial, "payload_bytes"));
		}
		if (i + 1 < n &&
		    json_object_equal(parameters, json_get(json_get_item(document, "trials", i + 1),
							   "parameters")))
			continue;
		rows_point(&r, parameters, t, failed);
		trials_clear(t);
		failed = NULL;
	}
	free(result);
	free(t);
}
