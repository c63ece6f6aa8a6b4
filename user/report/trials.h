/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several trials of one experiment: a row each, then median, lowest and highest. */
#ifndef PKTLEDGER_REPORT_TRIALS_H
#define PKTLEDGER_REPORT_TRIALS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "stages.h"

#define TRIALS_SPREAD 0.05 /* (highest - lowest) / median above which the spread is called out */

/* A measure is a member of the end of a run. */
enum trials_measure {
	TRIALS_TX_PPS,
	TRIALS_RX_PPS,
	TRIALS_DELIVERED,
	TRIALS_DROPPED,
	TRIALS_LOST,	 /* share of what was sent that was not delivered */
	TRIALS_TIME,	 /* ns, from the first to the last packet sent */
	TRIALS_PAYLOAD,	 /* bit/s of UDP payload that were received */
	TRIALS_WAITS,	 /* of the sender, for room in its buffer */
	TRIALS_TX_CALLS, /* system calls that hand over packets, */
	TRIALS_RX_CALLS, /* or take them */
	TRIALS_TX_CPU,	 /* CPU time of the threads, ns */
	TRIALS_RX_CPU,
	TRIALS_FRAGMENTS,   /* made */
	TRIALS_SEEN,	    /* of those, at the receiver */
	TRIALS_CUT,	    /* fragments that were dropped */
	TRIALS_REASSEMBLED, /* datagrams put together */
	TRIALS_MEASURES,
};

struct trials_summary {
	double median, min, max, spread;
};

struct trials {
	unsigned n, max, balanced;
	uint64_t stage[STAGE_COUNT]; /* packets of all trials */
	double *value;		     /* `max` of each measure */
};

/* To be freed; NULL: no memory. */
struct trials *trials_new(unsigned max);

/* `end` of a run, and the bytes of its payload (0: unknown). */
void trials_add(struct trials *t, const struct json_object *end, uint64_t payload_bytes);

/* Forgets them all. */
void trials_clear(struct trials *t);

/* Of one trial at least. */
struct trials_summary trials_summarise(const struct trials *t, enum trials_measure m);

/* Median, lowest, highest and spread of any values, one at least; they are sorted. */
struct trials_summary trials_summary_of(double *values, unsigned n);

/* Neither rate spreads so much that it has to be called out. */
bool trials_steady(const struct trials *t);

/* The stage that lost most in all trials, or in the one of this end; "": nothing was dropped. */
const char *trials_stage(const struct trials *t);
const char *trials_worst_stage(const struct json_object *end);

/* The trial added last, whose end this is, as a line of a table; a heading before the first. */
void trials_print_row(FILE *out, const struct trials *t, const struct json_object *end);
void trials_print_end(FILE *out, const struct trials *t);

/* A line of them; `single`: what is not to be compared if they spread too far. */
void trials_print_spread(FILE *out, const char *title, struct trials_summary s, const char *single);

struct json_object *trials_summary_json(struct trials_summary s);
struct trials_summary trials_summary_read(const struct json_object *o);

/* Adds the members of a summary: trials, balanced, steady, and median .. spread of each measure. */
void trials_put(struct json_object *o, const struct trials *t);

/* What became of points that were measured: a table for people, or CSV. */

#define ROWS_COLUMNS 8

struct rows {
	FILE *out;
	bool csv;
	unsigned columns;
	const char *name[ROWS_COLUMNS]; /* of the parameters that tell points apart; borrowed */
	int width[ROWS_COLUMNS];
	bool repeated; /* several trials a point: medians */
};

/* Prints the heading, of a document that has its start, and maybe its trials. */
void rows_open(struct rows *r, FILE *out, bool csv, const struct json_object *document);

/*
 * The table: a row a point, from all its trials. `failed`: why there are none, or fewer than asked
 * for; NULL: all are there.
 */
void rows_point(const struct rows *r, const struct json_object *parameters, const struct trials *t,
		const struct error *failed);

/* CSV as in RFC 4180, but for the LF: a line a trial, which may have failed. */
void rows_csv_trial(const struct rows *r, const struct json_object *trial, size_t number);

/* All of a document, in either form. */
void rows_print(FILE *out, bool csv, const struct json_object *document);

#endif
