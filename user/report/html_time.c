// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Charts of a run over time, its rates, losses by stage and CPU; and of its delays. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drops/stagemap.h"
#include "report/html_page.h"
#include "report/print.h"
#include "report/series.h"

#define BINS 240 /* of the charts: neighbours of longer runs are put together */

/* What is counted; behind these, losses by stage. */
enum { SENT, DELIVERED, TX_CPU, RX_CPU, LOST, COUNTS = LOST + STAGE_NONE + 1 };

static const char *const keys[LOST] = {"sent", "delivered", "tx_cpu_ns", "rx_cpu_ns"};

/* Rates in bins, of CPUs as shares of one; bin i lasts from time[i] to time[i + 1]. */
struct series {
	size_t n;
	double time[BINS + 1]; /* s */
	double rate[COUNTS][BINS];
};

/* What has been counted until a moment. */
struct sums {
	double time, total[COUNTS];
};

/* Intervals of run count from the start, those of trace come one by one and have a length. */
static void advance(struct sums *now, struct json_object *interval)
{
	struct json_object *stage;

	if (!json_get(interval, "interval_ns"))
		*now = (struct sums){};
	now->time = json_get_double(interval, "time_ns") / 1e9;
	for (unsigned i = 0; i < LOST; i++)
		now->total[i] += json_get_double(interval, keys[i]);
	for (size_t i = 0; (stage = json_get_item(interval, "stages", i)); i++)
		now->total[LOST + rows_stage(json_get_text(stage, "stage"))] +=
			json_get_double(stage, "packets");
}

static void collect(struct series *s, struct json_object *doc)
{
	size_t n = json_get_length(doc, "intervals"), step = (n + BINS - 1) / BINS;
	struct sums before = {}, now = {};

	for (size_t i = 0; i < n; i++) {
		double length;

		advance(&now, json_get_item(doc, "intervals", i));
		length = now.time - before.time;
		if (((i + 1) % step && i != n - 1) || !(length > 0) || !(now.time < 1e10) ||
		    s->n == BINS)
			continue;
		s->time[s->n] = before.time;
		s->time[s->n + 1] = now.time;
		for (unsigned k = 0; k < COUNTS; k++)
			s->rate[k][s->n] = fmax(now.total[k] - before.total[k], 0) / length /
					   (k == TX_CPU || k == RX_CPU ? 1e9 : 1);
		s->n++;
		before = now;
	}
}

static double highest(const double *y, size_t n)
{
	double max = 0;

	while (n)
		max = fmax(max, y[--n]);
	return max;
}

static struct html_chart chart_over_time(const struct series *s, const char *title, double most)
{
	return (struct html_chart){
		.title = title,
		.note = "",
		.x_title = "time since the start",
		.y_title = "packets/s",
		.x = html_axis_linear(HTML_SECONDS, 0, s->time[s->n]),
		.y = html_axis_linear(HTML_COUNT, 0, most),
	};
}

/* Both ends, their packets or what they cost: that of the sender is a line, of the other an area.
 */
static void put_both(struct html *h, const struct series *s, bool cpu)
{
	static const double zero[BINS];
	const double *tx = s->rate[cpu ? TX_CPU : SENT], *rx = s->rate[cpu ? RX_CPU : DELIVERED];
	const char *tx_name = cpu ? "sender" : "sent", *rx_name = cpu ? "receiver" : "delivered";
	double tx_most = highest(tx, s->n), rx_most = highest(rx, s->n);
	struct html_chart c = chart_over_time(s, cpu ? "CPU" : "Rates", fmax(tx_most, rx_most));
	char tip[256];

	if (!(fmax(tx_most, rx_most) > 0))
		return;
	if (cpu) {
		c.note = "of the threads that send and receive";
		c.y_title = "of a CPU";
		c.y = html_axis_linear(HTML_SHARE, 0, fmax(tx_most, rx_most));
	}
	html_chart_begin(h, &c);
	if (cpu || tx_most > 0)
		html_chart_legend(h, "line sent", tx_name, "");
	if (cpu || rx_most > 0)
		html_chart_legend(h, "flow", rx_name, "");
	html_chart_plot(h, &c);
	html_chart_steps(h, &c, "flow", s->time, zero, rx, s->n);
	if (cpu || tx_most > 0)
		html_chart_steps(h, &c, "sent", s->time, NULL, tx, s->n);
	for (size_t i = 0; i < s->n; i++) {
		if (cpu)
			snprintf(tip, sizeof(tip),
				 "%.4g to %.4g s\nsender %.1f %%\nreceiver %.1f %%", s->time[i],
				 s->time[i + 1], 100 * tx[i], 100 * rx[i]);
		else
			snprintf(tip, sizeof(tip), "%.4g to %.4g s\nsent %s\ndelivered %s",
				 s->time[i], s->time[i + 1], page_rate(tx[i]), page_rate(rx[i]));
		html_chart_column(h, &c, "tip", s->time[i], s->time[i + 1], c.y.max, tip);
	}
	html_chart_end(h, &c);
}

/* Stages on top of each other, the last of the path on top. */
static void put_losses(struct html *h, const struct series *s)
{
	double base[BINS] = {}, top[BINS] = {};
	struct html_chart c;
	char tip[1024];

	for (int k = 0; k < STAGE_COUNT; k++) {
		for (size_t i = 0; i < s->n; i++)
			top[i] += s->rate[LOST + k][i];
	}
	if (!(highest(top, s->n) > 0))
		return;
	c = chart_over_time(s, "Losses by stage", highest(top, s->n));
	c.note = "each fragment counts";
	c.y_title = "drops/s";
	html_chart_begin(h, &c);
	for (int k = 0; k < STAGE_COUNT; k++) {
		if (highest(s->rate[LOST + k], s->n) > 0)
			html_chart_legend(h, html_colour(h, stage_name(k)), stage_name(k), "");
	}
	html_chart_plot(h, &c);
	memset(top, 0, sizeof(top));
	for (int k = 0; k < STAGE_COUNT; k++) {
		if (!(highest(s->rate[LOST + k], s->n) > 0))
			continue;
		for (size_t i = 0; i < s->n; i++)
			top[i] += s->rate[LOST + k][i];
		html_chart_steps(h, &c, html_colour(h, stage_name(k)), s->time, base, top, s->n);
		memcpy(base, top, sizeof(base));
	}
	for (size_t i = 0; i < s->n; i++) {
		size_t n = (size_t)snprintf(tip, sizeof(tip), "%.4g to %.4g s", s->time[i],
					    s->time[i + 1]);

		for (int k = 0; k < STAGE_COUNT && n < sizeof(tip) - 1; k++) {
			double lost = s->rate[LOST + k][i];

			if (lost > 0)
				n += (size_t)snprintf(tip + n, sizeof(tip) - n, "\n%.40s %s",
						      stage_name(k), page_rate(lost));
		}
		html_chart_column(h, &c, "tip", s->time[i], s->time[i + 1], c.y.max, tip);
	}
	html_chart_end(h, &c);
}

void html_time(struct html *h, struct json_object *doc)
{
	struct series *s;

	if (!json_get_length(doc, "intervals"))
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		h->rc = h->rc ? h->rc : -ENOMEM;
		return;
	}
	collect(s, doc);
	if (s->n) {
		html_section(h, "Over time", s->n < 4 ? "few intervals: -I 100ms shows more" : "");
		html_put(h, "<div class=\"charts\">");
		put_both(h, s, false);
		put_losses(h, s);
		put_both(h, s, true);
		html_put(h, "</div>");
		print_worst(&(struct print_view){.html = h},
			    &(struct ledgers_document){.json = doc});
		html_section_end(h);
	}
	free(s);
}

/* How long packets were under way: by delay, and the quantiles, each rarer than the one before. */
static const struct quantile {
	const char *key, *name;
	double rarity; /* 1 / (1 - q) */
} quantiles[] = {
	{"min", "min", 1},	  {"p50", "p50", 2},	   {"p90", "p90", 10},
	{"p99", "p99", 100},	  {"p999", "p99.9", 1000}, {"p9999", "p99.99", 10000},
	{"max", "max", INFINITY},
};

#define QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

static void put_histogram(struct html *h, struct json_object *end)
{
	size_t n = json_get_length(end, "latency_histogram");
	struct json_object *first = json_get_item(end, "latency_histogram", 0), *b;
	struct json_object *last = json_get_item(end, "latency_histogram", n - 1);
	struct html_chart c = {
		.title = "Distribution",
		.note = "four columns for each doubling",
		.x_title = "one-way delay",
		.y_title = "packets",
	};
	double most = 0;

	if (!n)
		return;
	for (size_t i = 0; (b = json_get_item(end, "latency_histogram", i)); i++)
		most = fmax(most, json_get_double(b, "packets"));
	c.x = html_axis_log(HTML_NS, fmax(json_get_double(first, "from_ns"), 1),
			    fmin(json_get_double(last, "to_ns"), 1e17));
	c.y = html_axis_linear(HTML_COUNT, 0, most);
	html_chart_begin(h, &c);
	html_chart_plot(h, &c);
	for (size_t i = 0; (b = json_get_item(end, "latency_histogram", i)); i++) {
		uint64_t from = json_get_u64(b, "from_ns"), to = json_get_u64(b, "to_ns");
		char tip[4 * FMT_MAX];

		snprintf(tip, sizeof(tip), "%s to %s: %s packets", page_ns(from), page_ns(to),
			 page_count(json_get_u64(b, "packets")));
		html_chart_column(h, &c, "column flow", (double)from, (double)to + 1,
				  json_get_double(b, "packets"), tip);
	}
	html_chart_end(h, &c);
}

static void put_quantiles(struct html *h, struct json_object *latency, double packets)
{
	double x[QUANTILES], y[QUANTILES], least = INFINITY, most = 0;
	struct html_chart c = {
		.title = "Quantiles",
		.note = "so many packets took no longer",
		.x_title = "share of the packets delivered, %",
		.y_title = "one-way delay",
	};
	char tip[128];
	const char *name[QUANTILES];
	uint64_t ns[QUANTILES];
	unsigned n = 0;

	for (unsigned i = 0; i < QUANTILES; i++) {
		double rarity = fmin(quantiles[i].rarity, packets);

		/* Of few packets the rare ones are all the same packet. */
		if (!json_get(latency, quantiles[i].key) || (n && rarity <= x[n - 1]))
			continue;
		name[n] = quantiles[i].name;
		x[n] = rarity;
		ns[n] = json_get_u64(latency, quantiles[i].key);
		y[n] = fmax((double)ns[n], 1);
		least = fmin(least, y[n]);
		most = fmax(most, y[n++]);
	}
	if (n < 2)
		return;
	c.x = html_axis_log(HTML_NINES, 1, x[n - 1]);
	c.y = html_axis_log(HTML_NS, least, most);
	html_chart_begin(h, &c);
	html_chart_plot(h, &c);
	html_chart_line(h, &c, "flow", x, y, n);
	for (unsigned i = 0; i < n; i++) {
		snprintf(tip, sizeof(tip), "%s: %s", name[i], page_ns(ns[i]));
		html_chart_dot(h, &c, "flow", x[i], y[i], tip);
	}
	html_chart_end(h, &c);
}

void html_delay(struct html *h, struct json_object *end)
{
	struct json_object *latency = json_get(end, "latency_ns");

	if (!latency)
		return;
	html_section(h, "Delay", json_get_text(json_get(end, "clock"), "doubt"));
	html_put(h, "<div class=\"charts\">");
	put_histogram(h, end);
	put_quantiles(h, latency, json_get_double(end, "delivered"));
	html_put(h, "</div>");
	html_section_end(h);
}
