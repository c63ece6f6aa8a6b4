/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Documents (report/document.h) and ledgers for people, as the commands print them at once, and
 * `report` again; and in the form that was asked for. Write errors are left in ferror(out).
 */
#ifndef PKTLEDGER_REPORT_PRINT_H
#define PKTLEDGER_REPORT_PRINT_H

#include <stdio.h>

#include "report/document.h"
#include "report/load.h"
#include "report/page.h"
#include "stages.h"

struct html;
struct json_out;

struct print_view {
	FILE *out;
	bool colour;
	unsigned width; /* columns */
	/*
	 * -1 leaves the advice away, 1 and more show places in the kernel, number ranges and every
	 * counter.
	 */
	int verbosity;
	struct html *html; /* NULL: text; else print_page() opens a part of this page */
};

/* Whose it is and when it was; what happened in time; its ledger, or sums; what it means. */
void print_document(const struct print_view *v, const struct ledgers_document *d);

/* The trials of `run --repeat`, each a document, as the table that it printed. */
void print_repeat(const struct print_view *v, const struct ledgers_document *d, unsigned n);

/* The intervals of a document as a table that a person reads: some rows of a round length. */

#define STEPS_MAX 32

struct step {
	uint64_t from_ns, to_ns;	   /* CLOCK_REALTIME */
	uint64_t sent, delivered, dropped; /* sent, delivered: 0 in a trace */
	uint64_t stage[STAGE_COUNT];	   /* packets; of those in `dropped` */
	double peak_pps; /* lost, in the worst interval of it; 0: of no length that is known */
};

struct steps {
	struct step at[STEPS_MAX];
	unsigned n;
	uint64_t length_ns;
};

/*
 * What happened in each step; those in which there was no interval are left out. An interval
 * belongs to the step in which it ended, and steps are not shorter than intervals.
 */
void steps_make(struct steps *s, const struct ledgers_document *d);

/* The parts of a document, each with a blank line before it; nothing if there is nothing. */
struct page print_page(const struct print_view *v, uint64_t most);

/* Of ledgers that were joined: each sender's part, and what is missing. */
void print_joined(const struct print_view *v, const struct json_object *document);

/* What is not as it should be: a part is missing, it failed, or has no end. */
void print_state(const struct print_view *v, const struct ledgers_document *d);

/* The intervals of a long one that lost most a second: where to read on. */
void print_worst(const struct print_view *v, const struct ledgers_document *d);

/* What was lost at a stage, an item of "stages"; NULL: nothing. */
struct json_object *print_stage(const struct json_object *end, const char *name);

/* The stage that lost most, "": none did; and how many lost something. */
const char *print_worst_stage(const struct json_object *end, unsigned *n);

enum text_part {
	TEXT_HEADER = 1,
	TEXT_LEDGER = 2,
	TEXT_BESIDE = 4,
	TEXT_VERDICT = 8,
	TEXT_FINDINGS = 16,
	TEXT_ALL = 31,
};

/*
 * A run: the path of the packets from top to bottom, 80 columns wide; only a command, to be pasted,
 * may be longer. A counter is marked = if it agrees, ~ if it disagrees as this kernel is known to,
 * != if not. `parts` of enum text_part.
 */
void text_run(const struct print_view *v, const struct json_object *start,
	      const struct json_object *end, unsigned parts);

/* The end of send, of recv. */
void text_solo(const struct print_view *v, const struct json_object *end);

/* Those of any end; with verbosity 1 also the way back, below 0 nothing. */
void text_findings(struct page *p, const struct json_object *end, int verbosity);

/*
 * A trial of a search as a line of the log, with a heading before number 1; what was found; and if
 * there were several searches, how far their lower bounds are apart.
 */
void text_found_trial(FILE *out, unsigned number, const struct json_object *trial);
void text_found(FILE *out, const struct json_object *end);
void text_found_spread(FILE *out, const struct json_object *end);

/* "rcvbuf", "the generator", "the sender's queue", or "" where nothing is to blame. */
const char *found_culprit(const struct json_object *rate);

struct text_count {
	uint64_t count;
	const char *name;
};

/* "3 duplicated, 12 reordered": those that are not 0. */
void text_counts(struct page *p, enum style style, const struct text_count *count, unsigned n);

/* A line of them; none if all are 0. */
void text_counts_line(struct page *p, const char *label, enum style style,
		      const struct text_count *count, unsigned n);

struct show_view {
	struct json_out *json; /* NULL: text or a table */
	int argc;
	char *const *argv; /* for the record */
	bool csv;
	bool matrix;	  /* runs between hosts as one table: report/compare.h */
	const char *html; /* a page to be written; NULL: none */
	bool redact;	  /* the documents are changed */
	struct print_view text;
	const struct ledgers_document *a, *b; /* to be compared; NULL: nothing is */
};

/* 0, -ENOMEM, or as matrix_new() and html_file(). */
int show_ledgers(const struct show_view *v, struct ledgers *l, struct error *err);

/* Two captures compared (report/capfile.h); `ends` is changed if names are to be hidden. */
int show_ends(const struct show_view *v, struct json_object *ends, struct error *err);

/*
 * In one of them the fates of the numbers say something else than the ledger; or it was joined, and
 * does not balance.
 */
bool show_disagrees(const struct ledgers *l);

#endif
