// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Opens a site with its observers, ends and counters. close.c collects its results. */
#include "experiment/site.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "experiment/settle.h"
#include "host/caps.h"
#include "host/netdev.h"

/*
 * Time until a single sender's losses are visible, because neighbour resolution takes 3 s to fail.
 */
#define SETTLE_NS 5000000000

#define LINK_NS	     5000000000
#define LINK_STEP_NS 10000000

const char *site_place(const struct site *s)
{
	const struct run_spec *spec = s->spec;

	if (s->receives)
		return spec->rx->socket ? edge_place(s->tracer.edge) : "XDP";
	return spec->tx->place ? spec->tx->place : edge_place(s->tracer.edge);
}

/* Returns how many numbers are kept per stream if streams are known. */
static uint64_t plan_window(struct site *s)
{
	const struct run_spec *spec = s->spec;
	uint64_t each, window;
	double pps;

	s->moving = s->lone && s->by_number;
	if (spec->numbers)
		return spec->numbers->window;
	each = spec->count == UINT64_MAX ? UINT64_MAX
					 : (spec->count + spec->threads - 1) / spec->threads;
	pps = window_pps(spec->tx, spec->tuning.send.gso, s->in_lab);
	if (s->rate_pps > 0)
		pps = fmin(pps, WINDOW_CATCH_UP * s->rate_pps / spec->threads);
	window = window_size(each, pps, s->settle_ns + spec->tuning.reader.pause_ns, spec->threads);
	s->moving |= window < each;
	return window;
}

static int open_tracer(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	const struct lab *lab = &s->lab;
	const struct netns *bridge = lab->topology == LAB_BRIDGE ? lab->router_tx.ns : NULL;
	const struct probe_place probes[PROBES] = {
		[PROBE_TX] = {&lab->tx_ns, lab->tx.ifindex},
		[PROBE_RX] = {&lab->rx_ns, lab->rx.ifindex},
		[PROBE_BRIDGE_IN] = {bridge, lab->router_tx.ifindex},
		[PROBE_BRIDGE_OUT] = {bridge, lab->router_rx.ifindex},
	};
	const struct outcomes_numbers room = {
		.streams = (uint16_t)spec->ledger,
		.window = s->discovers ? discover_window(spec->ledger) : 0,
	};
	struct tracer_spec tracer = {
		.streams = 1,
		.config = {.port = s->flow.dst_port,
			   .fragments = s->fragments,
			   .tunnel = lab->topology == LAB_VXLAN ? LAB_VXLAN_PORT : 0,
			   .learn = s->discovers ? LEARN_LOOK : 0},
		/* live frames have no skb in this namespace unless they come back */
		.frames = s->lone && !s->by_number && spec->tx == &tx_xdp,
		.consumed = s->fx.consumed,
		.numbers = spec->numbers,
	};

	if (spec->numbers || s->sends || spec->paired) {
		tracer.streams = spec->threads;
		tracer.window = plan_window(s);
	}
	if (s->discovers) {
		tracer.streams = spec->ledger;
		tracer.numbers = &room;
	}
	if (s->lone) {
		tracer.config.netns[0] = s->sends ? lab->tx_ns.inum : lab->rx_ns.inum;
		tracer.edge_ifindex = lab->rx.ifindex;
	} else {
		tracer.probes = probes;
		_Static_assert(LAB_SPACES <= TRACE_SPACES, "all namespaces of a lab");
		/* others may have built further namespaces into a lab that stays */
		for (unsigned i = 0; s->in_lab && !spec->lab && i < LAB_SPACES; i++)
			tracer.config.netns[i] = lab->ns[i].inum;
	}
	/*
	 * Without edge probes, later fragments cannot be assigned to their datagram, and packets
	 * that left one port of this host and did not reach the other port would have an unknown
	 * outcome.
	 */
	if (s->by_number && !s->in_lab) {
		tracer.edge.leave = s->sends ? lab->tx_ns.inum : 0;
		tracer.edge.enter = s->receives ? lab->rx_ns.inum : 0;
	}
	if (s->tracer.drops) { /* at rest: it follows no fragments and no freed packets */
		if (tracer.config.port == s->tracer.config.port && !s->fragments &&
		    !tracer.consumed && !tracer_arm(&s->tracer, tracer.window))
			return 0;
		tracer_close(&s->tracer);
	}
	return tracer_open(&s->tracer, &tracer, err);
}

/* Lets a single end continue without observers, unless it must report outcomes. */
static int open_observers(struct site *s, struct error *err)
{
	static const int needed[] = {CAP_BPF, CAP_PERFMON, CAP_SYSLOG};
	struct outcomes *f = &s->tracer.outcomes;
	char missing[128];
	int rc;

	if (!s->lone) {
		rc = open_tracer(s, err);
		s->traced = !rc;
		return rc;
	}
	/* an observer of drops costs a tenth of the rate if unrelated drops occur often */
	s->by_engine = s->sends && !s->by_number && s->spec->tx == &tx_xsk && tx_xsk_knows_losses();
	if (caps_missing(needed, 3, missing, sizeof(missing)) > 0)
		error_set(&s->untraced, STATUS_UNABLE, -EPERM, NULL, "missing %s", missing);
	else if (!s->by_engine)
		s->traced = !open_tracer(s, &s->untraced);
	if (s->traced)
		return 0;
	if (s->by_number) {
		*err = s->untraced;
		return -EPERM;
	}
	if (!s->sends)
		return 0;
	outcomes_init(f, (uint16_t)s->spec->threads, outcomes_window(plan_window(s)));
	return outcomes_map(f, -1, -1, -1, err);
}

/*
 * Opens the receiver's XDP program, after a fault's program if there is one. With AF_XDP, the
 * program redirects the flow's packets into one socket per queue. Otherwise it receives them, or
 * only reads them first. Packets that it reads count as arrived.
 */
static int open_xdp(struct site *s, struct error *err)
{
	const struct drops *drops = s->tracer.drops;
	const struct lab_port *port = &s->lab.rx;
	struct trace_config here = {.port = (uint16_t)s->spec->port};
	struct rx_prog_config cfg = {
		.trace = &here,
		.steer = s->spec->rx == &rx_xsk,
		.pass = s->by_number && s->spec->pass,
		.learn = !s->by_number,
		.cell_fd = s->traced ? drops_map_fd(drops, "cell") : -1,
		.seen_fd = s->by_number ? tracer_seen_fd(&s->tracer) : -1,
	};
	int rc = 0;
	bool native = false;

	if (s->traced)
		here = s->tracer.config;
	if (here.learn)
		here.learn = LEARN_TAKE;
	if (!s->spec->rx->socket) {
		if (s->by_number) {
			cfg.payload = shape_sizes_differ(spec_shape(s->spec)) ? 0 : s->flow.payload;
			cfg.arrivals_fd = drops_map_fd(drops, "arrivals");
			cfg.tails_fd = drops_map_fd(drops, "tails");
		}
		rc = rx_prog_open(&s->prog, &cfg, err);
		if (rc)
			return rc;
		s->receiver_config.prog = s->prog;
		if (cfg.steer && s->traced)
			drops_watch_xskmap(s->tracer.drops, s->prog->map_fd);
		else if (!cfg.steer && s->by_number && !cfg.pass)
			drops_expect_sink(s->tracer.drops);
	}
	if (s->fx.xdp)
		rc = fault_xdp(s->faults, s->prog ? s->prog->fd : -1, &native, err);
	else if (s->prog)
		rc = rx_prog_attach(s->prog, port->ns, port->ifname, port->queues, &native, err);
	s->receiver_config.xdp_skb_mode = !native;
	return rc;
}

/* With --pass the program only reads packets, and a socket after it receives them. */
static const struct rx_ops *rx_ops_of(const struct run_spec *spec)
{
	return spec->rx == &rx_xdp && spec->pass ? &rx_socket : spec->rx;
}

static int open_receiver(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	const struct fault_effects *fx = &s->fx;
	/* a single receiver measures latency from any interface onwards */
	const struct legs_device out = {s->lab.tx.ns, s->lab.tx.ifindex};
	const struct legs_device in = {s->lab.rx.ns, s->lone ? 0 : s->lab.rx.ifindex};
	bool xsk = spec->rx == &rx_xsk;
	int rc;

	s->receiver_config = (struct receiver_config){
		.ops = rx_ops_of(spec),
		.flow = &s->flow,
		.ns = s->lab.rx.ns,
		.ifname = s->lab.rx.ifname,
		.threads = xsk			     ? s->lab.rx.queues
			   : spec->tuning.rx_threads ? spec->tuning.rx_threads
						     : 1,
		.tuning = &spec->tuning,
		.shape = spec->shaped && spec->shape.n_payload ? &spec->shape : NULL,
		.outcomes = s->by_number ? &s->tracer.outcomes : NULL,
		.table = s->discovers ? drops_tails(s->tracer.drops) : NULL,
		.rcvbuf = spec->rcvbuf ? (int)spec->rcvbuf : fx->rcvbuf,
		.xsk_frames = fx->xsk_frames,
		.xsk_room = fx->xsk_room,
		.paused = fx->reader == READER_PAUSED || fx->reader == READER_NEVER,
		.work_ns = fx->reader == READER_SLOW ? fx->reader_ns : 0,
		.cpu = s->lone ? -1 : (int)sysconf(_SC_NPROCESSORS_ONLN) - 1,
	};
	rc = open_xdp(s, err);
	if (rc || fx->no_receiver)
		return rc;
	if (spec->legs)
		rc = legs_open(&s->legs, (uint16_t)s->flow.dst_port, &out, &in, err);
	s->receiver_config.legs = s->legs;
	if (!rc)
		rc = receiver_open(&s->receiver, &s->receiver_config, err);
	for (unsigned t = 0; !rc && t < s->receiver_config.threads; t++) {
		if (s->legs && s->receiver_config.ops->socket)
			rc = error_errno(err, STATUS_UNABLE,
					 legs_attach(s->legs, receiver_fd(s->receiver, t)), NULL,
					 "cannot put a filter on the socket");
		if (!rc && fx->socket_filter)
			rc = fault_socket(s->faults, receiver_fd(s->receiver, t), err);
	}
	return rc;
}

static int switch_gro(const struct lab_port *port, const char *to, struct error *err)
{
	struct recipe r = RECIPE;

	recipe_add(&r, RECIPE_ETHTOOL, port->ns, "-K %s gro %s", port->ifname, to);
	return recipe_run(&r, "change GRO", err);
}

/*
 * Enables NAPI on the peer of a veth, through GRO or a native XDP program, because live frames
 * require it. UDP is not merged unless a socket requests it. Done only in a test network.
 */
static int give_napi(struct site *s, struct error *err)
{
	const struct lab_port *peer = lab_peer(&s->lab, &s->lab.tx);
	bool on;

	if (!peer || netdev_get_feature(peer->ns, peer->ifname, "rx-gro", &on) || on)
		return 0;
	s->gro = peer;
	return switch_gro(peer, "on", err);
}

/*
 * Returns whether frames from xsk or xdp require an XDP program on the interface. The sending end
 * of a veth does not require one, and a test network has no other kind of interface.
 */
static bool wants_xdp(const struct site *s)
{
	struct netdev dev;

	return !s->in_lab && !s->spec->tx->socket &&
	       !netdev_get(s->lab.tx.ns, s->lab.tx.ifname, &dev) && strcmp(dev.driver, "veth");
}

/*
 * Many drivers restart the interface when an XDP program is attached, which renegotiates the link.
 */
static void await_link(const struct lab_port *port)
{
	const uint64_t end = clock_now() + LINK_NS;
	struct netdev dev;

	while (*port->ifname && !netdev_get(port->ns, port->ifname, &dev) &&
	       dev.link.flags & IFF_UP && !(dev.link.flags & IFF_LOWER_UP) && clock_now() < end)
		clock_sleep(LINK_STEP_NS);
}

static int open_sender(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	const struct lab_port *port = &s->lab.tx;
	int rc = 0;

	if (spec->tx == &tx_xdp && s->in_lab)
		rc = give_napi(s, err);
	if (!rc && spec->tx == &tx_xdp && s->traced)
		rc = drops_watch_live(s->tracer.drops, port->ifindex, port->ns->inum, err);
	if (rc)
		return rc;
	s->sender_config = (struct sender_config){
		.ops = spec->tx,
		.flow = &s->flow,
		.ns = port->ns,
		.ifname = port->ifname,
		.ifindex = port->ifindex,
		.threads = spec->threads,
		.outcomes = &s->tracer.outcomes,
		.wants_xdp = wants_xdp(s),
		.count = spec->count,
		.duration_ns = spec->duration_ns,
		.rate_pps = s->rate_pps,
		.shape = spec_shape(spec),
		.sndbuf = spec->sndbuf ? (int)spec->sndbuf : s->fx.sndbuf,
		.batch_fd = s->traced ? drops_map_fd(s->tracer.drops, "batch") : -1,
		.tuning = &spec->tuning,
		.cpu = s->lone		   ? -1
		       : s->fx.tx_cpu >= 0 ? s->fx.tx_cpu
					   : 0,
	};
	return sender_open(&s->sender, &s->sender_config, err);
}

static int plan_faults(struct site *s, const struct experiment_view *view, struct error *err)
{
	const struct run_spec *spec = s->spec;
	struct run_spec planned = *spec;
	int rc = spec->lab ? lab_topology_of(spec->lab, &planned.topology, err) : 0;

	planned.rx = rx_ops_of(spec);
	planned.rate_pps = s->rate_pps;
	if (!rc)
		rc = fault_plan(&planned, &s->fx, err);
	if (rc)
		return rc;
	if (s->rate_pps <= 0)
		s->rate_pps = s->fx.rate_pps;
	for (unsigned i = 0; i < s->fx.n_notes; i++)
		view_note(view, s->fx.notes[i]);
	return 0;
}

/* Makes a test network answer for every destination address that the user requested. */
static int open_routes(struct site *s, struct error *err)
{
	const struct shape_addrs *to = &s->spec->shape.dst_addr;
	const struct lab_port *tx = &s->lab.tx, *rx = &s->lab.rx;
	struct lab_text via, own = lab_text(rx);
	struct recipe r = RECIPE;
	char net[INET6_ADDRSTRLEN];
	struct shape_addrs base;
	unsigned prefix;

	if (!to->n || !s->in_lab || s->spec->lab)
		return 0;
	prefix = shape_addrs_prefix(to, &base);
	inet_ntop(to->family, base.first, net, sizeof(net));
	if (to->n == 1 && !strcmp(net, to->family == AF_INET6 ? own.ip6 : own.ip4))
		return 0; /* the receiver has this address anyway */
	via = lab_text(lab_next_hop(&s->lab));
	recipe_add(&r, RECIPE_IP, rx->ns, "route add local %s/%u dev %s", net, prefix, rx->ifname);
	recipe_add(&r, RECIPE_IP, tx->ns, "route add %s/%u via %s dev %s", net, prefix,
		   to->family == AF_INET6 ? via.ip6 : via.ip4, tx->ifname);
	return recipe_run(&r, "route the destination addresses in the lab", err);
}

static void add_engine_counters(struct site *s, struct counters *c)
{
	struct rx_stats rx = {};
	struct tx_stats tx;

	if (s->receiver)
		receiver_stats(s->receiver, &rx);
	if (s->receiver && s->spec->rx == &rx_xsk) {
		counters_add(c, "rx", "xsk:rx_ring_full", rx.rx_ring_full);
		counters_add(c, "rx", "xsk:rx_fill_ring_empty", rx.rx_fill_ring_empty);
		counters_add(c, "rx", "xsk:rx_dropped", rx.rx_dropped);
		counters_add(c, "rx", "xsk:rx_invalid", rx.rx_invalid);
	} else if (s->receiver && rx.socket_drops >= 0) {
		counters_add(c, "rx", "socket:drops", (uint64_t)rx.socket_drops);
	}
	if (s->sender && s->spec->tx == &tx_xsk) {
		sender_stats(s->sender, &tx);
		counters_add(c, "tx", "xsk:tx_invalid_descs", tx.tx_invalid_descs);
		counters_add(c, "tx", "xsk:tx_lost", tx.lost_at_device);
	}
}

/* Reads the kernel's counters in all of the site's namespaces and for our sockets. */
int site_read_counters(struct site *s, struct counters *c, struct error *err)
{
	const char *ifnames[LAB_PORTS][LAB_PORTS + 1] = {};
	struct counters_scope scope[LAB_PORTS];
	/* no interface in a test network has a NIC ring */
	unsigned what = COUNTERS_RUN | (s->in_lab ? 0 : COUNTERS_QUEUES), n = 0;
	int rc;

	for (const struct lab_port *p = NULL; (p = lab_hop(&s->lab, p));) {
		unsigned i = 0, k = 0;

		while (i < n && scope[i].ns != p->ns)
			i++;
		if (i == n)
			scope[n++] = (struct counters_scope){p->role, p->ns, ifnames[i], what};
		while (ifnames[i][k])
			k++;
		ifnames[i][k] = *p->ifname ? p->ifname : NULL;
	}
	rc = counters_read(c, scope, n);
	if (rc)
		return error_errno(err, STATUS_FAILED, rc, "check that the interface still exists",
				   "cannot read the counters");
	add_engine_counters(s, c);
	return 0;
}

static void show_notes(const struct site *s, const struct experiment_view *view)
{
	const struct tuning *tuning = &s->spec->tuning;
	const struct worker_group groups[] = {
		{&tuning->tx, s->sender_config.cpu, s->sender ? s->sender_config.threads : 0},
		{&tuning->rx, s->receiver_config.cpu, s->receiver ? s->receiver_config.threads : 0},
	};
	char note[256];

	snprintf(note, sizeof(note), "losses on this side are not traced: %.200s",
		 s->untraced.message);
	view_note(view, s->traced || s->by_engine ? NULL : note);
	view_note(view, tuning->rt ? worker_rt_warning(groups, 2) : NULL);
}

/* Closes the ends, so that the site can be opened for another trial. */
static void close_trial(struct site *s)
{
	fault_end(s->faults, &(struct error){});
	sender_close(s->sender);
	receiver_close(s->receiver);
	fault_close(s->faults);
	if (s->gro && s->spec->lab) /* other test networks are removed as a whole */
		switch_gro(s->gro, "off", NULL);
	rx_prog_close(s->prog);
	legs_close(s->legs);
	counters_free(&s->before);
	counters_free(&s->after);
	memset(s, 0, offsetof(struct site, lab));
}

void site_close(struct site *s)
{
	close_trial(s);
	tracer_close(&s->tracer);
	if (s->lab_open)
		lab_close(&s->lab);
	memset(s, 0, sizeof(*s));
}

/*
 * Faults and routes for requested addresses change the test network, and fragments of a trial may
 * be held there after its end.
 */
void site_rest(struct site *s)
{
	const struct shape *shape = &s->spec->shape;

	if (!s->in_lab || s->spec->lab || s->spec->faults.set || s->fragments ||
	    shape->dst_addr.n || shape->dst_port.n)
		site_close(s);
	else
		close_trial(s);
}

/* Plans the test network, and closes one at rest if it does not fit. */
static int plan_lab(struct site *s, struct error *err)
{
	const struct run_spec *spec = s->spec;
	const bool ours = s->in_lab && !spec->lab;
	const unsigned asked = spec->wish.queues;
	struct site_needs needs;

	memset(&needs, 0, sizeof(needs)); /* compared as bytes */
	needs.tx = spec->tx;
	needs.rx = spec->rx;
	needs.port = spec->port;
	needs.threads = spec->threads;
	needs.pass = spec->pass;
	needs.wish = spec->wish;
	needs.lab.topology = s->fx.topology;
	needs.lab.other_vni = s->fx.other_vni;
	needs.lab.ip4_only = !spec->ipv6;
	needs.lab.mtu = spec->wish.mtu;
	if (ours)
		needs.lab.queues =
			!spec->tx->socket || spec->rx == &rx_xsk ? spec->threads : 1;
	if (ours && asked && asked < needs.lab.queues)
		return error_usage(err, "use fewer threads (-P), or more queues",
				   "--queues %u are too few: each of %u threads needs its own",
				   asked, needs.lab.queues);
	if (asked)
		needs.lab.queues = asked;
	if (s->lab_open && (!ours || memcmp(&needs, &s->needs, sizeof(needs)))) {
		tracer_close(&s->tracer);
		lab_close(&s->lab);
		s->lab_open = false;
	}
	s->needs = needs;
	return 0;
}

int site_open(struct site *s, const struct run_spec *spec, const struct experiment_view *view,
	      struct error *err)
{
	int rc = 0;

	mem_keep(); /* until all programs are loaded */
	s->spec = spec;
	s->sends = spec->tx && !(spec->far && spec->reverse);
	s->receives = spec->rx && !(spec->far && !spec->reverse);
	s->lone = !s->sends || !s->receives;
	s->in_lab = !s->lone && !spec->port_a;
	s->by_number = !s->lone || spec->paired || spec->ledger;
	s->discovers = s->lone && s->receives && !spec->paired && spec->ledger;
	s->rate_pps = spec->rate_pps;
	s->settle_ns = spec->settle_ns || !s->lone ? spec->settle_ns : SETTLE_NS;
	if (!s->lone) {
		rc = ports_rate(spec, &s->rate_pps, err);
		if (!rc)
			rc = plan_faults(s, view, err);
	}
	if (!rc)
		rc = plan_lab(s, err);
	if (!rc && s->in_lab && !s->tracer.drops) { /* while the test network is created */
		reasons_prepare();
		ksyms_prepare();
	}
	if (!rc)
		rc = site_open_ports(s, err);
	if (!rc)
		rc = open_observers(s, err);
	if (!rc && !s->lone)
		rc = fault_apply(&spec->faults, &s->fx, &s->lab, &s->tracer, &s->faults, err);
	if (!rc && !s->lone)
		rc = open_routes(s, err);
	if (!rc && s->receives)
		rc = open_receiver(s, err);
	if (!rc && s->sends)
		rc = open_sender(s, err);
	if (!s->in_lab) {
		await_link(&s->lab.tx);
		await_link(&s->lab.rx);
	}
	if (!rc && (!s->lone || spec->paired))
		rc = site_read_counters(s, &s->before, err);
	if (!rc)
		show_notes(s, view);
	mem_return();
	return rc;
}
