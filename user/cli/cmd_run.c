// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/options.h"
#include "traffic/xsk.h"
#include "host/caps.h"
#include "host/journal.h"
#include "host/netdev.h"
#include "cli/report.h"
#include "base/watch.h"

#define LAB_MTU	   1500
#define MAX_SETTLE 3600000000000ULL

static const struct run_options defaults = {.traffic = TRAFFIC_DEFAULTS, .repeat = 1};

static int parse_faults(const char *value, void *field, struct error *err)
{
	struct run_options *o =
		(void *)((char *)field - offsetof(struct run_options, traffic.spec.faults));

	o->fault_text = value;
	return fault_parse(value, false, field, err);
}

#define AT(member) offsetof(struct run_options, member)

const struct opt run_opts[] = {
	{"tx", 0, OPT_ENUM, AT(traffic.tx), .values = tx_values, .help = "sender"},
	{"rx", 0, OPT_ENUM, AT(traffic.rx), .values = rx_values, .help = "receiver"},
	{"pass", 0, OPT_FLAG, AT(traffic.spec.pass), .needs = "rx=xdp",
	 .help = "count in XDP and let a socket receive the packet"},
	{"latency-breakdown", 0, OPT_FLAG, AT(traffic.spec.legs), .formerly = "legs",
	 .help = "break latency down by probe (lowers the maximum rate)"},
	{"rcvbuf", 0, OPT_SIZE, AT(traffic.spec.rcvbuf), .min = 1, .max = INT32_MAX / 2,
	 .default_text = "the host's", .help = "receive buffer in bytes"},
	{"fault", 0, OPT_CUSTOM, AT(traffic.spec.faults), .metavar = "LIST", .values = fault_values,
	 .parse = parse_faults, .excludes = "interface to", .default_text = "none",
	 .help = "drop packets: STAGE[:VARIANT][=VALUE],... (VALUE: percentage, or rate for "
		 "qdisc)"},
	{"limit", 0, OPT_LIMITS, AT(limits), .default_text = "none",
	 .help = "exit with 4 if losses exceed a limit: loss=0.1%, rcvbuf=12"},
	{"settle", 0, OPT_TIME, AT(traffic.spec.settle_ns), .max = MAX_SETTLE,
	 .help = "wait at most this long for packets in flight"},
	{"repeat", 0, OPT_UINT, AT(repeat), .min = 1, .max = MAX_REPEAT,
	 .help = "run N times and show median, min and max"},
	{"interval", 'I', OPT_TIME, AT(traffic.spec.interval_ns), .min = 10000000,
	 .help = "progress interval"},
	{"ledger", 'o', OPT_STRING, AT(ledger), .metavar = "FILE", .default_text = "none",
	 .help = "append the ledger to a file"},
	{"junit", 0, OPT_STRING, AT(junit), .metavar = "FILE", .default_text = "none",
	 .help = "write limits and findings as JUnit XML, for CI"},
	{"lab", 0, OPT_STRING, AT(traffic.spec.lab), .metavar = "NAME", .excludes = "interface",
	 .default_text = "a new one", .help = "run in a test network created by `lab up`"},
	{"topology", 0, OPT_ENUM, AT(traffic.spec.topology), .values = lab_topologies,
	 .set_offset = OPT_SET(struct run_options, traffic.spec.topology_set),
	 .excludes = "interface to lab", .default_text = "pair or as the faults require",
	 .help = "topology of the network"},
	{"interface", 'i', OPT_STRINGS, AT(ports), .metavar = "A,B", .max = 2,
	 .default_text = "none",
	 .help = "run between interfaces [NETNS/]IFNAME"},
	{0},
};

#define NO_NEW_LAB "interface to lab" /* options that keep run from creating a test network */

const struct opt lab_opts[] = {
	{"mtu", 0, OPT_UINT, offsetof(struct lab_wish, mtu), .min = 1280, .max = 65535,
	 .excludes = NO_NEW_LAB,
	 .metavar = "BYTES", .default_text = "1500",
	 .help = "MTU of the test network's interfaces"},
	{"queues", 0, OPT_UINT, offsetof(struct lab_wish, queues), .min = 1, .max = 256,
	 .excludes = NO_NEW_LAB, .default_text = "as needed",
	 .help = "number of queues per test network interface"},
	{"interface-gro", 0, OPT_FLAG, offsetof(struct lab_wish, gro), .formerly = "device-gro",
	 .excludes = NO_NEW_LAB,
	 .help = "use GRO and NAPI at the receiving interface (datagrams are merged only with "
		 "--gro)"},
	{"threaded-napi", 0, OPT_FLAG, offsetof(struct lab_wish, threaded_napi),
	 .excludes = NO_NEW_LAB,
	 .help = "run NAPI of the receiving interface in a kernel thread"},
	{"rps", 0, OPT_UINT, offsetof(struct lab_wish, rps_cpu),
	 .set_offset = OPT_SET(struct lab_wish, rps_set), .max = 8191, .metavar = "CPU",
	 .excludes = NO_NEW_LAB, .default_text = "off",
	 .help = "steer packets of the receiving interface to this CPU"},
	{0},
};

static const struct opt_group run_groups[] = {RUN_GROUPS, {0}};

/*
 * Returns the MTU of the test network that run creates. The same MTU is assumed for other networks.
 */
static unsigned lab_mtu(const struct run_options *o)
{
	return o->traffic.spec.wish.mtu ? o->traffic.spec.wish.mtu : LAB_MTU;
}

static bool in_lab(const struct run_options *o)
{
	return !o->ports.n && !o->far.target.to.family;
}

/* Returns true if a packet needs fragments at this MTU, which only --tx socket can create. */
static bool needs_fragments(const struct traffic_options *t, unsigned mtu)
{
	for (unsigned i = 0; i < t->imix.n; i++) {
		if (t->imix.frame[i] > mtu + 14 + 4)
			return true;
	}
	return false;
}

/* Returns the sender. AF_XDP bypasses the IP stack and is faster, if it supports the options. */
static enum tx_choice choose_tx(const struct run_options *o)
{
	const struct traffic_options *t = &o->traffic;
	const struct socket_send *send = &t->spec.tuning.send;
	unsigned payload, mtu = lab_mtu(o);
	int fd;

	if (t->tx != TX_AUTO)
		return t->tx;
	if (shape_needs_frames(t))
		return TX_XSK;
	if (mtu > UMEM_FRAME_LARGE - 14 - 4) /* a frame may carry a VLAN tag */
		mtu = UMEM_FRAME_LARGE - 14 - 4;
	if (o->far.target.to.family || t->spec.faults.set || send->no_wait || send->gso ||
	    send->unconnected || t->spec.sndbuf || t->length == LENGTH_BEST ||
	    needs_fragments(t, mtu) ||
	    traffic_payload(t, t->spec.ipv6, &tx_xsk, mtu, &payload, &(struct error){}))
		return TX_SOCKET;
	fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return TX_SOCKET;
	close(fd);
	return TX_XSK;
}

/* Checks the run's ports and the options that they rule out. */
static int check_ports(const struct run_options *o, struct error *err)
{
	const struct run_spec *spec = &o->traffic.spec;
	const bool far = o->far.target.to.family;
	const struct contradiction list[] = {
		{far && o->ports.n > 1, "with --to, give -i a single interface",
		 "name the interface of this host"},
		{!far && !in_lab(o) && o->ports.n != 2, "-i needs two interfaces",
		 "sender first: -i A,B"},
		{0},
	};

	if (contradiction_check(list, err))
		return -EINVAL;
	if (!in_lab(o))
		return traffic_check_rate(&o->traffic, err);
	return spec->lab ? fault_check_named(&spec->faults, spec->lab, err) : 0;
}

/* Checks the traffic's requirements for the receiving end. */
static int check_receiver(const struct run_options *o, struct error *err)
{
	const struct traffic_options *t = &o->traffic;
	const struct contradiction list[] = {
		{t->pcap && !t->stamp,
		 "run needs numbered packets, and captured packets have no numbers",
		 "add --sequence-header, or use `send`"},
		{t->rx == RX_SOCKET && t->spec.shape.dst_port.n > 1,
		 "a socket receives on a single port, and --dst-port is a range", "use --rx xsk"},
		{t->rx == RX_SOCKET && t->spec.vlan && in_lab(o),
		 "the test network has no VLAN interface on which a socket could receive",
		 "use --rx xsk"},
		{0},
	};

	return contradiction_check(list, err);
}

/* Checks the longest packet: whether both ends can avoid fragments if they have to. */
static int check_fit(const struct run_spec *spec, unsigned mtu, struct error *err)
{
	if (spec->payload + (spec->ipv6 ? 48 : 28) <= mtu)
		return 0;
	if (!spec->tx->socket)
		return error_usage(err, "use --tx socket, or smaller packets",
				   "the largest packet does not fit the MTU of %u, and no "
				   "fragments are made by --tx %s",
				   mtu, spec->tx->name);
	if (!spec->rx->socket)
		return error_usage(
			err, "use --rx socket, or a smaller packet",
			"--rx %s takes single frames: %u bytes of payload do not fit the MTU of %u",
			spec->rx->name, spec->payload, mtu);
	return 0;
}

int run_plan(const struct run_options *o, struct run_spec *spec, struct error *err)
{
	const struct endpoint *to = &o->far.target.to;
	const unsigned mtu = in_lab(o) ? lab_mtu(o) : 0; /* 0: unknown */

	*spec = o->traffic.spec;
	if (check_ports(o, err) || check_receiver(o, err) ||
	    (to->family && traffic_family(spec, to, err)))
		return -EINVAL;
	spec->tx = tx_ops_of(choose_tx(o));
	spec->rx = rx_ops_of(o->traffic.rx);
	spec->reverse = o->far.reverse;
	if (to->family) {
		spec->ifname = o->ports.n ? o->ports.at[0] : NULL;
	} else if (o->ports.n) {
		spec->port_a = o->ports.at[0];
		spec->port_b = o->ports.at[1];
	}
	if (traffic_plan(&o->traffic, to->family ? reassembly_path_mtu(to) : mtu, spec, err))
		return -EINVAL;
	if (spec->shape.dst_port.n)
		spec->port = spec->shape.dst_port.first;
	if ((in_lab(o) && check_fit(spec, mtu, err)) || tuning_check(spec, mtu, err))
		return -EINVAL;
	return remote_check(&o->far, spec, err);
}

static void show_repair(void *arg, const struct journal_record *rec, const char *current,
			bool restored)
{
	(void)arg;
	if (restored)
		log_warn("restored %s to '%s', which pktledger (PID %d) had changed before it was "
			 "killed",
			 rec->target, rec->old, (int)rec->pid);
	else
		log_warn("%s stays '%s', because another program has changed it since pktledger "
			 "(PID %d) did",
			 rec->target, current, (int)rec->pid);
}

void run_prepare(struct error *err)
{
	watch_block_signals();
	journal_repair(show_repair, NULL, err);
}

static int run_run(void *options, struct error *err)
{
	struct run_options *o = options;
	struct report *report;
	struct run_spec spec;

	report = report_new(o, NULL, err);
	if (!report)
		return -EIO;
	if (!run_plan(o, &spec, err) && !caps_require(&cmd_run, NULL, err)) {
		run_prepare(err);
		for (unsigned i = 0; i < o->repeat && !report->ended; i++)
			report_trial(report, &spec, err);
	}
	traffic_free(&spec);
	return report_finish(report, err);
}

const struct opt_need run_needs[] = {
	{OPT_CAP(SYS_ADMIN), "to create and enter network namespaces",
	 .keeps = "to read counters in them"},
	{OPT_CAP(NET_ADMIN), "to create links, addresses and routes, and to attach programs",
	 .keeps = "to restore interface settings"},
	EXPERIMENT_NEEDS,
	XSK_MEMORY_NEED("--tx xsk, --rx xsk"),
	PRIORITY_NEED,
	{0},
};

static const struct opt_example examples[] = {
	{"run", "send a million 512-byte datagrams at full speed to an ordinary socket"},
	{"run --rcvbuf 8m --rate 500k", "send at a fixed rate to a larger receive buffer"},
	{"run --tx xsk --rx xsk --size 64", "use AF_XDP at both ends"},
	{"run --fault netfilter,rcvbuf,qdisc -c 500k",
	 "inject three losses at once and count each"},
	{"run --imix simple --rate 100k", "send frames of several sizes"},
	{"run --to root@198.18.0.2 --rate 100k", "run to another host, where ssh starts pktledger"},
	{"run --to tls://198.18.0.2 --token-file token --rate 100k",
	 "run to a host with a running `recv --serve`"},
	{"run --limit loss=0.1% -j", "for scripts: JSON, and exit status 4 if loss exceeds the "
				     "limit"},
	{0},
};

const struct command cmd_run = {
	.name = "run",
	.summary = "run one experiment and account for every packet",
	.everyday = "tx rx rcvbuf fault limit repeat ledger interface to count duration "
		    "rate size length port ipv6 flows threads json verbose help",
	.description =
		"Sends numbered UDP datagrams from one network namespace to another and reports "
		"the outcome of each: delivered, or dropped at a named stage. The ledger is "
		"balanced if all packets are accounted for. Otherwise the exit status is 4.",
	.groups = run_groups,
	.defaults = &defaults,
	.size = sizeof(struct run_options),
	.needs = run_needs,
	.again = "With --repeat, all capabilities are kept until the last run begins. Sending and "
		 "receiving threads have none.",
	.examples = examples,
	.run = run_run,
};
