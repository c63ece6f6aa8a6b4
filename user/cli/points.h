/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trials that are known beforehand: the points of a sweep, the lines of a preset. A point is a
 * command line, so that every option works in it and is checked as ever.
 */
#ifndef PKTLEDGER_CLI_POINTS_H
#define PKTLEDGER_CLI_POINTS_H

#include "base/err.h"
#include "base/opt.h"

#define POINTS_COLUMNS 8
#define POINTS_MAX     10000

struct point {
	const char *text[POINTS_COLUMNS]; /* what tells it from the others: a value each column */
	char **argv;			  /* ends with NULL */
	int argc;
};

struct points {
	unsigned n, columns;
	const char *column[POINTS_COLUMNS]; /* their titles */
	struct point *at;
	void *owned; /* texts that points borrow; NULL: they are others' */
};

/*
 * Every combination of the values, the last option varying fastest: `argv` with the words of the
 * values behind it. `vary` and `argv` are borrowed by the points. STATUS_USAGE: more than
 * POINTS_MAX of them.
 */
int points_product(const struct opt_vary *const *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err);

void points_free(struct points *points);

#endif
