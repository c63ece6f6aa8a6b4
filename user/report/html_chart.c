// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/html_chart.h"

#define WIDTH  1000.0 /* of the plot, in units that are stretched */
#define HEIGHT 300.0

double html_chart_x(const struct html_chart *c, double value)
{
	return WIDTH * html_axis_at(&c->x, value);
}

double html_chart_y(const struct html_chart *c, double value)
{
	return HEIGHT * (1 - html_axis_at(&c->y, value));
}

void html_chart_begin(struct html *h, const struct html_chart *c)
{
	html_put(h->out, "<figure class=\"chart\"><figcaption><b>%s</b>", c->title);
	if (*c->note)
		html_put(h->out, " <span class=\"dim\">%s</span>", c->note);
	html_put(h->out, "</figcaption><ul class=\"legend\">");
}

void html_chart_legend(struct html *h, const char *class, const char *name, const char *value)
{
	html_put(h->out, "<li><i class=\"key %s\"></i>%s <span class=\"dim\">%s</span></li>", class,
		 name, value);
}

static void put_x_axis(struct html *h, const struct html_chart *c)
{
	char label[FMT_MAX];

	html_put(h->out, "<div class=\"x\">");
	for (unsigned i = 0; i < c->x.ticks; i++)
		html_put(h->out, "<span style=\"left:%.2f%%\">%s</span>",
			 100 * html_axis_at(&c->x, c->x.tick[i]),
			 html_axis_label(&c->x, c->x.tick[i], label, sizeof(label)));
	html_put(h->out, "</div><div class=\"title\">%s", c->x_title);
	if (*html_axis_unit(&c->x))
		html_put(h->out, ", %s", html_axis_unit(&c->x));
	html_put(h->out, "</div>");
}

static void put_y_axis(struct html *h, const struct html_chart *c)
{
	char label[FMT_MAX];

	html_put(h->out, "</ul><div class=\"title\">%s</div><div class=\"plot\"><div class=\"y\">",
		 c->y_title);
	for (unsigned i = 0; i < c->y.ticks; i++)
		html_put(h->out, "<span style=\"bottom:%.2f%%\">%s</span>",
			 100 * html_axis_at(&c->y, c->y.tick[i]),
			 html_axis_label(&c->y, c->y.tick[i], label, sizeof(label)));
	html_put(h->out, "</div>");
}

void html_chart_plot(struct html *h, const struct html_chart *c)
{
	put_y_axis(h, c);
	html_put(h->out,
		 "<div class=\"area\"><svg viewBox=\"0 0 %.0f %.0f\" "
		 "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">",
		 WIDTH, HEIGHT, c->title);
	html_put(h->out, "<path class=\"grid\" d=\"");
	for (unsigned i = 0; i < c->y.ticks; i++)
		html_put(h->out, "M0 %.1fH%.0f", html_chart_y(c, c->y.tick[i]), WIDTH);
	html_put(h->out, "\"/><path class=\"ticks\" d=\"");
	for (unsigned i = 0; i < c->x.ticks; i++)
		html_put(h->out, "M%.1f %.0fv-6", html_chart_x(c, c->x.tick[i]), HEIGHT);
	html_put(h->out, "\"/>");
}

void html_chart_end(struct html *h, const struct html_chart *c)
{
	html_put(h->out, "<path class=\"axis\" d=\"M0 0V%.0fH%.0f\"/></svg></div>", HEIGHT, WIDTH);
	put_x_axis(h, c);
	html_put(h->out, "</div></figure>");
}

/* Along the values from left to right, or back. */
static void put_steps(struct html *h, const struct html_chart *c, const double *x, const double *y,
		      size_t n, bool back)
{
	for (size_t k = 0; k < n; k++) {
		size_t i = back ? n - 1 - k : k;
		double from = html_chart_x(c, x[back ? i + 1 : i]);
		double to = html_chart_x(c, x[back ? i : i + 1]);
		double at = html_chart_y(c, y ? y[i] : 0);

		html_put(h->out, "%s%.1f %.1fH%.1f", k || back ? "L" : "M", from, at, to);
	}
}

void html_chart_steps(struct html *h, const struct html_chart *c, const char *class,
		      const double *x, const double *y, size_t n)
{
	html_put(h->out, "<path class=\"line %s\" d=\"", class);
	put_steps(h, c, x, y, n, false);
	html_put(h->out, "\"/>");
}

void html_chart_area(struct html *h, const struct html_chart *c, const char *class, const double *x,
		     const double *base, const double *y, size_t n)
{
	html_put(h->out, "<path class=\"%s\" d=\"", class);
	put_steps(h, c, x, y, n, false);
	put_steps(h, c, x, base, n, true);
	html_put(h->out, "Z\"/>");
}

void html_chart_line(struct html *h, const struct html_chart *c, const char *class, const double *x,
		     const double *y, size_t n)
{
	html_put(h->out, "<path class=\"line %s\" d=\"", class);
	for (size_t i = 0; i < n; i++)
		html_put(h->out, "%s%.1f %.1f", i ? "L" : "M", html_chart_x(c, x[i]),
			 html_chart_y(c, y[i]));
	html_put(h->out, "\"/>");
}

void html_chart_dot(struct html *h, const struct html_chart *c, const char *class, double x,
		    double y, const char *title)
{
	/* A line without length keeps round ends where a circle would be stretched. */
	html_put(h->out, "<path class=\"dot %s\" d=\"M%.1f %.1fh0\"><title>%s</title></path>",
		 class, html_chart_x(c, x), html_chart_y(c, y), title);
}

void html_chart_column(struct html *h, const struct html_chart *c, const char *class, double from,
		       double to, double y, const char *title)
{
	double left = html_chart_x(c, from), top = html_chart_y(c, y);

	html_put(h->out,
		 "<rect class=\"column %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
		 "<title>%s</title></rect>",
		 class, left, top, html_chart_x(c, to) - left, HEIGHT - top, title);
}

void html_chart_mark(struct html *h, const struct html_chart *c, const char *class, double x,
		     const char *title)
{
	double at = html_chart_x(c, x);

	html_put(h->out, "<path class=\"mark %s\" d=\"M%.1f 0V%.0f\"><title>%s</title></path>",
		 class, at, HEIGHT, title);
}

void html_chart_tip(struct html *h, const struct html_chart *c, double from, double to,
		    const char *title)
{
	double left = html_chart_x(c, from);

	html_put(h->out,
		 "<rect class=\"tip\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%.0f\">"
		 "<title>%s</title></rect>",
		 left, html_chart_x(c, to) - left, HEIGHT, title);
}
