// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cli/commands.h"
#include "host/caps.h"
#include "diagnosis/env.h"
#include "cli/options.h"
#include "cli/options_socket.h"
#include "report/document.h"
#include "report/text.h"
#include "cli/serve.h"
#include "base/watch.h"
#include "cli/solo_out.h"

#define LEDGER_STREAMS 16 /* that a ledger has room for */

struct recv_options {
	struct global_options global;
	struct tuning tuning;
	int rx;
	const char *ifname, *ledger;
	unsigned streams;
	bool ipv6, stay;
	uint64_t port, count, duration_ns, rcvbuf, interval_ns;
	struct serve_options serve;
};

static const struct recv_options defaults = {
	.port = 28779, .count = UINT64_MAX, .interval_ns = 1000000000, .serve = SERVE_DEFAULTS};

static const struct opt recv_opts[] = {
	{"rx", 0, OPT_ENUM, offsetof(struct recv_options, rx), .values = rx_values,
	 .help = "receiving engine"},
	{"interface", 'i', OPT_STRING, offsetof(struct recv_options, ifname), .metavar = "IFNAME",
	 .default_text = "any", .help = "port to receive at; --rx xsk and --rx xdp need it"},
	{"port", 'p', OPT_U64, offsetof(struct recv_options, port), .min = 1, .max = 65535,
	 .help = "UDP port"},
	{"ipv6", '6', OPT_FLAG, offsetof(struct recv_options, ipv6), .help = "use IPv6"},
	{"count", 'c', OPT_COUNT, offsetof(struct recv_options, count), .min = 1, .metavar = "N",
	 .default_text = "no limit", .help = "end after so many deliveries"},
	{"duration", 't', OPT_TIME, offsetof(struct recv_options, duration_ns), .min = 1,
	 .default_text = "no limit", .help = "end after so long"},
	{"stay", 0, OPT_FLAG, offsetof(struct recv_options, stay),
	 .help = "go on when all senders have said that they are done, or the client is"},
	{"rcvbuf", 0, OPT_SIZE, offsetof(struct recv_options, rcvbuf), .min = 1,
	 .max = INT32_MAX / 2, .default_text = "the host's", .help = "receive buffer, bytes"},
	{"interval", 'I', OPT_TIME, offsetof(struct recv_options, interval_ns), .min = 10000000,
	 .help = "time between two lines of progress"},
	{"ledger", 0, OPT_STRING, offsetof(struct recv_options, ledger), .metavar = "FILE",
	 .excludes = "serve", .default_text = "none",
	 .help = "append the fate of each number to a file, which `report` joins with those of "
		 "the senders"},
	{"streams", 0, OPT_UINT, offsetof(struct recv_options, streams), .min = 1,
	 .max = TRACE_STREAMS, .excludes = "stay", .default_text = "any",
	 .help = "end when so many have come and are done: one for each sending thread; a ledger "
		 "has room for 16, if it is not told"},
	{0},
};

static const struct opt_group recv_groups[] = {
	{"Receiving", recv_opts, 0},
	{"Two hosts", serve_opts, offsetof(struct recv_options, serve)},
	{"Reading", socket_recv_opts, offsetof(struct recv_options, tuning)},
	{"Multicast", group_opts, offsetof(struct recv_options, tuning)},
	{"Threads", both_opts, offsetof(struct recv_options, tuning)},
	{"Output", global_opts, offsetof(struct recv_options, global)},
	{0},
};

struct recv_view {
	struct solo_out out; /* first: solo_out_fates() */
	const struct recv_options *o;
};

static void on_start(void *arg, const struct run_spec *spec, const struct lab *lab,
		     const struct result *res, const struct experiment_streams *streams)
{
	struct recv_view *v = arg;

	(void)spec;
	(void)streams;
	log_info("receiving at UDP port %u%s", (unsigned)v->o->port, v->o->ipv6 ? ", IPv6" : "");
	if (v->out.json || v->out.ledger)
		solo_out_start(&v->out, json_recv_start(program_argc, program_argv, env_read(lab),
							rx_ops_of(v->o->rx)->name,
							(uint16_t)v->o->port, res));
	tell_maps();
	caps_give_up(cmd_recv.needs, NULL, CAPS_ONCE);
}

static bool on_interval(void *arg, const struct experiment_interval *now)
{
	struct recv_view *v = arg;
	char delivered[FMT_MAX];

	log_progress("%.1f s: %s delivered", (double)now->time_ns * 1e-9,
		     fmt_count(delivered, sizeof(delivered), now->delivered));
	solo_out_interval(&v->out, now);
	return !stdout_gone();
}

static const char *const needs_with[] = {
	[RX_SOCKET] = NULL, [RX_XSK] = "--rx xsk", [RX_XDP] = "--rx xdp"};

static int recv_run(void *options, struct error *err)
{
	const struct recv_options *o = options;
	enum output output = global_output(&o->global);
	struct recv_view view = {.o = o};
	const struct experiment_view callbacks = {
		.on_note = tell_note,
		.on_start = on_start,
		.on_interval = on_interval,
		.on_fates = o->ledger ? solo_out_fates : NULL,
		.arg = &view,
	};
	struct run_spec spec = {
		.rx = rx_ops_of(o->rx),
		.ifname = o->ifname,
		.ipv6 = o->ipv6,
		.port = (uint16_t)o->port,
		.count = o->count,
		.duration_ns = o->duration_ns,
		.stay = o->stay,
		.streams = o->streams,
		.ledger = !o->ledger			? 0
			  : o->streams > LEDGER_STREAMS ? o->streams
							: LEDGER_STREAMS,
		.fragments = o->ledger,
		.rcvbuf = o->rcvbuf,
		.interval_ns = o->interval_ns,
		.tuning = o->tuning,
	};
	struct recv_result *out;
	int rc;

	log_init(o->global.quiet ? -1 : (int)o->global.verbose);
	if (o->serve.serve)
		return serve(&o->serve, output, o->ifname, (uint16_t)o->port, o->stay, err);
	out = calloc(1, sizeof(*out));
	if (!out)
		return STATUS_FAILED;
	spec.tuning.receive.device = o->ifname;
	watch_block_signals();
	rc = solo_out_open(&view.out, "pktledger/recv/1", output, o->ledger, err);
	if (!rc)
		rc = tuning_check(&o->tuning, NULL, spec.rx, o->ipv6, 0, 0, err);
	if (!rc)
		rc = caps_require(&cmd_recv, needs_with[o->rx], err);
	if (!rc && o->ledger)
		rc = caps_require(&cmd_recv, "--ledger", err);
	if (!rc)
		experiment_recv(&spec, &callbacks, out, err);
	log_progress_clear();
	if (out->closed)
		solo_out_end(&view.out, json_recv_end(out), text_recv);
	solo_out_close(&view.out, err);
	free(out);
	return err->status;
}

static const struct opt_need needs[] = {
	{OPT_CAP(BPF), "to load the programs at the device", .when = "--rx xsk, --rx xdp, --serve"},
	{OPT_CAP(NET_ADMIN), "to attach them", .when = "--rx xsk, --rx xdp, --serve"},
	{OPT_CAP(PERFMON), "for their arithmetic with packet pointers, and to look at drops",
	 .when = "--rx xsk, --rx xdp, --serve"},
	{OPT_CAP(NET_RAW), "for AF_XDP sockets", .when = "--rx xsk, --serve"},
	{OPT_CAP(SYSLOG), "to read names of kernel functions", .when = "--serve"},
	SOLO_NEEDS("to see what comes, and what is lost here"),
	XSK_MEMORY_NEED("--rx xsk"),
	{OPT_CAP(NET_ADMIN), "for more than net.core.rmem_max, and to look into device queues",
	 .when = "--rcvbuf, --busy-poll", .without = "the kernel may refuse"},
	PRIORITY_NEED,
	{0},
};

static const struct opt_example examples[] = {
	{"recv", "until the senders say that they are done"},
	{"recv -6 -p 9000 -t 60 -j", "IPv6, for a minute, as JSON"},
	{"recv --serve --token-file token", "answer `run --to` of another host, once"},
	{"recv --rx xsk -i eth1", "take the frames at the device"},
	{"recv --rx xdp -i eth1", "count and end them there: as fast as it goes"},
	{0},
};

const struct command cmd_recv = {
	.name = "recv",
	.summary = "one end alone: receives numbered packets and says which are missing",
	.description =
		"Receives what `pktledger send` sends, from one sender or several, and counts what "
		"is delivered, duplicated, reordered and lost. What is lost in this "
		"namespace is counted by stage. Without the sender's end record the tail of a "
		"stream is unknown. With --serve it is the far end of `run --to`: it does what the "
		"client asks, sends to that client only, and changes no setting of this host.",
	.groups = recv_groups,
	.defaults = &defaults,
	.size = sizeof(struct recv_options),
	.needs = needs,
	.again = "With --serve all are kept for the next client; threads that send and receive "
		 "have none.",
	.examples = examples,
	.run = recv_run,
};
