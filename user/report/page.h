/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only writer of text output: headings, lines, rows, tables and findings, laid out in columns
 * for a terminal. A line starts with page_text(), page_row(), page_cell() or its first words, and
 * ends with page_end(). A row has a label, a count, a percentage, and a detail, which is wrapped at
 * the page width and aligned with its first line.
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
#define PAGE_LEAST 50	/* minimum width in columns, also on a narrower terminal */
#define PAGE_BLANK '\v' /* a blank without a line break, printed as ' ' */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD, STYLE_WARN };

struct page_column {
	const char *name;
	unsigned width;
	bool number; /* right-aligned */
};

struct page {
	FILE *out;
	bool colour;
	unsigned width;	      /* columns of the page: width of the terminal, else PAGE_WIDTH */
	unsigned count_width; /* columns of the widest count */
	unsigned column;      /* current column of this line */
	unsigned indent;      /* columns, indentation of continuation lines */
	unsigned detail;      /* column of the text after a count, 0: directly after the
				 percentage */
	const struct page_column *table;
	unsigned cell, edge; /* in the table: next cell, and the column where it starts */
};

/* Returns a page. `most`: the largest count that will be printed. */
struct page page_open(FILE *out, bool colour, uint64_t most);

/* Prints a blank line and a title, followed by `note` unchanged. */
void page_heading(struct page *p, const char *title, const char *note);

/* Prints words, wrapped at blanks, but not at a PAGE_BLANK. */
void page_words(struct page *p, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Prints `text` like page_words(), with members of `o` inserted: "{host}" the member as it is,
 * "{sent#}" formatted by page_number(), as one word, "{sent#packet}" with the noun, formatted by
 * fmt_many() (a list: its length), "{gro|on|off}" one of two texts, "{qdisc:none}" the text for a
 * missing member, "{hosts.tx}" a member of a member. A text that starts with "{?waits}" is skipped
 * if that member is missing, 0, false or empty. A text that starts with "{<left}" is skipped unless
 * that member is negative. `text` must not come from a document.
 */
void page_fill(struct page *p, enum style style, const struct json_object *o, const char *text);

/* Prints a complete line, from page_text() to page_end(), with the text of page_fill(). Prints no
 * line if the text is skipped. */
void page_fill_line(struct page *p, unsigned indent, enum style of_label, const char *label,
		    enum style style, const struct json_object *o, const char *text);

/* Formats a number in the unit of the key's suffix, "_ns" or "_pps", or as a count. The result is
 * valid as long as a fmt_buffer(). */
char *page_number(const char *key, struct json_object *value);

/* Joins `s` to one word by replacing blanks with PAGE_BLANK. Returns `s`. */
char *page_glue(char *s);

/* Returns "0.29 %" for a fraction: never 0 % of something, never 100 % of less than all. */
char *page_percent(double fraction);

/* Returns page_percent() of part / whole; "" if `whole` is 0, or less than `part`. */
char *page_share(uint64_t part, uint64_t whole);

/* Starts a line of the table. page_words() adds the detail, page_end() ends the line. No percentage
 * if `whole` is 0. */
void page_row(struct page *p, enum style style, unsigned indent, const char *label, uint64_t count,
	      uint64_t whole);

/* Moves to the detail of a line: at `column`, or on the next line at `indent` if the page is
 * narrow. */
void page_detail(struct page *p, unsigned indent, unsigned column);

/* Members of an object as rows: their labels, and the text after each count. */
struct page_fact {
	const char *label, *key;
	enum style style; /* style of the label, STYLE_BAD and STYLE_WARN only if the count is not
			     0 */
	enum style of_text;
	const char *text; /* text for page_fill() with the same object, NULL: no text */
	bool shared;	  /* show the percentage of `whole` */
	bool omitted;	  /* omit the row if it is 0 */
	unsigned indent;
};

void page_facts(struct page *p, const struct json_object *o, uint64_t whole,
		const struct page_fact *facts, unsigned n);

/* Prints a complete row: page_row(), the text after the count, page_end(). */
void page_entry(struct page *p, enum style style, unsigned indent, const char *label,
		uint64_t count, uint64_t whole, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

/* Format as one word for page_words(): "1.24 ms", "812.3 kpps", "2 packets" (fmt_many()). */
char *page_ns(uint64_t ns);
char *page_pps(double pps);
char *page_many(uint64_t n, const char *of);

/* Prints counts other than 0 with their nouns, as a line that starts with `label`, or (NULL) at the
 * end of the current line. */
struct page_sum {
	uint64_t n;
	const char *name; /* "one|many" for fmt_many() */
};

void page_sums(struct page *p, const char *label, enum style style, const struct page_sum *sums,
	       unsigned n);

/* Counts other than 0 with their nouns: "3 duplicated, 12 reordered". */
struct page_count {
	const char *key, *name; /* name: "one|many" for fmt_many() */
};

/* Prints these members of `o` as a line that starts with `label`. NULL: appends to the current
 * line. */
void page_counts(struct page *p, const char *label, enum style style, const struct json_object *o,
		 const struct page_count *count, unsigned n);

/* Continues the row on a new line. */
void page_break(struct page *p);

/* Starts a line of text. Continuation lines are indented by `indent` plus the width of `label`. */
void page_text(struct page *p, unsigned indent, enum style style, const char *label);

/* Prints a complete line: page_text(), page_words(), page_end(). */
void page_line(struct page *p, unsigned indent, enum style of_label, const char *label,
	       enum style style, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Prints text without wrapping. Unprintable characters become '?', as everywhere. */
void page_verbatim(struct page *p, const char *s);

/* Prints a command line for pasting. Line breaks are escaped with a backslash, so the shell reads
 * one line. */
void page_command(struct page *p, const char *s);

void page_end(struct page *p); /* ends the line, or prints a blank line */

/*
 * Starts a table and prints the names of its columns. The columns are borrowed and end with a NULL
 * name. Text starts at p->indent in the first cell of a row. Columns that do not fit the page are
 * printed below.
 */
void page_table(struct page *p, const struct page_column *columns);
void page_cell(struct page *p, enum style style, const char *text); /* prints the next cell of a
								       row */
void page_name(struct page *p, const char *stage); /* prints the name of a stage, or "", in this
						      cell */

/*
 * Prints a finding of a document: its meaning, the evidence, and the fix. `label` is its first
 * word, NULL: its stage or ID, and its host.
 */
void page_finding(struct page *p, const char *label, const struct json_object *finding);

#endif
