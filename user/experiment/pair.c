// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "experiment/client.h"
#include "experiment/pair_parts.h"
#include "experiment/ports.h"
#include "experiment/settle.h"
#include "base/watch.h"

#define QUIET_NS    200000000  /* what the far end told last may be as old */
#define ASK_NS	    1000000000 /* at least so often, that the server knows that we live */
#define ASK_SOON_NS 20000000

static bool ask(struct pair *p, enum peer_question what, struct error *err)
{
	return !peer_ask(p->peer, what, &p->far_status, err);
}

/* Numbers that leave the window are told by the far end first, then folded here. */
static int fold_upto(struct pair *p, const uint64_t *upto, struct error *err)
{
	struct peer_fold fold = {};
	int rc;

	for (unsigned t = 0; t < p->spec->threads; t++)
		fold.upto[t] = upto[t];
	near_prepare(p->near, fold.upto);
	rc = peer_fold(p->peer, &fold, &p->teller, err);
	pair_fold(p, fold.upto, !rc);
	return rc;
}

/*
 * Where the streams were when what is before that had to settle; NULL: nothing is as old. The far
 * end tells of that while it goes on, so that it is known should the connection be lost.
 */
static const uint64_t *leaving(struct pair *p)
{
	const uint64_t *numbers;

	if (p->near->sends) {
		numbers = sending_end_leaving(&p->near->tx, clock_now());
		for (unsigned t = 0; numbers && t < p->spec->threads; t++)
			p->upto[t] = numbers[t] - near_fates(p->near)->base;
		return numbers ? p->upto : NULL;
	}
	if (!window_is_due(&p->window, clock_now()))
		return NULL;
	return window_move(&p->window, clock_now(), p->far_status.next);
}

static bool show(struct pair *p, uint64_t start, bool settling)
{
	struct experiment_interval i = {.time_ns = clock_now() - start, .settling = settling};
	struct peer_status near;
	const struct peer_status *tx = &near, *rx = &p->far_status;

	if (!p->view->on_interval)
		return true;
	near_status(p->near, &near);
	if (!p->near->sends) {
		tx = &p->far_status;
		rx = &near;
	}
	for (unsigned t = 0; t < p->spec->threads; t++)
		i.sent += tx->next[t];
	i.delivered = rx->delivered;
	i.dropped = near.dropped + p->far_status.dropped;
	/* what this host spends */
	if (p->near->sends)
		i.tx_cpu_ns = sender_cpu_ns(p->near->tx.sender);
	else
		i.rx_cpu_ns = receiver_cpu_ns(p->near->rx.receiver);
	i.memory_bytes = experiment_memory();
	return p->view->on_interval(p->view->arg, &i);
}

static bool is_sending(struct pair *p)
{
	return p->near->sends ? !sender_done(p->near->tx.sender) : p->far_status.running;
}

/* Watches until sending is over. Returns true if a signal ended it. */
static bool watch(struct pair *p, struct error *err)
{
	uint64_t start = clock_now(), next = start + p->spec->interval_ns, asked = start;
	uint64_t every = p->near->sends ? ASK_NS : ASK_SOON_NS;
	bool interrupted = false;

	while (!interrupted && !peer_is_lost(p->peer) && is_sending(p)) {
		const uint64_t *upto;
		uint64_t now;

		interrupted = watch_tick();
		upto = leaving(p);
		if (upto)
			fold_upto(p, upto, err);
		now = clock_now();
		if (now - asked >= every || (now >= next && p->spec->interval_ns)) {
			ask(p, PEER_STATUS, err);
			asked = now;
		}
		if (p->spec->interval_ns && now >= next) {
			interrupted |= !show(p, start, false);
			next += p->spec->interval_ns;
		}
		if (!p->near->sends && receiver_failed(p->near->rx.receiver, err))
			break;
	}
	return interrupted;
}

/* Sending ends: here at once, there when it is asked to. */
static void end_sending(struct pair *p, struct error *err)
{
	if (p->near->sends)
		near_stop(p->near, err);
	else if (!ask(p, PEER_STOP,
		      err)) /* an engine failed: how far it came is known all the same */
		ask(p, PEER_STATUS, err);
}

/* What each stream came to: as its sender knows, or knew last. */
static void reached(struct pair *p, uint64_t *upto)
{
	for (unsigned t = 0; t < p->spec->threads; t++)
		upto[t] = p->near->sends
				  ? sender_next(p->near->tx.sender, t) - near_fates(p->near)->base
				  : p->far_status.next[t];
}

struct settling_pair {
	struct pair *pair;
	uint64_t asked_ns, fates;
	struct peer_status near;
	struct error *err;
};

static bool count_fates(void *arg, uint64_t *fates)
{
	struct settling_pair *s = arg;
	const struct peer_status *far = &s->pair->far_status;
	uint64_t now = clock_now();

	if (now - s->asked_ns >= ASK_SOON_NS) {
		ask(s->pair, PEER_STATUS, s->err);
		s->asked_ns = now;
	}
	near_status(s->pair->near, &s->near);
	*fates = s->fates = s->near.delivered + s->near.dropped + far->delivered + far->dropped;
	return !peer_is_lost(s->pair->peer);
}

/* By their sum: which numbers they are of is told when the books close. */
static bool are_as_many(void *arg)
{
	const struct settling_pair *s = arg;
	uint64_t upto[TRACE_STREAMS] = {}, sent = 0;

	reached(s->pair, upto);
	for (unsigned t = 0; t < s->pair->spec->threads; t++)
		sent += upto[t];
	return s->fates == sent;
}

static bool are_idle(void *arg)
{
	const struct settling_pair *s = arg;

	return s->near.idle && s->pair->far_status.idle;
}

static void show_settling(void *arg, uint64_t start, uint64_t now)
{
	const struct settling_pair *s = arg;

	(void)now;
	show(s->pair, start, true);
}

static bool settle(struct pair *p, struct error *err)
{
	struct settling_pair pair = {.pair = p, .err = err};

	return settle_wait(&(struct settling){
		.most_ns = p->spec->settle_ns,
		.silent_ns = SETTLE_SILENT_NS, /* the wire */
		.interval_ns = p->spec->interval_ns,
		.fates = count_fates,
		.complete = are_as_many,
		.quiet_ns = QUIET_NS,
		.idle = are_idle,
		.show = show_settling,
		.arg = &pair,
	});
}

static void close_books(struct pair *p, struct result *res, struct error *err)
{
	uint64_t upto[TRACE_STREAMS] = {};
	struct result *far = calloc(1, sizeof(*far));

	if (p->near->sends)
		ask(p, PEER_STOP, err);
	else
		near_stop(p->near, err);
	reached(p, upto);
	fold_upto(p, upto, err);
	if (far && !peer_end(p->peer, far, err))
		p->far_end = far;
	pair_close(p, res);
	free(far);
}

static int open_both(struct pair *p, struct error *err)
{
	struct peer_plan plan;
	int rc = pair_fill(p, &plan, err);

	if (!rc)
		rc = near_open(p->near, !p->spec->reverse, err);
	if (rc)
		return rc;
	pair_ready(p, &plan);
	rc = peer_plan(p->peer, &plan, &p->far_ready, err);
	return rc ? rc : peer_clock(p->peer, &p->clock.offset_ns, &p->clock.error_ns, err);
}

int pair_run(const struct run_spec *spec, const struct experiment_view *view, struct result *res,
	     struct error *err)
{
	struct pair *p = pair_new(spec, view);
	int rc = -ENOMEM;

	memset(res, 0, sizeof(*res));
	if (!p)
		return error_set(err, STATUS_FAILED, rc, NULL, "out of memory");
	rc = open_both(p, err);
	if (!rc) {
		pair_announce(p, res);
		if (p->near->sends)
			near_start(p->near);
		if (ask(p, PEER_START, err))
			res->interrupted = watch(p, err);
		end_sending(p, err);
		res->interrupted |= settle(p, err);
		close_books(p, res, err);
		rc = err->status == STATUS_OK ? 0 : -EIO;
	}
	pair_free(p);
	return rc;
}
