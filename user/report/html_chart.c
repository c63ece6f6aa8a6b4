// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>
#include <string.h>

#include "report/html_page.h"

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

char *html_axis_label(const struct html_axis *a, double value, char *buf, size_t size)
{
	switch (a->unit) {
	case HTML_COUNT:
		if (value >= 10 || value == 0)
			return without_zeros(fmt_short(buf, size, value));
		snprintf(buf, size, "%.3g", value);
		return buf;
	case HTML_SECONDS:
		snprintf(buf, size, "%.4g", value / seconds_of_unit(a));
		return buf;
	case HTML_NS:
		return without_zeros(
			fmt_ns(buf, size, (uint64_t)llround(fmin(fmax(value, 0), LARGEST))));
	case HTML_SHARE:
		snprintf(buf, size, "%.4g %%", value * 100);
		return buf;
	case HTML_NINES:
		snprintf(buf, size, "%.8g", 100 - 100 / fmax(value, 1));
		return buf;
	}
	return strcpy(buf, "");
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
	char label[FMT_MAX];

	for (unsigned i = 0; i < a->ticks; i++)
		html_put(h, "<span style=\"%s:%.2f%%\">%s</span>", from,
			 100 * html_axis_at(a, a->tick[i]),
			 html_axis_label(a, a->tick[i], label, sizeof(label)));
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
static void put_steps(struct html *h, const struct html_chart *c, const double *x, const double *y,
		      size_t n, bool back)
{
	for (size_t k = 0; k < n; k++) {
		size_t i = back ? n - 1 - k : k;

		html_put(h, "%s%.1f %.1fH%.1f", k || back ? "L" : "M", chart_x(c, x[i + back]),
			 chart_y(c, y[i]), chart_x(c, x[i + !back]));
	}
}

void html_chart_steps(struct html *h, const struct html_chart *c, const char *class,
		      const double *x, const double *base, const double *y, size_t n)
{
	html_put(h, "<path class=\"%s%s\" d=\"", base ? "" : "line ", class);
	put_steps(h, c, x, y, n, false);
	if (base)
		put_steps(h, c, x, base, n, true);
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

void html_chart_dot(struct html *h, const struct html_chart *c, const char *class, double x,
		    double y, const char *title)
{
	/* A line without length keeps round ends where a circle would be stretched. */
	html_put(h, "<path class=\"dot %s\" d=\"M%.1f %.1fh0\"><title>%s</title></path>", class,
		 chart_x(c, x), chart_y(c, y), title);
}

void html_chart_column(struct html *h, const struct html_chart *c, const char *class, double from,
		       double to, double y, const char *title)
{
	double left = chart_x(c, from), top = chart_y(c, y);

	html_put(h,
		 "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
		 "<title>%s</title></rect>",
		 class, left, top, chart_x(c, to) - left, HEIGHT - top, title);
}
