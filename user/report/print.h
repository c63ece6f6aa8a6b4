/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints documents (report/document.h) and ledgers as text, both live from the commands and later
 * from `report`, or in other formats on request. Write errors are left in ferror(out).
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
	unsigned width; /* columns (0: as in page_open()) */
	/*
	 * -1: no intervals and no notes. 1 or more: also kernel functions, number ranges, and all
	 * counters.
	 */
	int verbosity;
};

/* Prints a document: origin and time, history, ledger or sums, and findings. */
void print_document(const struct print_view *v, const struct ledgers_document *d);

/* Prints the end of a document without its history. Prints nothing for a set of trials. */
void print_end(const struct print_view *v, const struct ledgers_document *d);

/* Prints the trials of `run --repeat`, each one a document, as `run` printed them. */
void print_repeat(const struct print_view *v, const struct ledgers_document *d, unsigned n);

/* Document history as a readable table: a few rows that each cover a round length of time. */

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
 * Sums the intervals for each step, and omits steps without an interval. An interval belongs to the
 * step in which it ended. Steps are never shorter than intervals.
 */
void steps_make(struct steps *s, const struct ledgers_document *d);

/* Document parts. Each function prints a blank line first, or nothing if the part is empty. */
struct page print_page(const struct print_view *v, uint64_t most);

/* Prints joined ledgers: each sender's part, and which parts are missing. */
void print_joined(const struct print_view *v, const struct json_object *document);

/* Returns the loss at a stage, an item in "stages", or NULL if nothing was lost there. */
struct json_object *print_stage(const struct json_object *end, const char *name);

/* Returns the stage with the largest loss, or "" if nothing was lost. */
const char *print_worst_stage(const struct json_object *end);

/*
 * Prints a run as the packets' path from top to bottom, 80 columns wide. Only commands for pasting
 * may be longer. Counters are marked = if they agree, ~ if they differ in a way known for this
 * kernel, and != otherwise.
 */
void text_run(const struct print_view *v, const struct run_header *h, const struct result *r);

/* Prints a run from a document. */
void print_run(const struct print_view *v, const struct json_object *start,
	       const struct json_object *end);

/* Prints the end of a send or recv document. */
void text_one_end(const struct print_view *v, const struct json_object *end);

/* Prints findings in order. Without `all`, prints only the first three if there are more. */
void text_findings(struct page *p, const struct finding *f, unsigned n, bool all);

/*
 * Print a search: each trial as a log line, with a heading before the first, then the result, and
 * after several searches the spread of their lower bounds.
 */
void text_found_trial(FILE *out, unsigned number, const struct found_trial *trial);
void text_found(FILE *out, const struct found *f);
void text_found_spread(FILE *out, const struct json_object *end);

/*
 * Returns the cause of the loss: "rcvbuf", "the generator", "the sender's queue", or "" if there is
 * none.
 */
const char *found_culprit(const struct found_rate *rate);

/*
 * Limit on the change from A to B: NAME=+N% or NAME=-N%. `loss` is measured in percentage points of
 * the packets sent. Latencies (p50, p99, p9999, max, jitter) and rates (tx_pps, rx_pps, ndr, pdr,
 * mrr) are measured in percent of A. Losses and latencies may rise by N, and rates may fall by N.
 */
struct compare_limit {
	char text[OPT_ITEM_LEN];
	unsigned what; /* index into a table in compare.c */
	double most;   /* maximum change allowed, as a fraction */
};

struct compare_limits {
	unsigned n;
	struct compare_limit at[OPT_LIST_MAX];
};

/* Adds comma-separated limits, for an OPT_CUSTOM option. */
int compare_limits_parse(const char *text, struct compare_limits *l, struct error *err);

/*
 * Adds "limits" to the comparison of two documents: a list of {"limit","a","b","change","broken"}.
 * `change` is null if A is 0 and B is not. Returns 1 if all limits are met, 0 if one is exceeded,
 * or -ENODATA with STATUS_FAILED if a document lacks a result.
 */
int compare_limits(struct json_object *comparison, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct compare_limits *l,
		   struct error *err);

struct show_view {
	struct json_out *json; /* NULL: print text or a table */
	int argc;
	char *const *argv; /* command line, for the start event */
	bool csv;
	bool matrix;	  /* show runs between hosts as a single table */
	const char *html; /* path of the page to write, or NULL */
	bool redact;	  /* modify the documents in place */
	struct print_view text;
	const struct ledgers_document *a, *b; /* documents to compare, or NULL */
	struct compare_limits limits;	      /* limits for the comparison */
	struct junit *junit;		      /* NULL: no JUnit output */
};

/*
 * Shows the documents. Returns the errors of matrix_new() and html_file(), and STATUS_BROKEN if the
 * comparison exceeds a limit.
 */
int show_ledgers(const struct show_view *v, struct ledgers *l, struct error *err);

/*
 * Shows a comparison of two captures (report/capfile.h). `ends` is modified if names are redacted.
 */
int show_ends(const struct show_view *v, struct json_object *ends, struct error *err);

/*
 * Returns the joint results of traces from several hosts as a list of sentences. Those about UDP
 * start with JOINED_UDP. The caller owns the list.
 */
#define JOINED_UDP "UDP: "
struct json_object *show_joined_lines(const struct ledgers_document *d, unsigned n);

/*
 * Returns the first document that is not balanced, or that contradicts itself or its recorded
 * outcomes. NULL: none.
 */
const struct ledgers_document *show_unbalanced(const struct ledgers *l);

/* Documents side by side: two documents compared, or runs between many hosts in one table. */

#define MATRIX_NODES 64

/*
 * Compares two documents, first how their setups differ, then their results. Both must come from
 * the same command: run, send, recv, sweep or search. The caller owns the result:
 *
 *	{ "env":[{"name","a","b"}], "setup":[..], "results":[{"name","a","b","change"}] }
 *
 * env and setup list members that differ, by path ("sysctls.net.core.rmem_max"), with null for a
 * missing value. results lists the members present in both documents, and the stages where at least
 * one of them lost packets. change is (b - a) / a, or null if a is 0. a_fraction and b_fraction are
 * fractions of the packets sent, if known. For sweeps, results are the receive rates at points that
 * both measured. For searches, they are the rates found.
 */
struct json_object *compare_documents(const struct ledgers_document *a,
				      const struct ledgers_document *b);

/* Prints a comparison. `a` and `b` may be NULL if the documents have been described already. */
void compare_print(const struct print_view *v, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct json_object *comparison);

/*
 * Builds a loss matrix of senders and receivers, including the worst stages, from runs and joined
 * runs:
 *
 *	{ "nodes":["a","b"], "pairs":[ {"from","to","runs","sent","delivered","lost_fraction",
 *	                                "stage","balanced"} ] }
 *
 * A node is a host name, or an address if the run used a single host. Runs between the same pair
 * are summed. `stage` is the stage with the largest loss over all the pair's runs, or null if
 * nothing was dropped. Runs without an end are left out. The caller owns the matrix. STATUS_USAGE:
 * more than MATRIX_NODES nodes. STATUS_FAILED: no document has a pair.
 */
int matrix_new(const struct ledgers_document *docs, unsigned n, struct json_object **matrix,
	       struct error *err);

/* Prints the matrix as a table with senders in rows and receivers in columns. */
void matrix_print(const struct print_view *v, struct json_object *matrix);

/*
 * Results and changes from `check`, as JSON and as text. The caller owns the JSON objects,
 * including the result of check_plan().
 */

/* Returns the end of the document, which starts with json_origin(). */
struct json_object *json_check_end(const struct look *l);

/*
 * Opens a bundle file without writing to it, so that errors are reported before the work is done.
 */
int bundle_try(const char *path, struct error *err);

/*
 * Writes all data from a look as a ledger file that another host can analyze. Replaces identifying
 * names. Takes over `start` and `rows`, the rows from selftest.
 */
int bundle_write(const char *path, struct json_object *start, const struct look *l,
		 struct json_object *rows, struct error *err);

/*
 * Reads and analyzes the last bundle in a file. Its findings contain no commands, because commands
 * would apply to another host. The caller owns *start. `l` must be zero-initialised, and closed
 * even after an error. STATUS_USAGE: not a bundle.
 */
int bundle_read(const char *path, struct look *l, struct json_object **start, struct error *err);

/*
 * Prints the end from json_check_end(): causes of current losses, then expected causes of future
 * losses, then notes (one line each), losses since boot, and unreadable data. verbosity -1: current
 * and future losses only. 1 or more: also each interface's settings.
 */
void print_check(const struct print_view *v, const struct json_object *end);

/* Prints a paragraph about a finding and how it was tested (`proof`), or about a stage (NULL). */
void print_about(const struct print_view *v, const char *title, const char *proof,
		 const char *about);

/* Return or print a possible change: its values and commands, and its risk ("": none). */
struct json_object *json_change(const struct change *c);
void print_change(const struct print_view *v, const struct json_object *change, const char *risk);

/* Return or print the effect of a change on a loss, as measured by look_again(). */
struct json_object *json_remedy(const struct remedy *r);
void print_remedy(const struct print_view *v, const struct remedy *r);

/*
 * Return or print a change that was made, undone, or failed: "title", .., "outcome", "current",
 * "why".
 */
struct json_object *json_change_report(const struct change_report *report);
void print_change_report(const struct print_view *v, const struct change_report *report);

/* Several trials of one experiment: a row for each trial, then the median, minimum and maximum. */

#define TRIALS_SPREAD 0.05 /* the spread is reported if (max - min) / median exceeds this */

/* Measures, which are members of a run's end. */
enum trials_measure {
	TRIALS_TX_PPS,
	TRIALS_RX_PPS,
	TRIALS_DELIVERED,
	TRIALS_DROPPED,
	TRIALS_LOST,	 /* fraction of the packets sent that did not arrive */
	TRIALS_TIME,	 /* ns, from the first to the last packet sent */
	TRIALS_PAYLOAD,	 /* bit/s of UDP payload received */
	TRIALS_WAITS,	 /* times the sender waited for space in its send buffer */
	TRIALS_TX_CALLS, /* send system calls */
	TRIALS_RX_CALLS, /* receive system calls */
	TRIALS_TX_CPU,	 /* ns, CPU time used by the threads */
	TRIALS_RX_CPU,
	TRIALS_FRAGMENTS,   /* fragments created */
	TRIALS_SEEN,	    /* fragments that arrived at the receiver */
	TRIALS_CUT,	    /* fragments dropped */
	TRIALS_REASSEMBLED, /* datagrams reassembled */
	TRIALS_MEASURES,
};

struct trials {
	unsigned n, max, balanced;
	uint64_t stage[STAGE_COUNT]; /* packets, summed over all trials */
	double *value;		     /* `max` values for each measure */
};

/* Creates a collection of trials, freed with free(). */
struct trials *trials_new(unsigned max);

/* Adds a run and its payload size in bytes (0: unknown). */
void trials_add(struct trials *t, const struct result *r, uint64_t payload_bytes);

/* Removes all trials. */
void trials_clear(struct trials *t);

/* Returns a summary of a measure. Requires at least one trial. */
struct summary trials_summarise(const struct trials *t, enum trials_measure m);

/* Returns true if both rates have a spread of at most TRIALS_SPREAD. */
bool trials_steady(const struct trials *t);

/* Returns the stage with the largest loss over all trials, or "" if nothing was dropped. */
const char *trials_stage(const struct trials *t);

/* Prints the most recently added trial as a table row, after the heading before the first trial. */
void trials_print_row(FILE *out, const struct trials *t, const struct result *r);
void trials_print_end(FILE *out, const struct trials *t);

/*
 * Prints the summary of the spread. `single` is the noun for values that must not be compared if
 * the spread is too large.
 */
void trials_put_spread(struct page *p, const char *title, struct summary s, const char *single);

struct json_object *trials_summary_json(struct summary s);
struct summary trials_summary_read(const struct json_object *o);

/*
 * Adds the members of a summary: trials, balanced, steady, and median .. spread for each measure.
 */
void trials_put(struct json_object *o, const struct trials *t);

/* Results at each measured point, as a text table or CSV. */

#define ROWS_COLUMNS 8

struct rows {
	FILE *out;
	unsigned columns;
	const char *name[ROWS_COLUMNS]; /* parameters that distinguish the points, borrowed */
	int width[ROWS_COLUMNS];
	unsigned shown, where; /* bit set of the other columns that fit, start of the last column */
	bool repeated;	       /* several trials per point, shown as medians */
};

/* Prints the heading for a document that has its start and possibly its trials. */
void rows_open(struct rows *r, FILE *out, bool csv, const struct json_object *document);

/*
 * Prints a table row for a point, computed from all its trials. `failed` says why trials are
 * missing (NULL: all succeeded).
 */
void rows_point(const struct rows *r, const struct json_object *parameters, const struct trials *t,
		const char *failed);

/* Prints a CSV line (RFC 4180, but with LF) for a trial, which may have failed. */
void rows_csv_trial(const struct rows *r, const struct json_object *trial, size_t number);

/* Prints a complete document in either form. */
void rows_print(FILE *out, bool csv, const struct json_object *document);

/*
 * HTML page without external resources. It contains the part that is readable without a script, the
 * documents as JSON in elements that start with HTML_DOCUMENT (report/load.h reads them back), and
 * the script that draws them. Intervals are reduced to at most 240 points. If there are many
 * trials, only the values shown are included.
 */

#define HTML_BEGIN    "<!DOCTYPE html>"
#define HTML_DOCUMENT "<script type=\"application/json\" class=\"pktledger-document\""

struct html_page {
	const struct ledgers_document
		*docs; /* as printed by `-j`, without missing members */
	unsigned n;
	struct json_object *comparison; /* comparison of the first two, from compare_documents(),
					   or NULL */
	struct json_object *matrix;	/* matrix of all documents, from matrix_new(), shown
					   instead of the documents, or NULL */
	const char *text;		/* text output of the command, or NULL */
	bool redact;			/* hide file paths */
	bool live;			/* the script requests later states from the server */
};

/*
 * Writes the page. Documents may contain anything: names are escaped, and bytes that are not UTF-8
 * become U+FFFD. Returns 0, or the -errno of the first failed write.
 */
int html_write(FILE *out, const struct html_page *page);

/*
 * Writes the data for a live page's script: documents and text, as one line of JSON. Returns 0, or
 * the -errno of the first failed write.
 */
int html_live(FILE *out, const struct html_page *page);

/*
 * Writes the page to a file with mode 0644 minus umask. The file is replaced atomically, so the
 * previous page stays until the new page is complete. STATUS_USAGE: the existing file is not a page
 * and is left alone. "-" is stdout. Files that are not regular are written directly.
 */
int html_file(const char *path, const struct html_page *page, struct error *err);

/*
 * Page parts. Write text with escaped markup, and JSON without <, so it cannot contain an end tag.
 */
void html_text(FILE *out, const char *s);
void html_json(FILE *out, struct json_object *doc);

#endif
