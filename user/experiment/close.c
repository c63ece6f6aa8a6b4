// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Collects a site's results, from the first packet until the ledger is closed. */
#include "experiment/site.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "host/lab.h"
#include "host/netdev.h"

#define CONFIRM_NS	1000000000 /* ns between events of a closed socket, which is an RCU grace
				    * period */
#define CONFIRM_STEP_NS 5000000
#define ARRIVED_NS	10000000 /* maximum time for reading packets that have arrived */
#define ARRIVED_STEP_NS 1000000	 /* a packet takes less than this from the edge to the socket */

static bool has_bridge(const struct site *s)
{
	return s->lab.topology == LAB_BRIDGE;
}

bool site_is_here(const struct site *s, const struct ledger_cause *c)
{
	const struct watch_key *raw = &c->raw.cause;
	/* our own program's verdict on an skb, which counts as a delivery */
	const bool taken = s->prog && s->prog->sink && !s->spec->pass &&
			   c->verdict.stage == STAGE_XDP &&
			   watch_observer(raw) == OBSERVER_KFREE_SKB &&
			   raw->ifindex == s->lab.rx.ifindex && strcmp(c->named.reason, "NOMEM");

	if (!s->lone)
		return true;
	if (!s->receives)
		return raw->netns == s->lab.tx_ns.inum || c->verdict.direction == DIRECTION_TX;
	return c->verdict.class == CLASS_LOSS && !taken &&
	       (!raw->netns || raw->netns == s->lab.rx_ns.inum);
}

/*
 * Renames a bridge's cause, because a bridge can lose a frame without dropping it, by flooding it
 * to other ports.
 */
static void name_bridge(struct site *s)
{
	struct ledger_cause in_bridge = {
		.raw.index = TRACE_CAUSE_DIFFERENCE,
		.verdict = {.class = CLASS_LOSS, .stage = STAGE_L2},
		.named = {.stage = STAGE_L2,
			  .direction = "forward",
			  .netns = "bridge",
			  .note = "entered the bridge and did not leave towards the receiver, "
				  "without a drop event"},
	};

	snprintf(in_bridge.named.ifname, sizeof(in_bridge.named.ifname), "%s",
		 s->lab.router_rx.ifname);
	ledger_add(&s->ledger, &in_bridge);
}

/* Copies the last cause of datagrams that arrived incomplete. */
static void name_given_up(struct site *s)
{
	struct ledger_cause given_up = {};

	for (int i = 0; i < s->ledger.n; i++) {
		const struct ledger_cause *c = &s->ledger.cause[i];
		bool expired = !strcmp(c->named.reason, "FRAG_REASM_TIMEOUT") ||
			       strstr(c->named.location, "expire");

		s->gives_up[c->raw.index] = c->verdict.stage == STAGE_IP_FRAG && expired;
		if (s->gives_up[c->raw.index])
			given_up = *c;
	}
	if (!given_up.raw.index)
		return;
	given_up.raw.index = TRACE_CAUSE_GIVEN_UP;
	given_up.raw.count = (struct trace_count){}; /* the original cause keeps its events */
	given_up.named.given_up = true;
	ledger_add(&s->ledger, &given_up);
}

void site_note_given_up(struct site *s, unsigned slot, uint64_t upto)
{
	struct outcomes *f = &s->tracer.outcomes;

	if (!s->fragments || !s->lone || !s->receiver)
		return;
	for (uint64_t number = f->tail[slot]; number < upto; number++) {
		size_t i = outcomes_index(f, (uint16_t)slot, number);

		if (s->gives_up[f->cause[i]] && (f->seen[i] & SEEN_MASK) < SEEN_RX_DEVICE)
			f->cause[i] = TRACE_CAUSE_GIVEN_UP;
	}
}

int site_name(struct site *s)
{
	struct ledger_place places[LAB_PORTS];
	unsigned n = 0;
	int rc;

	/* a single end's packets may use any interface of its namespace */
	for (const struct lab_port *p = NULL; (p = lab_hop(&s->lab, p)); n++)
		places[n] = (struct ledger_place){p->ns->inum, s->lone ? 0 : p->ifindex, p->role,
						  s->lone ? "" : p->ifname};
	rc = s->traced ? tracer_name(&s->tracer, places, n, &s->ledger) : 0;
	if (!rc && has_bridge(s))
		name_bridge(s);
	if (!rc && s->fragments && s->lone)
		name_given_up(s);
	for (int i = 0; !rc && s->lone && i < s->ledger.n; i++) {
		const struct ledger_cause *c = &s->ledger.cause[i];

		if ((!s->receives || c->verdict.class == CLASS_LOSS) && !site_is_here(s, c))
			s->ledger.ignored[c->raw.index] = 1;
	}
	return rc;
}

void site_start(struct site *s)
{
	if (s->sender && !s->started)
		sender_start(s->sender);
	s->started = true;
}

void site_next(const struct site *s, uint64_t next[TRACE_STREAMS])
{
	for (unsigned t = 0; s->sender && t < s->sender_config.threads; t++)
		next[t] = sender_next(s->sender, t) - s->sender_config.outcomes->base;
}

/* Counts unfolded numbers for which the send call failed. */
static uint64_t failed_since(const struct outcomes *f, unsigned slot, uint64_t upto)
{
	uint64_t n = 0;

	for (uint64_t i = f->tail[slot]; i < upto; i++)
		n += f->failed[outcomes_index(f, (uint16_t)slot, i)] != 0;
	return n;
}

void site_count(struct site *s, unsigned slot, uint64_t *accepted, uint64_t *refused)
{
	const struct outcomes *f = &s->tracer.outcomes;
	uint64_t next = sender_next(s->sender, slot);

	*refused = s->refused[slot] + failed_since(f, slot, next);
	*accepted = next - f->base - *refused;
}

static uint64_t delivered(const struct site *s)
{
	return s->receiver ? receiver_delivered(s->receiver) : s->sink.sums.delivered;
}

static uint64_t dropped(const struct site *s)
{
	return s->traced ? drops_packets(s->tracer.drops) : 0;
}

uint64_t site_outcomes_seen(const struct site *s)
{
	return dropped(s) + delivered(s);
}

void site_mark(const struct site *s, const uint64_t *later)
{
	const struct outcomes *f = &s->tracer.outcomes;
	uint64_t number[TRACE_STREAMS];

	for (unsigned t = 0; t < f->streams; t++)
		number[t] = f->base + later[t];
	if (s->receiver)
		receiver_mark(s->receiver, number);
}

bool site_caught_up(const struct site *s)
{
	return !s->receiver || s->fx.reader == READER_NEVER || receiver_caught_up(s->receiver);
}

/* Returns the hop after `p` (NULL: the first) through which packets are sent, or NULL. */
static const struct lab_port *next_sending(const struct site *s, const struct lab_port *p)
{
	if (!s->sender || !s->lab.tx.ifindex)
		return NULL;
	while ((p = lab_hop(&s->lab, p)) && p != &s->lab.tx && !lab_peer(&s->lab, p))
		;
	return p;
}

void site_status(const struct site *s, struct site_status *st)
{
	bool reads = s->receiver && s->fx.reader != READER_NEVER && !s->stopped;
	struct link_qdisc qdisc;

	*st = (struct site_status){
		.running = s->sender && s->started && !s->stopped && !sender_done(s->sender),
		.caught_up = site_caught_up(s),
		.delivered = delivered(s),
		.dropped = dropped(s),
		.in_socket = s->in_socket,
	};
	for (const struct lab_port *p = NULL; (p = next_sending(s, p));) {
		if (!link_read_qdisc(p->ns, p->ifindex, &qdisc))
			st->in_qdiscs += qdisc.qlen;
	}
	if (s->fragments && s->lab.rx.ns)
		st->in_reassembly = reassembly_queues(s->lab.rx.ns);
	st->in_queues = st->in_qdiscs + st->in_reassembly + st->in_socket;
	st->idle = !st->in_qdiscs && !st->in_reassembly &&
		   !(reads && !receiver_idle(s->receiver)) &&
		   !(s->lab.taps && !lab_taps_idle(s->lab.taps));
	/* a next hop is being resolved, so packets may be waiting for the reply */
	for (const struct lab_port *p = NULL; st->idle && (p = next_sending(s, p));)
		st->idle = !netdev_asks_neigh(p->ns, p->ifindex, &(struct endpoint){});
	site_next(s, st->next);
}

/*
 * Returns whether no outcome can follow because the packet is in a bridge that did not forward it
 * or in a socket that is not read.
 */
static bool rests(const void *arg, uint8_t seen)
{
	const struct site *s = arg;

	if (has_bridge(s) && (seen & SEEN_BRIDGE) == SEEN_BRIDGE_IN)
		return true;
	return s->fx.reader == READER_NEVER && (seen & SEEN_MASK) >= SEEN_RX_DEVICE;
}

bool site_is_complete(struct site *s)
{
	const struct outcomes *f = &s->tracer.outcomes;

	if (site_name(s))
		return false;
	for (unsigned t = 0; t < f->streams; t++) {
		uint64_t next = sender_next(s->sender, t);

		s->known[t] = outcomes_first_open(f, (uint16_t)t, s->known[t], next,
						  s->ledger.ignored, rests, s);
		if (s->known[t] < next)
			return false;
	}
	return true;
}

bool site_failed(struct site *s, struct error *err)
{
	uint64_t next[TRACE_STREAMS] = {}, sent = 0;

	if (s->receiver && receiver_failed(s->receiver, err))
		return true;
	site_next(s, next);
	for (unsigned t = 0; t < TRACE_STREAMS; t++)
		sent += next[t];
	return s->faults && fault_watch(s->faults, sent, err);
}

void site_stop_sending(struct site *s, struct error *err)
{
	if (!s->sender || s->stopped)
		return;
	s->stopped = s->lone;
	sender_stop(s->sender);
	sender_join(s->sender, err); /* ends threads that are inside a long call */
	fault_end(s->faults, err);
	if (s->receiver && s->fx.reader != READER_NEVER)
		receiver_resume(s->receiver);
}

/*
 * If the reader is gone for good, packets in its queue are lost when the socket closes. Their
 * numbers were read before that, and the kernel's events for freeing the packets confirm the loss.
 */
static void close_unread(struct site *s, uint64_t before)
{
	uint64_t deadline, confirmed;

	receiver_close(s->receiver);
	s->receiver = NULL;
	/* once the ledger is closed, they would be counted for later numbers */
	deadline = clock_now() + CONFIRM_NS;
	while (s->unread_confirmed < s->unread && clock_now() < deadline) {
		pace_wait(CONFIRM_STEP_NS);
		confirmed = dropped(s) - before;
		if (confirmed > s->unread_confirmed)
			deadline = clock_now() + CONFIRM_NS;
		s->unread_confirmed = confirmed;
	}
}

/*
 * Ends the recording of arrivals before the reader stops. Otherwise, a packet that a queue on the
 * path delivers between the last read and the fold would have arrived without an outcome. Such a
 * packet counts as lost on the wire, like the packets behind it in that queue.
 */
static void end_arrivals(struct site *s)
{
	const uint64_t deadline = clock_now() + ARRIVED_NS;

	edge_detach(s->tracer.edge);
	do
		pace_wait(ARRIVED_STEP_NS);
	while (!receiver_idle(s->receiver) && clock_now() < deadline);
}

int site_stop_receiving(struct site *s, struct error *err)
{
	const bool unread = s->fx.reader == READER_NEVER;
	const struct sink_streams *streams;
	struct drops *drops = s->tracer.drops;
	uint64_t before;
	int rc = 0;

	if (!s->receiver || s->stopped)
		return 0;
	s->stopped = true;
	receiver_failed(s->receiver, err);
	if (s->tracer.edge)
		end_arrivals(s);
	receiver_stop(s->receiver);
	/* packets that are freed with a receiver's socket when the receiver counts only causes */
	streams = receiver_streams(s->receiver);
	for (unsigned i = 0; s->traced && s->lone && i < atomic_load(&streams->n); i++)
		drops_note_stream(drops, STAMP_WORD(streams->at[i].id,
						    receiver_next(s->receiver, i)));
	before = dropped(s);
	if (unread)
		rc = drops_walk_unread(drops, &s->lab.rx_ns, true, &s->unread, err);
	else
		receiver_check_log(s->receiver, err);
	if (rc)
		return rc;
	if (!unread && s->traced && s->receiver_config.ops->socket &&
	    !receiver_idle(s->receiver))
		drops_walk_unread(drops, &s->lab.rx_ns, false, &s->in_socket, &(struct error){});
	receiver_sum(s->receiver, &s->sink, &s->arrivals);
	receiver_stats(s->receiver, &s->rx);
	s->rx_cpu_ns = receiver_cpu_ns(s->receiver);
	if (unread)
		close_unread(s, before);
	return 0;
}

/*
 * Marks frames below `upto` as having left. AF_XDP and XDP frames bypass the probe at the edge of
 * the sender's host, so this uses the engine's count of frames accepted by the interface.
 */
static void note_handed(struct site *s, unsigned slot, uint64_t upto)
{
	struct outcomes *f = &s->tracer.outcomes;
	struct tx_stats st;

	if (s->spec->tx->socket)
		return;
	if (sender_done(s->sender)) {
		sender_stats(s->sender, &st);
		if (st.uncompleted) /* their numbers are not known */
			return;
	}
	for (uint64_t number = f->tail[slot]; number < upto; number++) {
		size_t i = outcomes_index(f, (uint16_t)slot, number);

		if (!f->failed[i] && !(f->seen[i] & SEEN_MASK))
			f->seen[i] |= SEEN_TX_DEVICE;
	}
}

void site_prepare(struct site *s, const uint64_t *upto)
{
	const struct outcomes *f = &s->tracer.outcomes;

	site_name(s);
	for (unsigned t = 0; t < f->streams; t++)
		site_note_given_up(s, t, f->base + upto[t]);
	if (!s->sends || !s->by_number || s->in_lab)
		return;
	for (unsigned t = 0; t < f->streams; t++)
		note_handed(s, t, f->base + upto[t]);
}

/* Returns the L3 length of a packet in bytes if packets differ in length. */
static unsigned l3_bytes_of(const void *arg, uint16_t slot, uint64_t number)
{
	const struct site *s = arg;

	return shape_l3_bytes(spec_shape(s->spec), &s->flow, slot, number);
}

/* State while a site folds its numbers. */
struct folding {
	struct site *site;
	const struct range_visitor *visitor;
};

static void count_range(void *arg, const struct range *r)
{
	const struct folding *f = arg;

	tally_add(&f->site->ledger.tally, &f->site->tracer.outcomes, r);
	if (f->visitor)
		f->visitor->range(f->visitor->arg, r);
}

static void join_range(void *arg, const struct range *r)
{
	const struct folding *f = arg;

	join_here(f->site->join, r, &(struct range_visitor){count_range, arg});
}

void site_fold(struct site *s, const uint64_t *upto, const struct range_visitor *visitor)
{
	struct folding folding = {s, visitor};
	const struct range_visitor each = {s->join ? join_range : count_range, &folding};
	struct outcomes *f = &s->tracer.outcomes;

	f->l3_bytes = shape_sizes_differ(spec_shape(s->spec)) ? l3_bytes_of : NULL;
	f->l3_arg = s;
	for (unsigned t = 0; t < f->streams; t++) {
		uint64_t number = larger(f->base + upto[t], f->tail[t]);

		if (s->traced)
			drops_set_tail(s->tracer.drops, t, number);
		if (s->receiver)
			sink_streams_set_tail(receiver_streams(s->receiver), t, number);
	}
	if (s->receiver)
		receiver_pass(s->receiver);
	for (unsigned t = 0; t < f->streams; t++) {
		uint64_t number = larger(f->base + upto[t], f->tail[t]);

		if (has_bridge(s))
			outcomes_settle_between(f, (uint16_t)t, number, s->ledger.ignored,
						SEEN_BRIDGE_IN, SEEN_BRIDGE_OUT,
						TRACE_CAUSE_DIFFERENCE);
		if (!s->receives)
			s->refused[t] += failed_since(f, t, number);
		outcomes_fold(f, (uint16_t)t, number, s->ledger.ignored, &each);
		if (s->sender)
			sender_allow(s->sender, t, number + f->window);
	}
}

void site_beyond(struct site *s)
{
	struct outcomes *f = &s->tracer.outcomes;

	for (unsigned t = 0; t < f->streams; t++)
		outcomes_beyond(f, (uint16_t)t, f->tail[t], &s->ledger.tally);
}

void site_describe(const struct site *s, struct result *res)
{
	res->payload_bytes = s->flow.payload;
	res->frame_bytes = flow_frame_bytes(&s->flow);
	res->rate_pps = s->rate_pps;
	if (s->sender)
		snprintf(res->tx_mode, sizeof(res->tx_mode), "%s", sender_mode(s->sender));
	if (s->receiver)
		snprintf(res->rx_mode, sizeof(res->rx_mode), "%s", receiver_mode(s->receiver));
}

void site_ledger(struct site *s, uint64_t in_queues, struct result *res)
{
	const bool differ = shape_sizes_differ(spec_shape(s->spec)) || !s->flow.payload;
	struct result_stage *stage = &res->stage[has_bridge(s) ? STAGE_L2 : STAGE_WIRE];
	uint64_t packets = 0;

	ledger_close(&s->ledger, in_queues, s->tracer.outcomes.stream0,
		     differ ? 0 : shape_l3_bytes(NULL, &s->flow, 0, 0), res);
	for (unsigned t = 0; t < TRACE_STREAMS; t++)
		packets += s->ledger.tally.cause[t][TRACE_CAUSE_DIFFERENCE].packets;
	if (packets && packets == stage->packets) /* only a counter shows all losses at this
						   * stage */
		stage->source = "difference";
	if (s->traced)
		s->losses = drops_read_losses(s->tracer.drops);
}

static void end_receiver(const struct site *s, struct result *res)
{
	const struct sink_sums *sums = &s->sink.sums;
	struct gaps gaps = res->arrivals.gaps; /* gaps derived from outcomes */
	uint64_t ns = sums->last_ns - sums->first_ns;

	res->duplicated = sums->duplicated;
	res->late += sums->late;
	res->damaged = sums->damaged;
	res->invalid = sums->invalid;
	res->foreign = sums->foreign;
	res->rx_cost = (struct result_cost){s->rx.calls, s->rx_cpu_ns};
	res->arrivals = s->arrivals;
	res->arrivals.gaps = gaps;
	if (ns)
		res->rx_pps = (double)sums->delivered * 1e9 / (double)ns;
}

/* Counts a single sender's losses from its engine. */
static void end_by_engine(const struct site *s, struct result *res)
{
	const bool differ = shape_sizes_differ(spec_shape(s->spec));
	struct tx_stats st;
	uint64_t n;

	sender_stats(s->sender, &st);
	n = smaller(st.lost_at_device, res->sent);
	if (!n)
		return;
	res->dropped += n;
	res->unaccounted -= smaller(n, res->unaccounted);
	res->stage[STAGE_TX_DEVICE] = (struct result_stage){
		.packets = n,
		.bytes = differ ? 0 : n * shape_l3_bytes(NULL, &s->flow, 0, 0),
		.source = "counter",
		.scope = "flow",
	};
}

void site_end(struct site *s, struct result *res)
{
	struct trace_fragments here;

	if (s->fragments && s->traced) {
		here = drops_read_fragments(s->tracer.drops);
		sum_words(&res->fragments, &here, sizeof(here));
	}
	if (s->sender)
		sender_result(s->sender, res);
	if (res->duration_ns)
		res->tx_pps = (double)res->sent * 1e9 / (double)res->duration_ns;
	if (s->receives)
		end_receiver(s, res);
	if (s->by_engine)
		end_by_engine(s, res);
	if (s->traced)
		tracer_losses(&s->losses, &s->ledger, res);
}

/* Describes how the receiver takes packets, if it runs on this host. */
static void receiver_facts(const struct site *s, struct engine_facts *f)
{
	const struct lab *lab = &s->lab;
	const struct run_spec *spec = s->spec;
	bool skb = s->receiver_config.xdp_skb_mode;
	bool elsewhere = s->lone || s->fx.threaded_napi || lab->taps ||
			 lab->topology == LAB_VXLAN || !spec->rx->socket ||
			 spec->tx == &tx_xdp || s->fx.xdp || lab_wish_moves(&spec->wish);
	struct rx_stats rx = s->rx;

	f->rx_in_sender = elsewhere ? ENGINE_NO : ENGINE_YES;
	if (spec->rx->socket && !s->fx.xdp)
		return;
	if (s->receiver)
		receiver_stats(s->receiver, &rx);
	f->xdp_native = skb ? ENGINE_NO : ENGINE_YES;
	f->xsk_zerocopy = rx.zero_copy;
	/* generic XDP does not count packets it drops */
	f->xdp_sink = skb ? 0 : rx.xdp_drops;
}

/* Lists the links from sender to receiver. Returns their number. */
static unsigned links_of(const struct lab *lab, struct engine_link link[2])
{
	unsigned n = 0;

	for (const struct lab_port *p = NULL; !lab->taps && (p = lab_hop(lab, p));) {
		const struct lab_port *peer = lab_peer(lab, p);

		if (peer)
			link[n++] = (struct engine_link){
				{{p->role, p->ifname}, {peer->role, peer->ifname}}};
	}
	return n;
}

/* Collects facts that only this site knows, from the engines and the test network. */
static void engine_facts(const struct site *s, const struct result *res, struct engine_facts *f,
			 struct engine_link link[2], struct netdev_qdisc *qdisc)
{
	const struct lab *lab = &s->lab;

	memset(f, 0, sizeof(*f));
	f->family = s->flow.family;
	f->links = link;
	if (!s->lone) {
		f->private_ns = s->in_lab;
		f->n_links = links_of(lab, link);
		/*
		 * packets sent while the qdisc is replaced are lost after send() succeeds
		 * (noop_enqueue())
		 */
		f->tx_qdisc = s->fx.qdisc_replaced ? "noop"
			      : s->fx.tbf_bps	   ? "tbf"
			      : lab->taps	   ? "pfifo_fast"
						   : NULL;
	} else if (s->sender) {
		netdev_qdisc_root(&lab->tx_ns, lab->tx.ifindex, qdisc);
		f->tx_qdisc = qdisc->kind; /* empty: unknown */
	}
	if (s->sender) {
		f->tx_socket = s->spec->tx->socket;
		countercheck_refusals(res, f);
	}
	if (s->receives)
		receiver_facts(s, f);
}

int site_check(struct site *s, struct result *res, struct error *err)
{
	struct counters deltas = {};
	struct countercheck check = {};
	struct engine_facts facts;
	struct engine_link link[2];
	struct netdev_qdisc qdisc = {};
	int rc = site_read_counters(s, &s->after, err);

	if (!rc && s->rx.socket_drops >= 0 && !s->receiver && s->receives)
		counters_add(&s->after, "rx", "socket:drops", (uint64_t)s->rx.socket_drops);
	if (!rc) {
		counters_delta(&s->before, &s->after, &deltas);
		engine_facts(s, res, &facts, link, &qdisc);
		countercheck_compare(&deltas, s->ledger.cause, (size_t)s->ledger.n, &facts, &check);
		countercheck_show(&check, res);
		settle_by_counter(&check, &deltas, s, res);
		res->replies = countercheck_sum(&deltas, SUM_REPLIES);
		res->reassembled = countercheck_sum(&deltas, SUM_REASSEMBLED);
	}
	countercheck_free(&check);
	counters_free(&deltas);
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot compare the counters");
}

void site_settings(const struct site *s, struct finding_facts *f)
{
	struct rx_stats rx = s->rx;

	findings_read_host(&s->lab.rx_ns, f);
	if (s->receiver)
		receiver_stats(s->receiver, &rx);
	f->rcvbuf = (uint64_t)rx.rcvbuf;
}
