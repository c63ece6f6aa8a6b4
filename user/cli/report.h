/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Output of commands that run experiments: JSON on stdout and a ledger file, the progress, text and
 * exit status of `run` for its trials, and series of trials (series.c).
 */
#ifndef PKTLEDGER_CLI_REPORT_H
#define PKTLEDGER_CLI_REPORT_H

#include "cli/options.h"
#include "report/document.h"

/* JSON on stdout, a ledger file, both or neither. */
struct outputs {
	const char *schema; /* static */
	struct json_out *json;
	struct ledgerfile *ledger;
};

/* Opens the outputs. `ledger`: file to append to, or NULL. */
int outputs_open(struct outputs *o, const char *schema, const struct global_options *g,
		 const char *ledger, struct error *err);

/*
 * Write the start and the end, and take `data`. The end is printed as text unless JSON is printed.
 */
void outputs_start(struct outputs *o, struct json_object *data);
void outputs_end(struct outputs *o, struct json_object *data);

void outputs_interval(struct outputs *o, const struct experiment_interval *now);

/* Writes a range, for experiment_view: `arg` begins with a struct outputs that has a ledger. */
void outputs_range(void *arg, const struct range *r, const char *outcome,
		   const struct result_cause *cause);

/* Closes the outputs, with the error if there is one. */
void outputs_close(struct outputs *o, struct error *err);

/* Capabilities of send and recv: for --ledger, to see `what`, else for losses if permitted. */
#define ONE_END_NEEDS(what)                                                                        \
	{OPT_CAP(BPF), what, .when = "--ledger"},                                                  \
		{OPT_CAP(PERFMON), "for the same purpose", .when = "--ledger"},                    \
		{OPT_CAP(SYSLOG), "to read names of kernel functions", .when = "--ledger"},        \
		{OPT_CAP(BPF), "to load programs that trace drops", .without = ONE_END_UNTRACED},  \
		{OPT_CAP(PERFMON), "for the same purpose", .without = ONE_END_UNTRACED},           \
	{                                                                                          \
		OPT_CAP(SYSLOG), "to read names of kernel functions", .without = ONE_END_UNTRACED  \
	}
#define ONE_END_UNTRACED "losses on this side are not traced"

#define MAX_REPEAT 1000 /* maximum of --repeat */

struct run_options {
	struct global_options global;
	struct traffic_options traffic;
	const char *fault_text;
	struct opt_limits limits;
	unsigned repeat;
	const char *ledger, *junit;
	struct opt_strings ports;
	struct remote_options far;
};

/* The groups of run's options, for a command whose struct begins with struct run_options. */
#define RUN_GROUPS                                                                                 \
	{"Experiment", run_opts, 0},                                                               \
		{"Two hosts", remote_opts, offsetof(struct run_options, far)},                     \
		{"Traffic", traffic_opts, offsetof(struct run_options, traffic)},                  \
		{"Traffic shape", shape_opts, offsetof(struct run_options, traffic)},              \
		{"Sending", socket_send_opts, offsetof(struct run_options, traffic.spec.tuning)},  \
		{"Receiving", socket_recv_opts,                                                    \
		 offsetof(struct run_options, traffic.spec.tuning)},                               \
		{"Threads", both_opts, offsetof(struct run_options, traffic.spec.tuning)},         \
		{"Lab", lab_opts, offsetof(struct run_options, traffic.spec.wish)},                \
	{                                                                                          \
		"Output", global_opts, offsetof(struct run_options, global)                        \
	}

extern const struct opt run_opts[], lab_opts[];

/*
 * Converts the options of run to `spec`, which borrows from `o`. traffic_free() is required in any
 * case.
 */
int run_plan(const struct run_options *o, struct run_spec *spec, struct error *err);

/* Capabilities of a run, also for commands that make several runs, and when all are kept. */
extern const struct opt_need run_needs[];
#define RUN_NEEDS_AGAIN                                                                            \
	"All capabilities are kept for the next trial. Sending and receiving threads have none."

/*
 * Blocks signals, and restores settings that a killed run left changed. Call this function once,
 * before runs.
 */
void run_prepare(struct error *err);

struct report {
	struct outputs out; /* first member, for outputs_range() */
	const struct run_options *o;
	bool own; /* true for run: trials are shown here */
	char title[200];
	struct peer *far;		 /* NULL without another host, or before connecting */
	struct json_object *start, *end; /* start and end of this trial, as printed, written and
					  * kept */
	struct result res;		 /* contents of `end`, from which it borrows */
	struct trials *trials;		 /* NULL for a single trial */
	struct junit *junit;		 /* NULL if not requested */
	const char *junit_file;
	unsigned shown;
	const struct run_spec *spec;	     /* set while a trial runs */
	struct experiment_interval reported; /* the last interval shown as a line */
	bool ended;	       /* after an error or a signal, no more trials run */
	bool interrupted;      /* by a signal, or because the reader of stdout is gone */
	bool broken, recorded; /* recorded: the last trial has a ledger, in `res` */
};

/*
 * Opens the outputs that the options request. Returns NULL with `err` on error. `schema`: schema of
 * another command that shows its trials itself, or NULL for run.
 */
struct report *report_new(const struct run_options *o, const char *schema, struct error *err);

/*
 * Sets the options of the following trials, and the heading of their progress ("": without
 * heading).
 */
void report_next(struct report *r, const struct run_options *o, const char *title);

/*
 * Returns fmt_left() for a progress line: of a run limited by count, with `n` packets done, or by
 * time.
 */
char *report_left(const struct run_spec *spec, uint64_t n, uint64_t time_ns);

/* Runs one trial and shows it. The first trial connects to the other host, if there is one. */
void report_trial(struct report *r, const struct run_spec *spec, struct error *err);

/*
 * For a command that shows its trials itself: write the start of document and ledger, the report of
 * the last trial next to its ledger (returns the whole object, which the caller puts), and the end
 * with `err`. JSON is taken.
 */
void report_series(struct report *r, struct json_object *start);
struct json_object *report_series_trial(struct report *r, struct json_object *members);
void report_series_end(struct report *r, struct json_object *end, const struct error *err);

/*
 * Closes the outputs, with `err` in them if there is an error. Returns the exit status. Frees `r`.
 */
int report_finish(struct report *r, struct error *err);

/*
 * Trials of a sweep: the combinations of --vary, or the lines of a preset. A point is a command
 * line, so that every option works in it and is checked as usual.
 */

#define POINTS_COLUMNS 8
#define POINTS_MAX     10000

struct point {
	const char
		*text[POINTS_COLUMNS]; /* values that differ between points, one per column */
	char **argv;		       /* ends with NULL */
	int argc;
};

struct points {
	unsigned n, columns;
	const char *column[POINTS_COLUMNS]; /* column titles */
	struct point *at;
	char *words; /* memory of the points' words */
};

/*
 * Builds every combination of the values, with the last option varying fastest: `argv` followed by
 * the words of the values. The points borrow both. Returns STATUS_USAGE for more than POINTS_MAX.
 */
int points_product(const struct opt_vary *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err);

void points_free(struct points *points);

/*
 * Repeatable experiments as text files. The first line is the title.
 *
 *	    run --rate 40k -t 2h    # name of the row
 *
 * A line indented by four blanks or a tab is a command line of `run`. Other lines are prose. Words
 * are separated by blanks, and quotes are not supported.
 */

/*
 * Parses one point per command line, with the caller's own words, which are borrowed, after the
 * line's words. Returns -EINVAL with STATUS_FAILED if a line is not valid.
 */
int preset_parse(struct points *points, const char *text, int argc, char **argv, struct error *err);

/*
 * Opens a preset by name, from the directory that `make install` filled or, in a build directory,
 * from the sources. A name with a slash is a file. Returns STATUS_USAGE if not found.
 */
int preset_open(struct points *points, const char *name, int argc, char **argv, struct error *err);

/* Prints the name and the title of each preset. */
int preset_list(struct error *err);

#define SERIES_SCHEMA "pktledger/sweep/1"

/*
 * Parses and plans all points, as options of `sweep`, before running the first. Then shows the
 * result of each: a row of a table or of CSV, a trial of a JSON document. A failed point does not
 * affect other points. `report` was opened with SERIES_SCHEMA. `o`: common options for output and
 * for the number of repetitions. If trials failed, `err` has their number.
 */
void series_run(const struct points *points, bool csv, struct report *report,
		const struct run_options *o, struct error *err);

#endif
