// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Charts: how they are drawn; those of a run over time, its rates, losses by stage and CPU; and of
 * its delays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "drops/stagemap.h"
#include "report/html_page.h"
#include "report/print.h"
#include "report/series.h"

#define WIDTH	     1000.0 /* of a plot, in units that are stretched */
#define HEIGHT	     300.0
#define WANTED_TICKS 5
#define LARGEST	     1e18 /* what is beyond is no measurement, and would not fit a label */

/* Seconds in what the labels count. */
static double seconds_of_unit(const struct html_axis *a)
{
	return a->max >= 3 * 3600 ? 3600 : a->max >= 180 ? 60 : 1;
}

/* The nearest of 1, 2, 5 of a decade that is not above (`up`: not below) the value. */
static double round_125(double value, bool up)
{
	static const double of_decade[] = {1, 2, 5, 10};
	double decade = pow(10, floor(log10(value) + 1e-9)), best = up ? decade * 10 : decade;

	for (unsigned i = 0; i < 4; i++) {
		double v = decade * of_decade[i];

		if (!up && v <= value * (1 + 1e-9))
			best = v;
		if (up && v >= value * (1 - 1e-9))
			return v;
	}
	return best;
}

struct html_axis html_axis_linear(enum html_unit unit, double min, double max)
{
	struct html_axis a = {.unit = unit, .min = min, .max = max};
	double step, scale, first;

	if (!(max > min)) /* all values are one */
		a.min = 0;
	if (!(a.min >= 0) || !(max > a.min) || !(max < LARGEST)) {
		a.min = 0;
		a.max = 1;
	}
	scale = unit == HTML_SECONDS ? seconds_of_unit(&a) : 1;
	step = scale * round_125((a.max - a.min) / scale / WANTED_TICKS, true);
	first = ceil(a.min / step - 1e-9);
	if (unit != HTML_SECONDS) {
		a.max = step * ceil(a.max / step - 1e-9);
		first = floor(a.min / step + 1e-9);
		a.min = step * first;
	}
	for (unsigned i = 0; i < HTML_TICKS; i++) {
		double v = (first + i) * step;

		if (v > a.max * (1 + 1e-9))
			break;
		a.tick[a.ticks++] = v;
	}
	return a;
}

struct html_axis html_axis_log(enum html_unit unit, double min, double max)
{
	struct html_axis a = {.unit = unit, .log = true, .min = 1, .max = 10};
	double decades, by = 1;

	if (min > 0 && max >= min && max < LARGEST && min > 1 / LARGEST) {
		a.min = round_125(min, false);
		a.max = round_125(max, true);
		if (a.max <= a.min * (1 + 1e-9))
			a.max = round_125(a.min * 1.5, true);
	}
	decades = log10(a.max / a.min);
	if (decades >= 3) {
		a.min = pow(10, floor(log10(a.min) + 1e-9));
		a.max = pow(10, ceil(log10(a.max) - 1e-9));
		by = ceil(log10(a.max / a.min) / WANTED_TICKS - 1e-9);
	}
	for (double v = a.min; v <= a.max * (1 + 1e-9) && a.ticks < HTML_TICKS;) {
		if (decades < 2 || fabs(remainder(log10(v), 1)) <
					   1e-9) /* more would touch each other on a phone */
			a.tick[a.ticks++] = v;
		v = decades >= 3 ? v * pow(10, by) : round_125(v * 1.5, true);
	}
	return a;
}

double html_axis_at(const struct html_axis *a, double value)
{
	double at;

	if (a->log)
		at = value > 0 ? log(value / a->min) / log(a->max / a->min) : 0;
	else
		at = (value - a->min) / (a->max - a->min);
	return isfinite(at) ? fmin(fmax(at, 0), 1) : 0;
}

/* "10.0 us" is "10 us", "50.0k" is "50k". */
static char *without_zeros(char *text)
{
	char *point = strchr(text, '.'), *end = text + strspn(text, "0123456789."), *from = end;

	if (!point || point > end)
		return text;
	while (from[-1] == '0')
		from--;
	from -= from[-1] == '.';
	memmove(from, end, strlen(end) + 1);
	return text;
}

char *html_axis_label(const struct html_axis *a, double value)
{
	char *label = fmt_buffer();

	*label = '\0';
	switch (a->unit) {
	case HTML_COUNT:
		if (value >= 10 || value == 0)
			return without_zeros(fmt_short(value));
		snprintf(label, FMT_MAX, "%.3g", value);
		break;
	case HTML_SECONDS:
		snprintf(label, FMT_MAX, "%.4g", value / seconds_of_unit(a));
		break;
	case HTML_NS:
		return without_zeros(fmt_ns((uint64_t)llround(fmin(fmax(value, 0), LARGEST))));
	case HTML_SHARE:
		snprintf(label, FMT_MAX, "%.4g %%", value * 100);
		break;
	case HTML_NINES:
		snprintf(label, FMT_MAX, "%.8g", 100 - 100 / fmax(value, 1));
		break;
	}
	return label;
}

const char *html_axis_unit(const struct html_axis *a)
{
	double seconds = seconds_of_unit(a);

	if (a->unit != HTML_SECONDS)
		return "";
	return seconds > 60 ? "h" : seconds > 1 ? "min" : "s";
}

static double chart_x(const struct html_chart *c, double value)
{
	return WIDTH * html_axis_at(&c->x, value);
}

static double chart_y(const struct html_chart *c, double value)
{
	return HEIGHT * (1 - html_axis_at(&c->y, value));
}

void html_chart_begin(struct html *h, const struct html_chart *c)
{
	html_put(h, "<figure><figcaption><b>%s</b>", c->title);
	if (*c->note)
		html_put(h, " <span class=\"dim\">%s</span>", c->note);
	html_put(h, "</figcaption><ul class=\"legend\">");
}

void html_chart_legend(struct html *h, const char *class, const char *name, const char *value)
{
	html_put(h, "<li><i class=\"key %s\"></i>%s <span class=\"dim\">%s</span></li>", class,
		 name, value);
}

void html_axis_put(struct html *h, const struct html_axis *a, const char *from)
{
	for (unsigned i = 0; i < a->ticks; i++)
		html_put(h, "<span style=\"%s:%.2f%%\">%s</span>", from,
			 100 * html_axis_at(a, a->tick[i]), html_axis_label(a, a->tick[i]));
}

void html_chart_plot(struct html *h, const struct html_chart *c)
{
	html_put(h, "</ul><div class=\"title\">%s</div><div class=\"plot\"><div class=\"y\">",
		 c->y_title);
	html_axis_put(h, &c->y, "bottom");
	html_put(h,
		 "</div><div class=\"area\"><svg viewBox=\"0 0 %.0f %.0f\" "
		 "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">"
		 "<path class=\"grid\" d=\"",
		 WIDTH, HEIGHT, c->title);
	for (unsigned i = 0; i < c->y.ticks; i++)
		html_put(h, "M0 %.1fH%.0f", chart_y(c, c->y.tick[i]), WIDTH);
	html_put(h, "\"/><path class=\"ticks\" d=\"");
	for (unsigned i = 0; i < c->x.ticks; i++)
		html_put(h, "M%.1f %.0fv-6", chart_x(c, c->x.tick[i]), HEIGHT);
	html_put(h, "\"/>");
}

void html_chart_end(struct html *h, const struct html_chart *c)
{
	const char *unit = html_axis_unit(&c->x);

	html_put(h, "<path class=\"axis\" d=\"M0 0V%.0fH%.0f\"/></svg></div><div class=\"x\">",
		 HEIGHT, WIDTH);
	html_axis_put(h, &c->x, "left");
	html_put(h, "</div><div class=\"title\">%s%s%s</div></div></figure>", c->x_title,
		 *unit ? ", " : "", unit);
}

/* Along the values from left to right, or back. */
static void go_along(struct html *h, const struct html_chart *c, const double *x, const double *y,
		     size_t n, bool back)
{
	for (size_t k = 0; k < n; k++) {
		size_t i = back ? n - 1 - k : k;

		html_put(h, "%s%.1f %.1fH%.1f", k || back ? "L" : "M", chart_x(c, x[i + back]),
			 chart_y(c, y[i]), chart_x(c, x[i + !back]));
	}
}

/* Values that hold from x[i] to x[i + 1], i < n: an area above `base`, NULL: a line. */
static void put_steps(struct html *h, const struct html_chart *c, const char *class,
		      const double *x, const double *base, const double *y, size_t n)
{
	html_put(h, "<path class=\"%s%s\" d=\"", base ? "" : "line ", class);
	go_along(h, c, x, y, n, false);
	if (base)
		go_along(h, c, x, base, n, true);
	html_put(h, base ? "Z\"/>" : "\"/>");
}

void html_chart_line(struct html *h, const struct html_chart *c, const char *class, const double *x,
		     const double *y, size_t n)
{
	html_put(h, "<path class=\"line %s\" d=\"", class);
	for (size_t i = 0; i < n; i++)
		html_put(h, "%s%.1f %.1f", i ? "L" : "M", chart_x(c, x[i]), chart_y(c, y[i]));
	html_put(h, "\"/>");
}

void html_chart_band(struct html *h, const struct html_chart *c, const char *class, double from,
		     double to)
{
	html_put(h, "<path class=\"band %s\" d=\"M%.1f 0H%.1fV%.0fH%.1fZ\"/>", class,
		 chart_x(c, from), chart_x(c, to), HEIGHT, chart_x(c, from));
}

void html_chart_dot(struct html *h, const struct html_chart *c, const char *class, double x,
		    double y, const char *title)
{
	/* A line without length keeps round ends where a circle would be stretched. */
	html_put(h, "<path class=\"dot %s\" d=\"M%.1f %.1fh0\"><title>%s</title></path>", class,
		 chart_x(c, x), chart_y(c, y), title);
}

/* From 0 to `y`: "column" and a colour; "tip": not seen, for what the pointer shows there. */
static void put_column(struct html *h, const struct html_chart *c, const char *class, double from,
		       double to, double y, const char *title)
{
	double left = chart_x(c, from), top = chart_y(c, y);

	html_put(h,
		 "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
		 "<title>%s</title></rect>",
		 class, left, top, chart_x(c, to) - left, HEIGHT - top, title);
}

/* Over time. */

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

/* Both ends, their packets or their cost: the sender's is a line, the receiver's an area. */
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
	put_steps(h, &c, "flow", s->time, zero, rx, s->n);
	if (cpu || tx_most > 0)
		put_steps(h, &c, "sent", s->time, NULL, tx, s->n);
	for (size_t i = 0; i < s->n; i++) {
		if (cpu)
			snprintf(tip, sizeof(tip),
				 "%.4g to %.4g s\nsender %.1f %%\nreceiver %.1f %%", s->time[i],
				 s->time[i + 1], 100 * tx[i], 100 * rx[i]);
		else
			snprintf(tip, sizeof(tip), "%.4g to %.4g s\nsent %s\ndelivered %s",
				 s->time[i], s->time[i + 1], fmt_rate(tx[i]), fmt_rate(rx[i]));
		put_column(h, &c, "tip", s->time[i], s->time[i + 1], c.y.max, tip);
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
		put_steps(h, &c, html_colour(h, stage_name(k)), s->time, base, top, s->n);
		memcpy(base, top, sizeof(base));
	}
	for (size_t i = 0; i < s->n; i++) {
		size_t n = (size_t)snprintf(tip, sizeof(tip), "%.4g to %.4g s", s->time[i],
					    s->time[i + 1]);

		for (int k = 0; k < STAGE_COUNT && n < sizeof(tip) - 1; k++) {
			double lost = s->rate[LOST + k][i];

			if (lost > 0)
				n += (size_t)snprintf(tip + n, sizeof(tip) - n, "\n%.40s %s",
						      stage_name(k), fmt_rate(lost));
		}
		put_column(h, &c, "tip", s->time[i], s->time[i + 1], c.y.max, tip);
	}
	html_chart_end(h, &c);
}

void html_time(struct html *h, struct json_object *doc)
{
	struct series *s;
	double most = 0;

	if (!json_get_length(doc, "intervals"))
		return;
	s = mem_new(s);
	collect(s, doc);
	for (unsigned k = 0; k < COUNTS; k++)
		most = fmax(most, highest(s->rate[k], s->n));
	if (most > 0 || (s->n && h->live)) {
		html_section(h, "Over time",
			     s->n < 4 && !h->live ? "few intervals: -I 100ms shows more" : "");
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

#define QUANTILES LENGTH(quantiles)

static void put_histogram(struct html *h, struct json_object *end)
{
	size_t n = json_get_length(end, "latency_histogram");
	struct json_object *first = json_get_item(end, "latency_histogram", 0), *b;
	struct json_object *last = json_get_item(end, "latency_histogram", n - 1);
	struct html_chart c = {
		.title = "Distribution",
		.note = "four columns for each doubling",
		.x_title = "one-way latency",
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

		snprintf(tip, sizeof(tip), "%s to %s: %s", fmt_ns(from), fmt_ns(to),
			 fmt_many(json_get_u64(b, "packets"), "packet"));
		put_column(h, &c, "column flow", (double)from, (double)to + 1,
			   json_get_double(b, "packets"), tip);
	}
	html_chart_end(h, &c);
}

static void put_quantiles(struct html *h, struct json_object *latency, double packets)
{
	double x[QUANTILES], y[QUANTILES], least = INFINITY, most = 0;
	struct html_chart c = {
		.title = "Quantiles",
		.note = "this fraction of packets took at most so long",
		.x_title = "percentage of the packets delivered",
		.y_title = "one-way latency",
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
		snprintf(tip, sizeof(tip), "%s: %s", name[i], fmt_ns(ns[i]));
		html_chart_dot(h, &c, "flow", x[i], y[i], tip);
	}
	html_chart_end(h, &c);
}

void html_delay(struct html *h, struct json_object *end)
{
	struct json_object *latency = json_get(end, "latency_ns");

	if (!latency)
		return;
	html_section(h, "Latency", json_get_text(json_get(end, "clock"), "doubt"));
	html_put(h, "<div class=\"charts\">");
	put_histogram(h, end);
	put_quantiles(h, latency, json_get_double(end, "delivered"));
	html_put(h, "</div>");
	html_section_end(h);
}
