/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An axis of a chart: where a value is on it, and where its ticks are. Plain data. */
#ifndef PKTLEDGER_REPORT_HTML_AXIS_H
#define PKTLEDGER_REPORT_HTML_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define HTML_TICKS 12

enum html_unit {
	HTML_COUNT,   /* 812k */
	HTML_SECONDS, /* the axis is in s, min or h, as its end demands; its title says which */
	HTML_NS,      /* 57.3 us */
	HTML_SHARE,   /* 0 .. 1, shown in % */
	HTML_NINES, /* 1 / (1 - q), shown as the quantile q in %, without the sign: log, 10 is 90 %,
		       100 is 99 % */
};

struct html_axis {
	enum html_unit unit;
	bool log;
	double min, max; /* ends of the axis */
	double tick[HTML_TICKS];
	unsigned ticks;
};

/*
 * From `min` to at least `max`, ending at a tick (seconds: where the values end), with about five
 * ticks at 1, 2 or 5 of a decade. Values that are no number, or no range, give the axis 0 .. 1.
 */
struct html_axis html_axis_linear(enum html_unit unit, double min, double max);

/*
 * From decade to decade; with less than three of them from 1, 2 or 5 to 1, 2 or 5. Ticks are there,
 * too, with less than two decades.
 */
struct html_axis html_axis_log(enum html_unit unit, double min, double max);

double html_axis_at(const struct html_axis *a, double value); /* 0 .. 1; beyond an end: that end */
char *html_axis_label(const struct html_axis *a, double value, char *buf, size_t size);
const char *html_axis_unit(const struct html_axis *a); /* "s", "min", "h"; "" if labels tell it */

#endif
