// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/options.h"
#include "host/caps.h"
#include "diagnosis/facts.h"
#include "report/document.h"
#include "experiment/remote.h"
#include "base/watch.h"
#include "cli/report.h"

#define LEDGER_STREAMS 16 /* maximum number of streams in a ledger */
#define REFUSED_EACH   16 /* rejected clients that are logged individually */

struct recv_options {
	struct global_options global;
	struct run_spec spec;
	int rx; /* enum rx_choice */
	const char *ledger;
	bool serve, stdio;
	struct endpoint listen; /* family 0: loopback */
	uint64_t control_port;	/* 0: same as the UDP port */
	const char *token_file, *new_token;
	bool insecure, max_rate_set;
	struct rate max_rate;
};

static const struct recv_options defaults = {
	.spec = {.port = 28779, .count = UINT64_MAX, .interval_ns = 1000000000},
	.max_rate = {RATE_PPS, 100000}};

#define AT(member) offsetof(struct recv_options, member)

static const struct opt place_opts[] = {
	{"interface", 'i', OPT_STRING, AT(spec.ifname), .metavar = "IFNAME", .default_text = "any",
	 .help = "receive on this interface (required for --rx xsk and --rx xdp)"},
	{"port", 'p', OPT_U64, AT(spec.port), .min = 1, .max = 65535, .help = "UDP port"},
	{"stay", 0, OPT_FLAG, AT(spec.stay),
	 .help = "keep running after all senders, or the client of --serve, have ended"},
	{0},
};

static const struct opt recv_opts[] = {
	{"rx", 0, OPT_ENUM, AT(rx), .values = rx_values, .help = "receiving engine"},
	{"ipv6", '6', OPT_FLAG, AT(spec.ipv6), .help = "use IPv6"},
	{"count", 'c', OPT_COUNT, AT(spec.count), .min = 1, .metavar = "N",
	 .default_text = "no limit", .help = "stop after this many deliveries"},
	{"duration", 't', OPT_TIME, AT(spec.duration_ns), .min = 1, .default_text = "no limit",
	 .help = "stop after this long"},
	{"rcvbuf", 0, OPT_SIZE, AT(spec.rcvbuf), .min = 1, .max = INT32_MAX / 2,
	 .default_text = "the host's", .help = "receive buffer in bytes"},
	{"latency-breakdown", 0, OPT_FLAG, AT(spec.legs), .formerly = "legs",
	 .help = "break latency down by probe (lowers the maximum rate)"},
	{"interval", 'I', OPT_TIME, AT(spec.interval_ns), .min = 10000000,
	 .help = "progress interval"},
	{"ledger", 'o', OPT_STRING, AT(ledger), .metavar = "FILE", .default_text = "none",
	 .help = "append the ledger to a file for `report --join`"},
	{"streams", 0, OPT_UINT, AT(spec.streams), .min = 1, .max = TRACE_STREAMS,
	 .excludes = "stay", .default_text = "any, 16 in a ledger",
	 .help = "stop after N streams, one per sending thread"},
	{0},
};

static const struct opt serve_opts[] = {
	{"serve", 0, OPT_FLAG, AT(serve), .excludes = "stdio",
	 .help = "serve `run --to` of other hosts, one at a time"},
	{"stdio", 0, OPT_FLAG, AT(stdio), .excludes = "port stay json json-lines",
	 .help = "serve one `run --to` on stdin and stdout (started by ssh and similar commands)"},
	{"listen", 0, OPT_ENDPOINT, AT(listen), .metavar = "ADDR", .default_text = "loopback",
	 .needs = "serve",
	 .help = "listen for `run --to` at this address (:: is any, token required outside "
		 "loopback)"},
	{"control-port", 0, OPT_U64, AT(control_port), .min = 1, .max = 65535,
	 .default_text = "as --port", .needs = "serve",
	 .help = "listen for `run --to` at this TCP port"},
	{"token-file", 0, OPT_STRING, AT(token_file), .metavar = "FILE", .default_text = "none",
	 .needs = "serve",
	 .help = "serve over TLS, only clients with the same token (first line of FILE, 32 to 256 "
		 "bytes)"},
	{"new-token", 0, OPT_STRING, AT(new_token), .metavar = "FILE",
	 .excludes = "token-file insecure", .default_text = "none", .needs = "serve",
	 .help = "create FILE, which must not exist yet, with a new token and use it"},
	{"insecure", 0, OPT_FLAG, AT(insecure), .excludes = "token-file", .needs = "serve",
	 .help = "serve anyone who reaches the address, without encryption"},
	{"max-rate", 0, OPT_RATE, AT(max_rate),
	 .set_offset = OPT_SET(struct recv_options, max_rate_set), .needs = "serve stdio",
	 .help = "rate limit of a client that uses --reverse: pps or max"},
	{0},
};

static const struct opt group_opts[] = {
	{"group", 0, OPT_ENDPOINT, offsetof(struct tuning, receive.group), .metavar = "ADDR",
	 .default_text = "none", .help = "join this multicast group, at --interface if given"},
	{0},
};

static const struct opt_group recv_groups[] = {
	{"Interface and port", place_opts, 0},
	{"Two hosts", serve_opts, 0},
	{"Receiving", recv_opts, 0},
	{"Reading", socket_recv_opts, AT(spec.tuning)},
	{"Multicast", group_opts, AT(spec.tuning)},
	{"Threads", both_opts, AT(spec.tuning)},
	{"Output", global_opts, AT(global)},
	{0},
};

struct receiving {
	struct outputs out; /* first member, for outputs_range() */
	struct run_spec spec;
};

static void on_start(void *arg, const struct run_spec *spec, const struct lab *lab,
		     const struct result *res, const struct outcomes_numbers *streams)
{
	struct outputs *out = arg;

	(void)streams;
	log_info("receiving on UDP port %u%s", (unsigned)spec->port, spec->ipv6 ? ", IPv6" : "");
	if (out->json || out->ledger)
		outputs_start(out, json_recv_start(program_argc, program_argv, env_read(lab),
						   spec->rx->name, (uint16_t)spec->port, res));
	caps_give_up(cmd_recv.needs, NULL, CAPS_ONCE);
	caps_bar_calls(true, false);
}

static bool on_interval(void *arg, const struct experiment_interval *now)
{
	struct receiving *r = arg;

	log_progress("%.1f s%s: %s delivered", (double)now->time_ns * 1e-9,
		     report_left(&r->spec, now->delivered, now->time_ns),
		     fmt_count(now->delivered));
	outputs_interval(&r->out, now);
	return !stdout_gone();
}

struct serving {
	struct server_config cfg;
	struct json_out *json; /* NULL: print text */
	struct error *err;     /* why the client of --stdio failed */
	unsigned clients, refused;
	bool insecure;
};

static void show_limits(double max_pps)
{
	struct server_limits l;

	server_limits(&l);
	log_info("limits of a client: packets sent to it at %s, %s for the outcomes of %s packets, "
		 "%s, a receive buffer of %s",
		 max_pps > 0 ? fmt_rate(max_pps) : "any rate", fmt_bytes(l.bytes),
		 fmt_count(l.numbers), fmt_many(l.threads, "thread"), fmt_bytes(l.rcvbuf));
}

static void on_listening(void *arg)
{
	const struct serving *s = arg;
	const struct endpoint *at = &s->cfg.listen;
	struct json_object *start;

	log_info("waiting for `run --to` on TCP port %u, %s; packets on UDP port %u", at->port,
		 at->family ? num_text_endpoint(at) : "loopback only", (unsigned)s->cfg.spec->port);
	show_limits(s->cfg.max_pps);
	if (s->insecure)
		log_warn("INSECURE: no authentication, anyone who can connect is served");
	if (!s->json)
		return;
	start = json_origin(program_argc, program_argv, env_read(NULL));
	json_put_u64(start, "port", s->cfg.spec->port);
	json_put_u64(start, "control_port", s->cfg.listen.port);
	json_out_once(s->json, "start", start);
}

static void on_served(void *arg, const struct server_served *v)
{
	struct endpoint address = v->peer;
	struct serving *s = arg;
	struct json_object *o;
	const char *where;

	if (s->cfg.stdio) {
		if (*v->why)
			error_set(s->err, STATUS_FAILED, -EPROTO, NULL,
				  "pktledger on the other host failed: %s", v->why);
		return;
	}
	address.port = 0;
	where = num_text_endpoint(&address);
	s->refused += v->refused;
	s->clients += !v->refused;
	if (v->refused) {
		/*
		 * limit log lines about unknown clients: after the first few, log only counts that
		 * are a power of two
		 */
		if (s->refused <= REFUSED_EACH || !(s->refused & (s->refused - 1)))
			log_warn("%s was refused: %s%s%s", where, v->why,
				 s->refused > REFUSED_EACH ? "; refused by now: " : "",
				 s->refused > REFUSED_EACH ? fmt_count(s->refused) : "");
	} else if (s->json) {
		o = json_object_new_object();
		json_put_text(o, "host", v->host);
		json_put_text(o, "address", where);
		json_put_u64(o, "experiments", v->experiments);
		json_put_u64(o, "delivered", v->delivered);
		json_put_u64(o, "sent", v->sent);
		json_put_text(o, "why", v->why);
		json_out_each(s->json, "client", o);
	} else {
		printf("%s (%s): %s, %s delivered here, %s sent%s%s\n", v->host, where,
		       fmt_many(v->experiments, "experiment"), fmt_count(v->delivered),
		       fmt_count(v->sent), *v->why ? "; " : "", v->why);
		output_flush();
	}
}

/* Rejects options of the traffic, which the client of --serve and --stdio chooses. */
static int check_serve(const struct recv_options *o, struct error *err)
{
	for (const struct opt_group *g = &recv_groups[2]; g->opts != global_opts; g++) {
		for (const struct opt *opt = g->opts; opt->name; opt++) {
			if (opt_given(&program_options, opt))
				return error_usage(err,
						   "it is an option of the client's `run --to`",
						   "--%s has no effect with %s", opt->name,
						   o->stdio ? "--stdio" : "--serve");
		}
	}
	return 0;
}

static int check_max_rate(const struct rate *max, struct error *err)
{
	if (max->unit == RATE_PPS || max->unit == RATE_MAX)
		return 0;
	return error_usage(err, "for example --max-rate 50k, or max",
			   "--max-rate is in packets/s: the client chooses their size");
}

/* Checks the listening address. Outside loopback, requires a token or --insecure. */
static int check_listen(const struct recv_options *o, struct error *err)
{
	if (o->listen.port)
		return error_usage(err, "set the port with --control-port",
				   "--listen takes no port");
	if ((o->token_file || o->new_token) && !tls)
		return error_set(err, STATUS_UNABLE, -ENOSYS,
				 "`run --to USER@HOST` uses ssh and needs no token",
				 "this build has no TLS, and so no tokens");
	if (num_is_loopback(&o->listen) || o->token_file || o->new_token || o->insecure)
		return 0;
	return error_usage(err,
			   "create a token with --new-token FILE, let the client use `run --to "
			   "USER@HOST` (ssh), or use --insecure",
			   "an address other than loopback needs a token, because anyone who can "
			   "connect could use this host");
}

/* Reserves stdout for the protocol, so that nothing else can be written there. */
static int take_stdio(struct server_config *cfg, struct error *err)
{
	if (isatty(STDIN_FILENO))
		return error_usage(
			err, "start `pktledger run --to USER@HOST` on the other host",
			"--stdio is for a program at the other end, and stdin is a terminal");
	watch_ignore_terminal();
	cfg->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	cfg->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (cfg->in < 0 || cfg->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return error_errno(err, STATUS_FAILED, -errno, NULL, "cannot use stdin and stdout");
	return 0;
}

/* Serves clients and prints a line per run. Returns the exit status. */
static int serve(const struct recv_options *o, struct error *err)
{
	const char *token = o->new_token ? o->new_token : o->token_file;
	struct serving s = {
		.cfg = {.spec = &o->spec,
			.listen = o->listen,
			.stdio = o->stdio,
			.max_pps = o->max_rate.value},
		.err = err,
		.insecure = o->insecure,
	};
	const struct server_view view = {on_listening, on_served, &s};
	struct json_object *end;

	/* a client with stdio access could send by other means anyway */
	if (o->stdio && !o->max_rate_set)
		s.cfg.max_pps = 0;
	if (o->stdio && take_stdio(&s.cfg, err))
		return 0;
	s.json = global_json_out(&o->global, "pktledger/recv/1");
	s.cfg.listen.port = (uint16_t)(o->control_port ? o->control_port : o->spec.port);
	if (!check_serve(o, err) && !check_listen(o, err) && !check_max_rate(&o->max_rate, err) &&
	    !caps_require(&cmd_recv, o->stdio ? "--stdio" : "--serve", err) &&
	    (!o->new_token || !token_new(o->new_token, err)) &&
	    (!token || !token_read(&s.cfg.token, token, err))) {
		watch_block_signals();
		caps_give_up(cmd_recv.needs, NULL, CAPS_AGAIN);
		server_run(&s.cfg, &view, err);
	}
	if (s.json && err->status == STATUS_OK) {
		end = json_object_new_object();
		json_put_u64(end, "clients", s.clients);
		json_put_u64(end, "refused", s.refused);
		json_out_once(s.json, "end", end);
	}
	return output_end(s.json, err);
}

/* In a ledger and with --rx xdp, a stream keeps its slot after its end. */
static void warn_foreign(const struct recv_options *o, const struct run_spec *spec,
			 uint64_t packets)
{
	const bool xdp = o->rx == RX_XDP;
	unsigned room = o->ledger ? spec->ledger : xdp ? SINK_LEARNED : TRACE_STREAMS;

	log_warn("%s belonged to no known stream: forged numbers, or more streams than the %u that "
		 "%s "
		 "room for%s",
		 fmt_many(packets, "packet"), room,
		 o->ledger ? "a ledger has"
		 : xdp	   ? "--rx xdp has"
			   : "there is",
		 o->ledger ? " (--streams)"
		 : xdp	   ? ""
			   : " at a time");
}

static const char *const needs_with[] = {
	[RX_SOCKET] = NULL, [RX_XSK] = "--rx xsk", [RX_XDP] = "--rx xdp"};

static int recv_run(void *options, struct error *err)
{
	const struct recv_options *o = options;
	struct receiving me = {.spec = o->spec};
	struct run_spec *spec = &me.spec;
	const struct experiment_view callbacks = {
		.on_note = show_note,
		.on_start = on_start,
		.on_interval = on_interval,
		.on_range = o->ledger ? outputs_range : NULL,
		.arg = &me,
	};
	static struct recv_result out;

	if (o->serve || o->stdio)
		return serve(o, err);
	spec->rx = rx_ops_of(o->rx);
	spec->tuning.receive.device = spec->ifname;
	spec->fragments = o->ledger;
	if (o->ledger)
		spec->ledger = (unsigned)larger(spec->streams, LEDGER_STREAMS);
	watch_block_signals();
	if (!outputs_open(&me.out, "pktledger/recv/1", &o->global, o->ledger, err) &&
	    !tuning_check(spec, 0, err) &&
	    !caps_require(&cmd_recv, needs_with[o->rx], err) &&
	    (!o->ledger || !caps_require(&cmd_recv, "--ledger", err)))
		experiment_run(spec, &callbacks, &out.res, &out, err);
	log_progress_clear();
	if (out.closed)
		outputs_end(&me.out, json_recv_end(&out));
	if (out.closed && !out.received)
		log_warn("no packet of `pktledger send` arrived on UDP port %u: compare the address "
			 "and port of the sender, and look for a firewall",
			 (unsigned)spec->port);
	if (out.closed && out.res.foreign)
		warn_foreign(o, spec, out.res.foreign);
	outputs_close(&me.out, err);
	return 0;
}

static const struct opt_need needs[] = {
	{OPT_CAP(BPF), "to load programs at the interface",
	 .when = "--rx xsk, --rx xdp, --serve, --stdio"},
	{OPT_CAP(NET_ADMIN), "to attach these "
			     "programs", .when = "--rx xsk, --rx xdp, --serve, --stdio"},
	{OPT_CAP(PERFMON), "for packet pointer arithmetic and to trace drops",
	 .when = "--rx xsk, --rx xdp, --serve, --stdio"},
	{OPT_CAP(NET_RAW), "for AF_XDP sockets", .when = "--rx xsk, --serve, --stdio"},
	{OPT_CAP(SYSLOG), "to read names of kernel functions", .when = "--serve, --stdio"},
	ONE_END_NEEDS("to count arrivals and losses on this host"),
	XSK_MEMORY_NEED("--rx xsk"),
	{OPT_CAP(NET_ADMIN), "to exceed net.core.rmem_max and to poll interface queues",
	 .when = "--rcvbuf, --busy-poll", .without = "the kernel may refuse both"},
	PRIORITY_NEED,
	{0},
};

static const struct opt_example examples[] = {
	{"recv", "receive until the senders have finished"},
	{"recv -6 -p 9000 -t 60 -j", "receive IPv6 for a minute, with JSON output"},
	{"recv --serve --listen :: --new-token token", "serve one `run --to` of another host"},
	{"recv --rx xsk -i eth1", "receive frames at the interface, through AF_XDP"},
	{"recv --rx xdp -i eth1", "count and drop frames in the driver (the fastest receiver)"},
	{0},
};

const struct command cmd_recv = {
	.name = "recv",
	.summary = "receive numbered packets and report missing ones",
	.everyday = "rx interface port ipv6 count duration stay rcvbuf ledger serve listen "
		    "token-file json verbose help",
	.description =
		"Receives packets of one or more `pktledger send` and counts delivered, "
		"duplicated, reordered and lost packets. Losses in this namespace are counted by "
		"stage. An end record of the sender marks the end of its stream. If the end record "
		"is lost, losses at the end of the stream cannot be detected. With --serve or "
		"--stdio, recv is the remote end of `run --to`: it follows the client's requests, "
		"sends to that client only, and changes no setting of this host.",
	.groups = recv_groups,
	.defaults = &defaults,
	.size = sizeof(struct recv_options),
	.needs = needs,
	.again = "With --serve and --stdio, all capabilities are kept for the next client. Sending "
		 "and receiving threads have none.",
	.examples = examples,
	.run = recv_run,
};
