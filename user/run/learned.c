// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/learned.h"

void learned_init(struct learned *l, uint64_t settle_ns)
{
	*l = (struct learned){};
	window_init(&l->window, TRACE_STREAMS, settle_ns);
}

static void count(struct learned *l, struct sink_streams *t, unsigned i, uint64_t upto)
{
	const struct sink_stream *st = &t->at[i];
	struct learned_stream *s = &l->at[i];
	uint64_t from = atomic_load(&st->tail), number;

	if (!s->counted) { /* numbers before what is looked at were missed */
		s->missing = from - st->base;
		s->counted = from;
	}
	if (upto <= from)
		return;
	sink_streams_set_tail(t, i, upto);
	for (number = from; number < upto; number++) {
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
	sink_streams_empty(t, i, from, upto);
}

void learned_move(struct learned *l, struct receiver *r, uint64_t now_ns)
{
	struct sink_streams *t = receiver_streams(r);
	uint64_t next[TRACE_STREAMS] = {};
	unsigned n = atomic_load(&t->n);
	const uint64_t *leaving;

	if (!window_is_due(&l->window, now_ns))
		return;
	for (unsigned i = 0; i < n; i++)
		next[i] = receiver_next(r, i);
	leaving = window_move(&l->window, now_ns, next);
	for (unsigned i = 0; leaving && i < n; i++)
		count(l, t, i, leaving[i]);
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

	out->streams = atomic_load(&t->n);
	out->tail_known = out->streams > 0;
	for (unsigned i = 0; i < out->streams; i++) {
		uint64_t known, next = receiver_next(r, i);
		struct recv_stream *s = &out->stream[i];

		count(l, t, i, next);
		*s = describe(&l->at[i], &t->at[i], next);
		known = s->ended ? s->sent : s->highest;
		out->lost += known > s->delivered ? known - s->delivered : 0;
		if (s->ended && s->sent + s->refused > s->highest)
			out->lost_tail += s->sent + s->refused - s->highest;
		out->tail_known &= s->ended;
	}
	out->res.arrivals.gaps = l->gaps;
}
