/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sweep, a search or a preset read from a ledger: the document that its own -j would have
 * printed, put together of the lines of the series and of the runs in it.
 */
#ifndef PKTLEDGER_REPORT_TRIALSET_H
#define PKTLEDGER_REPORT_TRIALSET_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

struct trialset {
	struct json_object *document; /* NULL: none is open */
	unsigned number;	      /* of the document, in its file */
	char command[16];	      /* "sweep", "search" */
	uint64_t from_ns, to_ns;      /* CLOCK_REALTIME */
};

/* `start` is borrowed. 0 or -ENOMEM. */
int trialset_begin(struct trialset *t, const char *schema, struct json_object *start);

/* Whether a run that begins is of it: both have the same command line. */
bool trialset_owns(const struct trialset *t, const struct json_object *run_start);

/*
 * A trial is over: `members` of its own line, and the document of its run, up to now; NULL: it came
 * to none. Both are borrowed.
 */
void trialset_trial(struct trialset *t, struct json_object *members, const struct json_object *run);

/* Whether a document is of trials: a sweep or a search. */
bool trialset_is(const struct json_object *document);

/*
 * What tells trials apart, as strings: the names that `start` tells, or those of the first trial.
 * At most `max`, borrowed. Returns how many.
 */
unsigned trialset_columns(const struct json_object *document, const char **name, unsigned max);

#endif
