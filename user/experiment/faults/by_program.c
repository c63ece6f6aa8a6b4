// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Faults made by BPF programs at the cgroup, tc, XDP and the socket. All rows share the programs.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "experiment/faults/row.h"
#include "experiment/site.h"
#include "fault.skel.h"
#include "base/proc.h"
#include "host/load.h"
#include "host/nl.h"

#define TC_PRIORITY    100     /* filters that other programs attach with a smaller number run
				* first */
#define VETH_RING      256     /* VETH_RING_SIZE */
#define CPUMAP_QUEUE   61      /* frames, not a multiple of a batch, so that a batch is partly
				* refused */
#define CPUMAP_BURN_NS 20000   /* ns per packet: 50 kpps */
#define MERGE_PACKETS  8       /* per flow, merged by a router */
#define MERGE_MIN      50000   /* ns, minimum waiting time, because it is a timer, */
#define MERGE_MAX      1000000 /* and a plausible maximum */
#define TARGET	       "v-out"
#define AWAY	       "v-away" /* peer of v-out */

/*
 * Native XDP enables NAPI with a ring. The plan fills only half of the ring, which must not
 * overflow itself.
 */
static int plan_native_xdp(struct fault_plan *p)
{
	/* Requests a quarter, because the kernel doubles it, but at least room for one datagram. */
	uint64_t frames = VETH_RING / 4 / p->threads;
	int bytes = (frames > p->frames ? frames : p->frames) * (p->truesize / p->frames);

	if (bytes > p->fx->sndbuf)
		p->fx->sndbuf = bytes;
	return 0;
}

/*
 * A router merges packets that are not for a local socket (rx-udp-gro-forwarding), and the next
 * socket accepts only single datagrams. NAPI runs in a kernel thread, and a timer there ends the
 * wait for more packets.
 */
static int plan_gso(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;
	double pps = p->spec->rate_pps ? p->spec->rate_pps : fx->rate_pps;

	if (p->frames > 1)
		return fault_plan_refuse(p, -EINVAL, "use --length 1000, for example",
					 " needs datagrams that fit the MTU");
	if (p->spec->tuning.receive.gro)
		return fault_plan_refuse(p, -EINVAL, "leave --gro out",
					 ": a socket with --gro takes merged packets as they are");
	fx->merge_ns = larger(pps ? MERGE_PACKETS * 1e9 / pps : 0, MERGE_MIN);
	fx->merge_ns = smaller(fx->merge_ns, MERGE_MAX);
	return 0;
}

/* __udp4_lib_rcv() verifies datagrams of up to 76 bytes at once (CHECKSUM_BREAK). */
static int plan_read_csum(struct fault_plan *p)
{
	return p->spec->payload > 68 ? 0
				     : fault_plan_refuse(p, -EINVAL, "use --length 69 or more",
							 " needs more than 68 bytes of payload");
}

const struct fault_row faults_by_program[] = {
	{"tx_socket", "a cgroup egress program rejects a fraction of the packets: EPERM",
	 FAULT_VALUE_SHARE,
	 AT_POSTROUTING, OF_PROGRAM | GOES, .tx = "socket", .programs = PROGRAM(CGROUP),
	 .cfg.cgroup_share = 1},
	{"tc_egress", "a tc program at the sender drops a fraction of the packets",
	 FAULT_VALUE_SHARE, AT_SENDER,
	 .slot = SLOT_TC_EGRESS, .tx = "socket", .programs = PROGRAM(EGRESS),
	 .cfg = {.egress_share = 1, .egress_verdict = TC_ACT_SHOT}},
	{"tc_egress:stolen", "a tc program returns TC_ACT_STOLEN for a fraction of the packets and "
			     "discards them",
	 FAULT_VALUE_SHARE, AT_SENDER, .slot = SLOT_TC_EGRESS, .tx = "socket", .fx.consumed = true,
	 .programs = PROGRAM(EGRESS),
	 .cfg = {.egress_share = 1, .egress_verdict = TC_ACT_STOLEN}},
	{"xdp", "an XDP program drops a fraction of the packets", FAULT_VALUE_SHARE,
	 AT_RECEIVER, GOES | NO_BACKLOG, SLOT_XDP, IN_VETHS, .programs = PROGRAM(XDP),
	 .cfg = {.xdp_share = 1, .xdp_verdict = XDP_DROP}, .plan = plan_native_xdp},
	{"xdp:aborted", "an XDP program returns XDP_ABORTED for a fraction of the packets",
	 FAULT_VALUE_SHARE, AT_RECEIVER,
	 GOES | NO_BACKLOG, SLOT_XDP, IN_VETHS, .not_tx = "xdp", .programs = PROGRAM(XDP),
	 .cfg = {.xdp_share = 1, .xdp_verdict = XDP_ABORTED}, .plan = plan_native_xdp},
	{"xdp:generic", "the same in generic (skb) mode", FAULT_VALUE_SHARE,
	 AT_RECEIVER, GOES, SLOT_XDP, .fx.xdp_generic = true, .programs = PROGRAM(XDP),
	 .cfg = {.xdp_share = 1, .xdp_verdict = XDP_DROP}},
	{"xdp:redirect", "an XDP program redirects a fraction of the packets to a missing device",
	 FAULT_VALUE_SHARE, AT_RECEIVER, GOES | NO_BACKLOG, SLOT_XDP, IN_VETHS | IN_TAPS,
	 .programs = PROGRAM(XDP),
	 .cfg = {.xdp_share = 1, .xdp_way = FAULT_XDP_TO_NOWHERE}, .plan = plan_native_xdp},
	/*
	 * The fault uses a veth that is up while its peer is down. The interface accepts redirects
	 * because the peer once had NAPI, but veth_xdp_xmit() refuses every batch with ENXIO. Live
	 * frames also wait in batches on the same CPU.
	 */
	{"xdp:devmap",
	 "an XDP program redirects a fraction of the packets through a devmap to a device that "
	 "accepts no frames",
	 FAULT_VALUE_SHARE, AT_RECEIVER, NO_BACKLOG, SLOT_XDP, IN_VETHS | IN_TAPS, .not_tx = "xdp",
	 .programs = PROGRAM(XDP), .cfg = {.xdp_share = 1, .xdp_way = FAULT_XDP_TO_DEVICE},
	 .plan = plan_native_xdp,
	 .steps = {"rx ip link add " TARGET " address 02:70:6b:01:00:01 type veth peer name " AWAY
		   " address 02:70:6b:01:00:02",
		   "rx ethtool -K " AWAY " gro on", "rx ip link set " AWAY " up",
		   "rx ip link set " TARGET " up", "rx ip link set " AWAY " down"}},
	/* an XDP frame has no flag to say that a checksum still has to be computed */
	{"xdp:cpumap", "an XDP program redirects all packets through a cpumap to a slow CPU",
	 FAULT_VALUE_NONE, AT_RECEIVER, GOES | OF_PROGRAM | NO_BACKLOG, SLOT_XDP, IN_VETHS,
	 .fx.tx_csum_off = true, .rx = "socket", .not_tx = "xdp",
	 .programs = PROGRAM(XDP) | PROGRAM(CPU),
	 .cfg = {.xdp_share = 1, .xdp_way = FAULT_XDP_TO_CPU, .cpu_burn_ns = CPUMAP_BURN_NS},
	 .plan = plan_native_xdp, .holds = CPUMAP_QUEUE, .where = "the queue of the CPU"},
	{"gso", "a router merges packets (GRO), and a fraction of them cannot be segmented again",
	 FAULT_VALUE_SHARE, AT_SOCKET, OF_PROGRAM | NO_BACKLOG, SLOT_XDP, IN_ROUTER, .rx = "socket",
	 .programs = PROGRAM(MERGED), .cfg.merged_share = 1, .fx.threaded_napi = true,
	 .plan = plan_gso},
	{"tc_ingress", "a tc program at the receiver drops a fraction of the packets",
	 FAULT_VALUE_SHARE,
	 AT_RECEIVER, .slot = SLOT_TC_INGRESS, .rx = "socket", .programs = PROGRAM(INGRESS),
	 .cfg = {.ingress_share = 1, .ingress_verdict = TC_ACT_SHOT}},
	{"tc_ingress:stolen", "a tc program returns TC_ACT_STOLEN for a fraction of the packets and "
			      "discards them",
	 FAULT_VALUE_SHARE, AT_RECEIVER, .slot = SLOT_TC_INGRESS, .rx = "socket",
	 .fx.consumed = true, .programs = PROGRAM(INGRESS),
	 .cfg = {.ingress_share = 1, .ingress_verdict = TC_ACT_STOLEN}},
	{"ip_header", "invalid IP headers: checksum, with IPv6 the length", FAULT_VALUE_SHARE,
	 AT_IP_HEADER, .rx = "socket", .programs = PROGRAM(SPOIL), .cfg.ip_header_share = 1},
	{"udp_header", "invalid UDP lengths", FAULT_VALUE_SHARE, AT_UDP_HEADER,
	 .rx = "socket", .programs = PROGRAM(SPOIL), .cfg.udp_header_share = 1},
	/* GRO, which live frames require, verifies the checksum before the program corrupts it */
	{"udp_csum", "wrong UDP checksums, verified early for a socket filter", FAULT_VALUE_SHARE,
	 AT_SOCKET, OF_PROGRAM, SLOT_CHECKSUM, .fx.tx_csum_off = true, .rx = "socket",
	 .not_tx = "xdp", .programs = PROGRAM(SPOIL) | PROGRAM(FILTER), .cfg.udp_csum_share = 1},
	{"socket_filter", "a socket filter rejects a fraction of the packets", FAULT_VALUE_SHARE,
	 AT_SOCKET, OF_PROGRAM | GOES, .rx = "socket", .programs = PROGRAM(FILTER),
	 .cfg.filter_share = 1},
	{"socket_read:csum", "wrong UDP checksums, verified by recv()", FAULT_VALUE_SHARE,
	 AT_SOCKET, .slot = SLOT_CHECKSUM, .fx.tx_csum_off = true, .rx = "socket", .not_tx = "xdp",
	 .programs = PROGRAM(SPOIL), .cfg.udp_csum_share = 1, .plan = plan_read_csum},
	{0},
};

/* Where a tc program is attached. Other programs attach differently. */
enum place { AT_RX, AT_TX, AT_HOP, AT_THIRD, AT_BUSY };

#define PROG(name) offsetof(struct fault_bpf, progs.name)

static const struct {
	size_t at; /* offset of its struct bpf_program * in the skeleton */
	enum place place;
	bool egress;
} programs[PROGRAM_COUNT] = {
	[PROGRAM_MERGED] = {PROG(fault_merged), AT_RX, false},
	[PROGRAM_SLOW] = {PROG(fault_slow), AT_BUSY, false},
	[PROGRAM_SPOIL] = {PROG(fault_spoil), AT_RX, false},
	[PROGRAM_INGRESS] = {PROG(fault_ingress), AT_RX, false},
	[PROGRAM_FRAGMENT] = {PROG(fault_fragment), AT_RX, false},
	[PROGRAM_DEAF] = {PROG(fault_deaf), AT_HOP, false},
	[PROGRAM_UNTOLD] = {PROG(fault_untold), AT_TX, false},
	[PROGRAM_KEEP] = {PROG(fault_keep), AT_THIRD, false},
	[PROGRAM_EGRESS] = {PROG(fault_egress), AT_TX, true},
	[PROGRAM_MUTE] = {PROG(fault_mute), AT_TX, true},
	[PROGRAM_XDP] = {.at = PROG(fault_xdp)},
	[PROGRAM_CPU] = {.at = PROG(fault_cpu)},
	[PROGRAM_FILTER] = {.at = PROG(fault_filter)},
	[PROGRAM_CGROUP] = {.at = PROG(fault_cgroup)},
};

static struct bpf_program *program(const struct fault_state *s, enum fault_program which)
{
	return *(struct bpf_program **)((char *)s->skel + programs[which].at);
}

static int program_fd(const struct fault_state *s, enum fault_program which)
{
	return bpf_program__fd(program(s, which));
}

/* Returns 0, or STATUS_UNABLE for -errno: "cannot WHAT of PORT: ...". */
static int failed(int ret, const char *what, const struct lab_port *port, struct error *err)
{
	return error_errno(err, STATUS_UNABLE, ret, NULL, "cannot %s of %s", what, port->ifname);
}

static int tc_port(const struct fault_state *s, enum fault_program which, struct lab_port *port,
		   struct error *err)
{
	int index;

	switch (programs[which].place) {
	case AT_TX:
		*port = s->lab->tx;
		return 0;
	case AT_HOP:
		*port = *lab_next_hop(s->lab);
		return 0;
	case AT_BUSY: /* the RPS target CPU, otherwise the next interface */
		*port = s->fx->busy_cpu >= 0 ? s->lab->rx : *lab_peer(s->lab, &s->lab->tx);
		return 0;
	case AT_THIRD:
		*port = (struct lab_port){.ns = &s->lab->router_ns, .ifname = FAULT_THIRD};
		index = nl_ifindex(port->ns, FAULT_THIRD);
		port->ifindex = (unsigned)index;
		return index < 0 ? failed(index, "find the device", port, err) : 0;
	default:
		*port = s->lab->rx;
		return 0;
	}
}

/* Configures all rows. Fractions are added up. Only one row sets each of the other parameters. */
static void configure(struct fault_state *s, bool any)
{
	enum { SHARES = offsetof(struct fault_config, xdp_verdict) / sizeof(uint64_t) };
	uint64_t sum[sizeof(struct fault_config) / sizeof(uint64_t)] = {0}, one[sizeof(sum) / 8];

	for (unsigned i = 0; i < fault_count(); i++) {
		const struct fault_row *row = fault_row(i);
		double share = row->value == FAULT_VALUE_SHARE ? s->list->share[i] : 1;

		memcpy(one, &row->cfg, sizeof(one));
		for (unsigned w = 0; w < sizeof(sum) / 8 && fault_has(s->list, i); w++)
			sum[w] += w < SHARES ? (uint64_t)(one[w] * share * (1ULL << 32)) : one[w];
	}
	memcpy(&s->cfg, sum, sizeof(s->cfg));
	s->cfg.tc_burn_ns = s->fx->tc_burn_ns;
	s->cfg.xdp_burn_ns = s->fx->xdp_burn_ns;
	s->cfg.any = any;
}

static int load(struct fault_state *s, unsigned which, const struct tracer *tracer,
		struct error *err)
{
	struct fault_bpf *skel = s->skel = fault_bpf__open();
	int ret = skel ? 0 : -errno;

	if (skel) {
		struct bpf_map *const maps[] = {skel->maps.tails, skel->maps.cell,
						skel->maps.batch};

		skel->rodata->fault = s->cfg;
		if (tracer)
			memcpy((void *)&skel->rodata->cfg, &tracer->config, sizeof(tracer->config));
		for (unsigned i = 0; i < PROGRAM_COUNT; i++)
			bpf_program__set_autoload(program(s, i), which >> i & 1);
		if (which & PROGRAM(CPU))
			bpf_map__set_max_entries(skel->maps.cpus,
						 (__u32)libbpf_num_possible_cpus());
		if (tracer)
			ret = bpf_map__reuse_fd(skel->maps.seen, tracer_seen_fd(tracer));
		for (unsigned i = 0; tracer && i < LENGTH(maps) && !ret; i++)
			ret = bpf_map__reuse_fd(
				maps[i], drops_map_fd(tracer->drops, bpf_map__name(maps[i])));
	}
	if (!ret)
		ret = fault_bpf__load(skel);
	return ret ? xdp_load_failed(ret, "the programs of the faults", err) : 0;
}

/* Attaches a program that stays until the port's namespace is removed. */
static int attach_tc(const struct fault_state *s, enum fault_program which, struct error *err)
{
	bool egress = programs[which].egress;
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
	struct lab_port port;
	int ret = tc_port(s, which, &port, err), saved;

	if (ret)
		return ret;
	/* not LIBBPF_OPTS(), because padding in its copy may be uninitialised */
	memset(&hook, 0, sizeof(hook));
	hook.sz = sizeof(hook);
	hook.ifindex = (int)port.ifindex;
	hook.attach_point = egress ? BPF_TC_EGRESS : BPF_TC_INGRESS;
	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.handle = 1;
	opts.priority = TC_PRIORITY + which;
	opts.prog_fd = program_fd(s, which);
	ret = saved = netns_push(port.ns);
	if (saved >= 0) {
		ret = bpf_tc_hook_create(&hook);
		if (!ret || ret == -EEXIST) /* all programs share a single clsact */
			ret = bpf_tc_attach(&hook, &opts);
		netns_pop(saved);
	}
	return failed(
		ret, egress ? "attach a program to tc egress" : "attach a program to tc ingress",
		&port, err);
}

/* Attaches a program to this process's cgroup, using a link. */
static int attach_cgroup(struct fault_state *s, struct error *err)
{
	int fd = cgroup_open_v2();

	if (fd < 0)
		return error_errno(
			err, STATUS_UNABLE, fd,
			"mount the hierarchy: mount -t cgroup2 none /sys/fs/cgroup",
			"cannot open this process's group of the unified hierarchy (cgroup v2)");
	s->cgroup_link =
		bpf_link_create(program_fd(s, PROGRAM_CGROUP), fd, BPF_CGROUP_INET_EGRESS, NULL);
	close(fd);
	if (s->cgroup_link < 0)
		return error_errno(err, STATUS_UNABLE, s->cgroup_link,
				   "the kernel needs CONFIG_CGROUP_BPF",
				   "cannot attach a program to the egress of the cgroup");
	return 0;
}

/* The map takes a namespace index from the thread's own namespace. */
static int open_device(const struct netns *ns, int map_fd, unsigned *target)
{
	int ret = nl_ifindex(ns, TARGET), saved;
	uint32_t slot = 0, index;

	if (ret < 0)
		return ret;
	*target = index = (uint32_t)ret;
	saved = netns_push(ns);
	if (saved < 0)
		return saved;
	ret = bpf_map_update_elem(map_fd, &slot, &index, BPF_ANY) ? -errno : 0;
	netns_pop(saved);
	return ret;
}

/* Opens a thread for each CPU on which a packet may arrive. */
static int open_cpus(int map_fd, int prog_fd)
{
	const struct bpf_cpumap_val queue = {.qsize = CPUMAP_QUEUE, .bpf_prog.fd = prog_fd};
	int cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < cpus; cpu++) {
		if (bpf_map_update_elem(map_fd, &cpu, &queue, BPF_ANY))
			return -errno;
	}
	return cpus < 0 ? cpus : 0;
}

/*
 * Creates redirect targets for the XDP program in the receiver's namespace. The targets lose the
 * packets they get.
 */
static int open_redirects(struct fault_state *s, const struct tracer *tracer, struct error *err)
{
	const struct fault_bpf *skel = s->skel;
	const struct netns *ns = &s->lab->rx_ns;
	struct drops_redirects r = {s->lab->rx.ifindex, ns->inum, 0, -1};
	int ret = 0;

	if (s->cfg.xdp_way == FAULT_XDP_TO_DEVICE) {
		ret = failed(open_device(ns, bpf_map__fd(skel->maps.devices), &r.target),
			     "redirect to the peer", &s->lab->rx, err);
	} else if (s->cfg.xdp_way == FAULT_XDP_TO_CPU) {
		r.cpumap_fd = bpf_map__fd(skel->maps.cpus);
		ret = failed(open_cpus(r.cpumap_fd, bpf_program__fd(skel->progs.fault_cpu)),
			     "make a map of CPUs for packets", &s->lab->rx, err);
	}
	return ret || !tracer ? ret : drops_watch_redirects(tracer->drops, &r, err);
}

int fault_programs_open(struct fault_state *s, const struct tracer *tracer, struct error *err)
{
	unsigned which = (s->fx->tc_burn_ns ? PROGRAM(SLOW) : 0) | (s->fx->xdp ? PROGRAM(XDP) : 0);
	int ret;

	for (unsigned i = 0; i < fault_count(); i++)
		which |= fault_has(s->list, i) ? fault_row(i)->programs : 0;
	configure(s, !tracer);
	if (!which)
		return 0;
	if (which & PROGRAM(MERGED) && !(tracer && drops_reads_pages(tracer->drops)))
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "it needs Linux 6.12 or newer",
				 "--fault gso: this kernel does not show the numbers in merged "
				 "packets");
	ret = load(s, which, tracer, err);
	for (unsigned i = 0; i < PROGRAM_XDP && !ret; i++) {
		if (which >> i & 1)
			ret = attach_tc(s, i, err);
	}
	if (!ret && which & PROGRAM(CGROUP))
		ret = attach_cgroup(s, err);
	if (!ret && s->cfg.xdp_way != FAULT_XDP_VERDICT)
		ret = open_redirects(s, tracer, err);
	return ret;
}

int fault_attach_xdp(struct fault_state *s, bool stay, struct error *err)
{
	int fd = program_fd(s, PROGRAM_XDP);
	const struct lab_port *port = &s->lab->rx;
	unsigned mode = s->fx->xdp_generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = mode);
	int saved = netns_push(port->ns), ret = saved;

	if (saved >= 0 && stay)
		ret = bpf_xdp_attach((int)port->ifindex, fd, mode, NULL);
	else if (saved >= 0)
		ret = s->xdp_link = bpf_link_create(fd, (int)port->ifindex, BPF_XDP, &opts);
	netns_pop(saved);
	return failed(ret < 0 ? ret : 0, "attach an XDP program to the device", port, err);
}

int fault_xdp(struct fault_state *s, int next_fd, bool *native, struct error *err)
{
	const uint32_t slot = 0;

	*native = !s->fx->xdp_generic;
	if (next_fd >= 0 &&
	    bpf_map_update_elem(bpf_map__fd(s->skel->maps.next), &slot, &next_fd, BPF_ANY))
		return error_errno(err, STATUS_UNABLE, -errno, NULL,
				   "cannot continue with the receiver's XDP program");
	return fault_attach_xdp(s, false, err);
}

int fault_socket(struct fault_state *state, int fd, struct error *err)
{
	int filter = state->fx->socket_filter ? program_fd(state, PROGRAM_FILTER) : -1;

	if (filter >= 0 && setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &filter, sizeof(filter)))
		return error_errno(err, STATUS_UNABLE, -errno, NULL,
				   "cannot attach a filter to the receiving socket");
	return 0;
}

void fault_programs_close(struct fault_state *s)
{
	link_close(&s->xdp_link);
	link_close(&s->cgroup_link);
	fault_bpf__destroy(s->skel);
}
