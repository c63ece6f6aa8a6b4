/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one sink of text: headings, lines, rows, tables and findings, printed in columns for a
 * terminal. A line begins with page_text(), page_row(), page_cell() or its first words, and ends
 * with page_end(). A row has a label, a count, a percentage, and a detail that is wrapped at the
 * page's width, so that its next lines stand below its first.
 */
#ifndef PKTLEDGER_REPORT_PAGE_H
#define PKTLEDGER_REPORT_PAGE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"

#define PAGE_WIDTH 80
#define PAGE_LEAST 50	/* columns, on a terminal that has fewer */
#define PAGE_BLANK '\v' /* printed as a blank */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD, STYLE_WARN };

struct page_column {
	const char *name;
	unsigned width;
	bool number; /* aligned to the right */
};

struct page {
	FILE *out;
	bool colour;
	unsigned width;	      /* columns of the page: those of the terminal, else PAGE_WIDTH */
	unsigned count_width; /* of the widest count */
	unsigned column;      /* printed so far on this line */
	unsigned indent;      /* of the lines that follow */
	unsigned detail;      /* column of what is behind a count; 0: behind its share */
	const struct page_column *table;
	unsigned cell, edge; /* of the table: which is next, and the column where it begins */
};

/* `most`: the largest count that will be printed. */
struct page page_open(FILE *out, bool colour, uint64_t most);

/* A blank line and a title; `note` follows it as it is. */
void page_heading(struct page *p, const char *title, const char *note);

/* Words, wrapped where there are blanks, but not at a PAGE_BLANK. */
void page_words(struct page *p, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * As page_words(), with members of `o` in their places: "{host}" as it is, "{sent#}" as
 * page_number() has it, in one word, "{sent#packet}" with what it counts, by fmt_many() (a list:
 * its length), "{gro|on|off}" one of two texts, "{qdisc:none}" what is said if it is not there; a
 * member of a member is "{hosts.tx}". A text that begins with "{?waits}" is left out if that member
 * is not there, or is 0, false or empty; with "{<left}" unless it is below 0. The text is not of a
 * document.
 */
void page_fill(struct page *p, enum style style, const struct json_object *o, const char *text);

/* The same as all of a line, behind page_text(), up to page_end(); no line if it is left out. */
void page_fill_line(struct page *p, unsigned indent, enum style of_label, const char *label,
		    enum style style, const struct json_object *o, const char *text);

/* In the unit that its key ends with, "_ns" or "_pps", or a count; as fmt_buffer() keeps it. */
char *page_number(const char *key, struct json_object *value);

/* Makes one word of `s`: blanks become PAGE_BLANK. Returns `s`. */
char *page_glue(char *s);

/* Returns "0.29 %" for a fraction: never 0 % of something, never 100 % of less than all. */
char *page_percent(double fraction);

/* Returns page_percent() of part / whole; "" if `whole` is 0, or less than `part`. */
char *page_share(uint64_t part, uint64_t whole);

/* Starts a line of the table; the detail follows with page_words(), and page_end() ends it. With
 * `whole` 0 there is no share. */
void page_row(struct page *p, enum style style, unsigned indent, const char *label, uint64_t count,
	      uint64_t whole);

/* The detail of a line stands at `column`, or below `indent` where the page is narrow. */
void page_detail(struct page *p, unsigned indent, unsigned column);

/* Members of an object as rows: what they are called, and what is said behind them. */
struct page_fact {
	const char *label, *key;
	enum style style; /* of the label; STYLE_BAD and STYLE_WARN: unless the count is 0 */
	enum style of_text;
	const char *text; /* page_fill() of the same object; NULL: nothing */
	bool shared;	  /* with its share of `whole` */
	bool omitted;	  /* if it is 0 */
	unsigned indent;
};

void page_facts(struct page *p, const struct json_object *o, uint64_t whole,
		const struct page_fact *facts, unsigned n);

/* Counts that are not 0, with what they are: "3 duplicated, 12 reordered". */
struct page_count {
	const char *key, *name; /* "one|many": for fmt_many() */
};

/* Those members of `o`, as a line that begins with `label`; NULL: in the line that there is. */
void page_counts(struct page *p, const char *label, enum style style, const struct json_object *o,
		 const struct page_count *count, unsigned n);

/* What follows in this row begins a line. */
void page_break(struct page *p);

/* Starts a line of text; its next lines are indented by `indent` plus the width of `label`. */
void page_text(struct page *p, unsigned indent, enum style style, const char *label);

/* All of a line: page_text(), page_words(), page_end(). */
void page_line(struct page *p, unsigned indent, enum style of_label, const char *label,
	       enum style style, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* As it is, without wrapping. Unprintable characters become '?', as everywhere. */
void page_verbatim(struct page *p, const char *s);

/* A command line, to be pasted: a shell reads it as one line where it is broken, by a backslash. */
void page_command(struct page *p, const char *s);

void page_end(struct page *p); /* of the line; a blank line */

/*
 * A table: its columns, up to one whose name is NULL, are borrowed, and their names printed. Text
 * begins at p->indent in the first cell of a row. Columns that the page has no room for stand
 * below.
 */
void page_table(struct page *p, const struct page_column *columns);
void page_cell(struct page *p, enum style style, const char *text); /* the next of a row */
void page_name(struct page *p, const char *stage); /* "" or the name of a stage, in this cell */

/*
 * A finding as documents have it: what it means, what was measured, what to change. `label` is its
 * first word; NULL: its stage, or its id, and its host.
 */
void page_finding(struct page *p, const char *label, const struct json_object *finding);

#endif
