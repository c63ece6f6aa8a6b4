// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/receiving_end.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "host/caps.h"
#include "host/netdev.h"
#include "experiment/learned.h"

static bool keeps_fates(const struct receiving_end *e)
{
	return e->spec->numbers || e->spec->ledger;
}

static void open_tracer(struct receiving_end *e)
{
	static const int needed[] = {CAP_BPF, CAP_PERFMON, CAP_SYSLOG};
	const struct recv_spec *recv = e->spec;
	/* where the senders' numbers are not known, causes are counted and fates not kept */
	struct tracer_spec spec = {
		.streams = 1,
		.port = recv->port,
		.netns = e->ns.inum,
		.fragments = recv->fragments,
	};
	const struct fates_numbers room = {.streams = (uint16_t)recv->ledger,
					   .window =
						   recv->ledger ? learned_window(recv->ledger) : 0};
	char missing[128];

	if (recv->ledger) {
		spec.streams = recv->ledger;
		spec.numbers = &room;
		spec.learn = true;
		spec.border = BORDER_ENTER;
		spec.border_ifindex = recv->ifname ? if_nametoindex(recv->ifname) : 0;
	}
	if (recv->numbers) {
		spec.streams = recv->numbers->streams;
		spec.numbers = recv->numbers;
		spec.border = BORDER_ENTER;
		/* the way back, which is where they come from in most networks */
		spec.border_ifindex = e->ifindex = netdev_way(&e->ns, &recv->from);
	}
	if (caps_missing(needed, 3, missing, sizeof(missing)) > 0)
		error_set(&e->untraced, STATUS_UNABLE, -EPERM, NULL, "missing %s", missing);
	else
		e->traced = !tracer_open(&e->tracer, &spec, &e->untraced);
}

/* What programs at our device are told: whatever they see has come to this host. */
static struct trace_config at_device(const struct receiving_end *e)
{
	struct trace_config cfg = e->tracer.config;

	if (cfg.learn)
		cfg.learn = LEARN_TAKE;
	return cfg;
}

/* AF_XDP: a program that steers the flow's packets into a socket for each queue. */
static int open_xsk(struct receiving_end *e, const struct netdev *dev, struct error *err)
{
	const struct trace_config any = {.port = e->spec->port};
	const struct trace_config here = at_device(e);
	const struct tracer *t = &e->tracer;
	struct xsk_prog_maps maps = {e->traced ? drops_cell_fd(t->drops) : -1, -1, -1};
	int rc;

	if (keeps_fates(e)) {
		maps.seen = tracer_seen_fd(t);
		maps.tails = drops_tails_fd(t->drops);
	}
	rc = xsk_prog_open(&e->xsk_prog, e->traced ? &here : &any, &maps, err);
	if (!rc)
		rc = xsk_prog_attach(e->xsk_prog, dev->ifname, dev->rx_queues, false, err);
	if (rc)
		return rc;
	if (e->traced)
		drops_watch_xskmap(t->drops, xsk_prog_map_fd(e->xsk_prog));
	e->config.xsk_map_fd = xsk_prog_map_fd(e->xsk_prog);
	e->config.xdp_skb_mode = !xsk_prog_native(e->xsk_prog);
	e->config.threads = dev->rx_queues ? dev->rx_queues : 1;
	return 0;
}

/* A program that takes the packets itself, or looks at them first. */
static int open_sink(struct receiving_end *e, const struct netdev *dev, struct error *err)
{
	const struct trace_config any = {.port = e->spec->port};
	const struct trace_config here = at_device(e);
	const struct tracer *t = &e->tracer;
	struct sink_prog_config cfg = {.trace = &any, .learn = true};
	int rc;

	if (keeps_fates(e))
		cfg = (struct sink_prog_config){
			.trace = &here,
			.payload = e->spec->payload,
			.pass = e->spec->pass,
			.arrivals_fd = drops_arrivals_fd(t->drops),
			.tails_fd = drops_tails_fd(t->drops),
			.seen_fd = tracer_seen_fd(t),
		};
	rc = sink_prog_open(&e->sink_prog, &cfg, err);
	if (!rc && keeps_fates(e) && !cfg.pass)
		drops_expect_sink(t->drops);
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
	const struct recv_spec *spec = e->spec;
	int rc = 0;

	e->config = (struct receiver_config){
		.ops = spec->pass ? &rx_socket : spec->rx,
		.flow = &e->flow,
		.ifname = spec->ifname,
		.threads = spec->tuning.rx_threads ? spec->tuning.rx_threads : 1,
		.fates = keeps_fates(e) ? &e->tracer.fates : NULL,
		.table = spec->ledger ? drops_tails(e->tracer.drops) : NULL,
		.tuning = &spec->tuning,
		.rcvbuf = (int)spec->rcvbuf,
		.rcvbuf_force = spec->rcvbuf != 0,
		.xsk_map_fd = -1,
		.cpu = -1,
	};
	if (spec->rx != &rx_socket)
		rc = open_xdp(e, err);
	return rc ? rc : receiver_open(&e->receiver, &e->config, err);
}

int receiving_end_open(struct receiving_end *e, const struct recv_spec *spec, struct error *err)
{
	int rc;

	memset(e, 0, sizeof(*e));
	e->spec = spec;
	e->ns = NETNS_NONE;
	e->flow = (struct flow){
		.family = spec->ipv6 ? AF_INET6 : AF_INET,
		.dst_port = spec->port,
		.payload = spec->payload,
		.time = true,
	};
	rc = netns_current(&e->ns, err);
	if (rc)
		return rc;
	open_tracer(e);
	if (keeps_fates(e) && !e->traced) {
		*err = e->untraced;
		return -EPERM;
	}
	return open_receiver(e, err);
}

/* The verdict of our own program, where the packet was an skb: a delivery. */
static bool is_taken(const struct receiving_end *e, const struct ledger_cause *c)
{
	return e->sink_prog && !e->spec->pass && c->verdict.stage == STAGE_XDP &&
	       c->raw.cause.observer == OBSERVER_KFREE_SKB &&
	       c->raw.cause.ifindex == e->xdp_ifindex && strcmp(c->named.reason, "NOMEM");
}

bool receiving_end_is_here(const struct receiving_end *e, const struct ledger_cause *c)
{
	return c->verdict.class == VERDICT_LOSS && !is_taken(e, c) &&
	       (!c->raw.cause.netns || c->raw.cause.netns == e->ns.inum);
}

const char *receiving_end_place(const struct receiving_end *e)
{
	return e->spec->rx == &rx_socket ? border_place(e->tracer.border) : "XDP";
}

void receiving_end_name(struct receiving_end *e)
{
	struct ledger_place here = {e->ns.inum, 0, "rx", ""};

	if (!e->traced)
		return;
	tracer_name(&e->tracer, &here, 1, &e->ledger);
	for (int i = 0; i < e->ledger.n; i++) {
		const struct ledger_cause *c = &e->ledger.cause[i];

		if (c->verdict.class == VERDICT_LOSS && !receiving_end_is_here(e, c))
			e->ledger.ignored[c->raw.index] = 1;
	}
}

static unsigned l3_bytes_of(const void *arg, uint16_t slot, uint64_t number)
{
	const struct receiving_end *e = arg;

	return shape_l3_bytes(e->spec->shape, &e->flow, slot, number);
}

void receiving_end_fold(struct receiving_end *e, unsigned slot, uint64_t upto,
			const struct fates_visitor *visitor)
{
	tracer_set_tail(&e->tracer, slot, upto);
	receiver_set_tail(e->receiver, slot, upto);
	e->tracer.fates.l3_bytes = shape_sizes_differ(e->spec->shape) ? l3_bytes_of : NULL;
	e->tracer.fates.l3_arg = e;
	fates_fold(&e->tracer.fates, (uint16_t)slot, upto, e->ledger.ignored, &e->ledger.tally,
		   visitor);
}

void receiving_end_sums(struct receiving_end *e, struct sink *sum, struct result *res)
{
	struct rx_stats st;
	uint64_t ns;

	receiver_sum(e->receiver, sum, &res->arrivals);
	receiver_stats(e->receiver, &st);
	res->rx_cost = (struct result_cost){st.calls, receiver_cpu_ns(e->receiver)};
	res->duplicated = sum->sums.duplicated;
	res->late += sum->sums.late;
	res->damaged = sum->sums.damaged;
	res->invalid = sum->sums.invalid;
	res->foreign = sum->sums.foreign;
	ns = sum->sums.last_ns - sum->sums.first_ns;
	if (ns)
		res->rx_pps = (double)sum->sums.delivered * 1e9 / (double)ns;
}

void receiving_end_close(struct receiving_end *e)
{
	receiver_close(e->receiver);
	xsk_prog_close(e->xsk_prog);
	sink_prog_close(e->sink_prog);
	if (e->traced)
		tracer_close(&e->tracer);
	netns_close(&e->ns);
}
