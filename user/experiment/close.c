// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/close.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/netdev.h"
#include "host/reassembly.h"
#include "experiment/advice.h"
#include "experiment/bycounter.h"

struct books *books_new(const struct experiment_view *view)
{
	struct books *b = calloc(1, sizeof(*b));

	if (b)
		b->view = view;
	return b;
}

void books_free(struct books *b)
{
	free(b);
}

static unsigned known_places(const struct rig *rig, struct ledger_place *out)
{
	const struct lab *lab = &rig->lab;
	const struct lab_port *port[] = {&lab->tx, &lab->rx, &lab->router_tx, &lab->router_rx};
	const char *middle = lab_middle(lab->topology);
	const char *role[] = {"tx", "rx", middle ? middle : "tx", middle ? middle : "rx"};
	unsigned n = lab_ports(lab);

	for (unsigned i = 0; i < n; i++)
		out[i] = (struct ledger_place){port[i]->ns->inum, port[i]->ifindex, role[i],
					       port[i]->ifname};
	return n;
}

/* A bridge that does not pass a frame on need not drop it: to flood it elsewhere is enough. */
static void name_bridge(struct books *b, const struct rig *rig)
{
	struct ledger_cause in_bridge = {
		.raw.index = TRACE_CAUSE_DIFFERENCE,
		.verdict = {.class = VERDICT_LOSS, .stage = STAGE_L2},
		.named = {.stage = STAGE_L2,
			  .direction = "forward",
			  .netns = "bridge",
			  .note = "came into the bridge, and did not leave it towards the "
				  "receiver; no event tells why"},
	};

	snprintf(in_bridge.named.ifname, sizeof(in_bridge.named.ifname), "%s",
		 rig->lab.router_rx.ifname);
	ledger_add(&b->ledger, &in_bridge);
}

/* All that this stage lost is known by that only. */
static void name_difference(const struct books *b, struct result *res)
{
	uint64_t packets = 0;

	for (unsigned s = 0; s < TRACE_STREAMS; s++)
		packets += b->ledger.tally.cause[s][TRACE_CAUSE_DIFFERENCE].packets;
	if (packets && packets == res->stage[STAGE_L2].packets)
		res->stage[STAGE_L2].source = "difference";
}

static bool has_bridge(const struct rig *rig)
{
	return rig->lab.topology == LAB_BRIDGE && !rig->spec->port_a;
}

static int name_causes(struct books *b, const struct rig *rig)
{
	struct ledger_place places[4];
	unsigned n = known_places(rig, places);
	int rc = tracer_name(&rig->tracer, places, n, &b->ledger);

	if (!rc && has_bridge(rig))
		name_bridge(b, rig);
	return rc;
}

void books_stages(struct books *b, const struct rig *rig, struct trace_count stage[STAGE_COUNT])
{
	if (!name_causes(b, rig))
		ledger_stages(&b->ledger, stage);
}

static void tell_fates(void *arg, uint16_t slot, uint64_t first, uint64_t last, enum fate fate,
		       uint8_t detail)
{
	struct books *b = arg;
	const struct ledger_cause *c =
		fate == FATE_DROPPED ? ledger_cause(&b->ledger, detail) : NULL;

	b->view->on_fates(b->view->arg, (uint16_t)(b->stream0 + slot), first, last, fate_name(fate),
			  c ? &c->named : NULL);
}

/* L3 bytes of a number where packets differ. */
static unsigned l3_bytes_of(const void *arg, uint16_t slot, uint64_t number)
{
	const struct rig *rig = arg;

	return shape_l3_bytes(rig->spec->shape, &rig->flow, slot, number);
}

static void fold(struct books *b, struct rig *rig, unsigned slot, uint64_t upto)
{
	const struct fates_visitor visitor = {tell_fates, b};

	b->stream0 = rig->tracer.fates.stream0;
	rig->tracer.fates.l3_bytes = shape_sizes_differ(rig->spec->shape) ? l3_bytes_of : NULL;
	rig->tracer.fates.l3_arg = rig;
	if (has_bridge(rig))
		fates_settle_between(&rig->tracer.fates, (uint16_t)slot, upto, b->ledger.ignored,
				     SEEN_BRIDGE_IN, SEEN_BRIDGE_OUT, TRACE_CAUSE_DIFFERENCE);
	fates_fold(&rig->tracer.fates, (uint16_t)slot, upto, b->ledger.ignored, &b->ledger.tally,
		   b->view->on_fates ? &visitor : NULL);
}

void books_move_window(struct books *b, struct rig *rig, uint64_t now)
{
	uint64_t next[TRACE_STREAMS];
	const uint64_t *leaving;

	if (!b->window.streams)
		window_init(&b->window, rig->spec->threads, rig->spec->settle_ns);
	if (!window_is_due(&b->window, now))
		return;
	for (unsigned s = 0; s < rig->spec->threads; s++)
		next[s] = sender_next(rig->sender, s);
	leaving = window_move(&b->window, now, next);
	if (!leaving)
		return;
	name_causes(b, rig);
	for (unsigned s = 0; s < rig->spec->threads; s++) {
		tracer_set_tail(&rig->tracer, s, leaving[s]);
		if (rig->receiver)
			receiver_set_tail(rig->receiver, s, leaving[s]);
		fold(b, rig, s, leaving[s]);
		sender_allow(rig->sender, s, leaving[s] + rig->tracer.fates.window);
	}
}

/* The devices that packets are sent by on this host. */
static unsigned sending_ports(const struct rig *rig, const struct lab_port *port[2])
{
	port[0] = &rig->lab.tx;
	port[1] = lab_middle(rig->lab.topology) ? &rig->lab.router_rx : &rig->lab.router_tx;
	return lab_ports(&rig->lab) > 2 ? 2 : 1;
}

uint64_t books_in_qdiscs(const struct rig *rig)
{
	const struct lab_port *port[2];
	uint64_t packets = 0;

	for (unsigned i = 0, n = sending_ports(rig, port); i < n; i++)
		packets += links_queued(port[i]->ns, port[i]->ifindex);
	return packets;
}

bool books_asking(const struct rig *rig)
{
	const struct lab_port *port[2];
	unsigned asked = 0;

	for (unsigned i = 0, n = sending_ports(rig, port); i < n; i++)
		asked += netdev_asked_neighs(port[i]->ns, port[i]->ifindex);
	return asked;
}

uint64_t books_in_reassembly(const struct rig *rig)
{
	return rig->fragments ? reassembly_queues(&rig->lab.rx_ns) : 0;
}

static bool rests(const void *arg, uint8_t seen)
{
	const struct rig *rig = arg;

	if (has_bridge(rig) && (seen & SEEN_BRIDGE) == SEEN_BRIDGE_IN)
		return true;
	return rig->fx.reader == READER_NEVER && (seen & SEEN_MASK) >= SEEN_RX_DEVICE;
}

bool books_complete(struct books *b, const struct rig *rig)
{
	const struct fates *f = &rig->tracer.fates;

	if (name_causes(b, rig))
		return false;
	for (unsigned s = 0; s < rig->spec->threads; s++) {
		uint64_t next = sender_next(rig->sender, s);

		b->known[s] = fates_first_open(f, (uint16_t)s, b->known[s], next, b->ledger.ignored,
					       rests, rig);
		if (b->known[s] < next)
			return false;
	}
	return true;
}

void books_take_receiver(struct books *b, struct rig *rig)
{
	receiver_sum(rig->receiver, &b->sink, &b->arrivals);
	receiver_stats(rig->receiver, &b->rx);
	b->rx_cpu_ns = receiver_cpu_ns(rig->receiver);
}

void books_describe(const struct rig *rig, struct result *res)
{
	res->payload_bytes = rig->flow.payload;
	res->frame_bytes = flow_frame_bytes(&rig->flow);
	res->rate_pps = rig->rate_pps;
	snprintf(res->tx_mode, sizeof(res->tx_mode), "%s", sender_mode(rig->sender));
	if (rig->receiver)
		snprintf(res->rx_mode, sizeof(res->rx_mode), "%s", receiver_mode(rig->receiver));
}

static void close_sender(const struct rig *rig, struct result *res)
{
	sender_result(rig->sender, res);
	if (res->duration_ns)
		res->tx_pps = (double)res->sent * 1e9 / (double)res->duration_ns;
}

static void close_receiver(const struct books *b, struct result *res)
{
	uint64_t ns = b->sink.sums.last_ns - b->sink.sums.first_ns;
	struct gaps gaps;

	res->duplicated = b->sink.sums.duplicated;
	res->late = b->sink.sums.late;
	res->damaged = b->sink.sums.damaged;
	res->invalid = b->sink.sums.invalid;
	res->foreign = b->sink.sums.foreign;
	res->rx_cost = (struct result_cost){b->rx.calls, b->rx_cpu_ns};
	gaps = res->arrivals.gaps; /* of the fates */
	res->arrivals = b->arrivals;
	res->arrivals.gaps = gaps;
	if (ns)
		res->rx_pps = (double)b->sink.sums.delivered * 1e9 / (double)ns;
}

/* What can be said only of this rig: who feeds whom, and what the engines know. */
static void engine_facts(const struct books *b, const struct rig *rig, const struct result *res,
			 struct engine_facts *f, struct engine_link link[2])
{
	const struct lab *lab = &rig->lab;
	const char *middle = lab_middle(lab->topology);
	bool tunnel = lab->topology == LAB_VXLAN;

	link[0] = (struct engine_link){"tx", lab->tx.ifname, middle ? middle : "rx",
				       lab_link_peer(lab)->ifname};
	if (tunnel)
		link[0] = (struct engine_link){"tx", lab->router_tx.ifname, "rx",
					       lab->router_rx.ifname};
	link[1] = (struct engine_link){middle, lab->router_rx.ifname, "rx", lab->rx.ifname};
	*f = (struct engine_facts){
		.family = rig->flow.family,
		.private_ns = !rig->spec->port_a,
		.xdp_native = rig->spec->rx == &rx_socket && !rig->fx.xdp ? ENGINE_UNKNOWN
			      : rig->receiver_config.xdp_skb_mode	  ? ENGINE_NO
									  : ENGINE_YES,
		.xsk_zerocopy = b->rx.zero_copy,
		.tx_socket = rig->spec->tx == &tx_socket,
		.rx_in_sender = rig->fx.threaded_napi || lab->taps || tunnel ||
						rig->spec->rx != &rx_socket ||
						rig->spec->tx == &tx_xdp || rig->fx.xdp ||
						lab_wish_moves(&rig->spec->wish)
					? ENGINE_NO
					: ENGINE_YES,
		/* generic XDP counts its drops nowhere */
		.xdp_sink = rig->receiver_config.xdp_skb_mode ? 0 : b->rx.xdp_drops,
		/* what comes while it is replaced is lost behind send()'s back (noop_enqueue()) */
		.tx_qdisc = rig->fx.qdisc_replaced ? "noop"
			    : rig->fx.tbf_bps	   ? "tbf"
			    : lab->taps		   ? "pfifo_fast"
						   : NULL,
		.links = link,
		.n_links = middle      ? 2
			   : lab->taps ? 0
				       : 1,
	};
	ledger_refusals(res, f);
}

static void confirm_unread(const struct books *b, struct result *res)
{
	struct result_counter *c;

	if (!b->unread || res->n_counters == RESULT_COUNTERS)
		return;
	c = &res->counter[res->n_counters++];
	*c = (struct result_counter){
		.stage = STAGE_SOCKET_CLOSE,
		.name = "rx events:udp_destruct_common",
		.delta = b->unread_confirmed,
		.expected = b->unread,
		.agrees = b->unread_confirmed == b->unread,
		.documented = b->unread_confirmed < b->unread,
		.scope = "flow",
		.note = "no counter knows this loss; the numbers were read from the queue before",
	};
}

static int compare(struct books *b, struct rig *rig, struct result *res, struct error *err)
{
	struct stage_events *ev = calloc(TRACE_CAUSES, sizeof(*ev));
	struct counters_deltas deltas = {};
	struct countercheck *second = NULL;
	struct engine_facts facts;
	struct engine_link link[2];
	int rc = ev ? rig_read_counters(rig, &rig->after, err) : -ENOMEM;

	if (!rc && b->rx.socket_drops >= 0 && !rig->receiver)
		counters_add(&rig->after, "rx", "socket:drops", (uint64_t)b->rx.socket_drops);
	if (!rc)
		rc = counters_delta(&rig->before, &rig->after, &deltas);
	if (!rc) {
		engine_facts(b, rig, res, &facts, link);
		rc = countercheck_compare(&deltas, ev, ledger_events(&b->ledger, ev, TRACE_CAUSES),
					  &facts, &second);
	}
	if (!rc) {
		ledger_compare(second, res);
		settle_by_counter(second, &deltas, rig, res);
		name_unseen_timeouts(&deltas, res);
		confirm_unread(b, res);
		res->replies = countercheck_replies(&deltas);
		res->reassembled = countercheck_reassembled(&deltas);
		countercheck_free(second);
	}
	counters_deltas_free(&deltas);
	free(ev);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "cannot compare the counters: %s",
			      strerror(-rc))
		  : 0;
}

/* The queues that hold the packets in flight. */
static void tell_queues(struct result *res, uint64_t in_qdiscs, uint64_t in_reassembly,
			uint64_t in_socket)
{
	const struct {
		uint64_t packets;
		const char *where;
	} queue[] = {
		{in_qdiscs, "the queueing discipline"},
		{in_reassembly, "reassembly"},
		{in_socket, "the socket"},
	};
	size_t at = 0;

	for (unsigned i = 0; res->in_flight && i < sizeof(queue) / sizeof(queue[0]); i++) {
		if (queue[i].packets)
			at += (size_t)snprintf(res->in_flight_where + at,
					       sizeof(res->in_flight_where) - at, "%s%llu in %s",
					       at ? ", " : "", (unsigned long long)queue[i].packets,
					       queue[i].where);
	}
}

int books_close(struct books *b, struct rig *rig, struct result *res, struct error *err)
{
	uint64_t in_qdiscs = books_in_qdiscs(rig), in_reassembly = books_in_reassembly(rig);
	struct trace_fragments fragments;
	int rc = name_causes(b, rig);

	if (rc)
		return error_set(err, STATUS_FAILED, rc, NULL, "cannot read the causes: %s",
				 strerror(-rc));
	for (unsigned s = 0; s < rig->spec->threads; s++) {
		uint64_t next = sender_next(rig->sender, s);

		fold(b, rig, s, next);
		fates_beyond(&rig->tracer.fates, (uint16_t)s, next, &b->ledger.tally);
	}
	books_describe(rig, res);
	ledger_close(
		&b->ledger, in_qdiscs + in_reassembly + b->in_socket, rig->tracer.fates.stream0,
		shape_sizes_differ(rig->spec->shape) ? 0 : shape_l3_bytes(NULL, &rig->flow, 0, 0),
		res);
	name_difference(b, res);
	tell_queues(res, in_qdiscs, in_reassembly, b->in_socket);
	if (rig->fragments && !drops_read_fragments(rig->tracer.drops, &fragments))
		res->fragments = fragments;
	close_sender(rig, res);
	close_receiver(b, res);
	res->memory_bytes = experiment_memory();
	tracer_losses(&rig->tracer, &b->ledger, res);
	rc = compare(b, rig, res, err);
	advise(rig, b, res);
	return rc;
}
