// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/sending_end.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "host/caps.h"
#include "host/counters.h"
#include "host/netdev.h"
#include "stamp.h"

#define SETTLE_NS                                                                                  \
	5000000000 /* in which losses on this side are seen: a neighbour not found takes 3 s */

struct fates *sending_end_fates(struct sending_end *e)
{
	return e->traced ? &e->tracer.fates : &e->fates;
}

/* Frames need the next hop's address; sockets leave that to the kernel. */
static int plan_frames(struct sending_end *e, struct error *err)
{
	const struct endpoint *to = &e->spec->to;
	const void *dst = to->family == AF_INET6 ? (const void *)&to->ip6 : &to->ip4;
	void *src = to->family == AF_INET6 ? (void *)&e->flow.src6 : &e->flow.src4;
	struct netdev dev;
	int rc;

	if (!e->spec->ifname)
		return error_set(err, STATUS_USAGE, -EINVAL, "for example -i eth1",
				 "--tx %s needs the interface to send by", e->spec->tx->name);
	rc = netdev_get(NULL, e->spec->ifname, &dev);
	if (rc)
		return error_set(err, STATUS_FAILED, rc, "ip link tells which there are",
				 "no interface '%s': %s", e->spec->ifname, strerror(-rc));
	rc = netdev_next_hop(NULL, to->family, dst, &e->ifindex, e->flow.dst_mac, src);
	if (!rc && e->ifindex != dev.ifindex)
		rc = -EHOSTUNREACH;
	if (rc)
		return error_set(err, STATUS_FAILED, rc,
				 "look at `ip route get`; reach the target once (ping) so that its "
				 "neighbour entry is there",
				 "no known next hop to the target by %s: %s", dev.ifname,
				 strerror(-rc));
	memcpy(e->flow.src_mac, dev.mac, 6);
	e->flow.src_port = 40000;
	return 0;
}

static void open_tracer(struct sending_end *e, uint64_t window)
{
	static const int needed[] = {CAP_BPF, CAP_PERFMON, CAP_SYSLOG};
	const struct send_spec *send = e->spec;
	const struct tracer_spec spec = {
		.streams = send->threads,
		.window = window,
		.port = send->to.port,
		.fragments = send->fragments,
		.netns = e->ns.inum,
		.numbers = send->numbers,
		.border = send->border ? BORDER_LEAVE : BORDER_NONE,
	};
	char missing[128];

	if (caps_missing(needed, 3, missing, sizeof(missing)) > 0)
		error_set(&e->untraced, STATUS_UNABLE, -EPERM, NULL, "missing %s", missing);
	else
		e->traced = !tracer_open(&e->tracer, &spec, &e->untraced);
}

static int open_fates(struct sending_end *e, uint64_t window, struct error *err)
{
	int rc;

	open_tracer(e, window);
	if (e->traced)
		return 0;
	rc = fates_init(&e->fates, (uint16_t)e->spec->threads, window, err);
	return rc ? rc : fates_map(&e->fates, -1, -1, -1, err);
}

static int open_sender(struct sending_end *e, struct error *err)
{
	const struct send_spec *spec = e->spec;
	int rc;

	e->config = (struct sender_config){
		.ops = spec->tx,
		.flow = &e->flow,
		.ifname = spec->ifname,
		.ifindex = spec->tx == &tx_socket ? 0 : e->ifindex,
		.threads = spec->threads,
		.fates = sending_end_fates(e),
		.count = spec->count,
		.duration_ns = spec->duration_ns,
		.rate_pps = spec->rate_pps,
		.shape = spec->shape,
		.sndbuf = (int)spec->sndbuf,
		.no_wait = spec->no_wait,
		.batch_fd = e->traced ? drops_batch_fd(e->tracer.drops) : -1,
		.tuning = &spec->tuning,
		.cpu = -1,
	};
	if (e->traced && spec->tx == &tx_xdp &&
	    (rc = drops_watch_live(e->tracer.drops, e->ifindex, e->ns.inum, err)))
		return rc;
	return sender_open(&e->sender, &e->config, err);
}

static void plan_flow(struct sending_end *e)
{
	const struct send_spec *spec = e->spec;

	e->flow = (struct flow){.family = spec->to.family,
				.dst4 = spec->to.ip4,
				.dst6 = spec->to.ip6,
				.dst_port = spec->to.port,
				.flows = spec->flows,
				.payload = spec->payload,
				.ttl = spec->ttl,
				.tos = (uint8_t)spec->tos,
				.vlan = (uint16_t)spec->vlan,
				.time = spec->payload >= STAMP_TIME_LEN};
	if (spec->shape && spec->shape->dst_port.n)
		e->flow.dst_port = spec->shape->dst_port.n == 1 ? spec->shape->dst_port.first : 0;
}

int sending_end_open(struct sending_end *e, const struct send_spec *spec, struct error *err)
{
	double fastest = window_pps(spec->tx, spec->tuning.send.gso, false);
	double pps = spec->rate_pps > 0 ? spec->rate_pps / spec->threads : fastest;
	uint64_t each = spec->count == UINT64_MAX ? UINT64_MAX : spec->count / spec->threads + 1;
	uint64_t settle_ns = spec->settle_ns ? spec->settle_ns : SETTLE_NS;
	uint64_t window = spec->numbers ? spec->numbers->window
					: window_size(each, pps, settle_ns, spec->threads);
	int rc;

	memset(e, 0, sizeof(*e));
	e->spec = spec;
	e->ns = NETNS_NONE;
	e->moving = window < each || spec->border;
	window_init(&e->window, spec->threads, settle_ns);
	plan_flow(e);
	rc = netns_current(&e->ns, err);
	if (!rc && spec->tx != &tx_socket)
		rc = plan_frames(e, err);
	else if (!rc)
		e->ifindex = netdev_way(&e->ns, &spec->to);
	if (rc)
		return rc;
	if (spec->shape && spec->shape->capture && spec->shape->capture->payload)
		capture_stamp(spec->shape->capture, &e->flow);
	rc = open_fates(e, window, err);
	return rc ? rc : open_sender(e, err);
}

static unsigned l3_bytes_of(const void *arg, uint16_t slot, uint64_t number)
{
	const struct sending_end *e = arg;

	return shape_l3_bytes(e->spec->shape, &e->flow, slot, number);
}

const char *sending_end_place(const struct sending_end *e)
{
	if (e->spec->tx == &tx_xsk)
		return "AF_XDP completion";
	return e->spec->tx == &tx_xdp ? "xdp_devmap_xmit" : border_place(e->tracer.border);
}

void sending_end_name(struct sending_end *e)
{
	struct ledger_place here = {e->ns.inum, 0, "tx", ""};

	if (!e->traced)
		return;
	tracer_name(&e->tracer, &here, 1, &e->ledger);
	for (int i = 0; i < e->ledger.n; i++) {
		const struct ledger_cause *c = &e->ledger.cause[i];

		if (c->raw.cause.netns != e->ns.inum && c->verdict.direction != DIRECTION_TX)
			e->ledger.ignored[c->raw.index] = 1;
	}
}

const uint64_t *sending_end_leaving(struct sending_end *e, uint64_t now_ns)
{
	uint64_t next[TRACE_STREAMS];

	if (!e->moving || !window_is_due(&e->window, now_ns))
		return NULL;
	for (unsigned t = 0; t < e->spec->threads; t++)
		next[t] = sender_next(e->sender, t);
	return window_move(&e->window, now_ns, next);
}

/* Numbers that are not folded yet whose send call failed. */
static uint64_t failed_since(const struct fates *f, unsigned slot, uint64_t upto)
{
	uint64_t n = 0;

	for (uint64_t i = f->tail[slot]; i < upto; i++)
		n += f->failed[fates_index(f, (uint16_t)slot, i)] != 0;
	return n;
}

uint64_t sending_end_queued(const struct sending_end *e)
{
	return e->ifindex ? links_queued(&e->ns, e->ifindex) : 0;
}

bool sending_end_is_asking(const struct sending_end *e)
{
	return e->ifindex && netdev_asked_neighs(&e->ns, e->ifindex);
}

void sending_end_note_handed(struct sending_end *e, unsigned slot, uint64_t upto)
{
	struct fates *f = sending_end_fates(e);
	struct sender_stats st;

	if (e->spec->tx == &tx_socket)
		return;
	if (sender_done(e->sender)) {
		sender_stats(e->sender, &st);
		if (st.tx.uncompleted) /* which of them is not told */
			return;
	}
	for (uint64_t number = f->tail[slot]; number < upto; number++) {
		size_t i = fates_index(f, (uint16_t)slot, number);

		if (!f->failed[i])
			f->seen[i] |= SEEN_TX_DEVICE;
	}
}

void sending_end_fold(struct sending_end *e, unsigned slot, uint64_t upto,
		      const struct fates_visitor *visitor)
{
	struct fates *f = sending_end_fates(e);

	f->l3_bytes = shape_sizes_differ(e->spec->shape) ? l3_bytes_of : NULL;
	f->l3_arg = e;
	if (e->traced)
		tracer_set_tail(&e->tracer, slot, upto);
	e->refused[slot] += failed_since(f, slot, upto);
	fates_fold(f, (uint16_t)slot, upto, e->ledger.ignored, &e->ledger.tally, visitor);
}

void sending_end_allow(struct sending_end *e, unsigned slot, uint64_t tail)
{
	sender_allow(e->sender, slot, tail + sending_end_fates(e)->window);
}

void sending_end_count(const struct sending_end *e, unsigned slot, uint64_t *sent,
		       uint64_t *refused)
{
	const struct fates *f = e->config.fates;
	uint64_t next = sender_next(e->sender, slot);

	*refused = e->refused[slot] + failed_since(f, slot, next);
	*sent = next - f->base - *refused;
}

void sending_end_describe(const struct sending_end *e, struct result *res)
{
	res->payload_bytes = e->spec->payload;
	res->frame_bytes = flow_frame_bytes(&e->flow);
	res->rate_pps = e->spec->rate_pps;
	snprintf(res->tx_mode, sizeof(res->tx_mode), "%s", sender_mode(e->sender));
}

void sending_end_books(struct sending_end *e, uint64_t in_queues, struct result *res)
{
	ledger_close(&e->ledger, in_queues, sending_end_fates(e)->stream0,
		     shape_sizes_differ(e->spec->shape) ? 0 : shape_l3_bytes(NULL, &e->flow, 0, 0),
		     res);
	if (e->traced)
		tracer_losses(&e->tracer, &e->ledger, res);
	sender_result(e->sender, res);
	if (res->duration_ns)
		res->tx_pps = (double)res->sent * 1e9 / (double)res->duration_ns;
}

void sending_end_close(struct sending_end *e)
{
	sender_close(e->sender);
	if (e->traced)
		tracer_close(&e->tracer);
	fates_unmap(&e->fates);
	netns_close(&e->ns);
}
