// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The XDP side of a rig's receiver. */
#include "experiment/rig.h"

#include <string.h>

#include "traffic/shape.h"

static int open_xsk(struct rig *rig, struct error *err)
{
	const struct tracer *t = &rig->tracer;
	const struct xsk_prog_maps maps = {
		.cell = drops_cell_fd(t->drops),
		.seen = tracer_seen_fd(t),
		.tails = drops_tails_fd(t->drops),
	};
	int rc = xsk_prog_open(&rig->xsk_prog, &t->config, &maps, err);

	if (rc)
		return rc;
	drops_watch_xskmap(t->drops, xsk_prog_map_fd(rig->xsk_prog));
	rig->receiver_config.xsk_map_fd = xsk_prog_map_fd(rig->xsk_prog);
	return 0;
}

static int open_sink(struct rig *rig, struct error *err)
{
	const struct tracer *t = &rig->tracer;
	const struct sink_prog_config cfg = {
		.trace = &t->config,
		.payload = shape_sizes_differ(rig->spec->shape) ? 0 : rig->flow.payload,
		.pass = rig->spec->pass,
		.arrivals_fd = drops_arrivals_fd(t->drops),
		.tails_fd = drops_tails_fd(t->drops),
		.seen_fd = tracer_seen_fd(t),
	};
	int rc = sink_prog_open(&rig->sink_prog, &cfg, err);

	rig->receiver_config.sink_prog = rig->sink_prog;
	if (!rc && !cfg.pass)
		drops_expect_sink(t->drops);
	return rc;
}

/* Attaches the XDP program of the receiver, whichever it is. */
static int attach_xdp(struct rig *rig, bool *native, struct error *err)
{
	const struct lab_port *port = &rig->lab.rx;
	int saved = netns_push(&rig->lab.rx_ns), rc;

	if (saved < 0)
		return error_set(err, STATUS_FAILED, saved, NULL,
				 "cannot enter the receiver's network namespace: %s",
				 strerror(-saved));
	if (rig->xsk_prog)
		rc = xsk_prog_attach(rig->xsk_prog, port->ifname, port->queues, false, err);
	else
		rc = sink_prog_attach(rig->sink_prog, port->ifname, err);
	netns_pop(saved);
	*native = rig->xsk_prog ? xsk_prog_native(rig->xsk_prog) : sink_prog_native(rig->sink_prog);
	return rc;
}

int rig_open_xdp(struct rig *rig, struct error *err)
{
	bool xsk = rig->spec->rx == &rx_xsk, sink = rig->spec->rx == &rx_xdp, native = false;
	int rc = 0;

	if (xsk)
		rc = open_xsk(rig, err);
	if (sink)
		rc = open_sink(rig, err);
	if (rc)
		return rc;
	if (rig->fx.xdp)
		rc = fault_xdp(rig->faults,
			       xsk    ? xsk_prog_fd(rig->xsk_prog)
			       : sink ? sink_prog_fd(rig->sink_prog)
				      : -1,
			       &native, err);
	else if (xsk || sink)
		rc = attach_xdp(rig, &native, err);
	rig->receiver_config.xdp_skb_mode = !native;
	return rc;
}
