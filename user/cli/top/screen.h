/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The terminal, by ncurses. One at a time. */
#ifndef PKTLEDGER_CLI_TOP_SCREEN_H
#define PKTLEDGER_CLI_TOP_SCREEN_H

#include "base/err.h"
#include "cli/top/canvas.h"

/* Takes the terminal; STATUS_UNABLE if stdin or stdout is none, or ncurses does not know it. */
int screen_open(struct error *err);

/* Gives it back as it was. May be called more than once. */
void screen_close(void);

/* Makes the canvas as large as the terminal is now. -ENOMEM. */
int screen_fit(struct canvas *c);

void screen_show(const struct canvas *c);

/* What was typed: a character or an enum view_key; 0: nothing, or only the size has changed. */
int screen_key(void);

#endif
