// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What both ends of an experiment are to do, by what was asked for. */
#include <stdio.h>

#include "host/reassembly.h"
#include "experiment/pair_parts.h"
#include "experiment/ports.h"

static void fill_send(struct pair *p, double rate_pps, bool fragments)
{
	const struct run_spec *spec = p->spec;

	p->near->send = (struct send_spec){
		.tx = spec->tx,
		.to = peer_target(p->peer)->to,
		.ifname = *p->device ? p->device : NULL,
		.count = spec->count,
		.duration_ns = spec->duration_ns,
		.rate_pps = rate_pps,
		.payload = spec->payload,
		.flows = spec->flows,
		.threads = spec->threads,
		.vlan = spec->vlan,
		.tos = spec->tos,
		.ttl = spec->ttl,
		.shape = spec->shape,
		.sndbuf = spec->sndbuf,
		.no_wait = spec->no_wait,
		.tuning = spec->tuning,
		.settle_ns = spec->settle_ns,
		.border = true,
		.fragments = fragments,
	};
	p->near->send.to.port = peer_data_port(p->peer);
}

static int fill_recv(struct pair *p, double rate_pps, bool fragments, struct error *err)
{
	const struct run_spec *spec = p->spec;
	double fastest = window_pps(spec->tx, spec->tuning.send.gso, false);
	double pps = rate_pps > 0 ? rate_pps / spec->threads : fastest;
	uint64_t each = spec->count == UINT64_MAX ? UINT64_MAX : spec->count / spec->threads + 1;
	uint64_t window = window_size(each, pps, spec->settle_ns, spec->threads);
	struct fates drawn;
	int rc = fates_init(&drawn, (uint16_t)spec->threads, window, err);

	p->near->numbers = (struct fates_numbers){drawn.base, window, drawn.stream0, drawn.streams};
	window_init(&p->window, spec->threads, spec->settle_ns);
	p->near->recv = (struct recv_spec){
		.rx = spec->rx,
		.ifname = *p->device ? p->device : NULL,
		.ipv6 = spec->ipv6,
		.port = spec->port,
		.rcvbuf = spec->rcvbuf,
		.tuning = spec->tuning,
		.numbers = &p->near->numbers,
		.from = peer_target(p->peer)->to,
		.payload = shape_sizes_differ(spec->shape) ? 0 : spec->payload,
		.shape = spec->shape,
		.pass = spec->pass,
		.fragments = fragments,
	};
	return rc;
}

/* How the far end is to work, beyond what every engine is told. */
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

int pair_fill(struct pair *p, struct peer_plan *plan, struct error *err)
{
	const struct run_spec *spec = p->spec;
	bool fragments = reassembly_fragments(&peer_target(p->peer)->to, spec->payload);
	double rate_pps;
	int rc = ports_rate(spec, &rate_pps, err);

	if (rc)
		return rc;
	*plan = (struct peer_plan){
		.reverse = spec->reverse,
		.ipv6 = spec->ipv6,
		.port = spec->port,
		.count = spec->count,
		.duration_ns = spec->duration_ns,
		.settle_ns = spec->settle_ns,
		.rate_pps = rate_pps,
		.payload = shape_sizes_differ(spec->shape) && !spec->reverse ? 0 : spec->payload,
		.flows = spec->flows,
		.sndbuf = spec->sndbuf,
		.rcvbuf = spec->rcvbuf,
		.no_wait = spec->no_wait,
		.pass = spec->pass,
		.fragments = fragments,
	};
	fill_tuning(spec, plan);
	fill_shape(spec, plan);
	snprintf(plan->engine, sizeof(plan->engine), "%s",
		 spec->reverse ? spec->tx->name : spec->rx->name);
	if (spec->reverse)
		return fill_recv(p, rate_pps, fragments, err);
	fill_send(p, rate_pps, fragments);
	return 0;
}
