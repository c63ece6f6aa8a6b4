/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Output from commands that run experiments: JSON on stdout and a ledger file. Also reports the
 * progress, text and exit status of `run` trials, and declares series of trials (series.c).
 */
#ifndef PKTLEDGER_CLI_REPORT_H
#define PKTLEDGER_CLI_REPORT_H

#include "cli/options.h"
#include "report/document.h"

/* Output as JSON on stdout, to a ledger file, both or neither. */
struct outputs {
	const char *schema; /* static */
	struct json_out *json;
	struct ledgerfile *ledger;
};

/* Opens the outputs. `ledger`: file to append to, or NULL. */
int outputs_open(struct outputs *o, const char *schema, const struct global_options *g,
		 const char *ledger, struct error *err);

/*
 * Write the start and the end. They take over `data`. The end is printed as text unless JSON is
 * printed.
 */
void outputs_start(struct outputs *o, struct json_object *data);
void outputs_end(struct outputs *o, struct json_object *data);

void outputs_interval(struct outputs *o, const struct experiment_interval *now);

/*
 * Writes a range. Callback for experiment_view. `arg` begins with a struct outputs that has a
 * ledger.
 */
void outputs_range(void *arg, const struct range *r, const char *outcome,
		   const struct result_cause *cause);

/* Closes the outputs, including the error if there is one. */
void outputs_close(struct outputs *o, struct error *err);

/*
 * Capabilities for send and recv. With --ledger they are required to see `what`. Otherwise they are
 * used to see losses if available.
 */
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

#define MAX_REPEAT 1000 /* maximum for --repeat */

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

/* run's option groups, for a command whose struct begins with struct run_options. */
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
 * Converts run's options to `spec`, which borrows from `o`. traffic_free() is required even after
 * an error.
 */
int run_plan(const struct run_options *o, struct run_spec *spec, struct error *err);

/*
 * Capabilities for a run, also used by commands that make several runs, and the note for when all
 * are kept.
 */
extern const struct opt_need run_needs[];
#define RUN_NEEDS_AGAIN                                                                            \
	"All capabilities are kept for the next trial. Sending and receiving threads have none."

/*
 * Blocks signals and restores settings that a killed run left changed. Must be called once before
 * the first run.
 */
void run_prepare(struct error *err);

struct report {
	struct outputs out; /* first member, for outputs_range() */
	const struct run_options *o;
	bool own; /* true for run, where trials are shown here */
	char title[200];
	struct peer *far;		 /* NULL without another host or before connecting */
	struct session *session;	 /* of all trials */
	struct json_object *start, *end; /* start and end of this trial, as printed and kept */
	struct result res;		 /* contents of `end`, borrowed from it */
	struct trials *trials;		 /* NULL for a single trial */
	struct junit *junit;		 /* NULL if not requested */
	const char *junit_file;
	unsigned shown;
	const struct run_spec *spec;	     /* set while a trial is running */
	struct experiment_interval reported; /* last interval shown as a line */
	bool ended;	       /* after an error or a signal: no more trials */
	bool interrupted;      /* by a signal, or because stdout's reader has exited */
	bool broken, recorded; /* recorded: the last trial has a ledger, in `res` */
};

/*
 * Opens the outputs that the options request. Returns NULL with `err` on error. `schema` belongs to
 * another command that shows its trials itself. It is NULL for run.
 */
struct report *report_new(const struct run_options *o, const char *schema, struct error *err);

/* Sets the options for the following trials, and the heading for their progress ("": none). */
void report_next(struct report *r, const struct run_options *o, const char *title);

/*
 * Returns fmt_left() for a progress line: based on `n` packets done if the run is limited by count,
 * otherwise on time.
 */
char *report_left(const struct run_spec *spec, uint64_t n, uint64_t time_ns);

/* Runs and shows one trial. The first trial connects to the other host if there is one. */
void report_trial(struct report *r, const struct run_spec *spec, struct error *err);

/*
 * For a command that shows its trials itself. Write the start of the document and the ledger, then
 * the last trial's report next to its ledger (returning the whole object for the caller to add),
 * and the end with `err`. They take over the JSON.
 */
void report_series(struct report *r, struct json_object *start);
struct json_object *report_series_trial(struct report *r, struct json_object *members);
void report_series_end(struct report *r, struct json_object *end, const struct error *err);

/*
 * Closes the outputs, including `err` if there is an error, and frees `r`. Returns the exit status.
 */
int report_finish(struct report *r, struct error *err);

/*
 * Trials in a sweep: the combinations of --vary, or the lines of a preset. Each point is a command
 * line, so every option can be used in it and is checked as usual.
 */

#define POINTS_COLUMNS 8
#define POINTS_MAX     10000

struct point {
	const char
		*text[POINTS_COLUMNS]; /* values that differ between points, one for each column */
	char **argv;		       /* ends with NULL */
	int argc;
};

struct points {
	unsigned n, columns;
	const char *column[POINTS_COLUMNS]; /* column titles */
	struct point *at;
	char *words; /* memory for the points' words */
};

/*
 * Builds every combination of the values, varying the last option fastest: `argv` followed by the
 * words for the values. The points borrow both. Returns STATUS_USAGE if there are more than
 * POINTS_MAX.
 */
int points_product(const struct opt_vary *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err);

void points_free(struct points *points);

/*
 * Repeatable experiments in text files. The first line is the title.
 *
 *	    run --rate 40k -t 2h    # name of the row
 *
 * A line indented by four blanks or a tab is a `run` command line. All other lines are prose. Words
 * are separated by blanks. Quoting is not supported.
 */

/*
 * Parses one point per command line. Appends the caller's words, which are borrowed, to the words
 * on the line. Returns -EINVAL with STATUS_FAILED if a line is invalid.
 */
int preset_parse(struct points *points, const char *text, int argc, char **argv, struct error *err);

/*
 * Opens a preset by name, from the directory that `make install` filled, or from the sources when
 * run in a build directory. A name with a slash is a file. Returns STATUS_USAGE if it is not found.
 */
int preset_open(struct points *points, const char *name, int argc, char **argv, struct error *err);

/* Prints each preset's name and title. */
int preset_list(struct error *err);

#define SERIES_SCHEMA "pktledger/sweep/1"

/*
 * Parses and plans all points, using `sweep` options, before running the first. Then shows each
 * result as a table row, a CSV row, or a trial in a JSON document. A failed point does not affect
 * other points. `report` was opened with SERIES_SCHEMA. `o` has the common options for output and
 * for the number of repetitions. If trials failed, `err` says how many.
 */
void series_run(const struct points *points, bool csv, struct report *report,
		const struct run_options *o, struct error *err);

#endif
