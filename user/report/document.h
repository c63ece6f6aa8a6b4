/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JSON documents produced by run, send, recv, sweep and search (`help --schema`), described by
 * record tables. Commands turn their results into JSON, which is printed, stored in ledgers, and
 * read back. Text output is generated from the JSON, so live output and `report` look the same.
 *
 * The caller owns the objects created here. Objects read from a file may be NULL or contain
 * anything: missing members and members with the wrong type read as 0 or "". Strings in the model
 * are borrowed from the JSON.
 */
#ifndef PKTLEDGER_REPORT_DOCUMENT_H
#define PKTLEDGER_REPORT_DOCUMENT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "base/record.h"
#include "ledger/result.h"
#include "experiment/experiment.h"
#include "experiment/search/search.h"
#include "report/json.h"

struct header_port {
	const char *role; /* "tx", "rx" */
	char ifname[16];
	char address[INET6_ADDRSTRLEN]; /* "" if unknown */
};

/* Facts known when an experiment starts. */
struct run_header {
	char host[65];	   /* host's nodename */
	uint64_t time_ns;  /* ns, CLOCK_REALTIME at the start */
	char *const *argv; /* borrowed, NULL: unknown */
	int argc;
	char lab[32]; /* "": unnamed */
	bool in_lab;
	bool two_hosts;
	struct result_host tx_host, rx_host; /* for experiments that span two hosts */
	struct json_object *far_env;	     /* environment of the other host, borrowed, NULL:
						unknown */
	enum lab_topology topology;
	const char *tx, *rx;	       /* engine names */
	char tx_mode[32], rx_mode[32]; /* modes actually used, "" if the engine has no modes */
	struct header_port tx_port, rx_port;
	uint16_t port;
	const char *faults; /* as given on the command line, borrowed, NULL: no faults */
	unsigned threads, flows;
	uint64_t count;			     /* packets, UINT64_MAX: unlimited */
	uint64_t duration_ns;		     /* ns, 0: no limit */
	double rate_pps;		     /* 0: as fast as possible */
	unsigned payload_bytes, frame_bytes; /* bytes, the largest packet */
	double mean_frame_bytes;	     /* bytes, 0: all frames are the same size */
	unsigned trial, trials;		     /* from --repeat, starting at 1 (0: a single trial) */
	uint16_t stream0, streams;
	uint64_t base;
};

/*
 * Fills the header from the arguments to experiment_view.on_start. Reads the clock and the host
 * name. The caller sets argv, faults and trials.
 */
void run_header_fill(struct run_header *h, const struct run_spec *spec, const struct lab *lab,
		     const struct result *so_far, const struct outcomes_numbers *streams);

/* Return run's events. They take over `env`, which comes from env_read() and may be NULL. */
struct json_object *json_start(const struct run_header *head, struct json_object *env);
struct json_object *json_interval(const struct experiment_interval *now);
struct json_object *json_limit(const struct limit *limit, double measured, bool broken);
struct json_object *json_end(const struct result *res);

/*
 * Returns the first members of every other start event: time, host and command line. Takes over
 * `env`.
 */
struct json_object *json_origin(int argc, char *const *argv, struct json_object *env);

/*
 * Return the send and recv events, which have the members that run uses for one end. They take over
 * `env`, which may be NULL.
 */
struct json_object *json_send_start(int argc, char *const *argv, struct json_object *env,
				    const struct run_spec *spec, const struct result *res,
				    const struct outcomes_numbers *streams);
struct json_object *json_send_end(const struct result *res);
struct json_object *json_recv_start(int argc, char *const *argv, struct json_object *env,
				    const char *rx, uint16_t port, const struct result *res);
struct json_object *json_recv_end(const struct recv_result *r);

/*
 * Return the search events: the goal and outcome of a trial, which supplement the end of its run,
 * and the end of the search with ndr, pdr and mrr (null: not searched for) and their bounds.
 */
struct json_object *json_found_trial(const struct found_trial *t);
struct json_object *json_found(const struct found *f);

/*
 * Read the members written by the functions above, from any object. Missing members are zero.
 * `const char *` strings are borrowed from the JSON.
 */
void json_read_start(const struct json_object *start, struct run_header *h);
void json_read_end(const struct json_object *end, struct result *res);
void json_read_recv_end(const struct json_object *end, struct recv_result *r);
void json_read_found_trial(const struct json_object *trial, struct found_trial *t);
void json_read_found(const struct json_object *end, struct found *f);

/*
 * Returns "EPERM", "unknown" for TX_ERRNO_LOST, or the number if the errno has no name. Valid for
 * as long as a fmt_buffer().
 */
const char *json_errno(int error);

#define FOUND_GOALS 2
extern const char *const found_goals[FOUND_GOALS]; /* "ndr", "pdr" */

/* Document parts. */
extern const struct record_field advice_rows[]; /* struct finding */
struct json_object *json_finding(const struct finding *f);
/* Reads a cause except for its stage. Missing members stay empty. */
void json_read_cause(const struct json_object *from, struct result_cause *c);

/* Returns hist_quarters() as a list of the non-empty quarters: {"from_ns","to_ns","packets"}. */
struct json_object *json_quarters(const uint64_t count[HIST_QUARTERS]);

/*
 * Returns the JSON Schema for a command's documents (report/schema.c), owned by the caller. NULL:
 * the command prints no JSON.
 */
struct json_object *json_schema(const char *command);

/* Returns the document.c table named "cause" or "end", or NULL if the name is unknown. */
const struct record_field *document_table(const char *name);

#endif
