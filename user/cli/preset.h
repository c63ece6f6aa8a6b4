/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Experiments that people repeat, as text files: what they are about, and the command lines.
 *
 *	Title, a line
 *
 *	Prose, in paragraphs.
 *
 *	    run --rate 40k -t 2h    # what the row is called
 *
 * A line behind four blanks or a tab is one of `run`, and the remark behind it is the title of its
 * row. Words are divided by blanks, there are no quotes.
 */
#ifndef PKTLEDGER_CLI_PRESET_H
#define PKTLEDGER_CLI_PRESET_H

#include <stdio.h>

#include "cli/points.h"

struct preset;

/* From a text, which is copied. -EINVAL with STATUS_FAILED names the line that is wrong. */
int preset_parse(struct preset **p, const char *name, const char *text, struct error *err);

/*
 * By its name, from the directory that `make install` filled or, from a build directory, from the
 * sources; or a file, if there is a slash in it. STATUS_USAGE if there is none, the nearest is
 * suggested.
 */
int preset_open(struct preset **p, const char *name, struct error *err);
void preset_free(struct preset *p);

const char *preset_title(const struct preset *p);

/* Its prose as it stands in the file, up to the first command line. */
const char *preset_prose(const struct preset *p);

/* A point each line, with the caller's own words behind the line's. Borrows from both. */
int preset_points(const struct preset *p, int argc, char **argv, struct points *points,
		  struct error *err);

/* Names and titles of all, sorted. */
int preset_list(FILE *out, struct error *err);

#endif
