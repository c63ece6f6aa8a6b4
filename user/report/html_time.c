// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The intervals of a run as charts over time: rates, and losses by stage. */
#include "report/html_chart.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS 240 /* of the charts: neighbours of longer runs are put together */

enum { SENT, DELIVERED, DROPPED, TX_CPU, RX_CPU, TOTALS };

static const char *const totals[TOTALS] = {"sent", "delivered", "dropped", "tx_cpu_ns",
					   "rx_cpu_ns"};

/* Rates in bins; bin i lasts from time[i] to time[i + 1]. */
struct series {
	size_t n;
	double time[BINS + 1]; /* s */
	double rate[TOTALS][BINS];
	const char *stage[HTML_STAGES];
	double lost[HTML_STAGES][BINS]; /* packets/s, in the order of `stage` */
	unsigned stages;
};

/* Column of a stage; HTML_STAGES: there is no room for more. */
static unsigned column_of(struct series *s, const char *name)
{
	unsigned i = 0;

	while (i < s->stages && strcmp(s->stage[i], name))
		i++;
	if (i == s->stages && i < HTML_STAGES)
		s->stage[s->stages++] = name;
	return i;
}

/* What has been counted until a moment. */
struct sums {
	double time, total[TOTALS], lost[HTML_STAGES];
};

static void add_stages(struct series *s, struct sums *now, struct json_object *interval)
{
	for (size_t i = 0; i < json_get_length(interval, "stages"); i++) {
		struct json_object *stage = json_get_item(interval, "stages", i);
		unsigned k = column_of(s, json_get_text(stage, "stage"));

		if (k < HTML_STAGES)
			now->lost[k] += json_get_double(stage, "packets");
	}
}

/* Intervals of run count from the start, those of trace are told one by one and have a length. */
static void advance(struct series *s, struct sums *now, struct json_object *interval)
{
	if (!json_get(interval, "interval_ns"))
		*now = (struct sums){};
	now->time = json_get_double(interval, "time_ns") / 1e9;
	for (unsigned i = 0; i < TOTALS; i++)
		now->total[i] += json_get_double(interval, totals[i]);
	add_stages(s, now, interval);
}

/* False: there is no time between them. */
static bool add_bin(struct series *s, const struct sums *a, const struct sums *b)
{
	double length = b->time - a->time;

	if (!(length > 0) || !(b->time < 1e10) || s->n == BINS)
		return false;
	s->time[s->n] = a->time;
	s->time[s->n + 1] = b->time;
	for (unsigned i = 0; i < TOTALS; i++)
		s->rate[i][s->n] = fmax(b->total[i] - a->total[i], 0) / length;
	for (unsigned i = 0; i < HTML_STAGES; i++)
		s->lost[i][s->n] = fmax(b->lost[i] - a->lost[i], 0) / length;
	s->n++;
	return true;
}

static void collect(struct html *h, struct series *s, struct json_object *intervals)
{
	size_t n = html_length(intervals), step = (n + BINS - 1) / BINS;
	struct sums before = {}, now = {};

	for (unsigned i = 0; i < h->stages; i++) /* in the order of the path */
		s->stage[s->stages++] = h->stage[i];
	for (size_t i = 0; i < n; i++) {
		advance(s, &now, html_at(intervals, i));
		if (((i + 1) % step == 0 || i == n - 1) && add_bin(s, &before, &now))
			before = now;
	}
}

static double highest(const double *y, size_t n)
{
	double max = 0;

	for (size_t i = 0; i < n; i++)
		max = fmax(max, y[i]);
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

static int tell_time(char *buf, size_t size, const struct series *s, size_t i)
{
	return snprintf(buf, size, "%.4g to %.4g s", s->time[i], s->time[i + 1]);
}

static void put_rates(struct html *h, const struct series *s)
{
	double most = fmax(highest(s->rate[SENT], s->n), highest(s->rate[DELIVERED], s->n));
	struct html_chart c = chart_over_time(s, "Rates", most);
	char sent[FMT_MAX], delivered[FMT_MAX], tip[256];

	if (!(most > 0))
		return;
	html_chart_begin(h, &c);
	if (highest(s->rate[SENT], s->n) > 0)
		html_chart_legend(h, "line sent", "sent", "");
	if (highest(s->rate[DELIVERED], s->n) > 0)
		html_chart_legend(h, "flow", "delivered", "");
	html_chart_plot(h, &c);
	html_chart_area(h, &c, "flow", s->time, NULL, s->rate[DELIVERED], s->n);
	if (highest(s->rate[SENT], s->n) > 0)
		html_chart_steps(h, &c, "sent", s->time, s->rate[SENT], s->n);
	for (size_t i = 0; i < s->n; i++) {
		int n = tell_time(tip, sizeof(tip), s, i);

		snprintf(tip + n, sizeof(tip) - n, "\nsent %s\ndelivered %s",
			 fmt_rate(sent, sizeof(sent), s->rate[SENT][i]),
			 fmt_rate(delivered, sizeof(delivered), s->rate[DELIVERED][i]));
		html_chart_tip(h, &c, s->time[i], s->time[i + 1], tip);
	}
	html_chart_end(h, &c);
}

/* What both ends cost; 1 is a whole CPU. */
static void put_cpu(struct html *h, const struct series *s)
{
	double most = fmax(highest(s->rate[TX_CPU], s->n), highest(s->rate[RX_CPU], s->n)) / 1e9;
	struct html_chart c = chart_over_time(s, "CPU", most);
	double tx[BINS], rx[BINS];
	char tip[256];

	if (!(most > 0))
		return;
	c.note = "of the threads that send and receive";
	c.y_title = "of a CPU";
	c.y = html_axis_linear(HTML_SHARE, 0, most);
	for (size_t i = 0; i < s->n; i++) {
		tx[i] = s->rate[TX_CPU][i] / 1e9;
		rx[i] = s->rate[RX_CPU][i] / 1e9;
	}
	html_chart_begin(h, &c);
	html_chart_legend(h, "line sent", "sender", "");
	html_chart_legend(h, "flow", "receiver", "");
	html_chart_plot(h, &c);
	html_chart_area(h, &c, "flow", s->time, NULL, rx, s->n);
	html_chart_steps(h, &c, "sent", s->time, tx, s->n);
	for (size_t i = 0; i < s->n; i++) {
		int n = tell_time(tip, sizeof(tip), s, i);

		snprintf(tip + n, sizeof(tip) - n, "\nsender %.1f %%\nreceiver %.1f %%",
			 100 * tx[i], 100 * rx[i]);
		html_chart_tip(h, &c, s->time[i], s->time[i + 1], tip);
	}
	html_chart_end(h, &c);
}

static void put_tips(struct html *h, const struct html_chart *c, const struct series *s)
{
	char rate[FMT_MAX], tip[1024];

	for (size_t i = 0; i < s->n; i++) {
		size_t n = (size_t)tell_time(tip, sizeof(tip), s, i);

		for (unsigned k = 0; k < s->stages && n < sizeof(tip) - 1; k++) {
			if (s->lost[k][i] > 0)
				n += (size_t)snprintf(tip + n, sizeof(tip) - n, "\n%.40s %s",
						      s->stage[k],
						      fmt_rate(rate, sizeof(rate), s->lost[k][i]));
		}
		html_chart_tip(h, c, s->time[i], s->time[i + 1], tip);
	}
}

/* Stages on top of each other, the last of the path on top. */
static void put_losses(struct html *h, struct series *s)
{
	double base[BINS] = {}, top[BINS] = {};
	struct html_chart c;

	for (unsigned k = 0; k < s->stages; k++) {
		for (size_t i = 0; i < s->n; i++)
			top[i] += s->lost[k][i];
	}
	if (!(highest(top, s->n) > 0))
		return;
	c = chart_over_time(s, "Losses by stage", highest(top, s->n));
	c.note = "each fragment counts";
	c.y_title = "drops/s";
	html_chart_begin(h, &c);
	for (unsigned k = 0; k < s->stages; k++) {
		if (highest(s->lost[k], s->n) > 0)
			html_chart_legend(h, html_colour(h, s->stage[k]), s->stage[k], "");
	}
	html_chart_plot(h, &c);
	memset(top, 0, sizeof(top));
	for (unsigned k = 0; k < s->stages; k++) {
		if (!(highest(s->lost[k], s->n) > 0))
			continue;
		for (size_t i = 0; i < s->n; i++)
			top[i] += s->lost[k][i];
		html_chart_area(h, &c, html_colour(h, s->stage[k]), s->time, base, top, s->n);
		memcpy(base, top, sizeof(base));
	}
	put_tips(h, &c, s);
	html_chart_end(h, &c);
}

/* Where a long run is to be looked at: report/load.h has put them together. */
static void put_worst(struct html *h, struct json_object *doc)
{
	char count[FMT_MAX], rate[FMT_MAX], length[FMT_MAX];

	if (json_get_length(doc, "worst") < 2)
		return;
	html_put(h->out, "<details><summary>when most was lost</summary><table class=\"facts\">"
			 "<tbody>");
	for (size_t i = 0; i < json_get_length(doc, "worst"); i++) {
		struct json_object *w = json_get_item(doc, "worst", i);

		html_put(h->out, "<tr><th>%s<td class=\"n\">%s lost<td class=\"n\">%s in %s",
			 json_get_text(w, "time"),
			 fmt_count(count, sizeof(count), json_get_u64(w, "dropped")),
			 fmt_rate(rate, sizeof(rate), json_get_double(w, "dropped_pps")),
			 fmt_ns(length, sizeof(length), json_get_u64(w, "interval_ns")));
	}
	html_put(h->out, "</tbody></table></details>");
}

void html_time(struct html *h, struct json_object *doc)
{
	struct json_object *intervals = json_get(doc, "intervals");
	struct series *s;

	if (!html_length(intervals))
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		h->rc = h->rc ? h->rc : -ENOMEM;
		return;
	}
	collect(h, s, intervals);
	if (s->n) {
		html_section(h, "Over time", s->n < 4 ? "few intervals: -I 100ms shows more" : "");
		html_put(h->out, "<div class=\"charts\">");
		put_rates(h, s);
		put_losses(h, s);
		put_cpu(h, s);
		html_put(h->out, "</div>");
		put_worst(h, doc);
		html_section_end(h);
	}
	free(s);
}
