/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the HTML report share. What is given to people as text goes through
 * report/page.h; here are the pictures, and what HTML has beside text. */
#ifndef PKTLEDGER_REPORT_HTML_PAGE_H
#define PKTLEDGER_REPORT_HTML_PAGE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/num.h"
#include "report/json.h"
#include "stages.h"

#define HTML_TICKS 12

struct html {
	FILE *out;
	bool live;		    /* what is shown goes on */
	bool lossy[STAGE_NONE + 1]; /* stages that lose something anywhere on the page */
	unsigned ids;		    /* given so far: each is unique on the page */
	const char *block;	   /* what ends that which a struct page has begun; NULL: nothing */
	char label[512], loss[64]; /* of a trial, until the next */
};

/*
 * As fprintf(), but each %s is escaped: for text and for quoted attributes. Bytes that are not
 * UTF-8, and control characters, become U+FFFD. NULL is nothing. Only %s %u %d %f and %g, with
 * precision and l. The format itself is markup and static.
 */
void html_put(const struct html *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A document as JSON for <script>: < is \u003c, so no end tag and no comment begins in it. */
void html_put_json(FILE *out, struct json_object *doc);

/* A class for what belongs to a stage: "c0" .. "c7", the same all over the page; else "none". */
const char *html_colour(const struct html *h, const char *stage);

/* "receive buffer of the socket"; "" for a stage that this version does not know. */
const char *html_stage_title(const char *stage);

/* Packets at the end of the path: delivered; of a sender alone, what was not lost on its host. */
uint64_t html_arrived(const struct json_object *end);
const char *html_arrival(const struct json_object *end); /* what they are called */

void html_section(struct html *h, const char *title, const char *note); /* note may be "" */
void html_section_end(struct html *h);
void html_end_block(struct html *h); /* what a page of report/page.h has left open */

/* Of a <dl class="figures">: a value, and what is said below it. */
void html_figure(struct html *h, const char *name, const char *value, const char *more);

/*
 * Each of these writes a part of the page; one whose facts the document lacks is left out. `start`
 * and `end` are those of a run, in its document `doc`.
 */
void html_command(struct html *h, struct json_object *start); /* its command line */
void html_path(struct html *h, struct json_object *start, struct json_object *end);
void html_ledger(struct html *h, struct json_object *start, struct json_object *end);
void html_time(struct html *h, struct json_object *doc);
void html_delay(struct html *h, struct json_object *end);
void html_trials(struct html *h, struct json_object *doc); /* of run --repeat, sweep, search */
/* A document as pages hold it: of many trials what is shown of each. To be put. */
struct json_object *html_trials_brief(struct json_object *doc);
void html_search(struct html *h, struct json_object *doc);
/* Two captures of one traffic (report/capfile.h): what came of it, and all below. */
void html_ends_head(struct html *h, struct json_object *doc);
void html_ends(struct html *h, struct json_object *doc);

enum html_unit {
	HTML_COUNT,   /* 812k */
	HTML_SECONDS, /* the axis is in s, min or h, as its end demands; its title says which */
	HTML_NS,      /* 57.3 us */
	HTML_SHARE,   /* 0 .. 1, shown in % */
	HTML_NINES, /* 1 / (1 - q), shown as the quantile q in %, without the sign: log, 10 is 90 %,
		       100 is 99 % */
};

/* An axis of a chart: where a value is on it, and where its ticks are. Plain data. */
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
char *html_axis_label(const struct html_axis *a, double value); /* as fmt_buffer() keeps it */
const char *html_axis_unit(const struct html_axis *a); /* "s", "min", "h"; "" if labels say it */

/* The labels of an axis, one for each tick; `from`: "left", or "bottom" of a vertical one. */
void html_axis_put(struct html *h, const struct html_axis *a, const char *from);

/*
 * Charts. Lines and areas are SVG that is stretched to the room it gets, all text is HTML beside
 * it, so that text keeps its size on a phone and on paper.
 */
struct html_chart {
	const char *title, *note;      /* note may be "" */
	const char *x_title, *y_title; /* with the unit */
	struct html_axis x, y;
};

/* The frame: title, legend items, then the axes with everything that is drawn, in this order. */
void html_chart_begin(struct html *h, const struct html_chart *c);
void html_chart_legend(struct html *h, const char *class, const char *name, const char *value);
void html_chart_plot(struct html *h, const struct html_chart *c);
void html_chart_end(struct html *h, const struct html_chart *c);

/* Straight from point to point. `class` is that of a colour; "flow" and the like. */
void html_chart_line(struct html *h, const struct html_chart *c, const char *class, const double *x,
		     const double *y, size_t n);

/* From one value of x to the next, as high as the chart: where an answer is. */
void html_chart_band(struct html *h, const struct html_chart *c, const char *class, double from,
		     double to);

void html_chart_dot(struct html *h, const struct html_chart *c, const char *class, double x,
		    double y, const char *title);

#endif
