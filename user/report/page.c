// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/page.h"

#include <stdarg.h>
#include <string.h>

#include "base/num.h"
#include "base/json.h"

#define LABEL_WIDTH 15
#define SHARE_WIDTH 9

struct page page_open(FILE *out, bool colour, uint64_t most)
{
	struct page p = {.out = out, .colour = colour, .width = PAGE_WIDTH};
	char buf[FMT_MAX];

	p.count_width = (unsigned)strlen(fmt_count(buf, sizeof(buf), most));
	return p;
}

static void start_style(const struct page *p, enum style style)
{
	static const char *const codes[] = {
		[STYLE_BOLD] = "1",   [STYLE_DIM] = "2",   [STYLE_GOOD] = "1;32",
		[STYLE_BAD] = "1;31", [STYLE_WARN] = "33",
	};

	if (p->colour && style != STYLE_PLAIN)
		fprintf(p->out, "\033[%sm", codes[style]);
}

static void end_style(const struct page *p, enum style style)
{
	if (p->colour && style != STYLE_PLAIN)
		fputs("\033[0m", p->out);
}

/* Names of devices may contain anything, also what a terminal obeys. */
static void put(struct page *p, const char *s, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		length = utf8_shown(s + i);
		if (length)
			fwrite(s + i, 1, length, p->out);
		else
			fputc(s[i] == PAGE_BLANK ? ' ' : '?', p->out);
		length = length ? length : 1;
		p->column++;
	}
}

static void pad_to(struct page *p, unsigned column)
{
	for (; p->column < column; p->column++)
		fputc(' ', p->out);
}

/* Right-aligned; what is too wide stands behind one blank. */
static void put_upto(struct page *p, unsigned column, const char *text)
{
	unsigned width = (unsigned)strlen(text), first = p->column ? p->column + 1 : 0;

	pad_to(p, column > first + width ? column - width : first);
	put(p, text, width);
}

void page_end(struct page *p)
{
	fputc('\n', p->out);
	p->column = 0;
}

void page_break(struct page *p)
{
	if (p->column > p->indent)
		page_end(p);
}

char *page_glue(char *s)
{
	for (char *blank = s; (blank = strchr(blank, ' '));)
		*blank = PAGE_BLANK;
	return s;
}

void page_words(struct page *p, enum style style, const char *fmt, ...)
{
	char text[1024];
	const char *s = text;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!text[strspn(text, " ")])
		return;
	if (p->column < p->indent)
		pad_to(p, p->indent);
	start_style(p, style);
	while (*(s += strspn(s, " "))) {
		size_t n = strcspn(s, " ");

		if (n > p->width - p->indent)
			n = p->width - p->indent;
		while (n > 1 && (s[n] & 0xc0) == 0x80) /* not within a character */
			n--;
		if (p->column > p->indent && p->column + 1 + n > p->width) {
			end_style(p, style);
			page_end(p);
			pad_to(p, p->indent);
			start_style(p, style);
		} else if (p->column > p->indent) {
			pad_to(p, p->column + 1);
		}
		put(p, s, n);
		s += n;
	}
	end_style(p, style);
}

/* Never 0 % of something, never 100 % of less than all. */
static void put_share(struct page *p, uint64_t count, uint64_t whole)
{
	double share = 100.0 * (double)count / (double)whole;
	char text[32];

	if (count && share < 0.01)
		snprintf(text, sizeof(text), "<0.01 %%");
	else if (count < whole && share > 99.99)
		snprintf(text, sizeof(text), ">99.99 %%");
	else
		snprintf(text, sizeof(text), "%.2f %%", share);
	put_upto(p, p->column + SHARE_WIDTH, text);
}

void page_row(struct page *p, enum style style, unsigned indent, const char *label, uint64_t count,
	      uint64_t whole)
{
	unsigned counts = LABEL_WIDTH + 1;
	char number[FMT_MAX];

	pad_to(p, indent);
	start_style(p, style);
	put(p, label, strlen(label));
	end_style(p, style);
	fmt_count(number, sizeof(number), count);
	start_style(p, style);
	put_upto(p, counts + p->count_width, number);
	end_style(p, style);
	if (whole)
		put_share(p, count, whole);
	p->indent = counts + p->count_width + SHARE_WIDTH + 2;
}

void page_text(struct page *p, unsigned indent, enum style style, const char *label)
{
	pad_to(p, indent);
	start_style(p, style);
	put(p, label, strlen(label));
	end_style(p, style);
	p->indent = p->column;
}

void page_verbatim(struct page *p, const char *s)
{
	pad_to(p, p->indent);
	put(p, s, strlen(s));
}
