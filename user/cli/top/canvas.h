/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A grid of characters with styles: what is to be on the screen, drawn without a terminal. */
#ifndef PKTLEDGER_CLI_TOP_CANVAS_H
#define PKTLEDGER_CLI_TOP_CANVAS_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "report/page.h"

#define CANVAS_REVERSED 0x80 /* added to a style */

struct cell {
	wchar_t at;
	uint8_t style;
};

struct canvas {
	unsigned cols, rows;
	bool ascii; /* the terminal has no others: what draws lines chooses plain ones */
	struct cell *cells;
};

/* All blank. -ENOMEM. The size of a canvas that was initialised before may change. */
int canvas_resize(struct canvas *c, unsigned cols, unsigned rows);
void canvas_clear(struct canvas *c);
void canvas_free(struct canvas *c);

/*
 * Writes UTF-8 from column x on, as far as there is room; bytes that are no UTF-8, and what is not
 * printable, become '?'. Returns the column behind it.
 */
unsigned canvas_text(struct canvas *c, unsigned x, unsigned y, unsigned style, const char *text);
unsigned canvas_printf(struct canvas *c, unsigned x, unsigned y, unsigned style, const char *fmt,
		       ...) __attribute__((format(printf, 5, 6)));
/* The same, ending before column `end`. */
void canvas_right(struct canvas *c, unsigned end, unsigned y, unsigned style, const char *text);
void canvas_put(struct canvas *c, unsigned x, unsigned y, unsigned style, wchar_t ch);
/* The whole line, whatever stands there. */
void canvas_style(struct canvas *c, unsigned y, unsigned style);

/* A line as UTF-8 without blanks at its end. Returns `buf`. */
char *canvas_line(const struct canvas *c, unsigned y, char *buf, unsigned size);

#endif
