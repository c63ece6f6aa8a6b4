/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs points one behind the other and shows what became of each: a row of a table or of CSV, a
 * trial of a JSON document. One that fails loses nothing of those before it, nor those behind it.
 */
#ifndef PKTLEDGER_CLI_SERIES_H
#define PKTLEDGER_CLI_SERIES_H

#include "cli/points.h"
#include "cli/report.h"

struct series {
	/* Reads a point's words; its struct begins with struct run_options. */
	const struct command *cmd;
	const struct points *points;
	/* Looks at a point that was parsed; NULL: nothing to be seen. */
	int (*check)(const void *arg, const struct point *point, const void *options,
		     struct error *err);
	const void *arg;
	bool csv;
	const char *title, *about; /* of a preset, printed above the table; NULL: none */
};

#define SERIES_SCHEMA "pktledger/sweep/1"

/*
 * All points are parsed and planned before the first is run. `report` was opened with
 * SERIES_SCHEMA; `o`: options of all, as far as output is concerned, and how often each point is
 * measured. If a trial failed, `err` says how many did.
 */
void series_run(const struct series *s, struct report *report, const struct run_options *o,
		struct error *err);

#endif
