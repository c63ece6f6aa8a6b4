/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trials that are known beforehand: the points of a sweep, the lines of a preset. A point is a
 * command line, so that every option works in it and is checked as ever.
 */
#ifndef PKTLEDGER_CLI_SERIES_H
#define PKTLEDGER_CLI_SERIES_H

#include "base/err.h"
#include "base/opt.h"
#include "cli/report.h"

#define POINTS_COLUMNS 8
#define POINTS_MAX     10000

struct point {
	const char
		*text[POINTS_COLUMNS]; /* what it differs in from the others: a value each column */
	char **argv;		       /* ends with NULL */
	int argc;
};

struct points {
	unsigned n, columns;
	const char *column[POINTS_COLUMNS]; /* their titles */
	struct point *at;
	const char *title; /* of a preset; else NULL */
	char *about;	   /* its prose as it stands in the file, up to the first command line */
	char *words;	   /* that its points are made of */
};

/*
 * Every combination of the values, the last option varying fastest: `argv` with the words of the
 * values behind it. `vary` and `argv` are borrowed by the points. STATUS_USAGE: more than
 * POINTS_MAX of them.
 */
int points_product(const struct opt_vary *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err);

void points_free(struct points *points);

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

/*
 * A point each line, with the caller's own words behind the line's, which are borrowed. -EINVAL
 * with STATUS_FAILED names the line that is wrong.
 */
int preset_parse(struct points *points, const char *name, const char *text, int argc, char **argv,
		 struct error *err);

/*
 * By its name, from the directory that `make install` filled or, from a build directory, from the
 * sources; or a file, if there is a slash in it. STATUS_USAGE if there is none, the nearest is
 * suggested.
 */
int preset_open(struct points *points, const char *name, int argc, char **argv, struct error *err);

/*
 * Runs points one behind the other and shows what became of each: a row of a table or of CSV, a
 * trial of a JSON document. One that fails loses nothing of those before it, nor those behind it.
 */

struct series {
	/* Reads a point's words; its struct begins with struct run_options. */
	const struct command *cmd;
	const struct points *points;
	/* Looks at a point that was parsed; NULL: nothing to be seen. */
	int (*check)(const void *arg, const struct point *point, const void *options,
		     struct error *err);
	const void *arg;
	bool csv;
};

#define SERIES_SCHEMA "pktledger/sweep/1"

/*
 * All points are parsed and planned before the first is run. `report` was opened with
 * SERIES_SCHEMA; `o`: options of all, as far as output is concerned, and how often each point is
 * measured. If a trial failed, `err` says how many did.
 */
void series_run(const struct series *s, struct report *report, const struct run_options *o,
		struct error *err);

/*
 * Runs the preset that the options name, or lists all for the name `help`. The words of the command
 * line stand behind those of each line, so they win. Returns the exit status.
 */
int preset_run(const struct run_options *o, struct error *err);

#endif
