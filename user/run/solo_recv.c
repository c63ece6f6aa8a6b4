// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/pace.h"
#include "engine/sink_prog.h"
#include "engine/xsk_prog.h"
#include "host/caps.h"
#include "host/netdev.h"
#include "run/learned.h"
#include "run/receiver.h"
#include "run/solo.h"
#include "run/tracer.h"
#include "run/watch.h"

#define QUIET_NS 200000000 /* after the last end record */

struct receiving_end {
	const struct recv_spec *spec;
	const struct experiment_view *view;
	struct flow flow;
	struct netns ns;
	struct tracer tracer;
	bool traced;
	struct xsk_prog *xsk_prog;
	struct sink_prog *sink_prog;
	unsigned xdp_ifindex; /* where a program of ours is attached */
	struct receiver_config config;
	struct receiver *receiver;
	struct ledger ledger;
	struct learned learned;
};

static void open_tracer(struct receiving_end *e)
{
	static const int needed[] = {CAP_BPF, CAP_PERFMON, CAP_SYSLOG};
	/* the senders' numbers are not known here: causes are counted, fates not kept */
	const struct tracer_spec spec = {
		.streams = 1, .port = e->spec->port, .netns = e->ns.inum};
	char missing[128], note[256];
	struct error why = {};

	if (caps_missing(needed, 3, missing, sizeof(missing)) > 0)
		snprintf(why.message, sizeof(why.message), "missing %s", missing);
	else
		e->traced = !tracer_open(&e->tracer, &spec, &why);
	if (e->traced || !e->view->on_note)
		return;
	snprintf(note, sizeof(note), "losses on this side are not traced: %.200s", why.message);
	e->view->on_note(e->view->arg, note);
}

/* AF_XDP: a program that steers the flow's packets into a socket for each queue. */
static int open_xsk(struct receiving_end *e, const struct netdev *dev, struct error *err)
{
	const struct trace_config any = {.port = e->spec->port};
	const struct xsk_prog_maps maps = {e->traced ? drops_cell_fd(e->tracer.drops) : -1, -1, -1};
	int rc = xsk_prog_open(&e->xsk_prog, e->traced ? &e->tracer.config : &any, &maps, err);

	if (!rc)
		rc = xsk_prog_attach(e->xsk_prog, dev->ifname, dev->rx_queues, false, err);
	if (rc)
		return rc;
	if (e->traced)
		drops_watch_xskmap(e->tracer.drops, xsk_prog_map_fd(e->xsk_prog));
	e->config.xsk_map_fd = xsk_prog_map_fd(e->xsk_prog);
	e->config.xdp_skb_mode = !xsk_prog_native(e->xsk_prog);
	e->config.threads = dev->rx_queues ? dev->rx_queues : 1;
	return 0;
}

/* A program that takes the packets itself. */
static int open_sink(struct receiving_end *e, const struct netdev *dev, struct error *err)
{
	const struct trace_config any = {.port = e->spec->port};
	const struct sink_prog_config cfg = {.trace = &any, .learn = true};
	int rc = sink_prog_open(&e->sink_prog, &cfg, err);

	if (!rc)
		rc = sink_prog_attach(e->sink_prog, dev->ifname, err);
	if (rc)
		return rc;
	e->config.sink_prog = e->sink_prog;
	e->config.xdp_skb_mode = !sink_prog_native(e->sink_prog);
	return 0;
}

static int open_xdp(struct receiving_end *e, struct error *err)
{
	struct netdev dev;
	int rc;

	if (!e->spec->ifname)
		return error_set(err, STATUS_USAGE, -EINVAL, "for example -i eth1",
				 "--rx %s needs the interface to receive at", e->spec->rx->name);
	rc = netdev_get(NULL, e->spec->ifname, &dev);
	if (rc)
		return error_set(err, STATUS_FAILED, rc, "ip link tells which there are",
				 "no interface '%s': %s", e->spec->ifname, strerror(-rc));
	e->config.ifindex = e->xdp_ifindex = dev.ifindex;
	return e->spec->rx == &rx_xsk ? open_xsk(e, &dev, err) : open_sink(e, &dev, err);
}

static int open_receiver(struct receiving_end *e, struct error *err)
{
	int rc = 0;

	open_tracer(e);
	e->config = (struct receiver_config){
		.ops = e->spec->rx,
		.flow = &e->flow,
		.ifname = e->spec->ifname,
		.threads = e->spec->tuning.rx_threads ? e->spec->tuning.rx_threads : 1,
		.tuning = &e->spec->tuning,
		.rcvbuf = (int)e->spec->rcvbuf,
		.rcvbuf_force = e->spec->rcvbuf != 0,
		.xsk_map_fd = -1,
		.cpu = -1,
	};
	if (e->spec->rx != &rx_socket)
		rc = open_xdp(e, err);
	return rc ? rc : receiver_open(&e->receiver, &e->config, err);
}

/* The verdict of our own program, where the packet was an skb: a delivery. */
static bool is_taken(const struct receiving_end *e, const struct ledger_cause *c)
{
	return e->sink_prog && c->verdict.stage == STAGE_XDP &&
	       c->raw.cause.observer == OBSERVER_KFREE_SKB &&
	       c->raw.cause.ifindex == e->xdp_ifindex && strcmp(c->named.reason, "NOMEM");
}

/* Ends in other namespaces of this host are not this side's. */
static bool is_here(const struct receiving_end *e, const struct ledger_cause *c)
{
	return c->verdict.class == VERDICT_LOSS && !is_taken(e, c) &&
	       (!c->raw.cause.netns || c->raw.cause.netns == e->ns.inum);
}

static void name_causes(struct receiving_end *e)
{
	struct ledger_place here = {e->ns.inum, 0, "rx", ""};

	tracer_name(&e->tracer, &here, 1, &e->ledger);
}

static bool show(struct receiving_end *e, uint64_t start)
{
	struct experiment_interval i = {.time_ns = pace_now() - start,
					.delivered = receiver_delivered(e->receiver)};

	if (e->traced)
		name_causes(e);
	for (int c = 0; c < e->ledger.n; c++) {
		const struct ledger_cause *cause = &e->ledger.cause[c];

		if (!is_here(e, cause))
			continue;
		i.dropped += cause->raw.count.packets;
		i.stage[cause->named.stage].events += cause->raw.count.events;
		i.stage[cause->named.stage].packets += cause->raw.count.packets;
		i.stage[cause->named.stage].bytes += cause->raw.count.bytes;
	}
	return !e->view->on_interval || e->view->on_interval(e->view->arg, &i);
}

/* Until the count, the time, a signal, or until all senders are done and nothing more comes. */
static bool watch(struct receiving_end *e, struct error *err)
{
	const struct recv_spec *spec = e->spec;
	uint64_t start = pace_now(), next = start + spec->interval_ns, quiet = start, last = 0;

	for (;;) {
		uint64_t now = pace_now(), delivered = receiver_delivered(e->receiver);

		if (delivered != last || !receiver_all_ended(e->receiver))
			quiet = now;
		last = delivered;
		learned_move(&e->learned, e->receiver, now);
		if (delivered >= spec->count ||
		    (spec->duration_ns && now - start >= spec->duration_ns))
			return false;
		if ((!spec->stay && now - quiet >= QUIET_NS) || receiver_failed(e->receiver, err))
			return false;
		if (now >= next) {
			if (!show(e, start))
				return true;
			next += spec->interval_ns;
		}
		if (watch_tick())
			return true;
	}
}

/* What the tracer counted in this namespace: sums of events, no fates. */
static void close_stages(struct receiving_end *e, struct result *res)
{
	name_causes(e);
	for (int i = 0; i < e->ledger.n; i++) {
		const struct ledger_cause *c = &e->ledger.cause[i];
		struct fate_cause *f = &e->ledger.tally.cause[0][c->raw.index];

		if (is_here(e, c))
			f->packets = c->raw.count.packets;
		e->ledger.tally.dropped += f->packets;
	}
	ledger_close(&e->ledger, 0, 0, 0, res);
	tracer_losses(&e->tracer, &e->ledger, res);
	for (int s = 0; s < STAGE_COUNT; s++)
		res->stage[s].bytes = 0;
}

static void close_books(struct receiving_end *e, struct recv_result *out)
{
	struct result *res = &out->res;
	struct sink sum;
	uint64_t ns;

	receiver_stop(e->receiver);
	receiver_sum(e->receiver, &sum, &res->arrivals);
	if (e->traced)
		close_stages(e, res);
	learned_close(&e->learned, e->receiver, out);
	res->delivered = sum.sums.delivered;
	res->duplicated = sum.sums.duplicated;
	res->late += sum.sums.late;
	res->damaged = sum.sums.damaged;
	res->invalid = sum.sums.invalid;
	res->foreign = sum.sums.foreign;
	out->received = sum.sums.delivered + sum.sums.duplicated + sum.sums.late;
	ns = sum.sums.last_ns - sum.sums.first_ns;
	res->duration_ns = ns;
	if (ns)
		res->rx_pps = (double)sum.sums.delivered * 1e9 / (double)ns;
}

int solo_recv(const struct recv_spec *spec, const struct experiment_view *view,
	      struct recv_result *out, struct error *err)
{
	struct receiving_end *e = calloc(1, sizeof(*e));
	int rc;

	memset(out, 0, sizeof(*out));
	if (!e)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	e->spec = spec;
	e->view = view;
	e->ns = NETNS_NONE;
	learned_init(&e->learned, spec->rx == &rx_xdp ? LEARNED_XDP_NS : LEARNED_SETTLE_NS);
	e->flow = (struct flow){
		.family = spec->ipv6 ? AF_INET6 : AF_INET, .dst_port = spec->port, .time = true};
	netns_current(&e->ns, err);
	rc = open_receiver(e, err);
	if (!rc) {
		snprintf(out->res.rx_mode, sizeof(out->res.rx_mode), "%s",
			 receiver_mode(e->receiver));
		if (view->on_start)
			view->on_start(view->arg, NULL, NULL, &out->res, NULL);
		out->res.interrupted = watch(e, err);
		close_books(e, out);
		rc = err->status == STATUS_OK ? 0 : -EIO;
	}
	receiver_close(e->receiver);
	xsk_prog_close(e->xsk_prog);
	sink_prog_close(e->sink_prog);
	if (e->traced)
		tracer_close(&e->tracer);
	netns_close(&e->ns);
	free(e);
	return rc;
}
