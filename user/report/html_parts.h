/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the HTML report have in common. Each html_*() below writes a part of the page;
 * a part whose facts the document lacks is left out. */
#ifndef PKTLEDGER_REPORT_HTML_PARTS_H
#define PKTLEDGER_REPORT_HTML_PARTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/num.h"
#include "report/html_put.h"

#define HTML_STAGES  48
#define HTML_COLOURS 8

struct html {
	FILE *out;
	const char *stage[HTML_STAGES]; /* that lose something anywhere on the page, borrowed */
	unsigned stages;
	unsigned ids; /* given so far: each is unique on the page */
	int rc;	      /* first -errno */
};

/* A class for what belongs to a stage: "c0" .. "c7", the same all over the page. */
const char *html_colour(const struct html *h, const char *stage);

/* "receive buffer of the socket"; "" for a stage that this version does not know. */
const char *html_stage_title(const char *stage);

/* "0.29 %"; "<0.01 %" and ">99.99 %" as in the text. `whole` 0: "". Returns `buf`. */
char *html_share(char *buf, size_t size, uint64_t part, uint64_t whole);

/* Of a list; what is none has no items. */
size_t html_length(struct json_object *list);
struct json_object *html_at(struct json_object *list, size_t i);

/* Whether members can be gone through: json_object_object_foreach() does not ask. */
bool html_has_members(struct json_object *o);

/* Of a sweep or a preset of one trial only, as a soak is: that trial; or NULL. */
struct json_object *html_only_trial(struct json_object *doc);

/*
 * How it ended: its end, that of its only trial, or of a trace or capture that has none the sum of
 * what is there. NULL: nothing is known.
 */
struct json_object *html_end_of(struct json_object *doc);

/* Packets at the end of the path: delivered; of a sender alone, what was not lost on its host. */
uint64_t html_arrived(struct json_object *end);
const char *html_arrival(struct json_object *end); /* what they are called */

/* Sum of a member of all objects of a list; UINT64_MAX if it is more. */
uint64_t html_sum(struct json_object *list, const char *key);

void html_section(struct html *h, const char *title, const char *note); /* note may be "" */
void html_section_end(struct html *h);

/* What came of it, the verdict, the command, the figures. */
void html_head(struct html *h, struct json_object *doc);

/* The parts of a run: `start` and `end` as in its document `doc`. */
void html_path(struct html *h, struct json_object *start, struct json_object *end);
void html_books(struct html *h, struct json_object *end);
void html_time(struct html *h, struct json_object *doc);
void html_delay(struct html *h, struct json_object *end);
void html_findings(struct html *h, struct json_object *end);
void html_beside(struct html *h, struct json_object *end);
void html_env(struct html *h, struct json_object *start);

/* The command line of a document. */
void html_command(struct html *h, struct json_object *start);

/* Two captures of one traffic (report/ends.h): what html_head() is to others, and all below. */
void html_ends_head(struct html *h, struct json_object *doc);
void html_ends(struct html *h, struct json_object *doc);

/* What leaves a path on the way. */
struct html_way {
	const char *name, *class;
	uint64_t packets, whole; /* the share is of `whole` */
	char why[256];
	double thick; /* px, and */
	double at;    /* px along the path where its bend begins: set by html_picture() */
};

/* The picture of a path: what leaves it, and what arrives. */
struct html_picture {
	struct html_way *way;
	unsigned n;
	uint64_t arrived;
	const char *arrival; /* what those are called */
	/* Writes what stands at both ends: elements of class "from" and "to". */
	void (*put_ends)(struct html *h, const void *arg);
	const void *arg;
};
void html_picture(struct html *h, const struct html_picture *picture);

/* Beside the books: report/joined.h. */
void html_joined(struct html *h, struct json_object *doc);

/* Before all documents: two of them side by side; NULL: nothing. */
void html_compare(struct html *h, struct json_object *comparison);

/* In place of all documents: report/matrix.h; NULL: nothing. */
void html_matrix(struct html *h, struct json_object *matrix);

/* Several trials: of run --repeat, sweep, search. */
void html_trials(struct html *h, struct json_object *doc);
void html_search(struct html *h, struct json_object *doc);

#endif
