// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <endian.h>
#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/pace.h"
#include "host/caps.h"
#include "host/netdev.h"
#include "run/sender.h"
#include "run/solo.h"
#include "run/tracer.h"
#include "run/watch.h"
#include "run/window.h"
#include "stamp.h"

#define END_RECORDS 3
#define END_GAP_NS  20000000
#define QUIET_NS    200000000
#define SETTLE_NS   5000000000 /* in which losses on this side are seen: a neighbour not found takes 3 s */

struct sending_end {
	const struct send_spec *spec;
	const struct experiment_view *view;
	struct flow flow;
	unsigned ifindex;
	struct netns ns; /* this one, for telling our losses from those of others */
	struct tracer tracer;
	bool traced;
	struct fates fates; /* without a tracer: plain memory */
	bool moving;	    /* more numbers than the window holds */
	struct window window;
	uint64_t refused[TRACE_STREAMS]; /* of the numbers folded so far */
	struct sender_config config;
	struct sender *sender;
	struct ledger ledger;
};

static struct fates *fates_of(struct sending_end *e)
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
	const struct tracer_spec spec = {
		.streams = e->spec->threads,
		.window = window,
		.port = e->spec->to.port,
		.netns = e->ns.inum,
	};
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

static int open_sender(struct sending_end *e, struct error *err)
{
	const struct send_spec *spec = e->spec;
	double fastest = window_pps(spec->tx, spec->tuning.send.gso, false);
	double pps = spec->rate_pps > 0 ? spec->rate_pps / spec->threads : fastest;
	uint64_t each = spec->count == UINT64_MAX ? UINT64_MAX : spec->count / spec->threads + 1;
	uint64_t window = window_size(each, pps, SETTLE_NS, spec->threads);
	int rc;

	e->moving = window < each;
	window_init(&e->window, spec->threads, SETTLE_NS);
	open_tracer(e, window);
	if (!e->traced) {
		rc = fates_init(&e->fates, (uint16_t)spec->threads, window, err);
		if (!rc)
			rc = fates_map(&e->fates, -1, -1, -1, err);
		if (rc)
			return rc;
	}
	e->config = (struct sender_config){
		.ops = spec->tx,
		.flow = &e->flow,
		.ifname = spec->ifname,
		.ifindex = e->ifindex,
		.threads = spec->threads,
		.fates = fates_of(e),
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

/* Frames of a capture are sent as they are, unless they were stamped. */
static bool is_numbered(const struct send_spec *spec)
{
	return !spec->shape || !spec->shape->capture || spec->shape->capture->payload;
}

/* Numbers that are not folded yet whose send call failed. */
static uint64_t failed_since(const struct fates *f, unsigned slot, uint64_t upto)
{
	uint64_t n = 0;

	for (uint64_t i = f->tail[slot]; i < upto; i++)
		n += f->failed[fates_index(f, (uint16_t)slot, i)] != 0;
	return n;
}

/* So that a lone receiver knows where each stream ended. Best effort, hence several. */
static void say_end(const struct sending_end *e)
{
	const struct endpoint *to = &e->spec->to;
	struct sockaddr_in6 d6 = {
		.sin6_family = AF_INET6, .sin6_port = htobe16(to->port), .sin6_addr = to->ip6};
	struct sockaddr_in d4 = {
		.sin_family = AF_INET, .sin_port = htobe16(to->port), .sin_addr = to->ip4};
	bool six = to->family == AF_INET6;
	int fd = socket(to->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	for (int n = 0; n < END_RECORDS; n++) {
		for (unsigned t = 0; t < e->spec->threads; t++) {
			const struct fates *f = e->config.fates;
			uint64_t sent = sender_next(e->sender, t) - f->base;
			uint64_t refused = e->refused[t] + failed_since(f, t, f->base + sent);
			struct end_record end = {.magic = htobe16(END_MAGIC),
						 .stream = htobe16((uint16_t)(f->stream0 + t)),
						 .base = htobe64(f->base)};

			end.sent = htobe64(sent - refused);
			end.refused = htobe64(refused);
			end.check = htobe64(~((uint64_t)(f->stream0 + t) ^ f->base ^
					      (sent - refused) ^ refused));
			sendto(fd, &end, sizeof(end), 0, six ? (void *)&d6 : (void *)&d4,
			       six ? sizeof(d6) : sizeof(d4));
		}
		pace_wait(END_GAP_NS);
	}
	close(fd);
}

static bool show(const struct sending_end *e, uint64_t start)
{
	struct experiment_interval i = {.time_ns = pace_now() - start};

	for (unsigned t = 0; t < e->spec->threads; t++)
		i.sent += sender_next(e->sender, t) - e->config.fates->base;
	if (e->traced)
		i.dropped = drops_packets(e->tracer.drops);
	return !e->view->on_interval || e->view->on_interval(e->view->arg, &i);
}

/* Drops that come late: of a queueing discipline, of a neighbour that is not found. */
static void settle(const struct sending_end *e)
{
	uint64_t since = pace_now(), last = drops_packets(e->tracer.drops);

	while (pace_now() - since < QUIET_NS && !watch_tick()) {
		uint64_t now = drops_packets(e->tracer.drops);

		if (now != last)
			since = pace_now();
		last = now;
	}
}

static unsigned l3_bytes_of(const void *arg, uint16_t slot, uint64_t number)
{
	const struct sending_end *e = arg;
	unsigned header = 8 + (e->flow.family == AF_INET6 ? 40 : 20);

	return header + (e->spec->shape ? shape_payload(e->spec->shape, &e->flow, slot, number)
					: e->flow.payload);
}

/* Names the losses; those elsewhere on this host are not this side's: the receiver's namespace. */
static void name_causes(struct sending_end *e)
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

static void fold(struct sending_end *e, unsigned slot, uint64_t upto)
{
	bool shaped = e->spec->shape && e->spec->shape->n_payload;
	struct fates *f = fates_of(e);

	f->l3_bytes = shaped ? l3_bytes_of : NULL;
	f->l3_arg = e;
	e->refused[slot] += failed_since(f, slot, upto);
	fates_fold(f, (uint16_t)slot, upto, e->ledger.ignored, &e->ledger.tally, NULL);
}

/* Folds numbers old enough, and lets the sender use their places. */
static void move_window(struct sending_end *e, uint64_t now)
{
	uint64_t next[TRACE_STREAMS];
	const uint64_t *leaving;

	if (!e->moving || !window_is_due(&e->window, now))
		return;
	for (unsigned t = 0; t < e->spec->threads; t++)
		next[t] = sender_next(e->sender, t);
	leaving = window_move(&e->window, now, next);
	if (!leaving)
		return;
	name_causes(e);
	for (unsigned t = 0; t < e->spec->threads; t++) {
		if (e->traced)
			tracer_set_tail(&e->tracer, t, leaving[t]);
		fold(e, t, leaving[t]);
		sender_allow(e->sender, t, leaving[t] + fates_of(e)->window);
	}
}

static bool watch(struct sending_end *e, struct error *err)
{
	uint64_t start = pace_now(), next = start + e->spec->interval_ns;
	bool interrupted = false;

	sender_start(e->sender);
	while (!interrupted && !sender_done(e->sender)) {
		interrupted = watch_tick();
		move_window(e, pace_now());
		if (pace_now() < next)
			continue;
		interrupted |= !show(e, start);
		next += e->spec->interval_ns;
	}
	if (interrupted)
		sender_stop(e->sender);
	sender_join(e->sender, err);
	return interrupted;
}

static void close_books(struct sending_end *e, struct result *res)
{
	bool shaped = e->spec->shape && e->spec->shape->n_payload;
	struct sender_stats st;

	if (e->traced)
		settle(e);
	name_causes(e);
	for (unsigned t = 0; t < e->spec->threads; t++)
		fold(e, t, sender_next(e->sender, t));
	ledger_close(&e->ledger, 0, fates_of(e)->stream0, shaped ? 0 : l3_bytes_of(e, 0, 0), res);
	if (e->traced)
		tracer_losses(&e->tracer, &e->ledger, res);
	sender_stats(e->sender, &st);
	res->waits = st.tx.waits;
	res->wait_ns = st.tx.wait_ns;
	res->slipped_ns = st.slipped_ns;
	res->held_ns = st.held_ns;
	res->deliberate.asked = e->spec->shape && shape_has_faults(e->spec->shape);
	res->deliberate.duplicates = st.tx.duplicates;
	res->deliberate.reordered = st.tx.displaced;
	res->duration_ns = st.end_ns - st.start_ns;
	if (res->duration_ns)
		res->tx_pps = (double)res->sent * 1e9 / (double)res->duration_ns;
}

static void announce(const struct sending_end *e, struct result *res)
{
	const struct fates *f = e->config.fates;
	const struct experiment_streams streams = {f->stream0, f->streams, f->base,
						   e->config.count};

	snprintf(res->tx_mode, sizeof(res->tx_mode), "%s", sender_mode(e->sender));
	if (e->view->on_start)
		e->view->on_start(e->view->arg, NULL, NULL, res, &streams);
}

int solo_send(const struct send_spec *spec, const struct experiment_view *view, struct result *res,
	      struct error *err)
{
	struct sending_end *e = calloc(1, sizeof(*e));
	int rc;

	memset(res, 0, sizeof(*res));
	if (!e)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	e->spec = spec;
	e->view = view;
	e->ns = NETNS_NONE;
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
	res->payload_bytes = spec->payload;
	res->frame_bytes = flow_frame_bytes(&e->flow);
	res->rate_pps = spec->rate_pps;
	netns_current(&e->ns, err);
	rc = spec->tx != &tx_socket ? plan_frames(e, err) : 0;
	if (!rc && spec->shape && spec->shape->capture && spec->shape->capture->payload)
		capture_stamp(spec->shape->capture, &e->flow);
	if (!rc)
		rc = open_sender(e, err);
	if (!rc) {
		announce(e, res);
		res->interrupted = watch(e, err);
		if (is_numbered(spec))
			say_end(e);
		close_books(e, res);
		rc = err->status == STATUS_OK ? 0 : -EIO;
	}
	sender_close(e->sender);
	if (e->traced)
		tracer_close(&e->tracer);
	fates_unmap(&e->fates);
	netns_close(&e->ns);
	free(e);
	return rc;
}
