/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What commands report of experiments: JSON on stdout and a ledger file; what `run` shows of its
 * trials, with progress, text and the exit status; and series of trials (series.c).
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

/* `ledger`: a file to be appended to; NULL: none. */
int outputs_open(struct outputs *o, const char *schema, const struct global_options *g,
		 const char *ledger, struct error *err);

/* Both take `data`. The end is printed as text if it is not printed as JSON. */
void outputs_start(struct outputs *o, struct json_object *data);
void outputs_end(struct outputs *o, struct json_object *data);

void outputs_interval(struct outputs *o, const struct experiment_interval *now);

/* For experiment_view: `arg` begins with a struct outputs that has a ledger. */
void outputs_range(void *arg, const struct range *r, const char *outcome,
		   const struct result_cause *cause);

/* With the error, if there is one. */
void outputs_close(struct outputs *o, struct error *err);

/* Rows of what send and recv need: for --ledger, to see `what`; else for losses if they can. */
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

#define MAX_REPEAT 1000 /* of --repeat */

struct run_options {
	struct global_options global;
	struct traffic_options traffic;
	const char *fault_text;
	struct opt_limits limits;
	unsigned repeat;
	const char *ledger, *preset, *junit;
	struct opt_strings ports;
	struct remote_options far;
};

/* The groups of run's options, in a command whose struct begins with struct run_options. */
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

/* What the options of run mean. `spec` borrows from `o`; traffic_free() is due in any case. */
int run_plan(const struct run_options *o, struct run_spec *spec, struct error *err);

/* What a run needs, also of commands that make several; what is kept when the last has begun. */
extern const struct opt_need run_needs[];
#define RUN_NEEDS_AGAIN                                                                            \
	"All capabilities are kept for the next trial. Sending and receiving threads have none."

/* Blocks signals, and puts back what a run that was killed has left changed. Once, before runs. */
void run_prepare(struct error *err);

struct report {
	struct outputs out; /* first: outputs_range() */
	const struct run_options *o;
	bool own; /* run's: trials are shown here */
	char title[200];
	struct peer *far;		 /* NULL: none, or not connected yet */
	struct json_object *start, *end; /* of this trial: what is printed, written and kept */
	struct result res;		 /* as `end` says, from which it borrows */
	struct trials *trials;		 /* NULL: one trial only */
	struct junit *junit;		 /* NULL: not wanted */
	const char *junit_file;
	unsigned shown;
	const struct run_spec *spec;	     /* while a trial runs */
	struct experiment_interval reported; /* the last one that was shown in a line */
	bool ended;	       /* after an error or a signal: no further trial makes sense */
	bool interrupted;      /* by a signal, or the reader of stdout has gone */
	bool broken, recorded; /* recorded: the last trial came to a ledger, which is in `res` */
};

/*
 * Opens the outputs that the options ask for. NULL with `err`. `schema`: of another command, which
 * shows its trials itself; NULL: the report is that of run.
 */
struct report *report_new(const struct run_options *o, const char *schema, struct error *err);

/* The options of the trials that follow, and what their progress is headed by ("": nothing). */
void report_next(struct report *r, const struct run_options *o, const char *title);

/* For a line of progress: fmt_left() of what ends after its count, of which `n` are done, or time.
 */
char *report_left(const struct run_spec *spec, uint64_t n, uint64_t time_ns);

/* Runs one trial and shows it. The first one connects to the other host, if there is one. */
void report_trial(struct report *r, const struct run_spec *spec, struct error *err);

/*
 * Of a command that shows its trials itself: what the document and the ledger begin with; what is
 * reported of the trial that was run last, beside its ledger, which returns the whole of it, to be
 * put; and their end, with `err` of it all. JSON is taken.
 */
void report_series(struct report *r, struct json_object *start);
struct json_object *report_series_trial(struct report *r, struct json_object *members);
void report_series_end(struct report *r, struct json_object *end, const struct error *err);

/* Ends the outputs, with `err` in them if there is one. Returns the exit status. Frees `r`. */
int report_finish(struct report *r, struct error *err);

/*
 * Trials that are known beforehand: the points of a sweep, the lines of a preset. A point is a
 * command line, so that every option works in it and is checked as ever.
 */

#define POINTS_COLUMNS 8
#define POINTS_MAX     10000

struct point {
	const char
		*text[POINTS_COLUMNS]; /* what it differs in from the others: a value each column */
	char **argv;		       /* ends with NULL */
	int argc;
};

struct points {
	unsigned n, columns;
	const char *column[POINTS_COLUMNS]; /* their titles */
	struct point *at;
	const char *title; /* of a preset; else NULL */
	char *about;	   /* its prose as it stands in the file, up to the first command line */
	char *words;	   /* that its points are made of */
};

/*
 * Every combination of the values, the last option varying fastest: `argv` with the words of the
 * values behind it. Both are borrowed by the points. STATUS_USAGE: more than POINTS_MAX.
 */
int points_product(const struct opt_vary *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err);

void points_free(struct points *points);

/*
 * Experiments that people repeat, as text files: what they are about, and the command lines.
 *
 *	Title, a line
 *
 *	Prose, in paragraphs.
 *
 *	    run --rate 40k -t 2h    # what the row is called
 *
 * A line behind four blanks or a tab is one of `run`, and the remark behind it is the title of its
 * row. Words are divided by blanks, there are no quotes.
 */

/*
 * A point each line, with the caller's own words behind the line's, which are borrowed. -EINVAL
 * with STATUS_FAILED names the line that is wrong.
 */
int preset_parse(struct points *points, const char *name, const char *text, int argc, char **argv,
		 struct error *err);

/*
 * By its name, from the directory that `make install` filled or, from a build directory, from the
 * sources; or a file, if there is a slash in it. STATUS_USAGE: none; the nearest is suggested.
 */
int preset_open(struct points *points, const char *name, int argc, char **argv, struct error *err);

/*
 * Runs points one behind the other and shows what became of each: a row of a table or of CSV, a
 * trial of a JSON document. One that fails loses nothing of those before it, nor those behind it.
 */

struct series {
	/* Reads a point's words; its struct begins with struct run_options. */
	const struct command *cmd;
	const struct points *points;
	/* Looks at a point that was parsed; NULL: nothing to be seen. */
	int (*check)(const void *arg, const struct point *point, const void *options,
		     struct error *err);
	const void *arg;
	bool csv;
};

#define SERIES_SCHEMA "pktledger/sweep/1"

/*
 * All points are parsed and planned before the first is run. `report` was opened with
 * SERIES_SCHEMA; `o`: options of all, as far as output is concerned, and how often each point is
 * measured. If a trial failed, `err` says how many did.
 */
void series_run(const struct series *s, struct report *report, const struct run_options *o,
		struct error *err);

/*
 * Runs the preset that the options name, or lists all for the name `help`. The words of the command
 * line stand behind those of each line, so they win. Returns the exit status.
 */
int preset_run(const struct run_options *o, struct error *err);

#endif
