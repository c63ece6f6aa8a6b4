// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/clock.h"
#include "experiment/solo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/learned.h"
#include "experiment/receiving_end.h"
#include "base/watch.h"

#define QUIET_NS 200000000 /* after the last end record */

struct solo {
	struct receiving_end end;
	const struct experiment_view *view;
	struct learned learned;
};

static bool show(struct solo *s, uint64_t start)
{
	struct receiving_end *e = &s->end;
	struct experiment_interval i = {.time_ns = clock_now() - start,
					.delivered = receiver_delivered(e->receiver)};

	receiving_end_name(e);
	for (int c = 0; c < e->ledger.n; c++) {
		const struct ledger_cause *cause = &e->ledger.cause[c];

		if (!receiving_end_is_here(e, cause))
			continue;
		i.dropped += cause->raw.count.packets;
		i.stage[cause->named.stage].events += cause->raw.count.events;
		i.stage[cause->named.stage].packets += cause->raw.count.packets;
		i.stage[cause->named.stage].bytes += cause->raw.count.bytes;
	}
	return !s->view->on_interval || s->view->on_interval(s->view->arg, &i);
}

static bool have_all_ended(const struct receiving_end *e)
{
	const struct sink_streams *t = receiver_streams(e->receiver);

	return receiver_all_ended(e->receiver) && atomic_load(&t->n) >= e->spec->streams;
}

/* Until the count, the time, a signal, or until all senders are done and nothing more comes. */
static bool watch(struct solo *s, struct error *err)
{
	struct receiving_end *e = &s->end;
	const struct recv_spec *spec = e->spec;
	uint64_t start = clock_now(), next = start + spec->interval_ns, quiet = start, last = 0;

	for (;;) {
		uint64_t now = clock_now(), delivered = receiver_delivered(e->receiver);

		if (delivered != last || !have_all_ended(e))
			quiet = now;
		last = delivered;
		if (spec->ledger && window_is_due(&s->learned.window, now))
			receiving_end_name(e);
		learned_move(&s->learned, e->receiver, now);
		if (delivered >= spec->count ||
		    (spec->duration_ns && now - start >= spec->duration_ns))
			return false;
		if ((!spec->stay && now - quiet >= QUIET_NS) || receiver_failed(e->receiver, err))
			return false;
		if (now >= next) {
			if (!show(s, start))
				return true;
			next += spec->interval_ns;
		}
		if (watch_tick())
			return true;
	}
}

/* Which streams the slots were, and their numbers from 0. */
static void name_streams(struct result *res, const struct recv_result *out)
{
	for (unsigned i = 0; i < res->n_causes; i++) {
		struct result_cause *c = &res->cause[i];
		const struct recv_stream *s = &out->stream[c->stream];

		c->stream = s->stream;
		c->first -= s->base;
		c->last -= s->base;
	}
}

/* What the tracer counted in this namespace: sums of events, no fates. */
static void close_stages(struct receiving_end *e, struct result *res)
{
	for (int i = 0; i < e->ledger.n; i++) {
		const struct ledger_cause *c = &e->ledger.cause[i];
		struct fate_cause *f = &e->ledger.tally.cause[0][c->raw.index];

		if (receiving_end_is_here(e, c))
			f->packets = c->raw.count.packets;
		e->ledger.tally.dropped += f->packets;
	}
	ledger_close(&e->ledger, 0, 0, 0, res);
	tracer_losses(&e->tracer, &e->ledger, res);
	for (int s = 0; s < STAGE_COUNT; s++)
		res->stage[s].bytes = 0;
}

static void close_books(struct solo *s, struct recv_result *out, struct error *err)
{
	struct receiving_end *e = &s->end;
	struct result *res = &out->res;
	struct sink sum;

	receiver_stop(e->receiver);
	receiver_check_log(e->receiver, err);
	receiving_end_name(e);
	if (e->spec->ledger) {
		learned_close(&s->learned, e->receiver, out);
		ledger_close(&e->ledger, 0, 0, 0, res);
		tracer_losses(&e->tracer, &e->ledger, res);
		name_streams(res, out);
	} else if (e->traced) {
		close_stages(e, res);
	}
	receiving_end_sums(e, &sum, res);
	if (!e->spec->ledger)
		learned_close(&s->learned, e->receiver, out);
	res->delivered = sum.sums.delivered;
	out->received = sum.sums.delivered + sum.sums.duplicated + sum.sums.late;
	res->duration_ns = sum.sums.last_ns - sum.sums.first_ns;
}

static void announce(const struct solo *s, struct result *res)
{
	const struct tuning *tuning = &s->end.spec->tuning;
	const struct worker_group threads = {&tuning->rx, -1, s->end.config.threads};
	const char *warning = tuning->rt ? worker_rt_warning(&threads, 1) : NULL;
	char note[256];

	if (!s->end.traced && s->view->on_note) {
		snprintf(note, sizeof(note), "losses on this side are not traced: %.200s",
			 s->end.untraced.message);
		s->view->on_note(s->view->arg, note);
	}
	if (warning && s->view->on_note)
		s->view->on_note(s->view->arg, warning);
	snprintf(res->rx_mode, sizeof(res->rx_mode), "%s", receiver_mode(s->end.receiver));
	if (s->end.spec->ledger)
		snprintf(res->rx_host.place, sizeof(res->rx_host.place), "%s",
			 receiving_end_place(&s->end));
	if (s->view->on_start)
		s->view->on_start(s->view->arg, NULL, NULL, res, NULL);
}

int solo_recv(const struct recv_spec *spec, const struct experiment_view *view,
	      struct recv_result *out, struct error *err)
{
	struct solo *s = calloc(1, sizeof(*s));
	int rc;

	memset(out, 0, sizeof(*out));
	if (!s)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	s->view = view;
	learned_init(&s->learned, spec->rx == &rx_xdp ? LEARNED_XDP_NS : LEARNED_SETTLE_NS);
	rc = receiving_end_open(&s->end, spec, err);
	if (!rc && spec->ledger)
		learned_tell(&s->learned, &s->end.tracer.fates, &s->end.ledger, s->end.receiver,
			     view);
	if (!rc) {
		announce(s, &out->res);
		out->res.interrupted = watch(s, err);
		close_books(s, out, err);
		out->closed = true;
		rc = err->status == STATUS_OK ? 0 : -EIO;
	}
	receiving_end_close(&s->end);
	free(s);
	return rc;
}
