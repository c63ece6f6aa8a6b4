// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "traffic/pace.h"
#include "experiment/sending_end.h"
#include "experiment/solo.h"
#include "base/watch.h"
#include "stamp.h"

#define END_RECORDS   3
#define END_GAP_NS    20000000
#define QUIET_NS      200000000
#define SETTLE_MAX_NS 5000000000 /* for a queue that drains */

struct solo {
	struct sending_end end;
	const struct experiment_view *view;
};

/* Frames of a capture are sent as they are, unless they were stamped. */
static bool is_numbered(const struct send_spec *spec)
{
	return !spec->shape || !spec->shape->capture || spec->shape->capture->payload;
}

static struct end_record end_of(const struct sending_end *e, unsigned slot)
{
	const struct fates *f = e->config.fates;
	uint64_t sent, refused;

	sending_end_count(e, slot, &sent, &refused);
	return (struct end_record){
		.magic = htobe16(END_MAGIC),
		.stream = htobe16((uint16_t)(f->stream0 + slot)),
		.base = htobe64(f->base),
		.sent = htobe64(sent),
		.refused = htobe64(refused),
		.check = htobe64(~((uint64_t)(f->stream0 + slot) ^ f->base ^ sent ^ refused)),
	};
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
	struct error ignored = {};
	int fd = socket(to->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	socket_bind_device(fd, e->spec->tuning.send.device, &ignored);
	for (int n = 0; n < END_RECORDS; n++) {
		for (unsigned t = 0; t < e->spec->threads; t++) {
			struct end_record end = end_of(e, t);

			sendto(fd, &end, sizeof(end), 0, six ? (void *)&d6 : (void *)&d4,
			       six ? sizeof(d6) : sizeof(d4));
		}
		pace_wait(END_GAP_NS);
	}
	close(fd);
}

static bool show(const struct solo *s, uint64_t start)
{
	const struct sending_end *e = &s->end;
	struct experiment_interval i = {.time_ns = clock_now() - start};

	for (unsigned t = 0; t < e->spec->threads; t++)
		i.sent += sender_next(e->sender, t) - e->config.fates->base;
	if (e->traced)
		i.dropped = drops_packets(e->tracer.drops);
	return !s->view->on_interval || s->view->on_interval(s->view->arg, &i);
}

/* Of an end with a border: packets that have not left yet, and will. */
static bool holds_packets(const struct sending_end *e)
{
	return e->spec->border && (sending_end_queued(e) || sending_end_is_asking(e));
}

/* Drops that come late: of a queueing discipline, of a neighbour that is not found. */
static void settle(const struct sending_end *e)
{
	uint64_t start = clock_now(), since = start, last = drops_packets(e->tracer.drops);

	while (clock_now() - since < QUIET_NS && !watch_tick()) {
		uint64_t now = drops_packets(e->tracer.drops);

		if (now != last || (holds_packets(e) && clock_now() - start < SETTLE_MAX_NS))
			since = clock_now();
		last = now;
	}
}

static void tell_run(void *arg, uint16_t slot, uint64_t first, uint64_t last, enum fate fate,
		     uint8_t detail)
{
	const struct solo *s = arg;
	const struct ledger_cause *c =
		fate == FATE_DROPPED ? ledger_cause(&s->end.ledger, detail) : NULL;
	bool left = fate == FATE_OPEN && (detail & SEEN_MASK);

	s->view->on_fates(s->view->arg, (uint16_t)(s->end.config.fates->stream0 + slot), first,
			  last, left ? "left" : fate_name(fate), c ? &c->named : NULL);
}

/* Tells the fates, if anybody wants to know them. */
static void fold(struct solo *s, unsigned t, uint64_t upto)
{
	const struct fates_visitor visitor = {tell_run, s};
	bool told = s->end.spec->border && s->view->on_fates;

	if (told)
		sending_end_note_handed(&s->end, t, upto);
	sending_end_fold(&s->end, t, upto, told ? &visitor : NULL);
}

/* Folds numbers old enough, and lets the sender use their places. */
static void move_window(struct solo *s)
{
	struct sending_end *e = &s->end;
	const uint64_t *leaving = sending_end_leaving(e, clock_now());

	if (!leaving)
		return;
	sending_end_name(e);
	for (unsigned t = 0; t < e->spec->threads; t++) {
		fold(s, t, leaving[t]);
		sending_end_allow(e, t, leaving[t]);
	}
}

static bool watch(struct solo *s, struct error *err)
{
	struct sending_end *e = &s->end;
	uint64_t start = clock_now(), next = start + e->spec->interval_ns;
	bool interrupted = false;

	sender_start(e->sender);
	while (!interrupted && !sender_done(e->sender)) {
		interrupted = watch_tick();
		move_window(s);
		if (clock_now() < next)
			continue;
		interrupted |= !show(s, start);
		next += e->spec->interval_ns;
	}
	if (interrupted)
		sender_stop(e->sender);
	sender_join(e->sender, err);
	return interrupted;
}

static void close_books(struct solo *s, struct result *res)
{
	struct sending_end *e = &s->end;

	if (e->traced)
		settle(e);
	sending_end_name(e);
	for (unsigned t = 0; t < e->spec->threads; t++)
		fold(s, t, sender_next(e->sender, t));
	sending_end_books(e, 0, res);
}

static void announce(const struct solo *s, struct result *res)
{
	const struct fates *f = s->end.config.fates;
	const struct experiment_streams streams = {f->stream0, f->streams, f->base,
						   s->end.config.count};
	const struct send_spec *send = s->end.spec;
	const struct worker_group threads = {&send->tuning.tx, -1, send->threads};
	const char *warning;
	char note[256];

	if (!s->end.traced && s->view->on_note) {
		snprintf(note, sizeof(note), "losses on this side are not traced: %.200s",
			 s->end.untraced.message);
		s->view->on_note(s->view->arg, note);
	}
	sending_end_describe(&s->end, res);
	if (s->end.spec->border)
		snprintf(res->tx_host.place, sizeof(res->tx_host.place), "%s",
			 sending_end_place(&s->end));
	warning = send->tuning.rt ? worker_rt_warning(&threads, 1) : NULL;
	if (warning && s->view->on_note)
		s->view->on_note(s->view->arg, warning);
	if (s->view->on_start)
		s->view->on_start(s->view->arg, NULL, NULL, res, &streams);
}

int solo_send(const struct send_spec *spec, const struct experiment_view *view, struct result *res,
	      struct error *err)
{
	struct solo *s = calloc(1, sizeof(*s));
	int rc;

	memset(res, 0, sizeof(*res));
	if (!s)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	s->view = view;
	rc = sending_end_open(&s->end, spec, err);
	if (!rc && spec->border && !s->end.traced) {
		*err = s->end.untraced;
		rc = -EPERM;
	}
	if (!rc) {
		announce(s, res);
		res->interrupted = watch(s, err);
		if (is_numbered(spec))
			say_end(&s->end);
		close_books(s, res);
		rc = err->status == STATUS_OK ? 0 : -EIO;
	}
	sending_end_close(&s->end);
	free(s);
	return rc;
}
