// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/options.h"
#include "traffic/xsk.h"
#include "host/caps.h"
#include "host/journal.h"
#include "host/reassembly.h"
#include "cli/series.h"
#include "cli/report.h"
#include "base/watch.h"

#define LAB_MTU	   1500
#define MAX_REPEAT 1000
#define MAX_SETTLE 3600000000000ULL

static const struct run_options defaults = RUN_DEFAULTS;

static int parse_faults(const char *value, void *field, struct error *err)
{
	struct run_options *o = (void *)((char *)field - offsetof(struct run_options, faults));

	o->fault_text = value;
	return fault_parse(value, false, field, err);
}

const struct opt run_opts[] = {
	{"tx", 0, OPT_ENUM, offsetof(struct run_options, tx), .values = tx_values,
	 .help = "sending engine"},
	{"rx", 0, OPT_ENUM, offsetof(struct run_options, rx), .values = rx_values,
	 .help = "receiving engine"},
	{"pass", 0, OPT_FLAG, offsetof(struct run_options, pass),
	 .help = "with --rx xdp: the program only notes the packet, a socket receives it"},
	{"rcvbuf", 0, OPT_SIZE, offsetof(struct run_options, rcvbuf), .min = 1,
	 .max = INT32_MAX / 2, .default_text = "the host's", .help = "receive buffer, bytes"},
	{"fault", 0, OPT_CUSTOM, offsetof(struct run_options, faults), .metavar = "LIST",
	 .values = fault_values, .parse = parse_faults, .default_text = "none",
	 .help = "lose packets on purpose: STAGE[:VARIANT][=VALUE], several by comma; VALUE is a "
		 "share (20%), of qdisc its rate"},
	{"limit", 0, OPT_LIMITS, offsetof(struct run_options, limits), .default_text = "none",
	 .help = "exit with 4 if more is lost: loss=0.1%, rcvbuf=12, qdisc=100/s"},
	{"settle", 0, OPT_TIME, offsetof(struct run_options, settle_ns), .max = MAX_SETTLE,
	 .help = "wait so long at most for packets under way before the books close"},
	{"repeat", 0, OPT_UINT, offsetof(struct run_options, repeat), .min = 1, .max = MAX_REPEAT,
	 .help = "do it N times: median, lowest, highest"},
	{"interval", 'I', OPT_TIME, offsetof(struct run_options, interval_ns), .min = 10000000,
	 .help = "time between two lines of progress"},
	{"ledger", 0, OPT_STRING, offsetof(struct run_options, ledger), .metavar = "FILE",
	 .default_text = "none", .help = "append the books to a file, the fate of each number too"},
	{"lab", 0, OPT_STRING, offsetof(struct run_options, lab), .metavar = "NAME",
	 .excludes = "interface", .default_text = "one of its own",
	 .help = "run in a lab made by `lab up`"},
	{"topology", 0, OPT_ENUM, offsetof(struct run_options, topology), .values = lab_topologies,
	 .set_offset = OPT_SET(struct run_options, topology_set), .excludes = "interface",
	 .default_text = "pair, or what the faults need", .help = "of the lab that run makes"},
	{"interface", 'i', OPT_STRINGS, offsetof(struct run_options, ports), .metavar = "A,B",
	 .max = 2, .default_text = "none",
	 .help = "run between two ports of this host, [NETNS/]IFNAME each; needs --rate"},
	{0},
};

const struct opt lab_opts[] = {
	{"mtu", 0, OPT_UINT, offsetof(struct lab_wish, mtu), .min = 1280, .max = 65535,
	 .metavar = "BYTES", .default_text = "1500", .help = "of the lab's devices"},
	{"queues", 0, OPT_UINT, offsetof(struct lab_wish, queues), .min = 1, .max = 256,
	 .default_text = "as many as are used", .help = "queues of the lab's devices"},
	{"device-gro", 0, OPT_FLAG, offsetof(struct lab_wish, gro),
	 .help = "GRO of the receiving device, so NAPI; datagrams are merged if --gro, too"},
	{"threaded-napi", 0, OPT_FLAG, offsetof(struct lab_wish, threaded_napi),
	 .help = "NAPI of the receiving device in a kernel thread"},
	{"rps", 0, OPT_UINT, offsetof(struct lab_wish, rps_cpu),
	 .set_offset = OPT_SET(struct lab_wish, rps_set), .max = 8191, .metavar = "CPU",
	 .default_text = "off", .help = "CPU to which the receiving device hands its packets"},
	{0},
};

static const struct opt preset_opts[] = {
	{"preset", 0, OPT_STRING, offsetof(struct run_options, preset), .metavar = "NAME",
	 .default_text = "none",
	 .help = "run the lines of a preset, with the other options behind each; help lists them"},
	{0},
};

static const struct opt_group run_groups[] = {{"Preset", preset_opts, 0}, RUN_GROUPS, {0}};

/* Of the lab that run makes; others are taken to be alike. */
static unsigned lab_mtu(const struct run_options *o)
{
	return o->wish.mtu ? o->wish.mtu : LAB_MTU;
}

static bool in_lab(const struct run_options *o)
{
	return !o->ports.n && !o->far.to.family;
}

/* 0: not known. */
static unsigned path_mtu(const struct run_options *o)
{
	if (in_lab(o))
		return lab_mtu(o);
	return o->far.to.family ? reassembly_path_mtu(&o->far.to) : 0;
}

/* The largest packet that AF_XDP can send in the lab; a frame may have a VLAN tag. */
static unsigned xsk_mtu(const struct run_options *o)
{
	unsigned most = UMEM_FRAME_LARGE - 14 - 4;

	return lab_mtu(o) < most ? lab_mtu(o) : most;
}

/* AF_XDP passes the IP stack by and is the faster sender, where it can do what is asked. */
static enum tx_choice choose_tx(const struct run_options *o)
{
	const struct traffic_options *t = &o->traffic;
	unsigned payload;
	struct error why = {};
	int fd;

	if (o->tx != TX_AUTO)
		return o->tx;
	if (shape_needs_frames(&o->shape))
		return TX_XSK;
	if (o->far.to.family || o->faults.set || t->tuning.send.no_wait || t->sndbuf ||
	    tuning_needs_socket(&o->traffic.tuning) || t->length == LENGTH_BEST ||
	    shape_needs_fragments(&o->shape, xsk_mtu(o)) ||
	    traffic_payload(t, &tx_xsk, xsk_mtu(o), &payload, &why))
		return TX_SOCKET;
	fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return TX_SOCKET;
	close(fd);
	return TX_XSK;
}

static int check_ports(const struct run_options *o, struct error *err)
{
	static const struct lab_wish none;
	bool far = o->far.to.family;

	if (o->lab && o->topology_set)
		return error_set(err, STATUS_USAGE, -EINVAL, "leave --topology out",
				 "lab '%s' has its topology already", o->lab);
	if ((!in_lab(o) || o->lab) && memcmp(&o->wish, &none, sizeof(none)))
		return error_set(err, STATUS_USAGE, -EINVAL, "leave -i, --to and --lab out",
				 "--mtu, --queues, --device-gro, --threaded-napi and --rps are for "
				 "the lab that run makes");
	if (far && o->topology_set)
		return error_set(err, STATUS_USAGE, -EINVAL, "leave --topology out",
				 "what lies between two hosts is as it is");
	if (in_lab(o))
		return o->lab ? fault_check_named(&o->faults, o->lab, err) : 0;
	if (far && o->ports.n > 1)
		return error_set(err, STATUS_USAGE, -EINVAL, "name the port of this host",
				 "with --to, -i takes one port");
	if (!far && o->ports.n != 2)
		return error_set(err, STATUS_USAGE, -EINVAL, "sender first: -i A,B",
				 "-i needs two ports");
	if (o->faults.set)
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "leave -i and --to out: run makes a lab",
				 "faults are for labs only");
	if (!o->traffic.rate_set && !shape_has_schedule(&o->shape))
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "for example --rate 100k, or --rate max",
				 "outside a lab there is no default rate");
	return 0;
}

/* What a shape needs of the receiving end. */
static int check_receiver(const struct run_options *o, struct error *err)
{
	const struct shape_options *s = &o->shape;

	if (s->pcap && !s->stamp)
		return error_set(err, STATUS_USAGE, -EINVAL, "add --stamp, or use `send`",
				 "run follows numbered packets, and those of a capture are not");
	if (o->rx == RX_SOCKET && s->shape.dst_port.n > 1)
		return error_set(err, STATUS_USAGE, -EINVAL, "use --rx xsk",
				 "a socket receives at one port: --dst-port is a range");
	if (o->rx == RX_SOCKET && s->vlan && in_lab(o))
		return error_set(err, STATUS_USAGE, -EINVAL, "use --rx xsk",
				 "the lab has no VLAN device for a socket to receive by");
	return 0;
}

/* The shape, and the longest packet with it. */
static int plan_shape(struct run_options *o, struct run_spec *spec, struct shape_plan *shape,
		      struct error *err)
{
	int rc = check_receiver(o, err);

	if (!rc)
		rc = shape_plan(&o->shape, &o->traffic, spec->tx, spec->payload, shape, err);
	if (rc || !shape->any)
		return rc;
	spec->shape = &shape->shape;
	spec->payload = shape->payload;
	spec->vlan = shape->vlan;
	spec->tos = shape->tos;
	spec->ttl = shape->ttl;
	if (shape->shape.dst_port.n)
		spec->port = shape->shape.dst_port.first;
	spec->count =
		o->traffic.duration_ns && !o->traffic.count_set ? UINT64_MAX : o->traffic.count;
	if (in_lab(o) && !spec->tx->fragments &&
	    spec->payload + (o->traffic.ipv6 ? 48 : 28) > lab_mtu(o))
		return error_set(
			err, STATUS_USAGE, -EMSGSIZE, "use --tx socket, or smaller packets",
			"the largest packet does not fit the MTU of %u, and no fragments are "
			"made by --tx %s",
			lab_mtu(o), spec->tx->name);
	return 0;
}

int run_plan(struct run_options *o, struct run_spec *spec, struct shape_plan *shape,
	     struct error *err)
{
	int rc = check_ports(o, err);

	if (rc)
		return rc;
	*spec = (struct run_spec){
		.tx = tx_ops_of(choose_tx(o)),
		.rx = rx_ops_of(o->rx),
		.pass = o->pass,
		.rcvbuf = o->rcvbuf,
		.settle_ns = o->settle_ns,
		.interval_ns = o->interval_ns,
		.faults = o->faults,
		.lab = o->lab,
		.topology = o->topology,
		.topology_set = o->topology_set,
		.wish = o->wish,
	};
	if (o->far.to.family) {
		spec->ifname = o->ports.n ? o->ports.at[0] : NULL;
		rc = traffic_family(&o->traffic, &o->far.to, err);
		if (rc)
			return rc;
	} else if (o->ports.n) {
		spec->port_a = o->ports.at[0];
		spec->port_b = o->ports.at[1];
	}
	if (o->pass && o->rx != RX_XDP)
		return error_set(err, STATUS_USAGE, -EINVAL, "add --rx xdp",
				 "--pass is for the receiving engine xdp");
	traffic_plan(&o->traffic, spec);
	rc = traffic_payload(&o->traffic, spec->tx, path_mtu(o), &spec->payload, err);
	if (!rc)
		rc = plan_shape(o, spec, shape, err);
	if (!rc && o->rx != RX_SOCKET && in_lab(o) &&
	    spec->payload + (spec->ipv6 ? 48 : 28) > lab_mtu(o))
		rc = error_set(err, STATUS_USAGE, -EMSGSIZE, "use --rx socket, or a smaller packet",
			       "--rx %s takes single frames: %u bytes of payload do not fit the "
			       "MTU of %u",
			       spec->rx->name, spec->payload, lab_mtu(o));
	if (!rc)
		rc = tuning_check(&o->traffic.tuning, spec->tx, spec->pass ? &rx_socket : spec->rx,
				  o->traffic.ipv6, spec->payload, in_lab(o) ? lab_mtu(o) : 0, err);
	return rc ? rc : far_check(&o->far, spec, err);
}

static void tell_repair(void *arg, const struct journal_repaired *e)
{
	(void)arg;
	if (e->restored)
		log_warn("put %s back to '%s': pktledger (pid %d) ended without doing so",
			 e->target, e->old, (int)e->pid);
	else
		log_warn("left %s at '%s', which is not what pktledger (pid %d) had set", e->target,
			 e->current, (int)e->pid);
}

void run_prepare(struct error *err)
{
	watch_block_signals();
	journal_repair(tell_repair, NULL, err);
}

static int run_run(void *options, struct error *err)
{
	struct run_options *o = options;
	struct shape_plan shape = {};
	struct report *report;
	struct run_spec spec;

	log_init(o->global.quiet ? -1 : (int)o->global.verbose);
	if (o->preset)
		return preset_run(o, err);
	report = report_new(o, NULL, err);
	if (!report)
		return err->status;
	if (!run_plan(o, &spec, &shape, err) && !caps_require(&cmd_run, NULL, err)) {
		run_prepare(err);
		for (unsigned i = 0; i < o->repeat && !report_ended(report); i++)
			report_trial(report, &spec, err);
	}
	shape_plan_free(&shape);
	return report_finish(report, err);
}

const struct opt_need run_needs[] = {
	{OPT_CAP(SYS_ADMIN), "to make network namespaces and to enter them",
	 .keeps = "to read counters in them"},
	{OPT_CAP(NET_ADMIN), "to make links, addresses and routes, and to attach programs",
	 .keeps = "to put settings of devices back"},
	EXPERIMENT_NEEDS,
	XSK_MEMORY_NEED("--tx xsk, --rx xsk"),
	PRIORITY_NEED,
	{0},
};

static const struct opt_example examples[] = {
	{"run", "a million datagrams of 512 bytes, as fast as it goes, to an ordinary socket"},
	{"run --rcvbuf 8m --rate 500k", "a paced run with a larger receive buffer"},
	{"run --tx xsk --rx xsk --size 64", "AF_XDP at both ends"},
	{"run --fault netfilter,rcvbuf,qdisc -c 500k", "three losses at once, each counted"},
	{"run --imix simple --rate 100k --reorder 1%",
	 "several sizes, some packets late on purpose"},
	{"run --preset million -t 2", "the ladder to a million packets a second, two seconds each"},
	{"run --to 198.18.0.2 --rate 100k", "to another host, on which `recv --serve` runs"},
	{"run --limit loss=0.1% -j", "for scripts: JSON, exit status 4 if more is lost"},
	{0},
};

const struct command cmd_run = {
	.name = "run",
	.summary = "one experiment: sender, receiver and tracer; prints the ledger",
	.description =
		"Sends numbered UDP datagrams from one network namespace to another, follows "
		"every one of them, and says where each ended: delivered, or dropped at a named "
		"stage. The books balance if none is unaccounted for; else the exit status is 4.",
	.groups = run_groups,
	.defaults = &defaults,
	.size = sizeof(struct run_options),
	.needs = run_needs,
	.again = "With --repeat and --preset all are kept until the last run has begun; threads "
		 "that send and receive have none.",
	.examples = examples,
	.run = run_run,
};
