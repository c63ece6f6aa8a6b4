// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/page.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"

#define NARROW 64 /* columns (narrower pages print details below the count) */

#define TEXT_LEAST 8 /* columns (text with less room begins on the next line) */
#define FOLD 4 /* columns by which table cells are indented when moved below the row */

/* Columns for page_row(): label, count, percentage. */
static const struct page_column rows[] = {{"", 16, false}, {"", 0, true}, {"", 9, true}};

/* SGR codes */
static const char *const styles[] = {
	[STYLE_PLAIN] = "",	[STYLE_BOLD] = "1",   [STYLE_DIM] = "2",
	[STYLE_GOOD] = "1;32", [STYLE_BAD] = "1;31", [STYLE_WARN] = "33",
};

struct page page_open(FILE *out, bool colour, uint64_t most)
{
	struct page p = {.out = out, .colour = colour, .width = PAGE_WIDTH};
	struct winsize size;
	/* base/output.h replaces stdout with a queue, which has no descriptor */
	const int fd = out == stdout ? STDOUT_FILENO : fileno(out);

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		p.width = (unsigned)larger(size.ws_col, PAGE_LEAST);

	p.count_width = (unsigned)strlen(fmt_count(most));
	return p;
}

static void put_style(const struct page *p, enum style style, bool begin)
{
	if (p->colour && style != STYLE_PLAIN)
		fprintf(p->out, "\033[%sm", begin ? styles[style] : "0");
}

/*
 * Prints text. Interface names may contain anything, even terminal control characters. Blanks are
 * printed only when something follows them, so no line ends with blanks.
 */
static void put(struct page *p, const char *s, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		const bool blank = s[i] == ' ' || s[i] == PAGE_BLANK;

		length = blank ? 1 : utf8_shown(s + i);
		p->column++;
		p->blanks += blank;
		if (!blank) {
			for (; p->blanks; p->blanks--)
				fputc(' ', p->out);
			fwrite(length ? s + i : "?", 1, length ? length : 1, p->out);
		}
		length = length ? length : 1;
	}
}

static void pad_to(struct page *p, unsigned column)
{
	for (; p->column < column; p->column++)
		p->blanks++;
}

static void new_line(struct page *p)
{
	fputc('\n', p->out);
	p->column = p->blanks = 0;
}

void page_end(struct page *p)
{
	new_line(p);
	p->cell = p->edge = 0;
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

void page_heading(struct page *p, const char *title, const char *note)
{
	p->column = 0;
	page_end(p);
	page_text(p, 0, STYLE_BOLD, title);
	page_verbatim(p, note);
	page_end(p);
}

/* Prints words, wrapping at the page width. */
static void put_words(struct page *p, enum style style, const char *s)
{
	if (p->indent + TEXT_LEAST > p->width)
		p->indent = (unsigned)smaller(p->indent, FOLD);
	if (p->column < p->indent)
		pad_to(p, p->indent);
	else if (p->cell && !p->blanks &&
		 p->column == p->indent) /* after a cell that fills its column */
		pad_to(p, p->column + 1);
	put_style(p, style, true);
	while (*(s += strspn(s, " "))) {
		size_t n = smaller(strcspn(s, " "), p->width - p->indent);

		while (n > 1 && (s[n] & 0xc0) == 0x80) /* do not split a multibyte character */
			n--;
		if (p->column > p->indent && p->column + 1 + n > p->width) {
			put_style(p, style, false);
			page_end(p);
			pad_to(p, p->indent);
			put_style(p, style, true);
		} else if (p->column > p->indent) {
			pad_to(p, p->column + 1);
		}
		put(p, s, n);
		s += n;
	}
	put_style(p, style, false);
}

static void put_format(struct page *p, enum style style, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (!text[strspn(text, " ")])
		return;
	put_words(p, style, text);
}

void page_words(struct page *p, enum style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_format(p, style, fmt, ap);
	va_end(ap);
}

static bool fill(char *filled, size_t size, const struct json_object *o, const char *text)
{
	return json_fill(filled, size, text, o, PAGE_BLANK, false);
}

void page_fill(struct page *p, enum style style, const struct json_object *o, const char *text)
{
	char filled[2048];

	if (fill(filled, sizeof(filled), o, text))
		page_words(p, style, "%s", filled);
}

void page_fill_line(struct page *p, unsigned indent, enum style of_label, const char *label,
		    enum style style, const struct json_object *o, const char *text)
{
	char filled[2048];

	if (fill(filled, sizeof(filled), o, text))
		page_line(p, indent, of_label, label, style, "%s", filled);
}

void page_sums(struct page *p, const char *label, enum style style, const struct page_sum *sums,
	       unsigned n)
{
	while (n && !sums[n - 1].n)
		n--;
	if (n && label)
		page_text(p, 0, style, label);
	for (unsigned i = 0; i < n; i++) {
		const char *comma = i + 1 < n ? "," : "";

		if (sums[i].n && strchr(sums[i].name, '|'))
			page_words(p, style, "%s%s", page_many(sums[i].n, sums[i].name), comma);
		else if (sums[i].n)
			page_words(p, style, "%s\v%s%s", fmt_count(sums[i].n), sums[i].name, comma);
	}
	if (n && label)
		page_end(p);
}

char *page_ns(uint64_t ns)
{
	return page_glue(fmt_ns(ns));
}

char *page_pps(double pps)
{
	return page_glue(fmt_rate(pps));
}

char *page_many(uint64_t n, const char *of)
{
	return page_glue(fmt_many(n, of));
}

void page_entry(struct page *p, enum style style, unsigned indent, const char *label,
		uint64_t count, uint64_t whole, const char *fmt, ...)
{
	va_list ap;

	page_row(p, style, indent, label, count, whole);
	va_start(ap, fmt);
	put_format(p, STYLE_PLAIN, fmt, ap);
	va_end(ap);
	page_end(p);
}

void page_line(struct page *p, unsigned indent, enum style of_label, const char *label,
	       enum style style, const char *fmt, ...)
{
	va_list ap;

	page_text(p, indent, of_label, label);
	va_start(ap, fmt);
	put_format(p, style, fmt, ap);
	va_end(ap);
	page_end(p);
}

char *page_percent(double fraction)
{
	char *buf = fmt_buffer();

	if (fraction > 0 && fraction < 0.0001)
		snprintf(buf, FMT_MAX, "<0.01 %%");
	else if (fraction < 1 && fraction > 0.9999)
		snprintf(buf, FMT_MAX, ">99.99 %%");
	else
		snprintf(buf, FMT_MAX, "%.2f %%", 100 * fraction);
	return buf;
}

char *page_share(uint64_t part, uint64_t whole)
{
	char *buf = fmt_buffer();

	*buf = '\0';
	return whole && part <= whole ? page_percent((double)part / (double)whole) : buf;
}

void page_detail(struct page *p, unsigned indent, unsigned column)
{
	p->indent = p->width < NARROW ? indent + 4 : column;
}

void page_row(struct page *p, enum style style, unsigned indent, const char *label, uint64_t count,
	      uint64_t whole)
{
	p->table = rows;
	p->indent = indent;
	page_cell(p, style, label);
	page_cell(p, style, fmt_count(count));
	page_cell(p, STYLE_PLAIN, page_share(count, whole));
	page_detail(p, indent, rows[0].width + p->count_width + rows[2].width + 2);
}

void page_text(struct page *p, unsigned indent, enum style style, const char *label)
{
	pad_to(p, indent);
	put_style(p, style, true);
	put(p, label, strlen(label));
	put_style(p, style, false);
	p->indent = p->column;
}

void page_verbatim(struct page *p, const char *s)
{
	pad_to(p, p->indent);
	put(p, s, strlen(s));
}

/* Returns the length up to the next blank outside quotes. */
static size_t shell_word(const char *s)
{
	char quote = '\0';
	size_t n = 0;

	for (; s[n] && (quote || s[n] != ' '); n++) {
		if (s[n] == quote)
			quote = '\0';
		else if (!quote && (s[n] == '\'' || s[n] == '"'))
			quote = s[n];
		else if (quote != '\'' && s[n] == '\\' && s[n + 1])
			n++;
	}
	return n;
}

void page_command(struct page *p, const char *s)
{
	pad_to(p, p->indent);
	for (size_t n; *s; s += n) {
		size_t blanks = strspn(s, " ");

		n = blanks + shell_word(s + blanks);
		if (p->column > p->indent && p->column + n + (s[n] ? 2 : 0) > p->width) {
			put(p, " \\", 2);
			page_end(p);
			pad_to(p, p->indent + 2);
			s += blanks;
			n -= blanks;
		}
		put(p, s, n);
	}
}

void page_table(struct page *p, const struct page_column *columns)
{
	p->table = columns;
	for (unsigned i = 0; columns[i].name; i++)
		page_cell(p, STYLE_PLAIN, columns[i].name);
	p->column = 1;
	page_end(p);
}

void page_cell(struct page *p, enum style style, const char *text)
{
	const struct page_column *c = &p->table[p->cell++];
	unsigned length = (unsigned)strlen(text), width = c->width ? c->width : p->count_width;
	unsigned from, first;

	if (p->cell > 1 && p->edge + width > p->width) {
		new_line(p);
		p->edge = FOLD;
	}
	from = p->edge;
	first = p->column ? p->column + 1 : 0;
	p->edge += width;
	if (c->number && !length)
		return;
	if (!c->number)
		pad_to(p, from + (p->cell > 1 ? 0 : p->indent));
	put_style(p, style, true);
	if (c->number) /* an overlong cell is followed by a single blank */
		pad_to(p, p->edge > first + length ? p->edge - length : first);
	put(p, text, length);
	put_style(p, style, false);
	if (c->number && p->column > p->edge)
		p->edge = p->column;
}

void page_name(struct page *p, const char *stage)
{
	if (*stage) {
		put(p, " ", 1);
		put(p, stage, strlen(stage));
	}
}

/*
 * Prints the fraction of time a receiver ran, waited for a CPU, and slept:
 * "[####==..............]".
 */
static void put_bar(struct page *p, const struct json_object *facts)
{
	const unsigned run = (unsigned)json_get_u64(facts, "running_percent"),
		       wait = (unsigned)json_get_u64(facts, "waiting_percent");
	char bar[] = "[....................]";

	for (unsigned i = 0; i < 20; i++) {
		if (5 * i + 2 < run)
			bar[1 + i] = '#';
		else if (5 * i + 2 < run + wait)
			bar[1 + i] = '=';
	}
	page_words(p, STYLE_DIM, "%s", bar);
}

/* Prints a finding's evidence: loss, buffer, receiver, current setting. */
static void put_evidence(struct page *p, const struct json_object *facts)
{
	static const struct {
		const char *label, *key, *text; /* text: from page_fill(), with the fact `key` */
	} lines[] = {
		{"loss      ", "lost",
		 "{lost#packet}[, {lost_percent}\v% of {sent#} sent]{injected|, injected by "
		 "--fault}"
		 "[ in {window_ns#}][, {loss_pps#}][; {total#} since {since}][; {reason}]"
		 "[ in {location}][; {counter}]"},
		{"counter   ", "events",
		 "{counter} +{events#}[ in {window_ns#}][; {total#} since {since}]"},
		{"buffer    ", "rcvbuf_bytes",
		 "{rcvbuf_bytes} bytes[, holds {burst_packets#packet}]"
		 "[ ({truesize_bytes} bytes of memory each)][ ({burst_ns#} of traffic)]"
		 "[; net.core.rmem_max {rmem_max_bytes}]"},
		{"rates     ", "arrival_pps",
		 "{arrival_pps#} arriving[, {read_pps#} read][ (1 packet in {per_packet_ns#})]"},
		{"receiver  ", "reader", "{reader}"},
		{"activity  ", "watched_ns",
		 "{watched_ns#} with losses: running {running_percent:0} %, waiting for a CPU "
		 "{waiting_percent:0} %, sleeping {sleeping_percent:0} %[ ({sleeps})]"
		 "[; buffer full in {full_percent} % of its sleep]"},
		{"seen      ", "seen", "{seen}"},
		{"setting   ", "setting", "{setting}"},
		{"scope     ", "scope", "{scope}"},
	};

	for (unsigned i = 0; i < LENGTH(lines); i++) {
		if (!json_get(facts, lines[i].key))
			continue;
		page_text(p, 2, STYLE_DIM, lines[i].label);
		if (*lines[i].label == 'a')
			put_bar(p, facts);
		page_fill(p, STYLE_PLAIN, facts, lines[i].text);
		page_end(p);
	}
}

/* Returns a severity's colour. */
static enum style style_of(const char *severity)
{
	return !strcmp(severity, "error")     ? STYLE_BAD
	       : !strcmp(severity, "warning") ? STYLE_WARN
					      : STYLE_BOLD;
}

void page_finding(struct page *p, const char *label, const struct json_object *f)
{
	static const char *const fields[] = {"fix", "command", "undo", "risk", "applies"};
	const char *stage = json_get_text(f, "stage"), *host = json_get_text(f, "host");
	char name[128];

	snprintf(name, sizeof(name), "%s%s%s", *stage ? stage : json_get_text(f, "id"),
		 *host ? " on " : "", host);
	label = label ? label : name;
	page_end(p);
	page_text(p, 0, style_of(json_get_text(f, "severity")), label);
	page_text(p, p->column + 1, STYLE_PLAIN, "-");
	p->indent = 2;
	page_words(p, STYLE_PLAIN, "%s", json_get_text(f, "cause"));
	page_end(p);
	put_evidence(p, json_get(f, "facts"));
	for (unsigned i = 0; i < LENGTH(fields); i++) {
		const char *text = json_get_text(f, fields[i]);
		char name_of[16];

		if (!*text)
			continue;
		snprintf(name_of, sizeof(name_of), "%-10s", fields[i]);
		page_text(p, 2, STYLE_DIM, name_of);
		if (!strcmp(fields[i], "undo") || !strcmp(fields[i], "command"))
			page_command(p, text);
		else
			page_words(p, STYLE_PLAIN, "%s", text);
		page_end(p);
	}
}
