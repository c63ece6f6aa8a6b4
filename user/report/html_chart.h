/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Charts. Lines and areas are SVG that is stretched to the room it gets, all text is HTML beside
 * it, so that text keeps its size on a phone and on paper.
 */
#ifndef PKTLEDGER_REPORT_HTML_CHART_H
#define PKTLEDGER_REPORT_HTML_CHART_H

#include "report/html_axis.h"
#include "report/html_parts.h"

struct html_chart {
	const char *title, *note;      /* note may be "" */
	const char *x_title, *y_title; /* with the unit */
	struct html_axis x, y;
};

/*
 * The frame: title, then legend items, then the axes with everything that is drawn, in this order.
 * Coordinates of what is drawn: html_chart_x(), html_chart_y().
 */
void html_chart_begin(struct html *h, const struct html_chart *c);
void html_chart_legend(struct html *h, const char *class, const char *name, const char *value);
void html_chart_plot(struct html *h, const struct html_chart *c);
void html_chart_end(struct html *h, const struct html_chart *c);

double html_chart_x(const struct html_chart *c, double value);
double html_chart_y(const struct html_chart *c, double value);

/*
 * Values that hold from x[i] to x[i + 1], i < n. As a line, or as an area above `base` (NULL: 0).
 * `class` is that of a colour; "flow" and the like.
 */
void html_chart_steps(struct html *h, const struct html_chart *c, const char *class,
		      const double *x, const double *y, size_t n);
void html_chart_area(struct html *h, const struct html_chart *c, const char *class, const double *x,
		     const double *base, const double *y, size_t n);

/* Straight from point to point. */
void html_chart_line(struct html *h, const struct html_chart *c, const char *class, const double *x,
		     const double *y, size_t n);

void html_chart_dot(struct html *h, const struct html_chart *c, const char *class, double x,
		    double y, const char *title);

/* A column from 0 to `y`. */
void html_chart_column(struct html *h, const struct html_chart *c, const char *class, double from,
		       double to, double y, const char *title);

/* A line across the plot at a value of x; its name belongs in the legend. */
void html_chart_mark(struct html *h, const struct html_chart *c, const char *class, double x,
		     const char *title);

/* What the pointer is told between two values of x; the whole height. */
void html_chart_tip(struct html *h, const struct html_chart *c, double from, double to,
		    const char *title);

#endif
