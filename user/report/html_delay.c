// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How long packets were under way: by delay, and the quantiles, each rarer than the one before. */
#include "report/html_chart.h"

#include <math.h>

static const struct quantile {
	const char *key, *name;
	double rarity; /* 1 / (1 - q) */
} quantiles[] = {
	{"min", "min", 1},	  {"p50", "p50", 2},	   {"p90", "p90", 10},
	{"p99", "p99", 100},	  {"p999", "p99.9", 1000}, {"p9999", "p99.99", 10000},
	{"max", "max", INFINITY},
};

#define QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

static void put_figures(struct html *h, struct json_object *latency, uint64_t jitter)
{
	char value[FMT_MAX];

	html_put(h->out, "<dl class=\"figures\">");
	for (unsigned i = 0; i < QUANTILES; i++) {
		if (!json_get(latency, quantiles[i].key))
			continue;
		html_put(h->out, "<div><dt>%s</dt><dd>%s</dd></div>", quantiles[i].name,
			 fmt_ns(value, sizeof(value), json_get_u64(latency, quantiles[i].key)));
	}
	if (jitter)
		html_put(h->out, "<div><dt>jitter</dt><dd>%s</dd></div>",
			 fmt_ns(value, sizeof(value), jitter));
	html_put(h->out, "</dl>");
}

static void put_histogram(struct html *h, struct json_object *end)
{
	size_t n = json_get_length(end, "latency_histogram");
	struct json_object *first = json_get_item(end, "latency_histogram", 0);
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
	for (size_t i = 0; i < n; i++)
		most = fmax(most,
			    json_get_double(json_get_item(end, "latency_histogram", i), "packets"));
	c.x = html_axis_log(HTML_NS, fmax(json_get_double(first, "from_ns"), 1),
			    fmin(json_get_double(last, "to_ns"), 1e17));
	c.y = html_axis_linear(HTML_COUNT, 0, most);
	html_chart_begin(h, &c);
	html_chart_plot(h, &c);
	for (size_t i = 0; i < n; i++) {
		struct json_object *b = json_get_item(end, "latency_histogram", i);
		uint64_t from = json_get_u64(b, "from_ns"), to = json_get_u64(b, "to_ns");
		char low[FMT_MAX], high[FMT_MAX], count[FMT_MAX], tip[4 * FMT_MAX];

		snprintf(tip, sizeof(tip), "%s to %s: %s packets", fmt_ns(low, sizeof(low), from),
			 fmt_ns(high, sizeof(high), to),
			 fmt_count(count, sizeof(count), json_get_u64(b, "packets")));
		html_chart_column(h, &c, "flow", (double)from, (double)to + 1,
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
	char value[FMT_MAX], tip[128];
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
		snprintf(tip, sizeof(tip), "%s: %s", name[i], fmt_ns(value, sizeof(value), ns[i]));
		html_chart_dot(h, &c, "flow", x[i], y[i], tip);
	}
	html_chart_end(h, &c);
}

void html_delay(struct html *h, struct json_object *end)
{
	struct json_object *latency = json_get(end, "latency_ns");
	struct json_object *clock = json_get(end, "clock");
	double packets = json_get_double(end, "delivered");

	if (!latency)
		return;
	html_section(h, "Delay", json_get_text(clock, "doubt"));
	put_figures(h, latency, json_get_u64(end, "jitter_ns"));
	html_put(h->out, "<div class=\"charts\">");
	put_histogram(h, end);
	put_quantiles(h, latency, packets);
	html_put(h->out, "</div>");
	html_section_end(h);
}
