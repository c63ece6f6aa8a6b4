/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads ledger files and returns one document for each run, trace, send or recv in them. A document
 * has the same form as the command's -j output (`help --schema`). It is built from the valid lines,
 * and its size is bounded:
 *
 *	{ "schema":"pktledger/run/1", "file":"a.ledger", "number":1,
 *	  "start":{..}, "intervals":[..], "limits":[..], "error":{..}, "end":{..},
 *	  "covers":{"from","to","intervals","joined"}, "worst":[..], "sum":{..}, "outcomes":[..],
 *	  "outcomes_agree":true, "sums_agree":false }
 *
 * `number`: the document's position in the file, from 1. `end` is missing if the command was killed
 * or is still writing.
 *
 * There are at most SERIES_MAX `intervals`, each of which combines up to covers.joined intervals
 * from the file. For run, send and recv they contain counts since the start. For trace they contain
 * counts for that interval, with its length `interval_ns`, its end `time_ns` since the start, and
 * the wall-clock `time`. `worst` lists the intervals with the highest loss rate, worst first
 * (report/series.h). `sum`, for trace only, is the sum of all selected intervals. `limits` lists up
 * to LOAD_LIMITS exceeded limits.
 *
 * `outcomes` exist for run, send and recv if the ledger recorded them:
 *	{"outcome","stage",..,"packets","ranges","longest"}
 * `ranges` counts runs of adjacent numbers.
 *
 * `sums_agree` is false if the packets in `end`, or in one of the `trials`, do not add up, and
 * missing otherwise. A document that contradicts itself or its outcomes is not balanced, whatever
 * its `balanced` was.
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

/*
 * Adds up the outcomes of all sequence numbers in a ledger file. The line format is described in
 * report/ledgerfile.h.
 */

struct outcome_sum;

struct outcome_sum *
outcome_sum_new(bool keep); /* `keep`: keep the ranges for outcome_sum_ranges_kept() */
void outcome_sum_free(struct outcome_sum *f);

/* Adds the data from an `outcome` line. Returns -EINVAL if the line is out of order. */
int outcome_sum_name(struct outcome_sum *f, struct json_object *data);

/*
 * Adds the JSON from a complete `outcomes` line, which is not NUL-terminated. Returns -EINVAL if it
 * is malformed, or -ENOMEM.
 */
int outcome_sum_ranges(struct outcome_sum *f, const char *json, size_t len);

/*
 * Returns the kept ranges sorted by stream and number, with the numbers used in the file. `detail`
 * is the outcome's id. Borrowed.
 */
const struct range *outcome_sum_ranges_kept(struct outcome_sum *f, size_t *n);

/* Returns the data from the `outcome` line that defined an outcome, borrowed. */
const struct json_object *outcome_sum_at(const struct outcome_sum *f, unsigned outcome);

struct load_spec {
	const char *const *path;
	unsigned n;
	/*
	 * CLOCK_REALTIME range. Traces are reduced to the intervals that overlap it. Other
	 * documents are included if they overlap it. 0 and UINT64_MAX: no limits.
	 */
	uint64_t since_ns, until_ns;
	uint64_t number;  /* only this document in each file, from 1 (0: all) */
	const char *expr; /* filter for comparing two captures (NULL or "": all packets) */
};

struct ledgers_file {
	const char *path;
	struct ledgerfile_state state;
	unsigned documents;	 /* documents in the file, including documents outside the time
				    range */
	uint64_t headless;	 /* lines before the first start, ignored */
	uint64_t odd;		 /* valid lines with unexpected contents */
	uint64_t from_ns, to_ns; /* ns, time range covered by the file */
};

struct ledgers_document {
	struct json_object *json; /* document as described above, borrowed */
	char command[16];	  /* from the schema: "run", "trace" ... */
	bool parts; /* true: counts per interval (trace), false: counts since the start */
	const char *path;
	unsigned number;
	uint64_t from_ns, to_ns; /* ns, CLOCK_REALTIME, time range covered by the document */
	struct outcome_sum *outcomes; /* outcomes kept for send and recv, otherwise NULL */
	bool damaged;		 /* some of the document's lines are missing */
};

/* Files in command-line order, with their documents in file order. */
struct ledgers {
	struct ledgers_file *file;
	unsigned files;
	struct ledgers_document *document;
	unsigned documents;
};

/*
 * Reads all files. Output from -j and HTML pages is used as it is. STATUS_USAGE: a file has none of
 * these formats. STATUS_FAILED: a file cannot be read. Truncated or corrupt lines are not errors,
 * see struct ledgers_file.
 */
int ledgers_load(struct ledgers **l, const struct load_spec *spec, struct error *err);
void ledgers_free(struct ledgers *l); /* `l` may be NULL */

/* Replaces all documents. Takes over the array and its JSON objects. */
void ledgers_replace(struct ledgers *l, struct ledgers_document *docs, unsigned n);

/*
 * Finds the two documents for --compare: one per file, both from the same command, which must not
 * be trace. STATUS_USAGE: the documents differ in kind, or a file has several. STATUS_FAILED: a
 * document has no end.
 */
int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err);

/*
 * Returns the file that a document came from. For a page, returns the file from which the page was
 * generated.
 */
const char *document_file(const struct ledgers_document *d);

/* Returns true if a document contains trials, as a sweep or a search does. */
bool trialset_is(const struct ledgers_document *d);

/*
 * Lists the parameters that distinguish the trials, taken from `start` or the first trial. Stores
 * at most `max` borrowed names. Returns their number.
 */
unsigned trialset_columns(const struct json_object *document, const char **name, unsigned max);

/*
 * Ledger documents as one CSV table (RFC 4180, but with LF). The first line names the columns, and
 * `kind` gives the type of each row. An `interval` row is one cause in a trace interval or one
 * stage in a run interval. With no stage, it is the interval's total, which for a run includes sent
 * and delivered packets. A `flow` row is one of the worst flows in a trace interval. An `end` row
 * is a cause at the end of a run. With no stage, it is the total.
 */

/*
 * Writes a field, quoted if necessary. Replaces terminal control characters with '?'. Prefixes text
 * that a spreadsheet would evaluate with "'".
 */
void csv_text(FILE *out, const char *text);

/* Write the header line, then each document. */
void csv_head(FILE *out);
void csv_document(FILE *out, const struct ledgers_document *d);

/*
 * Joins ledgers from several senders and their receivers. Returns one document per receiver in the
 * form of a run, with sums over all senders and these additional members:
 *
 *	"senders":[ {"file","number","start","end"} ],	each in the form of a run
 *	"unknown_streams":[ {"stream","base","delivered","dropped","came"} ],
 *	"notes":[ ".." ]
 *
 * A stream is assigned to the receiver whose ledger contains its numbers. `unknown_streams` arrived
 * at this receiver but do not appear in any sender's ledger. The result is not balanced if there
 * are unknown streams or if a ledger has no end.
 */

/* Returns true if there are ledgers from both senders and receivers. */
bool joined_wanted(const struct ledgers *l);

/*
 * Replaces the send and recv documents with joined documents. No other documents are allowed.
 * STATUS_USAGE: an end is missing, the documents belong to different runs, or a document occurs
 * twice. STATUS_FAILED: two senders used the same numbers, or two receivers received the same
 * numbers.
 */
int joined_make(struct ledgers *l, struct error *err);

/*
 * Return true with STATUS_USAGE if the documents cannot be joined: they are identical, or their
 * time ranges (up to *_ns) do not overlap.
 */
bool ledgers_same(const struct ledgers_document *a, const struct ledgers_document *b,
		  struct error *err);
bool ledgers_apart(const struct ledgers_document *a, uint64_t a_ns,
		   const struct ledgers_document *b, uint64_t b_ns, struct error *err);

/*
 * Returns true if all documents are traces and at least two contain a TCP balance that can be
 * joined.
 */
bool joined_tcp_wanted(const struct ledgers *l);

/*
 * Adds "joined" to these trace documents. Skips identical traces and traces from different times
 * unless `asked` is set. If it is, these cases and too many traces return STATUS_USAGE.
 */
int joined_tcp_make(struct ledgers *l, bool asked, struct error *err);

/*
 * Return one line about traces from several hosts: for TCP if the traces are joined, for UDP from
 * `a` to `b` if the two counts can be compared. NULL: nothing to report. The caller frees the text.
 */
char *joined_tcp_text(const struct ledgers_document *d, unsigned n);
char *joined_udp_text(const struct ledgers_document *a, const struct ledgers_document *b);

#define JOINED_COUNTS 16 /* maximum number of documents with this line */
#define JOINED_UDP_EXACT                                                                           \
	"exact, for each packet: `run --to`, `trace --seq`, or captures of both hosts: tcpdump "   \
	"-i IF -s 128 -w a.pcap udp; report a.pcap b.pcap"

/* Outcomes that one end reported for a stream. Ranges ascend and do not overlap. */
struct joined_end {
	struct outcome_sum *outcomes; /* defines the outcomes */
	const struct range *range;
	size_t n;
	const char *host;
};

struct joined_stream {
	uint16_t stream;
	uint64_t base;	      /* sequence-header value of number 0 */
	uint64_t first, last; /* its own numbers, as in the sequence header (last < first: none) */
	struct joined_end tx; /* numbers start at 0 */
	struct joined_end rx; /* numbers as in the sequence header */
	uint64_t watch_from,
		watch_to;  /* as in the sequence header: numbers missing between them did not
			      arrive */
	unsigned l3_bytes; /* bytes per packet, 0: unknown */
	bool whole;	   /* the sender reported every packet it tried to send */
};

/*
 * Adds attempted .. unaccounted, stages and causes to `one` and to `sum`, which combines all
 * streams. `open`: numbers that neither end reported: the receiver did not, and the sender's ledger
 * is incomplete.
 */
void joined_add(const struct joined_stream *s, struct result *one, struct result *sum,
		uint64_t *open);

#endif
