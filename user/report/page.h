/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes all text output: headings, lines, rows, tables and findings, laid out in columns for a
 * terminal. A line starts with page_text(), page_row(), page_cell() or its first words, and ends
 * with page_end(). A row has a label, a count, a percentage, and a detail that is wrapped at the
 * page width and aligned with its first line.
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
#define PAGE_LEAST 50	/* minimum width in columns, even on a narrower terminal */
#define PAGE_BLANK '\v' /* non-breaking blank, printed as ' ' */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD, STYLE_WARN };

struct page_column {
	const char *name;
	unsigned width;
	bool number; /* right-aligned */
};

struct page {
	FILE *out;
	bool colour;
	unsigned width;	      /* page width: the terminal width or PAGE_WIDTH */
	unsigned count_width; /* width of the widest count, in columns */
	unsigned column;      /* current column on this line */
	unsigned blanks;      /* blanks before this column that are not printed yet */
	unsigned indent;      /* columns by which continuation lines are indented */
	const struct page_column *table;
	unsigned cell, edge; /* in a table: next cell, and the column where it starts */
};

/* Returns a page. `most` is the largest count that will be printed. */
struct page page_open(FILE *out, bool colour, uint64_t most);

/* Prints a blank line and a title, followed by `note` as it is. */
void page_heading(struct page *p, const char *title, const char *note);

/* Prints words, wrapping at blanks but not at PAGE_BLANK. */
void page_words(struct page *p, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Prints `text` like page_words(), filled with members of `o` by json_fill(). A missing member is
 * "". `text` must not come from a document.
 */
void page_fill(struct page *p, enum style style, const struct json_object *o, const char *text);

/*
 * Prints a complete line, from page_text() to page_end(), with the text from page_fill(). Prints
 * nothing if that text is skipped.
 */
void page_fill_line(struct page *p, unsigned indent, enum style of_label, const char *label,
		    enum style style, const struct json_object *o, const char *text);

/* Turns `s` into one word by replacing blanks with PAGE_BLANK. Returns `s`. */
char *page_glue(char *s);

/*
 * Formats a fraction as "0.29 %". Never shows 0 % for a nonzero fraction, or 100 % for less than
 * all.
 */
char *page_percent(double fraction);

/* Returns page_percent() of part / whole, or "" if `whole` is 0 or less than `part`. */
char *page_share(uint64_t part, uint64_t whole);

/*
 * Starts a table line. page_words() adds the detail, and page_end() ends the line. Prints no
 * percentage if `whole` is 0.
 */
void page_row(struct page *p, enum style style, unsigned indent, const char *label, uint64_t count,
	      uint64_t whole);

/* Moves to a line's detail: at `column`, or on the next line at `indent` if the page is narrow. */
void page_detail(struct page *p, unsigned indent, unsigned column);

/* Prints a complete row: page_row(), the text after the count, page_end(). */
void page_entry(struct page *p, enum style style, unsigned indent, const char *label,
		uint64_t count, uint64_t whole, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

/*
 * Format a value as one word for page_words(): "1.24 ms", "812.3 kpps", "2 packets" (fmt_many()).
 */
char *page_ns(uint64_t ns);
char *page_pps(double pps);
char *page_many(uint64_t n, const char *of);

/*
 * Prints the nonzero counts with their nouns, on a line that starts with `label`. NULL: appends to
 * the current line.
 */
struct page_sum {
	uint64_t n;
	const char *name; /* "one|many" for fmt_many() */
};

void page_sums(struct page *p, const char *label, enum style style, const struct page_sum *sums,
	       unsigned n);

/* Continues the row on a new line. */
void page_break(struct page *p);

/* Starts a line of text. Continuation lines are indented by `indent` plus the label's width. */
void page_text(struct page *p, unsigned indent, enum style style, const char *label);

/* Prints a complete line: page_text(), page_words(), page_end(). */
void page_line(struct page *p, unsigned indent, enum style of_label, const char *label,
	       enum style style, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Prints text without wrapping. Unprintable characters become '?', as in all page output. */
void page_verbatim(struct page *p, const char *s);

/*
 * Prints a command line for pasting. Line breaks are escaped with a backslash, so the shell reads
 * it as one line.
 */
void page_command(struct page *p, const char *s);

void page_end(struct page *p); /* ends the line, or prints a blank line */

/*
 * Starts a table and prints its column headings. The columns are borrowed, and the array ends with
 * a NULL name. Text starts at p->indent in a row's first cell. Columns that do not fit on the page
 * are printed below.
 */
void page_table(struct page *p, const struct page_column *columns);
void page_cell(struct page *p, enum style style, const char *text); /* prints the row's next cell */
void page_name(struct page *p, const char *stage); /* prints a stage name, or "", in this cell */

/*
 * Prints a finding from a document: its meaning, the evidence, and the fix. `label` is the first
 * word (NULL: the stage or ID, and the host).
 */
void page_finding(struct page *p, const char *label, const struct json_object *finding);

#endif
