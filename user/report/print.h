/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text output of documents (report/document.h) and ledgers, immediately by the commands and later
 * by `report`. Also output in other formats on request. Write errors are left in ferror(out).
 */
#ifndef PKTLEDGER_REPORT_PRINT_H
#define PKTLEDGER_REPORT_PRINT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "report/document.h"
#include "report/load.h"
#include "report/page.h"
#include "report/series.h"
#include "stages.h"

struct change;
struct change_report;
struct look;
struct remedy;
struct json_out;
struct junit;

struct print_view {
	FILE *out;
	bool colour;
	unsigned width; /* columns, 0: as in page_open() */
	/* -1: no intervals, no notes. 1 and more: kernel functions, number ranges, all counters. */
	int verbosity;
};

/* Prints a document: origin and time, history, ledger or sums, findings. */
void print_document(const struct print_view *v, const struct ledgers_document *d);

/* Prints the end of a document without its history, nothing for a set of trials. */
void print_end(const struct print_view *v, const struct ledgers_document *d);

/* Prints the trials of `run --repeat`, each a document, as `run` printed them. */
void print_repeat(const struct print_view *v, const struct ledgers_document *d, unsigned n);

/* History of a document as a table for readers: a few rows of a round length. */

#define STEPS_MAX 32

struct step {
	uint64_t from_ns, to_ns; /* ns, CLOCK_REALTIME */
	struct part sum;
};

struct steps {
	struct step at[STEPS_MAX];
	unsigned n;
	uint64_t length_ns;
};

/*
 * Sums the intervals per step. Steps without an interval are left out. An interval belongs to the
 * step in which it ended. Steps are not shorter than intervals.
 */
void steps_make(struct steps *s, const struct ledgers_document *d);

/* Parts of a document. Each prints a blank line first, or nothing if the part is empty. */
struct page print_page(const struct print_view *v, uint64_t most);

/* Prints joined ledgers: the part of each sender, and missing parts. */
void print_joined(const struct print_view *v, const struct json_object *document);

/* Returns the loss at a stage, an item of "stages", or NULL without a loss. */
struct json_object *print_stage(const struct json_object *end, const char *name);

/* Returns the stage with the largest loss, or "" without losses. */
const char *print_worst_stage(const struct json_object *end);

/*
 * Prints a run: the path of the packets from top to bottom, 80 columns wide. Only commands for
 * pasting may be longer. A counter is marked = if it agrees, ~ if it disagrees as known for this
 * kernel, != otherwise.
 */
void text_run(const struct print_view *v, const struct run_header *h, const struct result *r);

/* Prints a run of a document. */
void print_run(const struct print_view *v, const struct json_object *start,
	       const struct json_object *end);

/* Prints the end of send or recv. */
void text_one_end(const struct print_view *v, const struct json_object *end);

/* Prints the findings of an end, in their order: the first three of more, unless `all`. */
void text_findings(struct page *p, const struct json_object *end, bool all);

/*
 * Print a trial of a search as a log line, with a heading before number 1, then the search result,
 * and after several searches the spread of their lower bounds.
 */
void text_found_trial(FILE *out, unsigned number, const struct json_object *trial);
void text_found(FILE *out, const struct json_object *end);
void text_found_spread(FILE *out, const struct json_object *end);

/* Returns the cause of the loss: "rcvbuf", "the generator", "the sender's queue", or "" if there is
 * no cause. */
const char *found_culprit(const struct json_object *rate);

/*
 * A limit on the change from A to B: NAME=+N% or NAME=-N%. `loss` changes in percentage points of
 * the packets sent, latencies (p50, p99, p9999, max, jitter) and rates (tx_pps, rx_pps, ndr, pdr,
 * mrr) in percent of A. Losses and latencies may rise by N, rates may fall by N.
 */
struct compare_limit {
	char text[OPT_ITEM_LEN];
	unsigned what; /* index into a table of compare.c */
	double most;   /* fraction, allowed change */
};

struct compare_limits {
	unsigned n;
	struct compare_limit at[OPT_LIST_MAX];
};

/* Adds comma-separated limits: for an option of OPT_CUSTOM. */
int compare_limits_parse(const char *text, struct compare_limits *l, struct error *err);

/*
 * Adds "limits" to the comparison of two documents, a list of {"limit","a","b","change","broken"}.
 * `change` is null if A has 0 and B has not. Returns 1 if all limits hold, 0 if a limit is
 * exceeded, or -ENODATA with STATUS_FAILED if a result is missing in a document.
 */
int compare_limits(struct json_object *comparison, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct compare_limits *l,
		   struct error *err);

struct show_view {
	struct json_out *json; /* NULL: text or a table */
	int argc;
	char *const *argv; /* command line for the start event */
	bool csv;
	bool matrix;	  /* show runs between hosts as one table */
	const char *html; /* path of the page to write, NULL: no page */
	bool redact;	  /* the documents are changed in place */
	struct print_view text;
	const struct ledgers_document *a, *b; /* documents to compare, NULL: no comparison */
	struct compare_limits limits;	      /* limits of the comparison */
	struct junit *junit;		      /* NULL: no JUnit output */
};

/* Shows the documents. Errors as in matrix_new() and html_file(), and STATUS_BROKEN: a limit of the
 * comparison is exceeded. */
int show_ledgers(const struct show_view *v, struct ledgers *l, struct error *err);

/*
 * Shows the comparison of two captures (report/capfile.h). `ends` is changed if names are redacted.
 */
int show_ends(const struct show_view *v, struct json_object *ends, struct error *err);

/* Returns the joint results of traces of several hosts as a list of sentences, JOINED_UDP before
 * those of UDP. The caller owns the list. */
#define JOINED_UDP "UDP: "
struct json_object *show_joined_lines(const struct ledgers_document *d, unsigned n);

/* Returns true if the outcomes of a document disagree with its ledger, or if a joined document is
 * not balanced. */
bool show_disagrees(const struct ledgers *l);

/*
 * Documents side by side: a comparison of two documents, or runs between many hosts as one table.
 */

#define MATRIX_NODES 64

/*
 * Compares two documents: first their differences at the start, then their results. Both are
 * documents of run, or both of send, recv, sweep or search. The caller owns the result:
 *
 *	{ "env":[{"name","a","b"}], "setup":[..], "results":[{"name","a","b","change"}] }
 *
 * env and setup list differing members with their path ("sysctls.net.core.rmem_max"). null:
 * missing. results list the members that both have, and the stages with losses in at least one.
 * change is (b - a) / a, null if a is 0. a_fraction and b_fraction are fractions of the packets
 * sent, if known. For sweeps, results are the rates received at common points, for searches the
 * rates found.
 */
struct json_object *compare_documents(const struct ledgers_document *a,
				      const struct ledgers_document *b);

/* Prints a comparison. `a` and `b` may be NULL if the documents are described elsewhere. */
void compare_print(const struct print_view *v, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct json_object *comparison);

/*
 * Builds the loss matrix of senders and receivers, with the worst stages, from runs and joined
 * runs:
 *
 *	{ "nodes":["a","b"], "pairs":[ {"from","to","runs","sent","delivered","lost_fraction",
 *	                                "stage","balanced"} ] }
 *
 * A node is a host name, or the address if the run used one host. Runs of the same pair are summed.
 * `stage` has the largest loss over all runs of the pair, null: no drops. Runs without an end are
 * left out. The caller owns the matrix. STATUS_USAGE: more than MATRIX_NODES nodes. STATUS_FAILED:
 * no document has a pair.
 */
int matrix_new(const struct ledgers_document *docs, unsigned n, struct json_object **matrix,
	       struct error *err);

/* Prints the matrix as a table: senders down, receivers across. */
void matrix_print(const struct print_view *v, struct json_object *matrix);

/* Results and changes of `check`, as JSON and as text. The caller owns the JSON objects, including
 * the result of check_plan(). */

/* Returns the end of the document. Its start is json_origin(). */
struct json_object *json_check_end(const struct look *l);

/* Opens the file of a bundle without writing, to detect early that it cannot be written. */
int bundle_try(const char *path, struct error *err);

/*
 * Writes all data of a look as a ledger file that can be judged on another host. Identifying names
 * are replaced. Takes over `start` and `rows`, the rows of selftest.
 */
int bundle_write(const char *path, struct json_object *start, const struct look *l,
		 struct json_object *rows, struct error *err);

/*
 * Reads and judges the last bundle of a file. Its findings have no commands, because commands would
 * apply to another host. *start is owned by the caller. `l`: zero-initialised, to be closed in any
 * case. STATUS_USAGE: not a bundle.
 */
int bundle_read(const char *path, struct look *l, struct json_object **start, struct error *err);

/*
 * Prints that end: causes of current losses, then expected causes of future losses, then notes (one
 * line each), losses since boot, and unreadable data. verbosity -1: current and future losses only.
 * 1 and more: also the settings of each interface.
 */
void print_check(const struct print_view *v, const struct json_object *end);

/* Prints a paragraph about a finding and its test level (`proof`), or about a stage (NULL). */
void print_about(const struct print_view *v, const char *title, const char *proof,
		 const char *about);

/* Returns or prints a possible change: values and commands, and its risk ("": no risk). */
struct json_object *json_change(const struct change *c);
void print_change(const struct print_view *v, const struct json_object *change, const char *risk);

/* Return or print the effect of a change on a loss, as measured by look_again(). */
struct json_object *json_remedy(const struct remedy *r);
void print_remedy(const struct print_view *v, const struct remedy *r);

/* Return or print a change that was made, undone, or failed: "title", .., "outcome", "current",
 * "why". */
struct json_object *json_change_report(const struct change_report *report);
void print_change_report(const struct print_view *v, const struct change_report *report);

/* Several trials of one experiment: a row per trial, then median, minimum and maximum. */

#define TRIALS_SPREAD 0.05 /* (max - min) / median above which the spread is reported */

/* Measures are members of the end of a run. */
enum trials_measure {
	TRIALS_TX_PPS,
	TRIALS_RX_PPS,
	TRIALS_DELIVERED,
	TRIALS_DROPPED,
	TRIALS_LOST,	 /* fraction of the packets sent that were not delivered */
	TRIALS_TIME,	 /* ns, from the first to the last packet sent */
	TRIALS_PAYLOAD,	 /* bit/s of received UDP payload */
	TRIALS_WAITS,	 /* the sender's waits for space in its send buffer */
	TRIALS_TX_CALLS, /* send system calls */
	TRIALS_RX_CALLS, /* receive system calls */
	TRIALS_TX_CPU,	 /* ns, CPU time of the threads */
	TRIALS_RX_CPU,
	TRIALS_FRAGMENTS,   /* fragments created */
	TRIALS_SEEN,	    /* fragments that arrived at the receiver */
	TRIALS_CUT,	    /* fragments dropped */
	TRIALS_REASSEMBLED, /* datagrams reassembled */
	TRIALS_MEASURES,
};

struct trials {
	unsigned n, max, balanced;
	uint64_t stage[STAGE_COUNT]; /* packets, sum over all trials */
	double *value;		     /* `max` values per measure */
};

/* Creates a collection of trials, freed with free(). */
struct trials *trials_new(unsigned max);

/* Adds the `end` of a run, and its payload size in bytes (0: unknown). */
void trials_add(struct trials *t, const struct json_object *end, uint64_t payload_bytes);

/* Removes all trials. */
void trials_clear(struct trials *t);

/* Summarises a measure. Requires at least one trial. */
struct summary trials_summarise(const struct trials *t, enum trials_measure m);

/* Returns true if the spread of both rates is at most TRIALS_SPREAD. */
bool trials_steady(const struct trials *t);

/* Returns the stage with the largest loss over all trials, or "" without drops. */
const char *trials_stage(const struct trials *t);

/* Prints the trial added last, with end `end`, as a line of a table. Prints the heading before the
 * first trial. */
void trials_print_row(FILE *out, const struct trials *t, const struct json_object *end);
void trials_print_end(FILE *out, const struct trials *t);

/* Prints a line of the summary. `single`: noun for the values that must not be compared if the
 * spread is too large. */
void trials_put_spread(struct page *p, const char *title, struct summary s, const char *single);

struct json_object *trials_summary_json(struct summary s);
struct summary trials_summary_read(const struct json_object *o);

/* Adds the members of a summary: trials, balanced, steady, and median .. spread of each measure. */
void trials_put(struct json_object *o, const struct trials *t);

/* Results of measured points, as a text table or CSV. */

#define ROWS_COLUMNS 8

struct rows {
	FILE *out;
	unsigned columns;
	const char *name[ROWS_COLUMNS]; /* parameters that distinguish points, borrowed */
	int width[ROWS_COLUMNS];
	unsigned shown, where; /* bit set of the other columns that fit, start of the last column */
	bool repeated;	       /* several trials per point: medians */
};

/* Prints the heading for a document that has its start, and possibly its trials. */
void rows_open(struct rows *r, FILE *out, bool csv, const struct json_object *document);

/* Prints a row of the table for a point, from all its trials. `failed`: reason for missing trials,
 * NULL: all succeeded. */
void rows_point(const struct rows *r, const struct json_object *parameters, const struct trials *t,
		const char *failed);

/* Prints a line of CSV (RFC 4180, but with LF) for a trial, which may have failed. */
void rows_csv_trial(const struct rows *r, const struct json_object *trial, size_t number);

/* Prints a complete document in either form. */
void rows_print(FILE *out, bool csv, const struct json_object *document);

/*
 * HTML page without external resources: the part readable without a script, the documents as JSON
 * in elements that start with HTML_DOCUMENT, from which report/load.h reads them, and the script
 * that draws them. Intervals are reduced to at most 240 points. If there are many trials, only
 * their displayed values are included.
 */

#define HTML_BEGIN    "<!DOCTYPE html>"
#define HTML_DOCUMENT "<script type=\"application/json\" class=\"pktledger-document\""

struct html_page {
	const struct ledgers_document
		*docs; /* as printed by `-j`, missing members are left out */
	unsigned n;
	struct json_object *comparison; /* comparison of the first two, from compare_documents(), or
					   NULL */
	struct json_object *matrix;	/* matrix of all documents, from matrix_new(), shown instead
					   of them, or NULL */
	const char *text;		/* text output of the command, NULL: no text */
	bool redact;			/* hide file paths */
	bool live;			/* the script requests the next state from the server */
};

/*
 * Writes the page. Documents may contain anything: names are escaped, and bytes that are not UTF-8
 * become U+FFFD. Returns 0, or -errno of the first failed write.
 */
int html_write(FILE *out, const struct html_page *page);

/* Writes the data for the script of a live page: documents and text, as JSON in one line. Returns
 * 0, or -errno of the first failed write. */
int html_live(FILE *out, const struct html_page *page);

/*
 * Writes the page to a file with mode 0644 minus umask, replaced atomically: the previous page
 * stays until the new page is complete. STATUS_USAGE: the existing file is not a page and is not
 * overwritten. "-" is stdout. Files that are not regular are written directly.
 */
int html_file(const char *path, const struct html_page *page, struct error *err);

/*
 * Parts: write text with escaped markup, and JSON without <, so that it cannot contain an end tag.
 */
void html_text(FILE *out, const char *s);
void html_json(FILE *out, struct json_object *doc);

#endif
