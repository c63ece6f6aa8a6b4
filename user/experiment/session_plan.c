// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a client asks for: whether it may, and what it means for this end. */
#include <errno.h>

#include "host/netdev.h"
#include "experiment/session.h"
#include "experiment/window.h"

/* For engines that need one. */
static const char *find_device(struct session *s)
{
	unsigned ifindex = netdev_way(NULL, &s->peer);

	if (s->cfg->ifname)
		return s->cfg->ifname;
	return ifindex ? if_indextoname(ifindex, s->device) : NULL;
}

/* The most packets/s; 0: as many as it gets. */
static double peak_of(const struct peer_plan *plan)
{
	return plan->shaped ? shape_peak(&plan->shape, plan->rate_pps) : plan->rate_pps;
}

static int check_sending(const struct session *s, struct error *why)
{
	const struct peer_plan *plan = &s->plan;
	double max = s->cfg->max_pps, peak = peak_of(plan);
	char limit[FMT_MAX];

	if (plan->shaped && plan->shape.frames && !near_tx_engine(plan->engine)->shapes)
		return error_set(why, STATUS_USAGE, -EINVAL, "use --tx xsk or --tx socket",
				 "--tx %s sends packets that are all alike", plan->engine);
	if (!(max > 0))
		return 0;
	if (!(peak > 0 && peak <= max))
		return error_set(why, STATUS_FAILED, -EPERM,
				 "a lower --rate, or a higher --max-rate on the server",
				 "the server sends at most %s",
				 fmt_rate(limit, sizeof(limit), max));
	if (plan->shaped && plan->shape.burst > max)
		return error_set(why, STATUS_FAILED, -EPERM,
				 "a smaller --burst, or a higher --max-rate on the server",
				 "the server sends no burst of more than a second at %s",
				 fmt_rate(limit, sizeof(limit), max));
	return 0;
}

int session_check_plan(const struct session *s, struct error *why)
{
	const struct peer_plan *plan = &s->plan;

	if (plan->ipv6 != (s->peer.family == AF_INET6))
		return error_set(why, STATUS_USAGE, -EINVAL, NULL,
				 "packets go where the control connection goes, by the same IP");
	if (plan->reverse ? !near_tx_engine(plan->engine) : !near_rx_engine(plan->engine))
		return error_set(why, STATUS_USAGE, -EINVAL, NULL,
				 "the server knows no engine '%s'", plan->engine);
	if (plan->numbers.window > window_most(plan->numbers.streams))
		return error_set(why, STATUS_FAILED, -ENOMEM, "a smaller --count needs less",
				 "the server has not the memory for so many numbers");
	if ((plan->rt || plan->nice < PEER_NICE_0) && !s->cfg->token.len)
		return error_set(why, STATUS_FAILED, -EPERM,
				 "start it with --token-file, or by `nice` or `chrt`",
				 "the server gives no priority to clients that need no token");
	return plan->reverse ? check_sending(s, why) : 0;
}

static void fill_threads(const struct peer_plan *plan, struct tuning *t, struct worker_wish *wish)
{
	*wish = (struct worker_wish){plan->cpu_set, plan->cpu};
	t->nice = (int)plan->nice - PEER_NICE_0;
	t->rt = plan->rt;
}

static void fill_recv(struct session *s)
{
	const struct peer_plan *plan = &s->plan;

	s->near.recv = (struct recv_spec){
		.rx = near_rx_engine(plan->engine),
		.ifname = find_device(s),
		.ipv6 = plan->ipv6,
		.port = s->cfg->port,
		.rcvbuf = plan->rcvbuf,
		.numbers = &s->near.numbers,
		.from = s->peer,
		.payload = plan->payload,
		.pass = plan->pass,
		.fragments = plan->fragments,
	};
	s->near.recv.tuning.receive.gro = plan->gro;
	s->near.recv.tuning.receive.busy_poll_us = plan->busy_poll_us;
	s->near.recv.tuning.rx_threads = plan->rx_threads;
	s->near.recv.tuning.per_flow = plan->per_flow;
	s->near.recv.tuning.reader = (struct reader){
		.work_ns = plan->work_ns, .pause_ns = plan->pause_ns, .read_ns = plan->read_ns};
	fill_threads(plan, &s->near.recv.tuning, &s->near.recv.tuning.rx);
}

static void fill_send(struct session *s)
{
	const struct peer_plan *plan = &s->plan;

	s->near.send = (struct send_spec){
		.tx = near_tx_engine(plan->engine),
		.to = s->peer, /* and nobody else */
		.ifname = find_device(s),
		.count = plan->count,
		.duration_ns = plan->duration_ns,
		.rate_pps = plan->rate_pps,
		.payload = plan->payload,
		.flows = plan->flows,
		.threads = plan->numbers.streams,
		.vlan = plan->vlan,
		.tos = plan->tos,
		.ttl = plan->ttl,
		.shape = plan->shaped ? &plan->shape : NULL,
		.sndbuf = plan->sndbuf,
		.no_wait = plan->no_wait,
		.numbers = &s->near.numbers,
		.settle_ns = plan->settle_ns,
		.border = true,
		.fragments = plan->fragments,
	};
	s->near.send.to.port = plan->port;
	s->near.send.tuning.send.gso = plan->gso;
	s->near.send.tuning.send.unconnected = plan->unconnected;
	fill_threads(plan, &s->near.send.tuning, &s->near.send.tuning.tx);
}

void session_fill_plan(struct session *s)
{
	s->near.numbers = s->plan.numbers;
	if (s->plan.reverse)
		fill_send(s);
	else
		fill_recv(s);
}
