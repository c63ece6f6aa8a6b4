// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/remote.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/netdev.h"

static int take_cause(void *arg, const struct ledger_cause *cause)
{
	struct remote *r = arg;
	struct ledger_cause *here = &r->cause[join_cause(&r->join, cause->raw.index)];

	*here = *cause;
	here->raw.index = (uint8_t)(here - r->cause);
	snprintf(here->named.host, sizeof(here->named.host), "%s", peer_host(r->peer));
	return 0;
}

static int take_run(void *arg, const struct join_run *run)
{
	struct remote *r = arg;

	return join_run(&r->join, run);
}

void remote_plan_local(const struct run_spec *spec, char device[IF_NAMESIZE],
		       struct run_spec *local)
{
	const struct endpoint *to = &peer_target(spec->far)->to;
	unsigned ifindex = netdev_way(NULL, to);

	*device = '\0';
	if (spec->ifname)
		snprintf(device, IF_NAMESIZE, "%s", spec->ifname);
	else if (ifindex)
		if_indextoname(ifindex, device);
	*local = *spec;
	local->ifname = *device ? device : NULL;
	local->to = *to;
	local->to.port = peer_data_port(spec->far);
	local->paired = true;
	local->fragments = reassembly_fragments(to, spec->payload);
	local->interval_ns = spec->interval_ns;
}

/* How the other end is to work, beyond what every engine is told. */
static void fill_tuning(const struct run_spec *spec, struct peer_plan *plan)
{
	const struct tuning *t = &spec->tuning;
	const struct worker_wish *wish = spec->reverse ? &t->tx : &t->rx;

	plan->gso = t->send.gso;
	plan->unconnected = t->send.unconnected;
	plan->gro = t->receive.gro;
	plan->busy_poll_us = t->receive.busy_poll_us;
	plan->per_flow = t->per_flow;
	plan->rx_threads = t->rx_threads;
	plan->cpu_set = wish->cpu_set;
	plan->cpu = wish->cpu;
	plan->rt = t->rt;
	plan->nice = (uint32_t)(t->nice + PEER_NICE_0);
	plan->work_ns = t->reader.work_ns;
	plan->pause_ns = t->reader.pause_ns;
	plan->read_ns = t->reader.read_ns;
}

static void fill_shape(const struct run_spec *spec, struct peer_plan *plan)
{
	plan->shaped = spec->reverse && spec->shape;
	if (!plan->shaped)
		return;
	plan->shape = *spec->shape;
	plan->vlan = spec->vlan;
	plan->tos = spec->tos;
	plan->ttl = spec->ttl;
}

static void fill_plan(const struct site *local, const struct fates *f, struct peer_plan *plan)
{
	const struct run_spec *spec = local->spec;

	*plan = (struct peer_plan){
		.reverse = spec->reverse,
		.ipv6 = spec->ipv6,
		.port = spec->port,
		.numbers = {f->base, f->window, f->stream0, f->streams},
		.count = spec->count,
		.duration_ns = spec->duration_ns,
		.settle_ns = spec->settle_ns,
		.rate_pps = spec->rate_pps,
		.payload = shape_sizes_differ(spec->shape) && !spec->reverse ? 0 : spec->payload,
		.flows = spec->flows,
		.sndbuf = spec->sndbuf,
		.rcvbuf = spec->rcvbuf,
		.no_wait = spec->tuning.send.no_wait,
		.pass = spec->pass,
		.fragments = spec->fragments,
	};
	fill_tuning(spec, plan);
	fill_shape(spec, plan);
	snprintf(plan->engine, sizeof(plan->engine), "%s",
		 spec->reverse ? spec->tx->name : spec->rx->name);
}

int remote_open(struct remote *r, struct site *local, struct error *err)
{
	struct fates *f = site_fates(local);
	struct peer_plan plan;
	int rc;

	r->peer = local->spec->far;
	r->local = local;
	r->sends = local->spec->reverse;
	r->teller = (struct peer_teller){take_cause, take_run, r};
	gethostname(r->host, sizeof(r->host) - 1);
	fill_plan(local, f, &plan);
	join_init(&r->join, f, local->ledger.ignored, !r->sends);
	rc = peer_plan(r->peer, &plan, &r->ready, err);
	return rc ? rc : peer_clock(r->peer, &r->clock.offset_ns, &r->clock.error_ns, err);
}

static void fill_host(struct result_host *out, const char *name, const char *place)
{
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->place, sizeof(out->place), "%s", place);
}

void remote_describe(const struct remote *r, struct result *res)
{
	struct result_host *here = r->sends ? &res->rx_host : &res->tx_host;
	struct result_host *there = r->sends ? &res->tx_host : &res->rx_host;

	site_describe(r->local, res);
	snprintf(r->sends ? res->tx_mode : res->rx_mode, sizeof(res->tx_mode), "%s", r->ready.mode);
	res->two_hosts = true;
	fill_host(here, r->host, site_place(r->local));
	fill_host(there, peer_host(r->peer), r->ready.place);
	res->clock.offset_ns = r->sends ? -r->clock.offset_ns : r->clock.offset_ns;
	res->clock.error_ns = r->clock.error_ns;
	res->clock.shared = peer_target(r->peer)->shared_clock;
}

void remote_ports(const struct remote *r, struct lab *lab)
{
	const struct endpoint *to = &peer_target(r->peer)->to, *self = peer_self(r->peer);
	struct lab_port *here = r->sends ? &lab->rx : &lab->tx;
	struct lab_port *there = r->sends ? &lab->tx : &lab->rx;

	*lab = (struct lab){.topology = LAB_PAIR};
	there->ip4 = to->ip4;
	there->ip6 = to->ip6;
	here->ip4 = self->ip4;
	here->ip6 = self->ip6;
	if (r->local->spec->ifname)
		snprintf(here->ifname, sizeof(here->ifname), "%s", r->local->spec->ifname);
}

bool remote_ask(struct remote *r, enum peer_question what, struct error *err)
{
	r->asked_ns = clock_now();
	return !peer_ask(r->peer, what, &r->status, err);
}

void remote_refresh(struct remote *r, uint64_t most_ns, struct error *err)
{
	if (clock_now() - r->asked_ns >= most_ns)
		remote_ask(r, PEER_STATUS, err);
}

/* What the other site named, and the wire, beside the causes here. */
static void add_causes(struct remote *r)
{
	struct ledger *l = &r->local->ledger;
	struct ledger_cause wire = {
		.raw.index = JOIN_WIRE,
		.verdict = {.stage = STAGE_WIRE, .class = VERDICT_LOSS},
		.named = {.stage = STAGE_WIRE,
			  .note = "seen to leave the sender, not seen to come to the receiver"},
	};

	for (int i = 0; i < l->n; i++)
		snprintf(l->cause[i].named.host, sizeof(l->cause[i].named.host), "%s", r->host);
	for (unsigned i = 1; i < TRACE_CAUSES; i++) {
		if (r->cause[i].raw.index)
			ledger_add(l, &r->cause[i]);
	}
	ledger_add(l, &wire);
}

void remote_fold(struct remote *r, const uint64_t *upto, struct error *err)
{
	const struct fates *f = site_fates(r->local);
	struct peer_fold fold = {};

	memcpy(fold.upto, upto, f->streams * sizeof(*upto));
	peer_fold(r->peer, &fold, &r->teller, err);
	add_causes(r);
}

static void add_losses(const struct result *end, struct result *res)
{
	struct trace_fragments *f = &res->fragments;
	struct result_losses *l = &res->losses;

	l->causes_full += end->losses.causes_full;
	l->stamp_unreadable += end->losses.stamp_unreadable;
	l->recursion_misses += end->losses.recursion_misses;
	l->cell_empty += end->losses.cell_empty;
	l->gso_split += end->losses.gso_split;
	f->made += end->fragments.made;
	f->seen += end->fragments.seen;
	f->dropped += end->fragments.dropped;
	f->abandoned += end->fragments.abandoned;
	f->unmatched += end->fragments.unmatched;
	res->impossible += end->impossible;
	res->late += end->late;
}

static void take_sender(const struct result *tx, struct result *res)
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

static void take_receiver(const struct result *rx, struct result *res)
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

static void add_counters(const struct result *from, struct result *res)
{
	for (unsigned c = 0; c < from->n_counters && res->n_counters < RESULT_COUNTERS; c++)
		res->counter[res->n_counters++] = from->counter[c];
	res->replies += from->replies;
	res->reassembled += from->reassembled;
}

/* The counters here against what was seen here: the causes of the other site leave the ledger. */
static void check_local(struct remote *r, struct result *res)
{
	struct result *own = calloc(1, sizeof(*own));

	if (!own)
		return;
	site_name(r->local);
	site_ledger(r->local, 0, own);
	if (!site_check(r->local, own, &(struct error){}))
		add_counters(own, res);
	free(own);
}

void remote_close(struct remote *r, struct result *res, struct error *err)
{
	const struct finding_facts settings = {
		.rcvbuf = r->ready.rcvbuf,
		.rmem_max = r->ready.rmem_max,
		.udp_mem = {r->ready.udp_mem[0], r->ready.udp_mem[1], r->ready.udp_mem[2]},
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.netdev_max_backlog = r->ready.netdev_max_backlog,
	};
	struct result *end = calloc(1, sizeof(*end));
	bool told = end && !peer_end(r->peer, end, err);

	if (told) {
		add_losses(end, res);
		(r->sends ? take_sender : take_receiver)(end, res);
	}
	judge_clocks(res);
	advise(r->local, r->sends ? NULL : &settings, res);
	check_local(r, res);
	if (told)
		add_counters(end, res);
	free(end);
}
