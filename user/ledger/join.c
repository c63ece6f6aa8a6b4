// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/join.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

#define LOWEST 128 /* more causes than expected at one site */

enum outcome join_decide(enum outcome tx, enum outcome rx)
{
	bool came = rx >= OUTCOME_SEEN;

	if (tx == OUTCOME_IMPOSSIBLE || (tx == OUTCOME_GAP && came))
		return OUTCOME_IMPOSSIBLE;
	if (tx == OUTCOME_GAP || rx == OUTCOME_DELIVERED)
		return tx == OUTCOME_GAP ? tx : rx;
	if (rx == OUTCOME_GIVEN_UP && tx == OUTCOME_SEEN)
		return OUTCOME_WIRE;
	if (rx == OUTCOME_DROPPED || rx == OUTCOME_GIVEN_UP || tx == OUTCOME_DROPPED)
		return OUTCOME_DROPPED;
	if (tx == OUTCOME_REFUSED && !came)
		return OUTCOME_REFUSED;
	return tx == OUTCOME_SEEN && rx == OUTCOME_NOTHING ? OUTCOME_WIRE : OUTCOME_OPEN;
}

bool join_believes_receiver(enum outcome tx, enum outcome rx)
{
	return rx == OUTCOME_DROPPED || (rx == OUTCOME_GIVEN_UP && tx != OUTCOME_DROPPED);
}

uint64_t join_to(struct join_walk *w, uint16_t stream, uint64_t number)
{
	const struct range *r;

	w->now = NULL;
	for (;; w->at++) {
		if (w->at == w->n && !(w->more && w->more(w->arg, w)))
			return UINT64_MAX;
		r = &w->range[w->at];
		if (r->stream > stream)
			return UINT64_MAX;
		if (r->stream == stream && r->last + w->base >= number)
			break;
	}
	if (r->first + w->base > number)
		return r->first + w->base - 1;
	w->now = r;
	return r->last + w->base;
}

void join_init(struct join *j, const struct outcomes *outcomes, bool remote_receives)
{
	memset(j, 0, sizeof(*j));
	j->outcomes = outcomes;
	j->remote_receives = remote_receives;
	j->lowest = JOIN_WIRE;
	j->cause_of[TRACE_CAUSE_FULL] = TRACE_CAUSE_FULL;
}

uint8_t join_cause(struct join *j, uint8_t remote_cause)
{
	uint8_t *here = &j->cause_of[remote_cause];

	if (!*here)
		*here = j->lowest > LOWEST ? --j->lowest : TRACE_CAUSE_FULL;
	return *here;
}

/* Returns the outcome that a site reports for a range, or how far an open range was seen there. */
static enum outcome claim(const struct range *r, bool receives)
{
	const unsigned seen = r->detail & SEEN_MASK;

	if (r->outcome == OUTCOME_DROPPED && receives && r->detail == TRACE_CAUSE_GIVEN_UP)
		return OUTCOME_GIVEN_UP;
	if (r->outcome != OUTCOME_OPEN)
		return r->outcome;
	if (receives)
		return seen > SEEN_TX_DEVICE ? OUTCOME_SEEN : OUTCOME_NOTHING;
	return seen == SEEN_TX_DEVICE ? OUTCOME_SEEN : OUTCOME_OPEN;
}

/* Returns the last probe passed at both sites. The receiver's probes come after the sender's. */
static uint16_t seen_by_both(const struct range *here, const struct range *there)
{
	const unsigned a = here->outcome == OUTCOME_OPEN ? here->detail : 0;
	const unsigned b = there && there->outcome == OUTCOME_OPEN ? there->detail : 0;
	const unsigned on_init = (a | b) & SEEN_ON_INIT;

	return (uint16_t)(on_init | ((a & SEEN_MASK) < (b & SEEN_MASK) ? b & SEEN_MASK
								       : a & ~SEEN_ON_INIT));
}

static void decide(const struct join *j, const struct range *here, const struct range *there,
		   struct range *out)
{
	const enum outcome local = claim(here, !j->remote_receives);
	const enum outcome remote = there ? claim(there, j->remote_receives) : OUTCOME_OPEN;
	const enum outcome tx = j->remote_receives ? local : remote;
	const enum outcome rx = j->remote_receives ? remote : local;
	const bool theirs = j->remote_receives == join_believes_receiver(tx, rx);

	out->outcome = join_decide(tx, rx);
	out->detail = 0;
	if (out->outcome == OUTCOME_OPEN)
		out->detail = seen_by_both(here, there);
	else if (out->outcome == OUTCOME_REFUSED)
		out->detail = j->remote_receives ? here->detail : there->detail;
	else if (out->outcome == OUTCOME_DROPPED)
		out->detail = theirs ? j->cause_of[there->detail] : here->detail;
	if (out->outcome != OUTCOME_WIRE)
		return;
	out->outcome = OUTCOME_DROPPED;
	out->detail = JOIN_WIRE;
}

void join_here(struct join *j, const struct range *here, const struct range_visitor *visitor)
{
	struct range out = *here;

	for (; out.first <= here->last; out.first = out.last + 1) {
		out.last = smaller(here->last, join_to(&j->there, here->stream, out.first));
		decide(j, here, j->there.now, &out);
		visitor->range(visitor->arg, &out);
	}
}

static bool can_report(const struct join *j, const struct range *r)
{
	switch (r->outcome) {
	case OUTCOME_DELIVERED:
		return j->remote_receives && !r->detail;
	case OUTCOME_DROPPED:
		return r->detail < TRACE_CAUSES && j->cause_of[r->detail];
	case OUTCOME_REFUSED:
		return !j->remote_receives && r->detail;
	case OUTCOME_OPEN:
		return (r->detail & SEEN_MASK) <=
		       (j->remote_receives ? SEEN_SOCKET : SEEN_TX_DEVICE);
	default:
		return false;
	}
}

int join_check(const struct join *j, const struct range *r)
{
	const struct outcomes *f = j->outcomes;
	uint64_t tail;

	if (r->stream >= f->streams || r->first > r->last || !can_report(j, r))
		return -EBADMSG;
	tail = f->tail[r->stream] - f->base;
	return r->first < tail || r->last - tail >= f->window ? -EBADMSG : 0;
}
