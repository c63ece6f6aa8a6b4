// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/rig.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host/netdev.h"
#include "host/reassembly.h"
#include "experiment/ports.h"
#include "experiment/window.h"
#include "stamp.h"

#define SRC_PORT	   40000
#define REASSEMBLY_SECONDS 1

static int open_tracer(struct rig *rig, struct error *err)
{
	const struct run_spec *spec = rig->spec;
	const struct lab *lab = &rig->lab;
	const struct netns *bridge = lab->topology == LAB_BRIDGE ? &lab->router_ns : NULL;
	const struct checkpoint_place checkpoints[CHECKPOINTS] = {
		[CHECKPOINT_TX] = {&lab->tx_ns, lab->tx.ifindex},
		[CHECKPOINT_RX] = {&lab->rx_ns, lab->rx.ifindex},
		[CHECKPOINT_BRIDGE_IN] = {bridge, lab->router_tx.ifindex},
		[CHECKPOINT_BRIDGE_OUT] = {bridge, lab->router_rx.ifindex},
	};
	double fastest = window_pps(spec->tx, spec->tuning.send.gso, !spec->port_a);
	double pps = rig->rate_pps / spec->threads;
	uint64_t count = spec->count == UINT64_MAX
				 ? UINT64_MAX
				 : (spec->count + spec->threads - 1) / spec->threads;
	struct tracer_spec tracer = {
		.streams = spec->threads,
		.window =
			window_size(count, pps > 0 ? pps : fastest, spec->settle_ns, spec->threads),
		.port = rig->flow.dst_port,
		.fragments = rig->fragments,
		.consumed = rig->fx.consumed,
		.tunnel = rig->lab.topology == LAB_VXLAN ? LAB_VXLAN_PORT : 0,
	};

	rig->moving = tracer.window < count;
	/* checkpoints only in labs: what is attached by tc outlives us on a device of the host */
	if (!spec->port_a)
		tracer.checkpoints = checkpoints;
	return tracer_open(&rig->tracer, &tracer, err);
}

static void plan_flow(struct rig *rig)
{
	const struct run_spec *spec = rig->spec;
	const struct lab *lab = &rig->lab;

	rig->flow = (struct flow){
		.family = spec->ipv6 ? AF_INET6 : AF_INET,
		.src4 = lab->tx.ip4,
		.dst4 = lab->rx.ip4,
		.src6 = lab->tx.ip6,
		.dst6 = lab->rx.ip6,
		.dst_port = spec->port,
		.src_port = SRC_PORT,
		.flows = spec->flows,
		.payload = spec->payload,
		.ttl = rig->fx.ttl ? (unsigned)rig->fx.ttl : spec->ttl,
		.tos = (uint8_t)spec->tos,
		.vlan = (uint16_t)spec->vlan,
		.time = spec->payload >= STAMP_TIME_LEN,
	};
	memcpy(rig->flow.src_mac, lab->tx.mac, 6);
	memcpy(rig->flow.dst_mac, lab_next_hop(lab)->mac, 6);
	if (spec->shape && spec->shape->dst_port.n)
		rig->flow.dst_port = spec->shape->dst_port.n == 1 ? spec->shape->dst_port.first : 0;
	if (spec->shape && spec->shape->capture)
		capture_stamp(spec->shape->capture, &rig->flow);
}

/*
 * Datagrams that need fragments. What is lost with one of them is known when the rest has been
 * given up: in a lab of our own that shall not take longer than closing the books.
 */
static int plan_fragments(struct rig *rig, struct error *err)
{
	const struct run_spec *spec = rig->spec;
	int rc = 0;

	rig->fragments = spec->payload + (spec->ipv6 ? 48 : 28) > rig->lab.tx.mtu;
	if (rig->fragments && !spec->port_a && !spec->lab)
		rc = reassembly_set_time(&rig->lab.rx_ns, REASSEMBLY_SECONDS);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL,
			      "cannot set the time for reassembly: %s", strerror(-rc))
		  : 0;
}

/* With --pass the program only looks, and a socket behind it receives. */
static const struct rx_ops *rig_rx_ops(const struct run_spec *spec)
{
	return spec->rx == &rx_xdp && spec->pass ? &rx_socket : spec->rx;
}

static int open_receiver(struct rig *rig, struct error *err)
{
	const struct run_spec *spec = rig->spec;
	const struct fault_effects *fx = &rig->fx;
	bool xsk = spec->rx == &rx_xsk;
	int rc;

	rig->receiver_config = (struct receiver_config){
		.ops = rig_rx_ops(spec),
		.flow = &rig->flow,
		.ns = &rig->lab.rx_ns,
		.ifname = rig->lab.rx.ifname,
		.ifindex = rig->lab.rx.ifindex,
		.threads = xsk			     ? rig->lab.rx.queues
			   : spec->tuning.rx_threads ? spec->tuning.rx_threads
						     : 1,
		.tuning = &spec->tuning,
		.shape = spec->shape && spec->shape->n_payload ? spec->shape : NULL,
		.fates = &rig->tracer.fates,
		.rcvbuf = spec->rcvbuf ? (int)spec->rcvbuf : fx->rcvbuf,
		.rcvbuf_force = spec->rcvbuf || fx->rcvbuf_force,
		.xsk_map_fd = -1,
		.xsk_frames = fx->xsk_frames,
		.xsk_room = fx->xsk_room,
		.paused = fx->reader == READER_PAUSED || fx->reader == READER_NEVER,
		.work_ns = fx->reader == READER_SLOW ? fx->reader_ns : 0,
		.cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1,
	};
	rc = rig_open_xdp(rig, err);
	if (rc || fx->no_receiver)
		return rc;
	rc = receiver_open(&rig->receiver, &rig->receiver_config, err);
	for (unsigned t = 0; !rc && fx->socket_filter && t < rig->receiver_config.threads; t++)
		rc = fault_socket(rig->faults, receiver_fd(rig->receiver, t), err);
	return rc;
}

/*
 * A veth takes live frames only if its peer has NAPI, which GRO or a native XDP program gives it.
 * UDP is not merged unless a socket asks. In a lab only: ports of the host stay as they are.
 */
static int give_napi(struct rig *rig, struct error *err)
{
	const struct lab_port *peer = lab_link_peer(&rig->lab);
	bool on = true;
	int rc;

	if (rig->spec->port_a || netdev_get_feature(peer->ns, peer->ifname, "rx-gro", &on) || on)
		return 0;
	rc = netdev_set_feature(peer->ns, peer->ifname, "rx-gro", true);
	if (rc)
		return error_set(err, STATUS_UNABLE, rc, NULL, "cannot switch on GRO of %s: %s",
				 peer->ifname, strerror(-rc));
	rig->gro = peer;
	return 0;
}

static int open_sender(struct rig *rig, struct error *err)
{
	const struct run_spec *spec = rig->spec;
	int rc = 0;

	if (spec->tx == &tx_xdp) {
		rc = give_napi(rig, err);
		if (!rc)
			rc = drops_watch_live(rig->tracer.drops, rig->lab.tx.ifindex,
					      rig->lab.tx_ns.inum, err);
	}
	if (rc)
		return rc;

	rig->sender_config = (struct sender_config){
		.ops = spec->tx,
		.flow = &rig->flow,
		.ns = &rig->lab.tx_ns,
		.ifname = rig->lab.tx.ifname,
		.ifindex = rig->lab.tx.ifindex,
		.threads = spec->threads,
		.fates = &rig->tracer.fates,
		.count = spec->count,
		.duration_ns = spec->duration_ns,
		.rate_pps = rig->rate_pps,
		.shape = spec->shape,
		.sndbuf = spec->sndbuf ? (int)spec->sndbuf : rig->fx.sndbuf,
		.no_wait = spec->no_wait,
		.batch_fd = drops_batch_fd(rig->tracer.drops),
		.tuning = &spec->tuning,
		.cpu = rig->fx.tx_cpu >= 0 ? rig->fx.tx_cpu : 0,
	};
	return sender_open(&rig->sender, &rig->sender_config, err);
}

static int plan_faults(struct rig *rig, const struct experiment_view *view, struct error *err)
{
	const struct run_spec *spec = rig->spec;
	struct fault_request req = {
		.tx = spec->tx->name,
		.rx = rig_rx_ops(spec)->name,
		.family = spec->ipv6 ? AF_INET6 : AF_INET,
		.payload = spec->payload,
		.mtu = spec->wish.mtu ? spec->wish.mtu : 1500,
		.segments = spec->tuning.send.gso ? socket_segments(spec->ipv6 ? AF_INET6 : AF_INET,
								    spec->payload)
						  : 1,
		.threads = spec->threads,
		.gro = spec->tuning.receive.gro,
		.count = spec->count,
		.rate_pps = rig->rate_pps,
		.port = spec->port,
		.topology = spec->topology,
		.topology_fixed = spec->topology_set || spec->lab || spec->port_a,
	};
	int rc = spec->lab ? lab_topology_of(spec->lab, &req.topology, err) : 0;

	if (rc)
		return rc;
	rig->fx.tx_cpu = rig->fx.busy_cpu = -1;
	rc = fault_plan(&spec->faults, &req, &rig->fx, err);
	if (rc)
		return rc;
	if (rig->fx.rate_pps > 0 && rig->rate_pps <= 0)
		rig->rate_pps = rig->fx.rate_pps;
	for (unsigned i = 0; i < rig->fx.n_notes && view->on_note; i++)
		view->on_note(view->arg, rig->fx.notes[i]);
	return 0;
}

/* A lab of its own answers for every destination address that is asked for. */
static int open_routes(struct rig *rig, struct error *err)
{
	const struct shape *s = rig->spec->shape;
	const struct lab *lab = &rig->lab;
	const void *via;
	struct shape_addrs base;
	unsigned prefix;
	int rc;

	if (!s || !s->dst_addr.n || rig->spec->port_a || rig->spec->lab)
		return 0;
	prefix = shape_addrs_prefix(&s->dst_addr, &base);
	via = s->dst_addr.family == AF_INET6 ? (const void *)&lab_next_hop(lab)->ip6
					     : (const void *)&lab_next_hop(lab)->ip4;
	rc = netdev_add_local(&lab->rx_ns, lab->rx.ifindex, s->dst_addr.family, base.first, prefix);
	if (!rc)
		rc = netdev_add_route(&lab->tx_ns, lab->tx.ifindex, s->dst_addr.family, base.first,
				      prefix, via);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL,
			      "cannot route the destination addresses in the lab: %s",
			      strerror(-rc))
		  : 0;
}

/* In labs no device has a ring of a NIC. */
static int watch_nic(struct rig *rig, struct error *err)
{
	const struct lab *lab = &rig->lab;
	int rc = rig->spec->port_a ? nic_watch_begin(&rig->nic, &lab->rx_ns, lab->rx.ifname) : 0;

	return rc ? error_set(err, STATUS_FAILED, rc, "look whether the interface is still there",
			      "cannot read the counters of %s: %s", lab->rx.ifname, strerror(-rc))
		  : 0;
}

static void warn_of_rt(const struct rig *rig, const struct experiment_view *view)
{
	const struct worker_group groups[] = {
		{&rig->spec->tuning.tx, rig->sender_config.cpu, rig->sender_config.threads},
		{&rig->spec->tuning.rx, rig->receiver_config.cpu,
		 rig->receiver ? rig->receiver_config.threads : 0},
	};
	const char *warning = rig->spec->tuning.rt ? worker_rt_warning(groups, 2) : NULL;

	if (warning && view->on_note)
		view->on_note(view->arg, warning);
}

static int open_both_ends(struct rig *rig, struct error *err)
{
	struct fault_numbers numbers = {&rig->tracer.config, -1, -1, -1, -1, false};
	struct drops_redirects redirects;
	int rc;

	plan_flow(rig);
	rc = plan_fragments(rig, err);
	if (!rc)
		rc = open_tracer(rig, err);
	if (rc)
		return rc;
	numbers.tails_fd = drops_tails_fd(rig->tracer.drops);
	numbers.cell_fd = drops_cell_fd(rig->tracer.drops);
	numbers.batch_fd = drops_batch_fd(rig->tracer.drops);
	numbers.paged = drops_reads_pages(rig->tracer.drops);
	if (rig->tracer.checkpoints)
		numbers.seen_fd = checkpoints_seen_fd(rig->tracer.checkpoints);
	rc = fault_apply(&rig->spec->faults, &rig->fx, &rig->lab, &numbers, &rig->faults, err);
	if (!rc && fault_redirects(rig->faults, &redirects))
		rc = drops_watch_redirects(rig->tracer.drops, &redirects, err);
	if (!rc)
		rc = open_routes(rig, err);
	if (!rc)
		rc = open_receiver(rig, err);
	if (!rc)
		rc = open_sender(rig, err);
	if (!rc)
		rc = rig_read_counters(rig, &rig->before, err);
	return rc ? rc : watch_nic(rig, err);
}

int rig_open(struct rig *rig, const struct run_spec *spec, const struct experiment_view *view,
	     struct error *err)
{
	int rc;

	memset(rig, 0, sizeof(*rig));
	rig->spec = spec;
	rc = ports_rate(spec, &rig->rate_pps, err);
	if (!rc)
		rc = plan_faults(rig, view, err);
	if (!rc)
		rc = ports_open(spec, &rig->fx, &rig->lab, err);
	if (rc)
		return rc;
	rig->lab_open = true;
	rc = lab_tune(&rig->lab, &spec->wish, err);
	if (!rc)
		rc = open_both_ends(rig, err);
	if (!rc)
		warn_of_rt(rig, view);
	if (rc)
		rig_close(rig);
	return rc;
}

static void add_socket_counters(struct rig *rig, struct counters *c)
{
	struct rx_stats rx = {};
	struct sender_stats tx;

	if (rig->receiver)
		receiver_stats(rig->receiver, &rx);
	if (rig->receiver && rig->spec->rx == &rx_xsk) {
		counters_add(c, "rx", "xsk:rx_ring_full", rx.rx_ring_full);
		counters_add(c, "rx", "xsk:rx_fill_ring_empty", rx.rx_fill_ring_empty);
		counters_add(c, "rx", "xsk:rx_dropped", rx.rx_dropped);
		counters_add(c, "rx", "xsk:rx_invalid", rx.rx_invalid);
	} else if (rig->receiver && rx.socket_drops >= 0) {
		counters_add(c, "rx", "socket:drops", (uint64_t)rx.socket_drops);
	}
	if (rig->spec->tx == &tx_xsk) {
		sender_stats(rig->sender, &tx);
		counters_add(c, "tx", "xsk:tx_invalid_descs", tx.tx.tx_invalid_descs);
		counters_add(c, "tx", "xsk:tx_lost", tx.tx.lost_at_device);
	}
}

int rig_read_counters(struct rig *rig, struct counters *c, struct error *err)
{
	struct lab *lab = &rig->lab;
	bool tunnel = lab->topology == LAB_VXLAN;
	const char *tx[] = {lab->tx.ifname, tunnel ? lab->router_tx.ifname : NULL, NULL};
	const char *rx[] = {lab->rx.ifname, tunnel ? lab->router_rx.ifname : NULL, NULL};
	const char *middle[] = {lab->router_tx.ifname, lab->router_rx.ifname, NULL};
	struct counters_scope scope[] = {
		{"tx", &lab->tx_ns, tx, COUNTERS_RUN},
		{"rx", &lab->rx_ns, rx, COUNTERS_RUN},
		{lab_middle(lab->topology), &lab->router_ns, middle, COUNTERS_RUN},
	};
	int rc = counters_read(c, scope, lab_middle(lab->topology) ? 3 : 2);

	if (rc)
		return error_set(err, STATUS_FAILED, rc,
				 "look whether the interface is still there",
				 "cannot read the counters: %s", strerror(-rc));
	add_socket_counters(rig, c);
	return 0;
}

void rig_close(struct rig *rig)
{
	struct error ignored = {};

	fault_end(rig->faults, &ignored);
	sender_close(rig->sender);
	receiver_close(rig->receiver);
	fault_close(rig->faults);
	if (rig->gro)
		netdev_set_feature(rig->gro->ns, rig->gro->ifname, "rx-gro", false);
	sink_prog_close(rig->sink_prog);
	xsk_prog_close(rig->xsk_prog);
	tracer_close(&rig->tracer);
	counters_free(&rig->before);
	counters_free(&rig->after);
	nic_watch_end(&rig->nic);
	if (rig->lab_open)
		lab_close(&rig->lab);
	memset(rig, 0, sizeof(*rig));
}
