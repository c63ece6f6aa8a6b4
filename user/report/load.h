/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads ledger files: one document per run, trace, send or recv in the files. A document has the
 * form of the command's -j output (`help --schema`), is made of the valid lines, and is bounded:
 *
 *	{ "schema":"pktledger/run/1", "file":"a.ledger", "number":1,
 *	  "start":{..}, "intervals":[..], "limits":[..], "error":{..}, "end":{..},
 *	  "covers":{"from","to","intervals","joined"}, "worst":[..], "sum":{..}, "outcomes":[..],
 *	  "outcomes_agree":true }
 *
 * `number`: its position in the file, from 1. `end` is missing if the command was killed or is
 * still writing.
 *
 * There are at most SERIES_MAX `intervals`. Each of them stands for up to covers.joined intervals
 * of the file. For run, send and recv they hold counts since the start. For trace they hold counts
 * of the interval, with its length `interval_ns`, its end `time_ns` since the start, and the wall
 * clock in `time`. `worst` are the intervals with the highest loss rate, worst first
 * (report/series.h). `sum`, for trace only, is the sum of all selected intervals. `limits` are the
 * crossed limits, at most LOAD_LIMITS.
 *
 * `outcomes` exist for run, send and recv if the ledger recorded them:
 *	{"outcome","stage",..,"packets","ranges","longest"}
 * `ranges` counts runs of adjacent numbers.
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

/* Sums the outcomes of all sequence numbers in a ledger file. report/ledgerfile.h describes the
 * lines. */

struct outcome_sum;

struct outcome_sum *
outcome_sum_new(bool keep); /* `keep`: keep the ranges for outcome_sum_ranges_kept() */
void outcome_sum_free(struct outcome_sum *f);

/* Adds the data of an `outcome` line. Returns -EINVAL if it is out of order. */
int outcome_sum_name(struct outcome_sum *f, struct json_object *data);

/* Adds the JSON of a complete `outcomes` line, not terminated. Returns -EINVAL if it is malformed,
 * or -ENOMEM. */
int outcome_sum_ranges(struct outcome_sum *f, const char *json, size_t len);

/*
 * Returns the kept ranges, sorted by stream and number, numbered as in the file. `detail` is the id
 * of the outcome. Borrowed.
 */
const struct range *outcome_sum_ranges_kept(struct outcome_sum *f, size_t *n);

/* Returns the data of the `outcome` line of an outcome, borrowed. */
const struct json_object *outcome_sum_at(const struct outcome_sum *f, unsigned outcome);

struct load_spec {
	const char *const *path;
	unsigned n;
	/*
	 * CLOCK_REALTIME: traces are reduced to the intervals that overlap this range. Other
	 * documents are included if they overlap it. 0 and UINT64_MAX: everything.
	 */
	uint64_t since_ns, until_ns;
	uint64_t number;  /* only this document of each file, from 1, 0: all */
	const char *expr; /* filter for the comparison of two captures, NULL or "": all packets */
};

struct ledgers_file {
	const char *path;
	struct ledgerfile_state state;
	unsigned documents;	 /* documents in the file, including documents outside the time
				    range */
	uint64_t headless;	 /* lines before the first start, ignored */
	uint64_t odd;		 /* valid lines with unexpected content */
	uint64_t from_ns, to_ns; /* ns, time range of the file */
};

struct ledgers_document {
	struct json_object *json; /* document as described above, borrowed */
	char command[16];	  /* from the schema: "run", "trace" */
	bool parts; /* intervals hold their own counts (trace), else counts since the start */
	const char *path;
	unsigned number;
	uint64_t from_ns, to_ns; /* ns, CLOCK_REALTIME, time range of the document */
	struct outcome_sum *outcomes; /* kept outcomes of send and recv, else NULL */
	bool damaged;		 /* some of its lines are missing */
};

/* Files in the order of the command line, documents in the order of the files. */
struct ledgers {
	struct ledgers_file *file;
	unsigned files;
	struct ledgers_document *document;
	unsigned documents;
};

/*
 * Reads all files. Output of -j and HTML pages are used unchanged. STATUS_USAGE: a file has none of
 * these formats. STATUS_FAILED: a file cannot be read. Truncated or corrupt lines are not an error,
 * see struct ledgers_file.
 */
int ledgers_load(struct ledgers **l, const struct load_spec *spec, struct error *err);
void ledgers_free(struct ledgers *l); /* NULL is allowed */

/* Replaces all documents. Takes over the array and the JSON objects. */
void ledgers_replace(struct ledgers *l, struct ledgers_document *docs, unsigned n);

/*
 * Finds the two documents of --compare: one per file, of the same command, which is not trace.
 * STATUS_USAGE: the documents differ in kind, or a file has several documents. STATUS_FAILED: a
 * document has no end.
 */
int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err);

/* Returns the file of a document. For a page, returns the file from which the page was made. */
const char *document_file(const struct ledgers_document *d);

/* Returns true if a document contains trials: a sweep or a search. */
bool trialset_is(const struct ledgers_document *d);

/*
 * Lists the names of the parameters that distinguish trials: from `start`, or from the first trial.
 * Stores at most `max` borrowed names. Returns their number.
 */
unsigned trialset_columns(const struct json_object *document, const char **name, unsigned max);

/*
 * Ledger documents as one CSV table (RFC 4180, but with LF). The first line names the columns.
 * `kind` is the kind of a row. An `interval` is a cause of a trace in an interval, or a stage of a
 * run. Without a stage, it is the total of the interval, for a run with sent and delivered packets.
 * A `flow` is one of the worst flows of a trace in an interval. An `end` is a cause in the end of a
 * run. Without a stage, it is the total.
 */

/*
 * Writes a field, quoted if necessary. Terminal control characters become '?'. A "'" is added
 * before text that a spreadsheet would evaluate.
 */
void csv_text(FILE *out, const char *text);

/* Write the first line, then each document. */
void csv_head(FILE *out);
void csv_document(FILE *out, const struct ledgers_document *d);

/*
 * Joins the ledgers of several senders and their receivers: returns a document per receiver in the
 * form of a run, with the sums of all senders and additionally
 *
 *	"senders":[ {"file","number","start","end"} ],	each in the form of a run
 *	"unknown_streams":[ {"stream","base","delivered","dropped","came"} ],
 *	"notes":[ ".." ]
 *
 * A stream is assigned to the receiver that has its numbers. `unknown_streams` arrived at this
 * receiver but are in no sender's ledger. The result is not balanced if there are unknown streams
 * or if a ledger has no end.
 */

/* Returns true if there are ledgers of senders and of receivers. */
bool joined_wanted(const struct ledgers *l);

/*
 * Replaces the documents of send and recv by joined documents. No other documents are allowed.
 * STATUS_USAGE: an end is missing, the documents belong to different runs, or a document occurs
 * twice. STATUS_FAILED: two senders used the same numbers, or two receivers received the same
 * numbers.
 */
int joined_make(struct ledgers *l, struct error *err);

/* Return true with STATUS_USAGE if the documents are identical, or if their time ranges (up to
 * *_ns) do not overlap. Such documents cannot be joined. */
bool ledgers_same(const struct ledgers_document *a, const struct ledgers_document *b,
		  struct error *err);
bool ledgers_apart(const struct ledgers_document *a, uint64_t a_ns,
		   const struct ledgers_document *b, uint64_t b_ns, struct error *err);

/* Returns true if all documents are traces and several of them have a TCP balance that can be
 * joined. */
bool joined_tcp_wanted(const struct ledgers *l);

/*
 * Adds "joined" to the documents of such traces. Identical traces and traces of different times are
 * not joined, unless `asked`: then, and if there are too many traces, STATUS_USAGE.
 */
int joined_tcp_make(struct ledgers *l, bool asked, struct error *err);

/*
 * Return one line about traces of several hosts: for TCP if they are joined, for UDP from `a` to
 * `b` by comparing the two counts. NULL: nothing to report. The caller frees the text.
 */
char *joined_tcp_text(const struct ledgers_document *d, unsigned n);
char *joined_udp_text(const struct ledgers_document *a, const struct ledgers_document *b);

#define JOINED_COUNTS 16 /* maximum number of documents with such a line */
#define JOINED_UDP_EXACT                                                                           \
	"exact, for each packet: `run --to`, `trace --seq`, or captures of both hosts: tcpdump "   \
	"-i IF -s 128 -w a.pcap udp; report a.pcap b.pcap"

/* Outcomes of a stream reported by one end. Ranges ascend and do not overlap. */
struct joined_end {
	struct outcome_sum *outcomes; /* defines the outcomes */
	const struct range *range;
	size_t n;
	const char *host;
};

struct joined_stream {
	uint16_t stream;
	uint64_t base;	      /* value of the sequence header for number 0 */
	uint64_t first, last; /* own numbers, as in the sequence header, last < first: no numbers */
	struct joined_end tx; /* numbers from 0 */
	struct joined_end rx; /* numbers as in the sequence header */
	uint64_t watch_from,
		watch_to;  /* as in the sequence header: numbers missing in between did not
			      arrive */
	unsigned l3_bytes; /* bytes per packet, 0: unknown */
	bool whole;	   /* the sender reported all attempted packets */
};

/*
 * Adds attempted .. unaccounted, stages and causes to `one`, and to `sum`, which combines all
 * streams. `open`: numbers without a report from the receiver, and from the sender because its
 * ledger is incomplete.
 */
void joined_add(const struct joined_stream *s, struct result *one, struct result *sum,
		uint64_t *open);

#endif
