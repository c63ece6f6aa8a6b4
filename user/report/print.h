/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Documents (report/document.h) and ledgers for people, as the commands print them at once, and
 * `report` again; and in the form that was asked for. Write errors are left in ferror(out).
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
	unsigned width; /* columns; 0: as page_open() */
	/* -1: no intervals, no notes; 1 and more: places in the kernel, number ranges, every
	 * counter. */
	int verbosity;
};

/* Whose it is and when it was; what happened in time; its ledger, or sums; what it means. */
void print_document(const struct print_view *v, const struct ledgers_document *d);

/* The trials of `run --repeat`, each a document, as the table that it printed. */
void print_repeat(const struct print_view *v, const struct ledgers_document *d, unsigned n);

/* The intervals of a document as a table that a person reads: some rows of a round length. */

#define STEPS_MAX 32

struct step {
	uint64_t from_ns, to_ns;	   /* CLOCK_REALTIME */
	uint64_t sent, delivered, dropped; /* sent, delivered: 0 in a trace */
	uint64_t stage[STAGE_COUNT];	   /* packets; of those in `dropped` */
	double peak_pps; /* lost, in the worst interval of it; 0: of no length that is known */
};

struct steps {
	struct step at[STEPS_MAX];
	unsigned n;
	uint64_t length_ns;
};

/*
 * What happened in each step; those in which there was no interval are left out. An interval
 * belongs to the step in which it ended, and steps are not shorter than intervals.
 */
void steps_make(struct steps *s, const struct ledgers_document *d);

/* The parts of a document, each with a blank line before it; nothing if there is nothing. */
struct page print_page(const struct print_view *v, uint64_t most);

/* Of ledgers that were joined: each sender's part, and what is missing. */
void print_joined(const struct print_view *v, const struct json_object *document);

/* What is not as it should be: a part is missing, it failed, or has no end. */
void print_state(const struct print_view *v, const struct ledgers_document *d);

/* The intervals of a long one that lost most a second: where to read on. */
void print_worst(const struct print_view *v, const struct ledgers_document *d);

/* What was lost at a stage, an item of "stages"; NULL: nothing. */
struct json_object *print_stage(const struct json_object *end, const char *name);

/* The stage that lost most, "": none did. */
const char *print_worst_stage(const struct json_object *end);

enum text_part {
	TEXT_HEADER = 1,
	TEXT_LEDGER = 2,
	TEXT_BESIDE = 4,
	TEXT_VERDICT = 8,
	TEXT_FINDINGS = 16,
	TEXT_ALL = 31,
};

/*
 * A run: the path of the packets from top to bottom, 80 columns wide; only a command, to be pasted,
 * may be longer. A counter is marked = if it agrees, ~ if it disagrees as this kernel is known to,
 * != if not. `parts` of enum text_part.
 */
void text_run(const struct print_view *v, const struct json_object *start,
	      const struct json_object *end, unsigned parts);

/* The end of send, of recv. */
void text_one_end(const struct print_view *v, const struct json_object *end);

/* Prints the findings of an end, in their order: the first three of more, unless `all`. */
void text_findings(struct page *p, const struct json_object *end, bool all);

/*
 * A trial of a search as a line of the log, with a heading before number 1; what was found; and if
 * there were several searches, how far their lower bounds are apart.
 */
void text_found_trial(FILE *out, unsigned number, const struct json_object *trial);
void text_found(FILE *out, const struct json_object *end);
void text_found_spread(FILE *out, const struct json_object *end);

/* "rcvbuf", "the generator", "the sender's queue", or "" where nothing is to blame. */
const char *found_culprit(const struct json_object *rate);
/* Of a bound that no trial exceeded: "this host generates steadily", behind "the highest rate
 * that". */
const char *found_highest(const struct json_object *end);

/*
 * A limit on the change from A to B: NAME=+N% or NAME=-N%. `loss` changes in percentage points of
 * the packets sent, latencies (p50, p99, p9999, max, jitter) and rates (tx_pps, rx_pps, ndr, pdr,
 * mrr) in percent of A. Losses and latencies may rise by N, rates may fall by N.
 */
struct compare_limit {
	char text[OPT_ITEM_LEN];
	unsigned what; /* in a table of compare.c */
	double most;   /* a fraction */
};

struct compare_limits {
	unsigned n;
	struct compare_limit at[OPT_LIST_MAX];
};

/* Adds comma-separated limits: for an option of OPT_CUSTOM. */
int compare_limits_parse(const char *text, struct compare_limits *l, struct error *err);

/*
 * Adds "limits" to the comparison of two documents, a list of {"limit","a","b","change","broken"},
 * where `change` is null if A has 0 and B has not. Returns whether none is broken, or -ENODATA with
 * STATUS_FAILED if a result has nothing of that name.
 */
int compare_limits(struct json_object *comparison, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct compare_limits *l,
		   struct error *err);

struct show_view {
	struct json_out *json; /* NULL: text or a table */
	int argc;
	char *const *argv; /* for the record */
	bool csv;
	bool matrix;	  /* runs between hosts as one table */
	const char *html; /* a page to be written; NULL: none */
	bool redact;	  /* the documents are changed */
	struct print_view text;
	const struct ledgers_document *a, *b; /* to be compared; NULL: nothing is */
	struct compare_limits limits;	      /* of their comparison */
	struct junit *junit;		      /* NULL: not wanted */
};

/* As matrix_new() and html_file(); STATUS_BROKEN: a limit of the comparison is broken. */
int show_ledgers(const struct show_view *v, struct ledgers *l, struct error *err);

/* Two captures compared (report/capfile.h); `ends` is changed if names are to be hidden. */
int show_ends(const struct show_view *v, struct json_object *ends, struct error *err);

/* In one of them the fates disagree with the ledger; or a joined one does not balance. */
bool show_disagrees(const struct ledgers *l);

/* Documents side by side: two of them, or runs between many hosts as one table. */

#define MATRIX_NODES 64

/*
 * Two: first what was different before they began, then what came of it. Both are of run (or both
 * of send, of recv, of sweep, of search). To be given away:
 *
 *	{ "env":[{"name","a","b"}], "setup":[..], "results":[{"name","a","b","change"}] }
 *
 * env and setup list what differs, by the way to it ("sysctls.net.core.rmem_max"), null is absent.
 * results list what both have, and the stages at which either lost something; change is
 * (b - a) / a, null where a is 0; a_share and b_share are of the packets sent, where that is known.
 * Of sweeps they are the rates received at the points that both have, of searches what was found.
 */
struct json_object *compare_documents(const struct ledgers_document *a,
				      const struct ledgers_document *b);

/* `a`, `b` may be NULL: what they are stands elsewhere. */
void compare_print(const struct print_view *v, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct json_object *comparison);

/*
 * From whom, to whom, what was lost, and where most: of run, and of joined runs:
 *
 *	{ "nodes":["a","b"], "pairs":[ {"from","to","runs","sent","delivered","lost_fraction",
 *	                                "stage","balanced"} ] }
 *
 * A node is the name of a host; in a run on one host, the address. Runs of the same pair are added
 * up; `stage` lost most in all of them, null: nothing was dropped. What has no end is left out. To
 * be put. STATUS_USAGE: more than MATRIX_NODES, STATUS_FAILED: no document is of a pair.
 */
int matrix_new(const struct ledgers_document *docs, unsigned n, struct json_object **matrix,
	       struct error *err);

/* The pair of two nodes, borrowed; NULL: no run. */
struct json_object *matrix_pair(struct json_object *matrix, const char *from, const char *to);

/* As a table for people: senders down, receivers across. */
void matrix_print(const struct print_view *v, struct json_object *matrix);

/* What `check` finds and changes, for machines and people. Objects: to be put; as check_plan(). */

/* The end of the document; its start is json_origin(). */
struct json_object *json_check_end(const struct look *l);

/* Opens the file of a bundle, and writes nothing: whether it can be written is known at once. */
int bundle_try(const char *path, struct error *err);

/*
 * All that a look has read, with other names for what is somebody's, in a ledger file that is
 * judged again elsewhere. Takes `start` and `rows`, those of selftest.
 */
int bundle_write(const char *path, struct json_object *start, const struct look *l,
		 struct json_object *rows, struct error *err);

/*
 * The last of a file, judged; there are no commands in its findings, since they would be for
 * another host. *start: to be put. `l`: zero-initialised, to be closed in any case. STATUS_USAGE:
 * it is none.
 */
int bundle_read(const char *path, struct look *l, struct json_object **start, struct error *err);

/*
 * That end for people: what loses packets, then what will, then what is worth knowing (a line
 * each), what has lost before, and what could not be read. verbosity: -1 only what loses or will;
 * 1 and more also shows how each interface is set up.
 */
void print_check(const struct print_view *v, const struct json_object *end);

/* A paragraph about a finding, and how it is proven; or about a stage: NULL. */
void print_about(const struct print_view *v, const char *title, const char *proof,
		 const char *about);

/* A change that may be made: values and commands; what it risks ("" for nothing). */
struct json_object *json_change(const struct change *c);
void print_change(const struct print_view *v, const struct json_object *change, const char *risk);

/* What a change did to a loss, as look_again() measured it. */
struct json_object *json_remedy(const struct remedy *r);
void print_remedy(const struct print_view *v, const struct remedy *r);

/* One that was made or undone, or was not: "title", .., "outcome", "current", "why". */
struct json_object *json_change_report(const struct change_report *report);
void print_change_report(const struct print_view *v, const struct change_report *report);

/* Several trials of one experiment: a row each, then median, lowest and highest. */

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

struct trials {
	unsigned n, max, balanced;
	uint64_t stage[STAGE_COUNT]; /* packets of all trials */
	double *value;		     /* `max` of each measure */
};

/* To be freed. */
struct trials *trials_new(unsigned max);

/* `end` of a run, and the bytes of its payload (0: unknown). */
void trials_add(struct trials *t, const struct json_object *end, uint64_t payload_bytes);

/* Forgets them all. */
void trials_clear(struct trials *t);

/* Of one trial at least. */
struct summary trials_summarise(const struct trials *t, enum trials_measure m);

/* Neither rate spreads so much that it has to be called out. */
bool trials_steady(const struct trials *t);

/* The stage that lost most in all trials; "": nothing was dropped. */
const char *trials_stage(const struct trials *t);

/* The trial added last, whose end this is, as a line of a table; a heading before the first. */
void trials_print_row(FILE *out, const struct trials *t, const struct json_object *end);
void trials_print_end(FILE *out, const struct trials *t);

/* A line of them; `single`: what is not to be compared if they spread too far. */
void trials_put_spread(struct page *p, const char *title, struct summary s, const char *single);

struct json_object *trials_summary_json(struct summary s);
struct summary trials_summary_read(const struct json_object *o);

/* Adds the members of a summary: trials, balanced, steady, and median .. spread of each measure. */
void trials_put(struct json_object *o, const struct trials *t);

/* What became of points that were measured: a table for people, or CSV. */

#define ROWS_COLUMNS 8

struct rows {
	FILE *out;
	unsigned columns;
	const char *name[ROWS_COLUMNS]; /* of the parameters that tell points apart; borrowed */
	int width[ROWS_COLUMNS];
	unsigned shown, where; /* bits of the other columns that fit; where the last begins */
	bool repeated;	       /* several trials a point: medians */
};

/* Prints the heading, of a document that has its start, and maybe its trials. */
void rows_open(struct rows *r, FILE *out, bool csv, const struct json_object *document);

/* The table: a row a point, from all its trials. `failed`: why some are missing; NULL: none. */
void rows_point(const struct rows *r, const struct json_object *parameters, const struct trials *t,
		const char *failed);

/* CSV as in RFC 4180, but for the LF: a line a trial, which may have failed. */
void rows_csv_trial(const struct rows *r, const struct json_object *trial, size_t number);

/* All of a document, in either form. */
void rows_print(FILE *out, bool csv, const struct json_object *document);

/*
 * Documents as one HTML file that loads nothing: what can be read without a script, the documents
 * as JSON in elements that begin with HTML_DOCUMENT, from which report/load.h reads them back, and
 * the script that draws them. Intervals are at most 240 points there, of many trials there is what
 * is shown of each.
 */

#define HTML_BEGIN    "<!DOCTYPE html>"
#define HTML_DOCUMENT "<script type=\"application/json\" class=\"pktledger-document\""

struct html_page {
	const struct ledgers_document
		*docs; /* as `-j` prints them; whatever is missing is left out */
	unsigned n;
	struct json_object *comparison; /* of the first two, by compare_documents(); or NULL */
	struct json_object *matrix;	/* of all, by matrix_new(): shown in their place; or NULL */
	const char *text;		/* as the command prints it; NULL: nothing */
	bool redact;			/* paths are not shown */
	bool live;			/* the script asks the server for the next state */
};

/*
 * Writes the page. Documents may hold anything: names are escaped, bytes that are not UTF-8 become
 * U+FFFD. 0, or -errno of the first write that failed.
 */
int html_write(FILE *out, const struct html_page *page);

/* Writes what the script of a live page asks for: the documents and the text, as JSON in one line.
 * Returns the same. */
int html_live(FILE *out, const struct html_page *page);

/*
 * The same as a file with mode 0644 less the umask, which is there at once or not at all: the page
 * that was there before stays until then. A file that is no page is not overwritten: STATUS_USAGE.
 * "-" is stdout; what is no regular file is written as it is.
 */
int html_file(const char *path, const struct html_page *page, struct error *err);

/* Parts: a text with its markup escaped, and JSON without <, so that no end tag begins in it. */
void html_text(FILE *out, const char *s);
void html_json(FILE *out, struct json_object *doc);

#endif
