// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/learned.h"

#include "ledger/ledger.h"

#define LOOK_AHEAD (1 << 16) /* numbers, beyond the highest that is known, between two moves */

void learned_init(struct learned *l, uint64_t settle_ns)
{
	*l = (struct learned){};
	window_init(&l->window, TRACE_STREAMS, settle_ns);
}

uint64_t learned_window(unsigned streams)
{
	uint64_t window = LEARNED_WINDOW_BYTES, most = window_most(streams);

	while (window > LEARNED_WINDOW_BYTES / streams || window > most)
		window /= 2;
	return window < TRACE_PAGE_SIZE ? TRACE_PAGE_SIZE : window;
}

void learned_tell(struct learned *l, struct fates *fates, struct ledger *ledger, struct receiver *r,
		  const struct experiment_view *view)
{
	l->fates = fates;
	l->ledger = ledger;
	l->streams = receiver_streams(r);
	l->view = view;
}

static void tell(const struct learned *l, unsigned slot, uint64_t first, uint64_t last,
		 const char *fate, const struct result_cause *cause)
{
	l->view->on_fates(l->view->arg, l->streams->at[slot].id, first, last, fate, cause);
}

static void tell_run(void *arg, uint16_t slot, uint64_t first, uint64_t last, enum fate fate,
		     uint8_t detail)
{
	const struct ledger_cause *c;
	struct learned *l = arg;

	if (fate == FATE_OPEN && !(detail & SEEN_MASK)) {
		if (l->at[slot].blind)
			tell(l, slot, first, last, "unknown", NULL);
		return;
	}
	l->at[slot].blind = false;
	c = fate == FATE_DROPPED ? ledger_cause(l->ledger, detail) : NULL;
	tell(l, slot, first, last, fate == FATE_OPEN ? "came" : fate_name(fate),
	     c ? &c->named : NULL);
}

/* Counts arrivals and empties them, or all that is known of these numbers. */
static void fold(struct learned *l, struct sink_streams *t, unsigned i, uint64_t from,
		 uint64_t upto)
{
	const struct fates_visitor visitor = {tell_run, l};

	if (l->fates)
		fates_fold(l->fates, (uint16_t)i, upto, l->ledger->ignored, &l->ledger->tally,
			   &visitor);
	else
		sink_streams_empty(t, i, from, upto);
}

/* Numbers that have left the window. */
static void settle(struct learned *l, struct sink_streams *t, unsigned i, uint64_t from,
		   uint64_t upto)
{
	const struct sink_stream *st = &t->at[i];
	struct learned_stream *s = &l->at[i];

	for (uint64_t number = from; number < upto; number++) {
		bool arrived = st->arrivals[number & (t->window - 1)];

		s->delivered += arrived;
		if (arrived) {
			gaps_note(&l->gaps, s->missing);
			s->missing = 0;
		} else {
			s->missing++;
		}
	}
	s->counted = upto;
	fold(l, t, i, from, upto);
}

static void count(struct learned *l, struct sink_streams *t, unsigned i, uint64_t upto)
{
	const struct sink_stream *st = &t->at[i];
	struct learned_stream *s = &l->at[i];
	uint64_t from = atomic_load(&st->tail);

	if (!s->counted) { /* numbers before what is looked at were missed */
		s->missing = from - st->base;
		s->counted = s->first = from;
		if (l->fates)
			l->fates->tail[i] = from;
	}
	if (upto <= from)
		return;
	sink_streams_set_tail(t, i, upto);
	settle(l, t, i, from, upto);
}

/*
 * More was lost at a stretch than the window holds: it goes on where the stream is now. Until all
 * that is in it has been settled nothing new gets in, for it would be taken for what was there.
 */
static void jump(struct learned *l, struct sink_streams *t, unsigned i, uint64_t ahead)
{
	struct learned_stream *s = &l->at[i];
	uint64_t from = atomic_load(&t->at[i].tail), end = from + t->window;
	uint64_t to = ahead - t->window / 2;

	sink_streams_set_tail(t, i, t->at[i].base | UINT32_MAX);
	settle(l, t, i, from, end);
	if (to > end) {
		s->missing += to - end;
		tell(l, i, end, to - 1, "unknown", NULL);
	} else {
		to = end;
	}
	s->next = s->counted = l->fates->tail[i] = to;
	s->blind = true;
	sink_streams_set_tail(t, i, to);
}

/* Beyond the highest number of which anything is known; of what came and died, too. */
static uint64_t next_of(struct learned *l, const struct receiver *r, unsigned i, uint64_t most)
{
	uint64_t next = receiver_next(r, i), from;

	if (!l->fates)
		return next;
	from = next > l->at[i].next ? next : l->at[i].next;
	if (from < l->fates->tail[i])
		from = l->fates->tail[i];
	return l->at[i].next = fates_highest(l->fates, (uint16_t)i, from, most);
}

/* A window that fills before its time is made room in. */
static uint64_t crowded(const struct learned *l, const struct sink_streams *t, unsigned i,
			uint64_t next)
{
	uint64_t tail = atomic_load(&t->at[i].tail);

	return l->fates && next > tail + t->window / 2 ? next - t->window / 4 : 0;
}

void learned_move(struct learned *l, struct receiver *r, uint64_t now_ns)
{
	struct sink_streams *t = receiver_streams(r);
	uint64_t next[TRACE_STREAMS] = {};
	const uint64_t *leaving;
	unsigned n;

	if (!window_is_due(&l->window, now_ns))
		return;
	sink_streams_sync(t);
	n = atomic_load(&t->n);
	for (unsigned i = 0; i < n; i++) {
		uint64_t ahead = atomic_exchange(&t->at[i].ahead, 0);

		count(l, t, i, 0);
		if (ahead)
			jump(l, t, i, ahead);
		next[i] = next_of(l, r, i, LOOK_AHEAD);
	}
	leaving = window_move(&l->window, now_ns, next);
	for (unsigned i = 0; i < n; i++) {
		uint64_t upto = crowded(l, t, i, next[i]);

		count(l, t, i, leaving && leaving[i] > upto ? leaving[i] : upto);
	}
}

/* What is known of a stream at its end. */
static struct recv_stream describe(const struct learned_stream *s, const struct sink_stream *st,
				   uint64_t next)
{
	bool ended = atomic_load(&st->ended);
	uint64_t base = ended ? st->end_base : st->base;

	return (struct recv_stream){
		.stream = st->id,
		.base = base,
		.first = s->first - base,
		.delivered = s->delivered,
		.highest = next > base ? next - base : 0,
		.ended = ended,
		.sent = st->end_sent,
		.refused = st->end_refused,
	};
}

void learned_close(struct learned *l, struct receiver *r, struct recv_result *out)
{
	struct sink_streams *t = receiver_streams(r);

	sink_streams_sync(t);
	out->streams = atomic_load(&t->n);
	out->tail_known = out->streams > 0;
	for (unsigned i = 0; i < out->streams; i++) {
		uint64_t known, next = receiver_next(r, i);
		struct recv_stream *s = &out->stream[i];

		count(l, t, i, 0);
		count(l, t, i, l->fates ? next_of(l, r, i, UINT64_MAX) : next);
		*s = describe(&l->at[i], &t->at[i], next);
		s->timed = receiver_fastest(r, i, &s->fastest_ns);
		known = s->ended ? s->sent : s->highest;
		out->lost += known > s->delivered ? known - s->delivered : 0;
		if (s->ended && s->sent + s->refused > s->highest)
			out->lost_tail += s->sent + s->refused - s->highest;
		out->tail_known &= s->ended;
	}
	out->res.arrivals.gaps = l->gaps;
}
