// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>

#include "base/log.h"
#include "cli/options.h"
#include "host/caps.h"
#include "diagnosis/facts.h"
#include "host/netdev.h"
#include "report/document.h"
#include "base/watch.h"
#include "cli/report.h"

struct send_options {
	struct global_options global;
	struct traffic_options traffic;
	const char *ledger;
};

static const struct send_options defaults = {.traffic = TRAFFIC_DEFAULTS};

#define AT(member) offsetof(struct send_options, member)

static const struct opt send_opts[] = {
	{"tx", 0, OPT_ENUM, AT(traffic.tx), .values = tx_values, .help = "sending engine"},
	{"interface", 'i', OPT_STRING, AT(traffic.spec.ifname), .metavar = "IFNAME",
	 .default_text = "as routed",
	 .help = "send on this interface regardless of routes (required for --tx xsk and xdp)"},
	{"interval", 'I', OPT_TIME, AT(traffic.spec.interval_ns), .min = 10000000,
	 .help = "progress interval"},
	{"ledger", 'o', OPT_STRING, AT(ledger), .metavar = "FILE", .default_text = "none",
	 .help = "append the ledger to a file for `report --join`"},
	{0},
};

static int parse_host(const char *value, void *field, struct error *err)
{
	return num_endpoint_named(value, field, err);
}

static const struct opt send_args[] = {
	{"HOST[:PORT]", 0, OPT_CUSTOM, AT(traffic.spec.to), .parse = parse_host, .required = true,
	 .help = "receiver's name or address ([V6]:PORT for IPv6)"},
	{0},
};

static const struct opt_group send_groups[] = {
	{"Sending", send_opts, 0},
	{"Traffic", traffic_opts, AT(traffic)},
	{"Traffic shape", shape_opts, AT(traffic)},
	{"Sockets", socket_send_opts, AT(traffic.spec.tuning)},
	{"Threads", both_opts, AT(traffic.spec.tuning)},
	{"Output", global_opts, AT(global)},
	{0},
};

struct sending {
	struct outputs out; /* first member, for outputs_range() */
	struct run_spec spec;
};

static void on_start(void *arg, const struct run_spec *spec, const struct lab *lab,
		     const struct result *res, const struct outcomes_numbers *streams)
{
	struct outputs *out = arg;

	if (out->json || out->ledger)
		outputs_start(out, json_send_start(program_argc, program_argv, env_read(lab), spec,
						   res, streams));
	caps_give_up(cmd_send.needs, NULL, CAPS_ONCE);
}

static bool on_interval(void *arg, const struct experiment_interval *now)
{
	struct sending *s = arg;

	log_progress("%.1f s%s: %s sent (%s)", (double)now->time_ns * 1e-9,
		     report_left(&s->spec, now->sent, now->time_ns), fmt_count(now->sent),
		     fmt_rate((double)now->sent * 1e9 / (double)now->time_ns));
	outputs_interval(&s->out, now);
	return !stdout_gone();
}

static int plan(const struct send_options *o, struct run_spec *spec, struct error *err)
{
	const struct traffic_options *t = &o->traffic;
	bool best = t->length == LENGTH_BEST;

	*spec = t->spec;
	spec->tx = tx_ops_of(t->tx != TX_AUTO ? t->tx : shape_needs_frames(t) ? TX_XSK : TX_SOCKET);
	spec->ledger = o->ledger != NULL;
	spec->tuning.send.device = spec->ifname;
	if (!spec->to.port)
		spec->to.port = (uint16_t)spec->port;
	spec->port = 0; /* receiving is the other end's job */
	if (traffic_check_rate(t, err) || traffic_family(spec, &spec->to, err) ||
	    traffic_plan(t, best ? reassembly_path_mtu(&spec->to) : 0, spec, err) ||
	    tuning_check(spec, 0, err))
		return -EINVAL;
	spec->fragments = o->ledger && reassembly_fragments(&spec->to, spec->payload);
	return ports_rate(spec, &spec->rate_pps, err);
}

static const char *needs_with(const struct tx_ops *tx)
{
	return tx == &tx_xsk ? "--tx xsk" : tx == &tx_xdp ? "--tx xdp" : NULL;
}

static int send_run(void *options, struct error *err)
{
	const struct send_options *o = options;
	struct sending s = {};
	struct run_spec *spec = &s.spec;
	struct outputs *out = &s.out;
	const struct experiment_view callbacks = {
		.on_note = show_note,
		.on_start = on_start,
		.on_interval = on_interval,
		.on_range = o->ledger ? outputs_range : NULL,
		.arg = &s,
	};
	static struct result res;

	if (!outputs_open(out, "pktledger/send/1", &o->global, o->ledger, err) &&
	    !plan(o, spec, err) && !caps_require(&cmd_send, needs_with(spec->tx), err) &&
	    (!o->ledger || !caps_require(&cmd_send, "--ledger", err))) {
		show_plan(spec, spec->rate_pps, "this host", num_text_endpoint(&spec->to));
		watch_block_signals();
		experiment_run(spec, &callbacks, &res, NULL, err);
		log_progress_clear();
		for (unsigned i = 0; i < res.n_refused_by; i++) { /* ICMP port unreachable */
			if (res.refused_by[i].error == ECONNREFUSED)
				log_warn("%s answers that the port is closed: start `pktledger "
					 "recv` there",
					 num_text_endpoint(&spec->to));
		}
	}
	if (res.attempted)
		outputs_end(out, json_send_end(&res));
	outputs_close(out, err);
	traffic_free(spec);
	return 0;
}

static const struct opt_need needs[] = {
	{OPT_CAP(NET_RAW), "for AF_XDP sockets", .when = "--tx xsk"},
	XSK_MEMORY_NEED("--tx xsk"),
	{OPT_CAP(BPF), "to load the program that generates frames", .when = "--tx xdp"},
	{OPT_CAP(NET_ADMIN), "to attach this program", .when = "--tx xdp"},
	{OPT_CAP(PERFMON), "for packet pointer arithmetic", .when = "--tx xdp"},
	ONE_END_NEEDS("to count losses on this host and packets that leave it"),
	PRIORITY_NEED,
	{0},
};

static const struct opt_example examples[] = {
	{"send 198.18.0.2 --rate 100k", "send a million datagrams to the default port"},
	{"send [2001:2::2]:9000 --rate 1Gbit -t 10", "send IPv6 for ten seconds"},
	{"send 198.18.0.2 --rate max --tx xsk -i eth1", "send frames through AF_XDP"},
	{"send 198.18.0.2 --rate 10k --ledger a.ledger",
	 "keep the ledger for `report --join a.ledger b.ledger recv.ledger`"},
	{0},
};

const struct command cmd_send = {
	.name = "send",
	.summary = "send numbered packets (use with `recv` on another host)",
	.everyday = "tx interface ledger count duration rate size length port ipv6 flows "
		    "threads json verbose help",
	.description = "Sends numbered datagrams to a host that runs `pktledger recv` or any other "
		       "receiver. Losses on this host are reported, and all other packets left "
		       "this host. At the end, the sender tells the receiver four times how many "
		       "packets it sent.",
	.groups = send_groups,
	.args = send_args,
	.defaults = &defaults,
	.size = sizeof(struct send_options),
	.needs = needs,
	.examples = examples,
	.run = send_run,
};
