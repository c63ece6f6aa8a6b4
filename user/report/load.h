/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ledger files, read: a document for each run,
 * trace, send or recv in them. A document is that of the command's own -j (`help --schema`), put
 * together of the lines that are whole, and bounded:
 *
 *	{ "schema":"pktledger/run/1", "file":"a.ledger", "number":1,
 *	  "start":{..}, "intervals":[..], "limits":[..], "error":{..}, "end":{..},
 *	  "covers":{"from","to","intervals","joined"}, "worst":[..], "sum":{..}, "outcomes":[..],
 *	  "outcomes_agree":true }
 *
 * `number`: its place in the file, from 1. `end` is missing if the command was killed or writes.
 *
 * `intervals` are at most SERIES_MAX: each stands for up to covers.joined of those in the file. Of
 * run, send and recv they are counts since the start; of trace they are counts of the interval, of
 * interval_ns, up to time_ns from the start, with the wall clock in `time`. `worst` are those that
 * lost most packets a second, worst first (report/series.h). `sum`, of trace only, is all intervals
 * that were asked for, as one. `limits` are those that were crossed, at most LOAD_LIMITS of them.
 *
 * `fates` are there of run, send and recv, if they kept them:
 *{"outcome","stage",..,"packets","ranges", "longest"}, ranges being runs of neighbouring numbers.
 */
#ifndef PKTLEDGER_REPORT_LOAD_H
#define PKTLEDGER_REPORT_LOAD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "ledger/result.h"
#include "report/ledgerfile.h"

#define LOAD_LIMITS 1000

/* The fates of all numbers in a ledger file, added up: report/ledgerfile.h has the lines. */

struct fatesum;

struct fatesum *fatesum_new(bool keep); /* `keep`: for fatesum_ranges_kept() */
void fatesum_free(struct fatesum *f);

/* The data of a `fate` line. -EINVAL: out of order. */
int fatesum_name(struct fatesum *f, struct json_object *data);

/* The JSON of a whole `fates` line, not terminated. -EINVAL: it is not as it should be; -ENOMEM. */
int fatesum_ranges(struct fatesum *f, const char *json, size_t len);

/*
 * Those that were kept, sorted by stream and number, both as in the file; `detail` is the id of the
 * outcome. Borrowed.
 */
const struct range *fatesum_ranges_kept(struct fatesum *f, size_t *n);

/* The data of the `fate` line of an outcome; borrowed. */
const struct json_object *fatesum_outcome(const struct fatesum *f, unsigned outcome);

struct load_spec {
	const char *const *path;
	unsigned n;
	/*
	 * CLOCK_REALTIME: traces are cut to the intervals that touch this time, other documents are
	 * there if they do. 0 and UINT64_MAX: everything.
	 */
	uint64_t since_ns, until_ns;
	uint64_t number;  /* only this one of each file, from 1; 0: all */
	const char *expr; /* of the packets in two captures; NULL or "": all */
};

struct ledgers_file {
	const char *path;
	struct ledgerfile_state state;
	unsigned documents;	 /* in it, whenever they were */
	uint64_t headless;	 /* lines before the first start, which say nothing */
	uint64_t odd;		 /* whole lines that are not as they should be */
	uint64_t from_ns, to_ns; /* what it covers */
};

struct ledgers_document {
	struct json_object *json; /* as above, borrowed */
	char command[16];	  /* of the schema: "run", "trace" */
	bool parts; /* intervals are counts of their own: trace; else since the start */
	const char *path;
	unsigned number;
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME, of what is in it */
	struct fatesum *fates;	 /* of send and recv, kept; else NULL */
	bool damaged;		 /* lines of it are missing */
};

/* In the order of the command line, and of the files. */
struct ledgers {
	struct ledgers_file *file;
	unsigned files;
	struct ledgers_document *document;
	unsigned documents;
};

/*
 * Reads all files; what -j has printed, and pages, are taken as they are. STATUS_USAGE: one is
 * neither. STATUS_FAILED: it cannot be read. Lines that are cut or spoilt are no error: see struct
 * ledgers_file.
 */
int ledgers_load(struct ledgers **l, const struct load_spec *spec, struct error *err);
void ledgers_free(struct ledgers *l); /* NULL is fine */

/* Puts these into the place of all that there are. Takes the array, and their JSON. */
void ledgers_replace(struct ledgers *l, struct ledgers_document *docs, unsigned n);

/* Whether a file looks like documents as commands print them: by -j, or in a page of --html. */
bool printed_is(const char *path);

/*
 * Finds the two documents of --compare: those of two files, of one command that is not trace.
 * STATUS_USAGE: there are others, or one file has several documents; STATUS_FAILED: one has no end.
 */
int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err);

/* What it was read from: of a page, what that was made of. */
const char *document_file(const struct ledgers_document *d);

/* Whether a document is of trials: a sweep or a search. */
bool trialset_is(const struct ledgers_document *d);

/*
 * What tells trials apart, as strings: the names in `start`, or those of the first trial.
 * At most `max`, borrowed. Returns how many.
 */
unsigned trialset_columns(const struct json_object *document, const char **name, unsigned max);

/*
 * Documents of ledgers as one table for spreadsheets: RFC 4180, with LF. The first line names the
 * columns; `kind` says what a row is. An `interval` is a cause of a trace in an interval, or a
 * stage of a run; without a stage it is all of the interval, in a run also what was sent and
 * delivered in it. A `flow` is one of the worst flows of a trace in an interval. An `end` is a
 * cause in the end of a run; without a stage it is all of it.
 */

/*
 * A field: quoted where it must be. What a terminal would obey becomes '?', and before what a
 * spreadsheet would compute stands a "'".
 */
void csv_text(FILE *out, const char *text);

/* The first line; then each document in turn. */
void csv_head(FILE *out);
void csv_document(FILE *out, const struct ledgers_document *d);

/*
 * Ledgers of several senders and of their receivers, as one: for each receiver a document of the
 * form of a run, with the sums of all senders, and beside them
 *
 *	"senders":[ {"file","number","start","end"} ],	each of the form of a run, too
 *	"unknown_streams":[ {"stream","base","delivered","dropped","came"} ],
 *	"notes":[ ".." ]
 *
 * A stream goes to the receiver that has its numbers. `strangers` came to this receiver, and are of
 * no sender's ledger: the ledger is not balanced then, as it is not if one has no end.
 */

/* There are ledgers of senders and of receivers. */
bool joined_wanted(const struct ledgers *l);

/*
 * Puts joined documents into the place of those of send and recv; all must be of these two.
 * STATUS_USAGE: one end is missing, they are of different runs, or one is there twice;
 * STATUS_FAILED: two senders used the same numbers, or two receivers have got the same.
 */
int joined_make(struct ledgers *l, struct error *err);

/* Two that are one, or of different times (each up to *_ns), are not joined: true, STATUS_USAGE. */
bool ledgers_same(const struct ledgers_document *a, const struct ledgers_document *b,
		  struct error *err);
bool ledgers_apart(const struct ledgers_document *a, uint64_t a_ns,
		   const struct ledgers_document *b, uint64_t b_ns, struct error *err);

/* All are traces, and several of them have kept a balance of TCP that can be joined. */
bool joined_tcp_wanted(const struct ledgers *l);

/*
 * Adds "joined" to documents of such traces. Those that are of different times, or one, are left
 * alone unless that was `asked` for; then, and if they are too many: STATUS_USAGE.
 */
int joined_tcp_make(struct ledgers *l, bool asked, struct error *err);

/*
 * What traces of several hosts say together, a line: of TCP, if they are joined, and of UDP from
 * `a` to `b`, by the two counts. NULL: nothing; else to be freed.
 */
char *joined_tcp_text(const struct ledgers_document *d, unsigned n);
char *joined_udp_text(const struct ledgers_document *a, const struct ledgers_document *b);

#define JOINED_COUNTS 16 /* documents of which that is said */
#define JOINED_UDP_EXACT                                                                           \
	"exact, for each packet: `run --to`, `trace --seq`, or captures of both hosts: tcpdump "   \
	"-i IF -s 128 -w a.pcap udp; report a.pcap b.pcap"

/* What one end has reported of a stream; ranges ascend and do not overlap. */
struct joined_end {
	struct fatesum *fates; /* that name the outcomes */
	const struct range *range;
	size_t n;
	const char *host;
};

struct joined_stream {
	uint16_t stream;
	uint64_t base;	      /* in the stamps of number 0 */
	uint64_t first, last; /* numbers that are its own, as in the stamp; last < first: none */
	struct joined_end tx; /* in numbers from 0 */
	struct joined_end rx; /* as in the stamp */
	uint64_t watch_from,
		watch_to;  /* as in the stamp: what did not come between was not there */
	unsigned l3_bytes; /* of a packet; 0: unknown */
	bool whole;	   /* the sender has reported all that it attempted */
};

/*
 * Adds attempted .. unaccounted, stages and causes to `one`, and to `sum`, where those of all
 * streams are one. `open`: numbers of which the sender has reported nothing, because its ledger is
 * not whole, and the receiver nothing either.
 */
void joined_add(const struct joined_stream *s, struct result *one, struct result *sum,
		uint64_t *open);

#endif
