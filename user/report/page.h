/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text in columns: label, count, share, and a detail that is wrapped at the page's width, so that
 * its next lines stand below its first.
 */
#ifndef PKTLEDGER_REPORT_PAGE_H
#define PKTLEDGER_REPORT_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PAGE_WIDTH 80
#define PAGE_BLANK '\v' /* printed as a blank */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD, STYLE_WARN };

struct page {
	FILE *out;
	bool colour;
	unsigned width;	      /* columns of the page; PAGE_WIDTH unless changed */
	unsigned count_width; /* of the widest count */
	unsigned column;      /* printed so far on this line */
	unsigned indent;      /* of the lines that follow */
};

/* `most`: the largest count that will be printed. */
struct page page_open(FILE *out, bool colour, uint64_t most);

/* Words, wrapped where there are blanks, but not at a PAGE_BLANK. */
void page_words(struct page *p, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Makes one word of `s`: blanks become PAGE_BLANK. Returns `s`. */
char *page_glue(char *s);

/* Starts a line of the table; the detail follows with page_words(). `whole` 0: no share. */
void page_row(struct page *p, enum style style, unsigned indent, const char *label, uint64_t count,
	      uint64_t whole);

/* What follows in this row begins a line. */
void page_break(struct page *p);

/* Starts a line of text; its next lines are indented by `indent` plus the width of `label`. */
void page_text(struct page *p, unsigned indent, enum style style, const char *label);

/* As it is, without wrapping. Unprintable characters become '?', as everywhere. */
void page_verbatim(struct page *p, const char *s);

void page_end(struct page *p); /* of the line */

#endif
