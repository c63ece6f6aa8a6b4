// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/options.h"
#include "host/caps.h"
#include "diagnosis/env.h"
#include "host/reassembly.h"
#include "report/document.h"
#include "base/watch.h"
#include "cli/solo_out.h"

struct send_options {
	struct global_options global;
	struct traffic_options traffic;
	struct shape_options shape;
	struct endpoint to;
	int tx;
	const char *ifname, *ledger;
	uint64_t interval_ns;
};

static const struct send_options defaults = {
	.traffic = TRAFFIC_DEFAULTS, .shape = SHAPE_DEFAULTS, .interval_ns = 1000000000};

static const struct opt send_opts[] = {
	{"tx", 0, OPT_ENUM, offsetof(struct send_options, tx), .values = tx_values,
	 .help = "sending engine"},
	{"interface", 'i', OPT_STRING, offsetof(struct send_options, ifname), .metavar = "IFNAME",
	 .default_text = "as routed",
	 .help = "port to send by, whatever the routes say; --tx xsk and xdp need it"},
	{"interval", 'I', OPT_TIME, offsetof(struct send_options, interval_ns), .min = 10000000,
	 .help = "time between two lines of progress"},
	{"ledger", 0, OPT_STRING, offsetof(struct send_options, ledger), .metavar = "FILE",
	 .default_text = "none",
	 .help = "append the fate of each number to a file, which `report` joins with those of "
		 "the receiver and of other senders"},
	{0},
};

static const struct opt send_args[] = {
	{"ADDR[:PORT]", 0, OPT_ENDPOINT, offsetof(struct send_options, to), .required = true,
	 .help = "where to; [V6]:PORT for IPv6"},
	{0},
};

static const struct opt_group send_groups[] = {
	{"Sending", send_opts, 0},
	{"Traffic", traffic_opts, offsetof(struct send_options, traffic)},
	{"Traffic shape", shape_opts, offsetof(struct send_options, shape)},
	{"Sockets", socket_send_opts, offsetof(struct send_options, traffic.tuning)},
	{"Threads", both_opts, offsetof(struct send_options, traffic.tuning)},
	{"Output", global_opts, offsetof(struct send_options, global)},
	{0},
};

struct send_view {
	struct solo_out out; /* first: solo_out_fates() */
	const struct send_options *o;
	const struct run_spec *spec;
};

static void on_start(void *arg, const struct run_spec *unused, const struct lab *lab,
		     const struct result *res, const struct experiment_streams *streams)
{
	struct send_view *v = arg;

	(void)unused;
	if (v->out.json || v->out.ledger)
		solo_out_start(&v->out, json_send_start(program_argc, program_argv, env_read(lab),
							v->spec, res, streams));
	tell_maps();
	caps_give_up(cmd_send.needs, NULL, CAPS_ONCE);
}

static bool on_interval(void *arg, const struct experiment_interval *now)
{
	char sent[FMT_MAX], rate[FMT_MAX];
	struct send_view *v = arg;

	log_progress("%.1f s: %s sent (%s)", (double)now->time_ns * 1e-9,
		     fmt_count(sent, sizeof(sent), now->sent),
		     fmt_rate(rate, sizeof(rate), (double)now->sent * 1e9 / (double)now->time_ns));
	solo_out_interval(&v->out, now);
	return !stdout_gone();
}

static int plan(const struct send_options *o, struct run_spec *spec, struct shape_plan *shape,
		struct error *err)
{
	struct traffic_options t = o->traffic;
	struct shape_sizes sizes;
	struct flow flow;
	int rc;

	if (!t.rate_set && !shape_has_schedule(&o->shape))
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "for example --rate 100k, or --rate max",
				 "outside a lab there is no default rate");
	rc = traffic_family(&t, &o->to, err);
	if (rc)
		return rc;
	*spec = (struct run_spec){
		.tx = tx_ops_of(o->tx != TX_AUTO		? o->tx
				: shape_needs_frames(&o->shape) ? TX_XSK
								: TX_SOCKET),
		.to = o->to,
		.ifname = o->ifname,
		.interval_ns = o->interval_ns,
		.ledger = o->ledger != NULL,
	};
	rc = traffic_payload(&t, spec->tx, 0, &spec->payload, err);
	if (!rc)
		rc = shape_plan(&o->shape, &t, spec->tx, spec->payload, shape, err);
	if (rc)
		return rc;
	traffic_plan(&t, spec);
	spec->payload = shape->payload;
	spec->shape = shape->any ? &shape->shape : NULL;
	spec->vlan = shape->vlan;
	spec->tos = shape->tos;
	spec->ttl = shape->ttl;
	spec->tuning.send.device = o->ifname;
	if (!spec->to.port)
		spec->to.port = spec->port;
	spec->port = 0; /* it is the other end that receives */
	rc = traffic_payload(&t, spec->tx,
			     t.length == LENGTH_BEST ? reassembly_path_mtu(&o->to) : 0,
			     &spec->payload, err);
	if (!rc)
		rc = tuning_check(&t.tuning, spec->tx, NULL, t.ipv6, spec->payload, 0, err);
	if (rc)
		return rc;
	spec->fragments = o->ledger && reassembly_fragments(&spec->to, spec->payload);
	flow = (struct flow){
		.family = o->to.family, .payload = spec->payload, .vlan = (uint16_t)spec->vlan};
	shape_sizes(&shape->shape, &flow, &sizes);
	rc = shape_pps(&sizes, &t.rate, -1, &spec->rate_pps);
	if (shape->shape.scheduled)
		spec->rate_pps = profile_peak(&shape->shape.profile);
	return rc ? error_set(err, STATUS_USAGE, rc, "give packets/s or bit/s",
			      "the path has no known speed to take a share of")
		  : 0;
}

static const char *needs_with(const struct tx_ops *tx)
{
	return tx == &tx_xsk ? "--tx xsk" : tx == &tx_xdp ? "--tx xdp" : NULL;
}

/* The kernel's word for ICMP that says so: port unreachable. */
static void tell_refused(const struct result *res, const char *to)
{
	for (unsigned i = 0; i < res->n_refused_by; i++) {
		if (res->refused_by[i].error == ECONNREFUSED)
			log_warn("%s answers that nobody listens there: start `pktledger recv`",
				 to);
	}
}

static int send_run(void *options, struct error *err)
{
	const struct send_options *o = options;
	struct shape_plan shape = {};
	struct run_spec spec;
	struct send_view view = {.o = o, .spec = &spec};
	const struct experiment_view callbacks = {
		.on_note = tell_note,
		.on_start = on_start,
		.on_interval = on_interval,
		.on_fates = o->ledger ? solo_out_fates : NULL,
		.arg = &view,
	};
	struct result *res = calloc(1, sizeof(*res));
	char to[FMT_MAX];
	int rc;

	log_init(o->global.quiet ? -1 : (int)o->global.verbose);
	rc = res ? 0 : error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	if (!rc)
		rc = solo_out_open(&view.out, "pktledger/send/1", global_output(&o->global),
				   o->ledger, err);
	if (!rc)
		rc = plan(o, &spec, &shape, err);
	if (!rc)
		rc = caps_require(&cmd_send, needs_with(spec.tx), err);
	if (!rc && o->ledger)
		rc = caps_require(&cmd_send, "--ledger", err);
	if (!rc) {
		num_text_endpoint(to, sizeof(to), &spec.to);
		tell_plan(spec.count, spec.duration_ns, spec.payload, spec.rate_pps, spec.shape,
			  "this host", to);
		watch_block_signals();
		experiment_run(&spec, &callbacks, res, err);
		log_progress_clear();
		tell_refused(res, to);
	}
	if (res && res->attempted)
		solo_out_end(&view.out, json_send_end(res));
	solo_out_close(&view.out, err);
	shape_plan_free(&shape);
	free(res);
	return err->status;
}

static const struct opt_need needs[] = {
	{OPT_CAP(NET_RAW), "for AF_XDP sockets", .when = "--tx xsk"},
	XSK_MEMORY_NEED("--tx xsk"),
	{OPT_CAP(BPF), "to load the program that makes frames", .when = "--tx xdp"},
	{OPT_CAP(NET_ADMIN), "to attach it", .when = "--tx xdp"},
	{OPT_CAP(PERFMON), "for its arithmetic with packet pointers", .when = "--tx xdp"},
	SOLO_NEEDS("to see what is lost here, and what leaves"),
	PRIORITY_NEED,
	{0},
};

static const struct opt_example examples[] = {
	{"send 198.18.0.2 --rate 100k", "a million datagrams to the default port"},
	{"send [2001:2::2]:9000 --rate 1Gbit -t 10", "IPv6, ten seconds"},
	{"send 198.18.0.2 --rate max --tx xsk -i eth1", "frames by AF_XDP"},
	{"send 198.18.0.2 --rate 10k --ledger a.ledger",
	 "keep the books, to be joined: `report a.ledger b.ledger recv.ledger`"},
	{0},
};

const struct command cmd_send = {
	.name = "send",
	.summary = "one end alone: sends numbered packets",
	.description =
		"Sends numbered datagrams to a host on which `pktledger recv` (or anything "
		"else) listens. What is lost on this side is named; the rest left this host. "
		"The end of the stream is told to the receiver three times.",
	.groups = send_groups,
	.args = send_args,
	.defaults = &defaults,
	.size = sizeof(struct send_options),
	.needs = needs,
	.examples = examples,
	.run = send_run,
};
