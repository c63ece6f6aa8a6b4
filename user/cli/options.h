/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declares the commands and the option groups that several of them share. */
#ifndef PKTLEDGER_CLI_OPTIONS_H
#define PKTLEDGER_CLI_OPTIONS_H

#include <linux/capability.h>

#include "base/opt.h"
#include "experiment/remote.h"
#include "monitor/live.h"
#include "report/json.h"
#include "report/print.h"
#include "traffic/rx.h"
#include "traffic/tx.h"

extern const struct command cmd_run, cmd_send, cmd_recv, cmd_lab, cmd_selftest, cmd_check,
	cmd_trace, cmd_top, cmd_sweep, cmd_search, cmd_report, cmd_export;

/*
 * Runs `selftest` and returns its rows for a report, which takes about a minute. A signal ends the
 * test, and the rows so far are returned.
 */
struct json_object *selftest_rows(void);

/* First member of every command's options. */
struct global_options {
	bool json, json_lines;
	bool quiet;
	unsigned verbose;
};

extern const struct opt global_opts[];

/* Returns the verbosity for log_init() and the text printers. */
int global_verbosity(const struct global_options *g);

/* Returns how a command prints its text to stdout. NULL: without options. */
struct print_view global_view(const struct global_options *g);

/*
 * Returns whether JSON was requested, as a document or as lines, and where to write it. Returns
 * NULL if JSON was not requested.
 */
bool global_json(const struct global_options *g);
struct json_out *global_json_out(const struct global_options *g, const char *schema);

/* Words on the command line, for the record, and the command's options. Set by main(). */
extern char **program_argv;
extern int program_argc;
extern struct opt_seen program_options;

/* Returns true if the command line contains this option. */
bool option_given(const char *name);

/* In the order of tx_engines and rx_engines. */
enum tx_choice { TX_AUTO, TX_SOCKET, TX_XSK, TX_XDP };
enum rx_choice { RX_SOCKET, RX_XSK, RX_XDP };

/*
 * Option values that exclude each other, which a row's `excludes` and `needs` cannot express. The
 * list ends with a NULL message.
 */
struct contradiction {
	bool found;
	const char *message, *hint;
};

/* Reports the first contradiction with STATUS_USAGE. */
int contradiction_check(const struct contradiction *list, struct error *err);

#define LENGTH_BEST UINT64_MAX /* --length best */

/*
 * Options for a command that sends, as given by the user. Some of them can be interpreted only when
 * all options are known.
 */
struct traffic_options {
	struct run_spec spec;
	int tx, rx; /* enum tx_choice, rx_choice */
	bool count_set, rate_set;
	bool timed;    /* sends for a default time, even without a rate */
	uint64_t size; /* frame size including FCS (0: not given) */
	uint64_t length;
	struct rate_plan profile;
	struct imix imix;
	const char *pcap;
	bool stamp;
};

#define TRAFFIC_DEFAULTS                                                                           \
	{                                                                                          \
		.spec = {.count = 1000000,                                                         \
			 .port = 28779,                                                            \
			 .flows = 1,                                                               \
			 .threads = 1,                                                             \
			 .settle_ns = 5000000000,                                                  \
			 .interval_ns = 1000000000,                                                \
			 .shape.seed = 1},                                                         \
		.length = 512                                                                      \
	}

extern const struct opt traffic_opts[], shape_opts[];
extern const struct opt_value tx_values[], rx_values[];

const struct tx_ops *tx_ops_of(enum tx_choice tx); /* not TX_AUTO */
const struct rx_ops *rx_ops_of(enum rx_choice rx);

/* Capabilities an experiment requires, in addition to its test network. */
#define EXPERIMENT_NEEDS                                                                           \
	{OPT_CAP(NET_RAW), "for AF_XDP sockets"}, {OPT_CAP(BPF), "to load BPF programs"},          \
		{OPT_CAP(PERFMON), "for programs that trace drops"},                               \
	{                                                                                          \
		OPT_CAP(SYSLOG), "to read names of kernel functions"                               \
	}

/*
 * Computes the payload for --size or --length. Returns STATUS_USAGE if the sequence header does not
 * fit, or if the payload needs fragments (mtu > 0) that the engine cannot create.
 */
int traffic_payload(const struct traffic_options *t, bool ipv6, const struct tx_ops *tx,
		    unsigned mtu, unsigned *payload, struct error *err);

/*
 * Sets the address family. -6 does not convert addresses, so an IPv4 address returns STATUS_USAGE.
 * Without -6, the address determines the family.
 */
int traffic_family(struct run_spec *spec, const struct endpoint *to, struct error *err);

/*
 * Completes `spec`, a copy of the options' spec with its engines chosen: how much to send, the
 * payload (`mtu` as in traffic_payload()) and the shape. Returns STATUS_USAGE if options exclude
 * each other or the engine does not support them. -t without -c sends until the time is up. A
 * capture without either is sent once. traffic_free() is required even after an error.
 */
int traffic_plan(const struct traffic_options *t, unsigned mtu, struct run_spec *spec,
		 struct error *err);
void traffic_free(struct run_spec *spec);

/* Prints the plan before sending, so that nothing unexpected goes out on a host's real network. */
void show_plan(const struct run_spec *spec, double rate_pps, const char *from, const char *to);

/* Shows a note. Callback for experiment_view. */
void show_note(void *arg, const char *note);

/*
 * Returns true if further work is useless, because the process reading stdout has exited or a write
 * failed.
 */
bool stdout_gone(void);

/* Prints a JSON document on one line. Takes over `doc`. */
void print_json(struct json_object *doc);

/* Flushes stdout and saves the error for output_end(). */
void output_flush(void);

/*
 * Writes the document with `err` and frees `json` (NULL: text), then flushes stdout. Returns
 * STATUS_FAILED if the output is incomplete, for example because the disk is full. Returns 0 if the
 * reader has closed the pipe.
 */
int output_end(struct json_out *json, struct error *err);

/* Returns true if the frames need an engine below IP, in which case --tx auto selects xsk. */
bool shape_needs_frames(const struct traffic_options *t);

/*
 * Returns STATUS_USAGE if no rate was given outside a test network, where there is no default rate.
 */
int traffic_check_rate(const struct traffic_options *t, struct error *err);

/*
 * Options in struct tuning: behaviour of sockets, threads and the receiver. Row offsets are
 * relative to its start.
 */

extern const struct opt socket_send_opts[], socket_recv_opts[], both_opts[];

/*
 * Returns STATUS_USAGE if a tuning option requires another engine or --gso requires a smaller
 * payload. mtu 0: unknown.
 */
int tuning_check(const struct run_spec *spec, unsigned mtu, struct error *err);

/* Capabilities for these options, and for AF_XDP together with the options that select it. */
#define PRIORITY_NEED                                                                              \
	{                                                                                          \
		OPT_CAP(SYS_NICE), "to set thread priorities",                                     \
			.when = "--rt, --nice",                                                    \
			.without = "RLIMIT_RTPRIO and RLIMIT_NICE are the limits"                  \
	}
#define XSK_MEMORY_NEED(options)                                                                   \
	{                                                                                          \
		OPT_CAP(IPC_LOCK), "for AF_XDP memory",                                            \
			.when = options,                                                           \
			.without = "RLIMIT_MEMLOCK is the limit, usually too small"                \
	}

/* Options for an experiment with another host, shared by every command that runs experiments. */

struct remote_options {
	struct peer_target target;			    /* to.family 0: no other host */
	enum { REMOTE_ANY, REMOTE_TLS, REMOTE_TCP } scheme; /* scheme that was requested */
	bool reverse, insecure;
	const char *token_file;
};

extern const struct opt remote_opts[];

/* Returns STATUS_USAGE if `spec` cannot run with another host. */
int remote_check(const struct remote_options *o, const struct run_spec *spec, struct error *err);

/*
 * Connects to the other host if one was requested. peer_close() frees *far, and `o` must outlive
 * it. The control port is `port` unless --to specifies one. Signals kill the process while it
 * waits.
 */
int remote_connect(const struct remote_options *o, uint16_t port, struct peer **far,
		   struct error *err);

/*
 * Options that set the scope and level of detail for `trace`, `top` and `export`: options_trace.c.
 */

struct live_options {
	struct global_options global;
	struct live_spec spec;	     /* options that have the same type in struct live_spec */
	struct opt_enums stages, by; /* by: enum live_field */
	uint64_t pid, interval_ns, duration_ns;
	uint64_t flows; /* for the TCP balance */
	double max_cpu; /* fraction of a CPU, 0: no limit */
	bool all, counters, balance, interval_set;
	const char *pod;       /* NULL: all pods */
	struct opt_words expr; /* "" if not given */
};

/*
 * Resolves --pod to *netns for netns_open(), valid for the lifetime of the process. NULL if --pod
 * was not given.
 */
int pod_netns(const char *pod, const char **netns, struct error *err);

/* Options that select only some of the losses, which cannot be balanced. */
#define TRACE_PARTS "interface pid cgroup stage reason"

/* Option rows for struct live_options. */
extern const struct opt trace_filter_opts[], trace_view_opts[], trace_tcp_opts[], expr_arg[];

/* Fills `spec` from the options. Returns STATUS_USAGE on error. */
int trace_spec(const struct live_options *o, struct live_spec *spec, struct error *err);

/*
 * Like trace_spec(), for the session of a command that balances only TCP: all TCP if there is no
 * EXPR, with everything else shown as usual. s->flow.tcp is "" without a balance.
 */
struct session; /* monitor/session.h */
int balance_spec(const struct live_options *o, const char *command, struct session *s,
		 struct error *err);

/* Row for --max-cpu at this offset, used by trace and export. */
#define MAX_CPU_OPT(at)                                                                            \
	{                                                                                          \
		"max-cpu", 0, OPT_CUSTOM, at, .metavar = "PERCENT", .parse = max_cpu_parse,        \
		.excludes = "balance", .default_text = "no limit",                                 \
		.help = "detach the programs when they cost more than this part of a CPU, and try" \
			" again later"                                                             \
	}
int max_cpu_parse(const char *value, void *field, struct error *err);

/* Overhead measured in the last interval, for --max-cpu. */
struct overhead {
	uint64_t cost_ns, time_ns;
	uint64_t resume_ns; /* 0: attached */
};

/*
 * If the last interval cost more than `max`, detaches the programs for long enough to bring the
 * average down to `max`, then attaches them again. Reports that it did so.
 */
void overhead_limit(struct overhead *o, double max, struct live *l);

/* Runs `trace` with these options, for `top` when there is no screen. */
int trace_lines(const struct live_options *o, struct error *err);

/*
 * Capabilities for these commands. bpf() itself needs CAP_BPF only up to Linux 5.18, if
 * unprivileged users may not load programs (__sys_bpf()).
 */
#define TRACE_NEEDS                                                                                \
	{OPT_CAP(BPF), "to load BPF programs", .keeps = "before Linux 5.19, to read its own maps", \
	 .before = OPT_KERNEL(5, 19)},                                                             \
		{OPT_CAP(PERFMON), "for programs that trace drops"},                               \
		{OPT_CAP(SYSLOG), "to read names of kernel functions",                             \
		 .without = "drop functions and some stages are unknown"},                         \
		{OPT_CAP(SYS_ADMIN), "to enter other network namespaces",                          \
		 .without = "their counters, rules and interface names are missing",               \
		 .keeps = "to read them again, and to enter new ones"},                            \
		{OPT_CAP(NET_ADMIN), "to list firewall rules", .without = "rules are not named",   \
		 .keeps = "to list them again when rules drop packets"},                           \
		{OPT_CAP(SYS_PTRACE), "to read other users' processes",                            \
		 .without = "their sockets are shown without a process",                           \
		 .keeps = "for sockets that lose packets later"},                                  \
	{                                                                                          \
		OPT_CAP(DAC_READ_SEARCH), "to list the file descriptors of those processes",       \
			.without = "only processes of the same user are found",                    \
			.keeps = "for the same purpose"                                            \
	}

/* Warns about data that this host cannot report. */
void trace_show_gaps(const struct live *l);

#endif
