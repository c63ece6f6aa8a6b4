/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands, and options that several of them share, as groups of rows. */
#ifndef PKTLEDGER_CLI_OPTIONS_H
#define PKTLEDGER_CLI_OPTIONS_H

#include <linux/capability.h>

#include "base/opt.h"
#include "experiment/remote.h"
#include "monitor/live.h"
#include "report/json.h"
#include "report/page.h"
#include "traffic/rx.h"
#include "traffic/tx.h"

extern const struct command cmd_run, cmd_send, cmd_recv, cmd_lab, cmd_selftest, cmd_check,
	cmd_trace, cmd_top, cmd_sweep, cmd_search, cmd_report, cmd_export;

/* The rows of `selftest`, for a report: takes a minute. A signal ends it with those there are. */
struct json_object *selftest_rows(void);

/* The options of every command begin with these. */
struct global_options {
	bool json, json_lines;
	bool quiet;
	unsigned verbose;
};

extern const struct opt global_opts[];

/* As log_init() and the printers of text take it. */
int global_verbosity(const struct global_options *g);

/* JSON is asked for, in one document or in lines; and where it goes then, else NULL. */
bool global_json(const struct global_options *g);
struct json_out *global_json_out(const struct global_options *g, const char *schema);

/* The words of the command line, for the record, and its options; set by main(). */
extern char **program_argv;
extern int program_argc;
extern struct opt_seen program_options;

enum tx_choice { TX_AUTO, TX_SOCKET, TX_XSK, TX_XDP };
enum rx_choice { RX_SOCKET, RX_XSK, RX_XDP };

/* What does not go together. Ends with a NULL message. */
struct contradiction {
	bool found;
	const char *message, *hint;
};

/* The first that is found: STATUS_USAGE. */
int contradiction_check(const struct contradiction *list, struct error *err);

#define LENGTH_BEST UINT64_MAX /* --length best */

/* Of a command that sends: what it asks for, and what is only known when all options are. */
struct traffic_options {
	struct run_spec spec;
	int tx, rx; /* enum tx_choice, rx_choice */
	bool count_set, rate_set;
	bool timed;    /* without a rate, too, what takes a time by default */
	uint64_t size; /* frame with FCS; 0: not given */
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

const struct tx_ops *tx_ops_of(enum tx_choice tx);
const struct rx_ops *rx_ops_of(enum rx_choice rx);

/* Rows of what an experiment needs, beside its lab. */
#define EXPERIMENT_NEEDS                                                                           \
	{OPT_CAP(NET_RAW), "for AF_XDP sockets"}, {OPT_CAP(BPF), "to load BPF programs"},          \
		{OPT_CAP(PERFMON), "for programs that trace drops"},                               \
	{                                                                                          \
		OPT_CAP(SYSLOG), "to read names of kernel functions"                               \
	}

/*
 * The payload that --size or --length mean. STATUS_USAGE if there is no room for the stamp, or if
 * it needs fragments (mtu > 0) that the engine cannot make.
 */
int traffic_payload(const struct traffic_options *t, bool ipv6, const struct tx_ops *tx,
		    unsigned mtu, unsigned *payload, struct error *err);

/* -6 does not change an address: STATUS_USAGE for one of IPv4. Else the address decides. */
int traffic_family(struct run_spec *spec, const struct endpoint *to, struct error *err);

/*
 * Completes `spec`, a copy of that of the options with its engines chosen: how much is sent, the
 * payload (`mtu` as in traffic_payload()) and the shape. What does not go together, or not with the
 * engine, is STATUS_USAGE. -t without -c: until the time is over; a capture without both: once.
 * traffic_free() is due also after an error.
 */
int traffic_plan(const struct traffic_options *t, unsigned mtu, struct run_spec *spec,
		 struct error *err);
void traffic_free(struct run_spec *spec);

/* Says what will be sent, before it is: on a host's own network nobody should be surprised. */
void show_plan(const struct run_spec *spec, double rate_pps, const char *from, const char *to);

/* For experiment_view. */
void show_note(void *arg, const char *note);

/*
 * The reader of a pipe at stdout is gone, or it could not be written: nobody is left to work for.
 */
bool stdout_gone(void);

/* One JSON document on a line. It is taken. */
void print_json(struct json_object *doc);

/* Flushes stdout, and remembers for output_end() why that failed. */
void output_flush(void);

/*
 * Frees `json` (NULL: text), with its document written and `err` in it, and flushes stdout.
 * STATUS_FAILED if not all is written, as on a full disk; 0 too if a pipe's reader has seen enough.
 */
int output_end(struct json_out *json, struct error *err);

/* Whether frames are asked for that need an engine below IP: --tx auto then means xsk. */
bool shape_needs_frames(const struct traffic_options *t);

/* STATUS_USAGE if nothing says how fast: outside a lab there is no default rate. */
int traffic_check_rate(const struct traffic_options *t, struct error *err);

/* Options of struct tuning: how sockets, threads and the reader work. Rows count from its start. */

extern const struct opt socket_send_opts[], socket_recv_opts[], both_opts[];

/* STATUS_USAGE if a tuning needs another engine, or --gso less payload. mtu 0: not known. */
int tuning_check(const struct run_spec *spec, unsigned mtu, struct error *err);

/* Rows of what they need, and of what AF_XDP needs with those options that choose it. */
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

/* The options of an experiment with another host, for every command that runs one. */

struct remote_options {
	struct peer_target target;			    /* to.family 0: no other host */
	enum { REMOTE_ANY, REMOTE_TLS, REMOTE_TCP } scheme; /* that was asked for */
	bool reverse, insecure;
	const char *token_file;
};

extern const struct opt remote_opts[];

/* STATUS_USAGE if an experiment with another host cannot be as `spec` has it. */
int remote_check(const struct remote_options *o, const struct run_spec *spec, struct error *err);

/*
 * Connects to the other host, if one is asked for: *far, to be given to peer_close(), as long as
 * `o` is there. The control port is `port` unless --to has one. Signals kill while it waits.
 */
int remote_connect(const struct remote_options *o, uint16_t port, struct peer **far,
		   struct error *err);

/* What `trace`, `top` and `export` look at, and how fine: options_trace.c. */

struct live_options {
	struct global_options global;
	struct live_spec spec;	     /* what is of one type with the options */
	struct opt_enums stages, by; /* by: enum live_field */
	uint64_t pid, interval_ns, duration_ns;
	uint64_t flows; /* of the balance of TCP */
	bool all, counters, balance, flows_set, interval_set;
	const char *pod;       /* NULL: all */
	struct opt_words expr; /* "": none */
};

/* --pod, as *netns for netns_open(), which lives as long as the program. NULL: none was asked for.
 */
int pod_netns(const char *pod, const char **netns, struct error *err);

/* Of that struct. */
extern const struct opt trace_filter_opts[], trace_view_opts[], trace_tcp_opts[], expr_arg[];

/* Fills what the options say. STATUS_USAGE. */
int trace_spec(const struct live_options *o, struct live_spec *spec, struct error *err);

/* STATUS_USAGE: an option leaves only a part of the losses, or of `tcp` means nothing. */
int balance_whole(const struct live_options *o, bool tcp, struct error *err);

/*
 * trace_spec() of a command that balances TCP alone: without EXPR all of it, and everything else is
 * looked at as ever. flow->tcp: "" if no balance is asked for; to live as long as `spec`.
 */
struct flow_expressions; /* monitor/session.h */
int balance_spec(const struct live_options *o, const char *command, struct flow_expressions *flow,
		 struct live_spec *spec, struct error *err);

/* What `top` does where there is no screen: as `trace` with these options. */
int trace_lines(const struct live_options *o, struct error *err);

/*
 * Rows of what they need. bpf() is for CAP_BPF only up to Linux 5.18 where unprivileged users may
 * not load programs (__sys_bpf()).
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

/* Warns of what this host does not report. */
void trace_show_gaps(const struct live *l);

#endif
