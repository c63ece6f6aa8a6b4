// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/top/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/top/view.h"

static SCREEN *terminal;

/* A pair of colours for each style; 0: as the terminal is. */
static const short colours[] = {
	[STYLE_GOOD] = COLOR_GREEN,
	[STYLE_BAD] = COLOR_RED,
	[STYLE_WARN] = COLOR_YELLOW,
};

#define N_COLOURS (sizeof(colours) / sizeof(*colours))

static attr_t attributes(unsigned style, short *pair)
{
	unsigned plain = style & ~(unsigned)CANVAS_REVERSED;
	attr_t attr = style & CANVAS_REVERSED ? A_REVERSE : A_NORMAL;

	*pair = has_colors() && plain < N_COLOURS && colours[plain] ? (short)plain : 0;
	if (plain == STYLE_BOLD)
		attr |= A_BOLD;
	else if (plain == STYLE_DIM)
		attr |= A_DIM;
	return attr;
}

int screen_open(struct error *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(err, STATUS_UNABLE, -ENOTTY, "use trace, which prints lines",
				 "top needs a terminal");
	setlocale(LC_CTYPE, "");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return error_set(err, STATUS_UNABLE, -ENOTTY, "set TERM, or use trace",
				 "this terminal (TERM=%s) is not known",
				 getenv("TERM") ? getenv("TERM") : "");
	cbreak();
	noecho();
	curs_set(0);
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	if (has_colors() && log_colour(STDOUT_FILENO)) {
		start_color();
		use_default_colors();
		for (unsigned i = 0; i < N_COLOURS; i++) {
			if (colours[i])
				init_pair((short)i, colours[i], -1);
		}
	}
	return 0;
}

void screen_close(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

int screen_fit(struct canvas *c)
{
	int rows, cols;

	getmaxyx(stdscr, rows, cols);
	c->ascii = strcmp(nl_langinfo(CODESET), "UTF-8");
	return canvas_resize(c, cols > 0 ? (unsigned)cols : 0, rows > 0 ? (unsigned)rows : 0);
}

void screen_show(const struct canvas *c)
{
	for (unsigned y = 0; y < c->rows; y++) {
		for (unsigned x = 0; x < c->cols; x++) {
			const struct cell *cell = &c->cells[(size_t)y * c->cols + x];
			const wchar_t text[2] = {cell->at, 0};
			cchar_t out;
			short pair;
			attr_t attr = attributes(cell->style, &pair);

			setcchar(&out, text, attr, pair, NULL);
			mvadd_wch((int)y, (int)x, &out);
		}
	}
	refresh();
}

int screen_key(void)
{
	int key = getch();

	switch (key) {
	case KEY_UP:
		return VIEW_UP;
	case KEY_DOWN:
		return VIEW_DOWN;
	case KEY_PPAGE:
		return VIEW_PAGE_UP;
	case KEY_NPAGE:
		return VIEW_PAGE_DOWN;
	default:
		return key > 0 && key < 0x80 ? key : 0;
	}
}
