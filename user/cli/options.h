/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options that several commands share, as groups of rows. */
#ifndef PKTLEDGER_CLI_OPTIONS_H
#define PKTLEDGER_CLI_OPTIONS_H

#include <linux/capability.h>

#include "base/opt.h"
#include "report/json.h"
#include "experiment/experiment.h"

struct global_options {
	bool json, json_lines;
	bool quiet;
	unsigned verbose;
};

extern const struct opt global_opts[];

/* The words of the command line, for the record; set by main(). */
extern char **program_argv;
extern int program_argc;

enum tx_choice { TX_AUTO, TX_SOCKET, TX_XSK, TX_XDP };
enum rx_choice { RX_SOCKET, RX_XSK, RX_XDP };

/* What is sent, and how. */
#define LENGTH_BEST UINT64_MAX /* --length best */

struct traffic_options {
	uint64_t count;
	bool count_set;
	uint64_t duration_ns;
	struct rate rate;
	bool rate_set;
	uint64_t size; /* frame with FCS; 0: not given */
	uint64_t length;
	uint64_t port;
	bool ipv6;
	unsigned flows, threads;
	uint64_t sndbuf;
	bool no_wait;
};

#define TRAFFIC_DEFAULTS                                                                           \
	{                                                                                          \
		.count = 1000000, .length = 512, .port = 28779, .flows = 1, .threads = 1           \
	}

extern const struct opt traffic_opts[];
extern const struct opt_value tx_values[], rx_values[];

const struct tx_ops *tx_ops_of(enum tx_choice tx);
const struct rx_ops *rx_ops_of(enum rx_choice rx);

/* Rows of what an experiment needs, beside its lab. */
#define EXPERIMENT_NEEDS                                                                           \
	{OPT_CAP(NET_RAW), "for AF_XDP sockets"}, {OPT_CAP(BPF), "to load its programs"},          \
		{OPT_CAP(PERFMON), "for programs that look at drops"},                             \
	{                                                                                          \
		OPT_CAP(SYSLOG), "to read names of kernel functions"                               \
	}

/*
 * The payload that --size or --length mean. STATUS_USAGE if there is no room for the stamp, or if
 * it needs fragments (mtu > 0) that the engine cannot make.
 */
int traffic_payload(const struct traffic_options *t, const struct tx_ops *tx, unsigned mtu,
		    unsigned *payload, struct error *err);

/* Copies what both have; -t without -c: until the time is over. */
void traffic_plan(const struct traffic_options *t, struct run_spec *spec);

/* JSON, JSON lines, or neither. */
enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_JSON_LINES };
/*
 * Says what will be sent, before it is: on a host's own network nobody should be surprised. Count,
 * duration and rate as in struct run_spec and its pps.
 */
void tell_plan(uint64_t count, uint64_t duration_ns, unsigned payload, double rate_pps,
	       const struct shape *shape, const char *from, const char *to);

/* For experiment_view: a warning; `arg` is not looked at. */
void tell_note(void *arg, const char *note);

/* With -v: how many BPF maps there are now, and the memory that they take. */
void tell_maps(void);

/*
 * The reader of a pipe at stdout is gone, or something could not be written there: there is nobody
 * left to work for.
 */
bool stdout_gone(void);

/* Flushes stdout, and remembers for output_end() why that failed. */
void output_flush(void);

/*
 * Frees `json` (NULL: text), with its document written, and flushes stdout. STATUS_FAILED if not
 * all could be written, as on a full disk; 0 too if the reader of a pipe has seen enough.
 */
int output_end(struct json_out *json, struct error *err);

enum output global_output(const struct global_options *g);

#endif
