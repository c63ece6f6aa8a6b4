// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/top/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int canvas_resize(struct canvas *c, unsigned cols, unsigned rows)
{
	struct cell *cells = reallocarray(c->cells, (size_t)cols * rows + 1, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	c->cells = cells;
	c->cols = cols;
	c->rows = rows;
	canvas_clear(c);
	return 0;
}

void canvas_clear(struct canvas *c)
{
	for (size_t i = 0; i < (size_t)c->cols * c->rows; i++)
		c->cells[i] = (struct cell){L' ', STYLE_PLAIN};
}

void canvas_free(struct canvas *c)
{
	free(c->cells);
	c->cells = NULL;
}

void canvas_put(struct canvas *c, unsigned x, unsigned y, unsigned style, wchar_t ch)
{
	if (x < c->cols && y < c->rows)
		c->cells[(size_t)y * c->cols + x] = (struct cell){ch, (uint8_t)style};
}

/* One character; wide and combining ones would disturb the columns, so they are '?' too. */
static wchar_t next_char(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	unsigned more = *p < 0x80 ? 0 : *p >> 5 == 6 ? 1 : *p >> 4 == 14 ? 2 : 0;
	wchar_t ch = !more ? *p : *p & (more == 1 ? 0x1f : 0x0f);

	++*text;
	if (*p >= 0x80 && !more)
		return L'?';
	while (more--) {
		if ((**text & 0xc0) != 0x80)
			return L'?';
		ch = ch << 6 | (*(*text)++ & 0x3f);
	}
	if (ch < 0x20 || ch == 0x7f || (ch >= 0x80 && ch < 0xa0) || ch >= 0x3000)
		return L'?';
	return ch;
}

unsigned canvas_text(struct canvas *c, unsigned x, unsigned y, unsigned style, const char *text)
{
	while (*text && x < c->cols)
		canvas_put(c, x++, y, style, next_char(&text));
	return x;
}

unsigned canvas_printf(struct canvas *c, unsigned x, unsigned y, unsigned style, const char *fmt,
		       ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return canvas_text(c, x, y, style, text);
}

void canvas_right(struct canvas *c, unsigned end, unsigned y, unsigned style, const char *text)
{
	size_t len = strlen(text);

	canvas_text(c, len < end ? end - (unsigned)len : 0, y, style, text);
}

void canvas_style(struct canvas *c, unsigned y, unsigned style)
{
	for (unsigned x = 0; y < c->rows && x < c->cols; x++)
		c->cells[(size_t)y * c->cols + x].style = (uint8_t)style;
}

static unsigned encode(wchar_t ch, char out[3])
{
	if (ch < 0x80) {
		out[0] = (char)ch;
		return 1;
	}
	if (ch < 0x800) {
		out[0] = (char)(0xc0 | ch >> 6);
		out[1] = (char)(0x80 | (ch & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | ch >> 12);
	out[1] = (char)(0x80 | (ch >> 6 & 0x3f));
	out[2] = (char)(0x80 | (ch & 0x3f));
	return 3;
}

char *canvas_line(const struct canvas *c, unsigned y, char *buf, unsigned size)
{
	const struct cell *cells = &c->cells[(size_t)y * c->cols];
	unsigned end = c->cols, at = 0;

	while (end && cells[end - 1].at == L' ')
		end--;
	for (unsigned x = 0; x < end && at + 4 < size; x++)
		at += encode(cells[x].at, buf + at);
	buf[at] = '\0';
	return buf;
}
