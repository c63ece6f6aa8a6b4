// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/pair_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/netdev.h"
#include "experiment/advice.h"
#include "experiment/ports.h"

static int take_cause(void *arg, const struct ledger_cause *cause)
{
	struct pair *p = arg;
	struct ledger_cause *here = &p->far_cause[join_cause(&p->join, cause->raw.index)];

	*here = *cause;
	here->raw.index = (uint8_t)(here - p->far_cause);
	snprintf(here->named.host, sizeof(here->named.host), "%s", peer_host(p->peer));
	return 0;
}

static int take_run(void *arg, const struct join_run *run)
{
	struct pair *p = arg;

	return join_run(&p->join, run);
}

/* The device by which the far host is reached, for engines that need one. */
static void find_device(struct pair *p)
{
	unsigned ifindex = netdev_way(NULL, &peer_target(p->peer)->to);

	if (p->spec->ifname)
		snprintf(p->device, sizeof(p->device), "%s", p->spec->ifname);
	else if (ifindex)
		if_indextoname(ifindex, p->device);
}

struct pair *pair_new(const struct run_spec *spec, const struct experiment_view *view)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->near = calloc(1, sizeof(*p->near));
	if (!p->near) {
		free(p);
		return NULL;
	}
	p->spec = spec;
	p->view = view;
	p->peer = spec->far;
	p->teller = (struct peer_teller){take_cause, take_run, p};
	gethostname(p->host, sizeof(p->host) - 1);
	find_device(p);
	return p;
}

void pair_free(struct pair *p)
{
	near_close(p->near);
	free(p->near);
	free(p);
}

void pair_ready(struct pair *p, struct peer_plan *plan)
{
	struct fates *f = near_fates(p->near);

	plan->numbers = (struct fates_numbers){f->base, f->window, f->stream0, f->streams};
	join_init(&p->join, f, near_ledger(p->near)->ignored, p->near->sends);
	near_ready(p->near, &p->near_ready);
}

static void fill_host(struct result_host *out, const char *name, const struct peer_ready *ready)
{
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->place, sizeof(out->place), "%s", ready->place);
}

static void describe(struct pair *p, struct result *res)
{
	bool sends = p->near->sends;
	const struct peer_ready *tx = sends ? &p->near_ready : &p->far_ready;
	const struct peer_ready *rx = sends ? &p->far_ready : &p->near_ready;
	const struct flow flow = {.family = p->spec->ipv6 ? AF_INET6 : AF_INET,
				  .payload = p->spec->payload,
				  .vlan = (uint16_t)p->spec->vlan};

	res->payload_bytes = p->spec->payload;
	res->frame_bytes = flow_frame_bytes(&flow);
	ports_rate(p->spec, &res->rate_pps, &(struct error){});
	snprintf(res->tx_mode, sizeof(res->tx_mode), "%s", tx->mode);
	snprintf(res->rx_mode, sizeof(res->rx_mode), "%s", rx->mode);
	res->two_hosts = true;
	fill_host(&res->tx_host, sends ? p->host : peer_host(p->peer), tx);
	fill_host(&res->rx_host, sends ? peer_host(p->peer) : p->host, rx);
	res->clock.offset_ns = sends ? p->clock.offset_ns : -p->clock.offset_ns;
	res->clock.error_ns = p->clock.error_ns;
	res->clock.shared = peer_target(p->peer)->shared_clock;
}

/* As the printers want it: both ends, of which one is known by its address only. */
void pair_announce(struct pair *p, struct result *res)
{
	const struct endpoint *to = &peer_target(p->peer)->to;
	const struct fates *f = near_fates(p->near);
	const struct experiment_streams streams = {f->stream0, f->streams, f->base, p->spec->count};
	struct lab lab = {.topology = LAB_PAIR};
	struct lab_port *near = p->near->sends ? &lab.tx : &lab.rx;
	struct lab_port *far = p->near->sends ? &lab.rx : &lab.tx;

	describe(p, res);
	far->ip4 = to->ip4;
	far->ip6 = to->ip6;
	near->ip4 = peer_self(p->peer)->ip4;
	near->ip6 = peer_self(p->peer)->ip6;
	snprintf(near->ifname, sizeof(near->ifname), "%s", p->device);
	if (p->view->on_start)
		p->view->on_start(p->view->arg, p->spec, &lab, res, &streams);
}

/* What the far end named, and the wire, beside the causes here. */
static void add_causes(struct pair *p)
{
	struct ledger *l = near_ledger(p->near);
	struct ledger_cause wire = {
		.raw.index = JOIN_WIRE,
		.verdict = {.stage = STAGE_WIRE, .class = VERDICT_LOSS},
		.named = {.stage = STAGE_WIRE,
			  .note = "seen to leave the sender, not seen to come to the receiver"},
	};

	for (int i = 0; i < l->n; i++)
		snprintf(l->cause[i].named.host, sizeof(l->cause[i].named.host), "%s", p->host);
	for (unsigned i = 1; i < TRACE_CAUSES; i++) {
		if (p->far_cause[i].raw.index)
			ledger_add(l, &p->far_cause[i]);
	}
	ledger_add(l, &wire);
}

static void tell_fates(void *arg, uint16_t slot, uint64_t first, uint64_t last, enum fate fate,
		       uint8_t detail)
{
	struct pair *p = arg;
	const struct ledger_cause *c =
		fate == FATE_DROPPED ? ledger_cause(near_ledger(p->near), detail) : NULL;

	p->view->on_fates(p->view->arg, (uint16_t)(near_fates(p->near)->stream0 + slot), first,
			  last, fate_name(fate), c ? &c->named : NULL);
}

void pair_fold(struct pair *p, const uint64_t *upto, bool told)
{
	const struct fates_visitor visitor = {tell_fates, p};
	const struct fates *f = near_fates(p->near);

	add_causes(p);
	for (unsigned t = 0; told && t < f->streams; t++)
		join_wire(&p->join, (uint16_t)t, f->base + upto[t]);
	near_fold(p->near, upto, p->view->on_fates ? &visitor : NULL);
}

static void add_fragments(const struct result *end, struct result *res)
{
	struct trace_fragments *f = &res->fragments;

	f->made += end->fragments.made;
	f->seen += end->fragments.seen;
	f->dropped += end->fragments.dropped;
	f->abandoned += end->fragments.abandoned;
	f->unmatched += end->fragments.unmatched;
}

/* Of the sender or the receiver, whichever the far end was. */
static void add_far(struct pair *p, struct result *res)
{
	const struct result *far = p->far_end;
	struct result_losses *l = &res->losses;

	if (!far)
		return;
	l->causes_full += far->losses.causes_full;
	l->stamp_unreadable += far->losses.stamp_unreadable;
	l->recursion_misses += far->losses.recursion_misses;
	l->cell_empty += far->losses.cell_empty;
	l->gso_split += far->losses.gso_split;
	res->impossible += far->impossible;
	res->late += far->late;
	add_fragments(far, res);
}

static void fill_sender(const struct result *tx, struct result *res)
{
	res->waits = tx->waits;
	res->wait_ns = tx->wait_ns;
	res->tx_cost = tx->tx_cost;
	res->slipped_ns = tx->slipped_ns;
	res->held_ns = tx->held_ns;
	res->duration_ns = tx->duration_ns;
	res->deliberate.asked = tx->deliberate.asked; /* gaps are known by the fates */
	res->deliberate.duplicates = tx->deliberate.duplicates;
	res->deliberate.reordered = tx->deliberate.reordered;
	if (res->duration_ns)
		res->tx_pps = (double)res->sent * 1e9 / (double)res->duration_ns;
}

static void fill_receiver(const struct result *rx, struct result *res)
{
	struct gaps gaps = res->arrivals.gaps; /* of the fates */

	res->duplicated = rx->duplicated;
	res->damaged = rx->damaged;
	res->invalid = rx->invalid;
	res->foreign = rx->foreign;
	res->rx_pps = rx->rx_pps;
	res->rx_cost = rx->rx_cost;
	res->arrivals = rx->arrivals;
	res->arrivals.gaps = gaps;
}

/* The counters of both hosts; those here against what was seen here. */
static void add_counters(struct pair *p, struct result *res)
{
	struct result *own = calloc(1, sizeof(*own));
	const struct result *from[] = {own, p->far_end};

	if (own && near_compare(p->near, own))
		own->n_counters = 0;
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned c = 0; from[i] && c < from[i]->n_counters; c++) {
			if (res->n_counters < RESULT_COUNTERS)
				res->counter[res->n_counters++] = from[i]->counter[c];
		}
		if (!from[i])
			continue;
		res->replies += from[i]->replies;
		res->reassembled += from[i]->reassembled;
	}
	free(own);
}

/* What to change, and on which of the two. */
static void add_findings(struct pair *p, struct result *res)
{
	const struct peer_ready *rx = p->near->sends ? &p->far_ready : &p->near_ready;
	const struct finding_facts known = {
		.sent = res->sent,
		.port = p->near->sends ? peer_data_port(p->peer) : p->spec->port,
		.process = "pktledger",
		.ttl = p->spec->ttl,
		.rcvbuf = rx->rcvbuf,
		.rmem_max = rx->rmem_max,
		.udp_mem = {rx->udp_mem[0], rx->udp_mem[1], rx->udp_mem[2]},
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.netdev_max_backlog = rx->netdev_max_backlog,
		.arrival_pps = res->tx_pps,
		.read_pps = res->rx_pps,
	};

	for (int s = 0; s < STAGE_COUNT; s++) {
		const struct result_cause *c = advise_main_cause(res, s);
		unsigned n = res->n_findings;

		advise_stage(s, &known, near_ledger(p->near), res);
		if (res->n_findings > n && c)
			memcpy(res->finding[n].host, c->host, sizeof(c->host));
	}
}

static unsigned l3_bytes(const struct run_spec *spec)
{
	return spec->payload + 8 + (spec->ipv6 ? 40 : 20);
}

/* One-way delays of clocks that nobody has said to agree are none. */
static void judge_clocks(struct result *res)
{
	if (res->clock.shared)
		return;
	res->arrivals.latency.measured = false;
	memset(res->arrivals.delay, 0, sizeof(res->arrivals.delay));
	res->arrivals.negative = 0;
	for (unsigned i = 0; i < res->arrivals.flows; i++)
		res->arrivals.flow[i].latency.measured = false;
}

void pair_close(struct pair *p, struct result *res)
{
	struct ledger *l = near_ledger(p->near);
	const struct fates *f = near_fates(p->near);
	struct result *near = calloc(1, sizeof(*near));
	struct peer_status st;
	uint64_t in_queues;

	near_status(p->near, &st);
	in_queues = st.in_queues + p->far_status.in_queues;
	for (unsigned t = 0; p->near->sends && t < f->streams; t++)
		fates_beyond(near_fates(p->near), (uint16_t)t, f->tail[t], &l->tally);
	if (near)
		near_end(p->near, near);
	ledger_close(l, in_queues, f->stream0,
		     shape_sizes_differ(p->spec->shape) ? 0 : l3_bytes(p->spec), res);
	if (res->in_flight)
		snprintf(res->in_flight_where, sizeof(res->in_flight_where),
			 "%llu in queues of this host, %llu in queues of %s",
			 (unsigned long long)st.in_queues,
			 (unsigned long long)p->far_status.in_queues, peer_host(p->peer));
	if (res->stage[STAGE_WIRE].packets)
		res->stage[STAGE_WIRE].source = "difference";
	describe(p, res);
	if (near) {
		res->losses = near->losses;
		res->late = near->late;
		res->fragments = near->fragments;
	}
	add_far(p, res);
	if (near)
		(p->near->sends ? fill_sender : fill_receiver)(near, res);
	if (p->far_end)
		(p->near->sends ? fill_receiver : fill_sender)(p->far_end, res);
	judge_clocks(res);
	add_findings(p, res);
	add_counters(p, res);
	res->memory_bytes = experiment_memory();
	res->balanced = !res->unaccounted && !res->in_flight && !res->impossible;
	free(near);
}
