/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ledger files, and captures of lost packets (report/trace.h), read: a document for each run,
 * trace, send or recv in them. A document is that of the command's own -j (tools/schema), put
 * together of the lines that are whole, and bounded:
 *
 *	{ "schema":"pktledger/run/1", "file":"a.ledger", "number":1,
 *	  "start":{..}, "intervals":[..], "limits":[..], "error":{..}, "end":{..},
 *	  "covers":{"from","to","intervals","joined"}, "worst":[..], "sum":{..}, "fates":[..],
 *	  "fates_agree":true }
 *
 * `number` is its place in the file, from 1. `start` is always there; `end` is not if the command
 * was killed or still writes.
 *
 * `intervals` are at most SERIES_MAX: each stands for up to covers.joined of those in the file. Of
 * run, send and recv they are counts since the start; of trace they are counts of the interval, of
 * interval_ns, up to time_ns from the start, with the wall clock in `time`. `worst` are those that
 * lost most packets a second, worst first (report/series.h). `sum`, of trace only, is all intervals
 * that were asked for, as one. `limits` are those that were crossed, at most LOAD_LIMITS of them.
 *
 * `fates` (report/fatesum.h) are there of run, send and recv, if they kept them.
 */
#ifndef PKTLEDGER_REPORT_LOAD_H
#define PKTLEDGER_REPORT_LOAD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "report/ledgerfile.h"
#include "report/fatesum.h"

#define LOAD_LIMITS 1000

struct ledgers;

struct load_spec {
	const char *const *path;
	unsigned n;
	/*
	 * CLOCK_REALTIME: traces are cut to the intervals that touch this time, other documents are
	 * there if they do. 0 and UINT64_MAX: everything.
	 */
	uint64_t since_ns, until_ns;
	bool printed;	  /* what -j has printed, and pages, are taken as they are, too */
	uint64_t number;  /* only this one of each file, from 1; 0: all */
	const char *expr; /* of the packets in captures; NULL or "": all */
};

struct ledgers_file {
	const char *path;
	struct ledgerfile_state state;
	unsigned documents;	 /* in it, whenever they were */
	uint64_t headless;	 /* lines before the first start, which tell nothing */
	uint64_t odd;		 /* whole lines that are not as they should be */
	uint64_t from_ns, to_ns; /* what it covers */
};

struct ledgers_document {
	struct json_object *json; /* as above, borrowed */
	char command[16];	  /* of the schema: "run", "trace" */
	bool parts; /* intervals are counts of their own: trace, capture; else since the start */
	const char *path;
	unsigned number;
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME, of what is in it */
	struct fatesum *fates;	 /* of send and recv, kept; else NULL */
	bool damaged;		 /* lines of it are missing */
};

/*
 * Reads all files. STATUS_USAGE: one is neither. STATUS_FAILED: it cannot be read. Lines that are
 * cut or spoilt are no error: see ledgers_files().
 */
int ledgers_load(struct ledgers **l, const struct load_spec *spec, struct error *err);
void ledgers_free(struct ledgers *l); /* NULL is fine */

/* Puts these into the place of all that there are. Takes their JSON. -ENOMEM. */
int ledgers_replace(struct ledgers *l, const struct ledgers_document *docs, unsigned n);

/* In the order of the command line, and of the files. */
const struct ledgers_document *ledgers_documents(const struct ledgers *l, unsigned *n);
const struct ledgers_file *ledgers_files(const struct ledgers *l, unsigned *n);

/* Documents as commands have printed them: by -j, or in a page of `report --html`. */

/* Whether the file looks like one of them. */
bool printed_is(const char *path);

/*
 * A list of the documents in the file, in their order, to be put. STATUS_USAGE: it is JSON, or a
 * page, but not ours; STATUS_FAILED: it is cut, or cannot be read.
 */
int printed_load(const char *path, struct json_object **documents, struct error *err);

/*
 * Whether documents belong side by side, and which are compared: two files that are not of traces
 * are compared: *a and *b are their documents, else NULL. STATUS_USAGE: they are of several
 * commands, there are more than two, or one has more than one document; STATUS_FAILED: one has no
 * end.
 */
int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err);

/*
 * A sweep, a search or a preset read from a ledger: the document that its own -j would have
 * printed, put together of the lines of the series and of the runs in it.
 */
struct trialset {
	struct json_object *document; /* NULL: none is open */
	unsigned number;	      /* of the document, in its file */
	char command[16];	      /* "sweep", "search" */
	uint64_t from_ns, to_ns;      /* CLOCK_REALTIME */
};

/* Whether a document is of trials: a sweep or a search. */
bool trialset_is(const struct json_object *document);

/*
 * What tells trials apart, as strings: the names that `start` tells, or those of the first trial.
 * At most `max`, borrowed. Returns how many.
 */
unsigned trialset_columns(const struct json_object *document, const char **name, unsigned max);

#endif
