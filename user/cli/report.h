/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `run` shows of its trials: progress, text, JSON, a ledger file, and the exit status. */
#ifndef PKTLEDGER_CLI_REPORT_H
#define PKTLEDGER_CLI_REPORT_H

#include "cli/options.h"

struct run_options {
	struct global_options global;
	struct traffic_options traffic;
	const char *fault_text;
	struct opt_limits limits;
	unsigned repeat;
	const char *ledger, *preset;
	struct opt_strings ports;
	struct far_options far;
};

#define RUN_DEFAULTS                                                                               \
	{                                                                                          \
		.traffic = TRAFFIC_DEFAULTS, .repeat = 1                                           \
	}

/* The groups of run's options, in a command whose struct begins with struct run_options. */
#define RUN_GROUPS                                                                                 \
	{"Experiment", run_opts, 0}, {"Two hosts", far_opts, offsetof(struct run_options, far)},   \
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
 * What the options of run mean. `spec` borrows strings from `o`; traffic_free() is due, also after
 * an error.
 */
int run_plan(const struct run_options *o, struct run_spec *spec, struct error *err);

/* What a run needs, also of commands that make several; what is kept when the last has begun. */
extern const struct opt_need run_needs[];
#define RUN_NEEDS_AGAIN "All are kept for the next trial; threads that send and receive have none."

/* Blocks signals, and puts back what a run that was killed has left changed. Once, before runs. */
void run_prepare(struct error *err);

struct report;

/*
 * Opens the outputs that the options ask for. NULL with `err`. `schema`: of another command, which
 * shows its trials itself; NULL: the report is that of run.
 */
struct report *report_new(const struct run_options *o, const char *schema, struct error *err);

/* The options of the trials that follow, and what their progress is headed by ("": nothing). */
void report_next(struct report *r, const struct run_options *o, const char *title);

/* Runs one trial and shows it. The first one connects to the other host, if there is one. */
void report_trial(struct report *r, const struct run_spec *spec, struct error *err);

/* True after an error or a signal: no further trial makes sense. */
bool report_ended(const struct report *r);

/* True after a signal, or if the reader of stdout has gone. */
bool report_interrupted(const struct report *r);

/*
 * Of a command that shows its trials itself: what the document and the ledger begin with, if there
 * is one of them; what is told of the trial that was run last, beside its books; and their end,
 * with `err` of it all. JSON is taken.
 */
bool report_records(const struct report *r);
void report_series(struct report *r, struct json_object *start);
void report_series_trial(struct report *r, struct json_object *members);
void report_series_end(struct report *r, struct json_object *end, const struct error *err);

/* The books of the last trial; NULL: it came to none. */
const struct result *report_result(const struct report *r);

/* NULL: text is asked for. */
struct json_out *report_json(const struct report *r);

/* Ends the outputs, with `err` in them if there is one. Returns the exit status. Frees `r`. */
int report_finish(struct report *r, struct error *err);

#endif
