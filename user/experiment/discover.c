// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Discovers a single receiver's streams from arriving packets. Numbers older than the --settle time
 * are counted and forgotten, and streams that have ended make room for others, so memory use does
 * not grow over time. Numbers in forged packets affect neither memory use nor CPU time.
 */
#include "experiment/site.h"

#include <string.h>

#include "base/mem.h"
#include "experiment/settle.h"

#define LOOK_AHEAD    (1 << 16) /* numbers above the highest known number, between two moves of
				 * the window */
#define EIGHT	      8
#define ARRIVED_8     0x0101010101010101ULL
#define SETTLE_NS     5000000000
#define SETTLE_XDP_NS 1000000000 /* ns, the time in which SINK_WINDOW fills at 14 Mpps */
#define SPARE	      16	 /* slots that streams which have ended leave to new streams */
#define SILENT_NS                                                                                  \
	10000000000 /* ns, silence after which a stream that has not ended loses its               \
		     * slot if no slot is free */

/*
 * Size of each map that holds a ledger's outcomes. A number takes one byte, and all streams have
 * equal parts.
 */
#define WINDOW_BYTES (1ULL << 25)

struct discovery {
	struct window window;
	struct discovered {
		uint64_t counted;   /* numbers below are counted, 0: none counted yet */
		uint64_t first;	    /* numbers below were not examined */
		uint64_t delivered; /* how many of these were delivered */
		uint64_t missing;   /* the current run of undelivered numbers */
		uint64_t next;	    /* highest recorded number at the last check, plus 1 */
		bool blind; /* some received numbers were not recorded, up to the first recorded
			     * number */
		uint64_t grew_ns; /* ns, when `next` last grew */
	} at[TRACE_STREAMS];
	struct gaps gaps;
	struct site *site;
	const struct experiment_view *view;
	struct recv_result *out; /* has the streams that lost their slots, and their sums */
	bool unended;		 /* a stream among out->streams_more has not ended */
};

struct discovery *discover_new(struct site *s, const struct experiment_view *view,
			       struct recv_result *out)
{
	struct discovery *d = mem_new(d);

	d->site = s;
	d->view = view;
	d->out = out;
	window_init(&d->window, TRACE_STREAMS, s->spec->rx == &rx_xdp ? SETTLE_XDP_NS : SETTLE_NS);
	return d;
}

uint64_t discover_window(unsigned streams)
{
	uint64_t window = WINDOW_BYTES, most = window_most(streams);

	while (window > WINDOW_BYTES / streams || window > most)
		window /= 2;
	return window < TRACE_PAGE_SIZE ? TRACE_PAGE_SIZE : window;
}

static struct outcomes *outcomes_of(const struct discovery *d)
{
	return &d->site->tracer.outcomes;
}

/* Reports numbers under the stream's name from the sequence header, which receivers know. */
static void report(const struct discovery *d, struct range r, const char *outcome,
		   const struct result_cause *cause)
{
	r.stream = receiver_streams(d->site->receiver)->at[r.stream].id;
	d->view->on_range(d->view->arg, &r, outcome, cause);
}

static void report_range(void *arg, const struct range *r)
{
	const bool open = r->outcome == OUTCOME_OPEN;
	const struct ledger_cause *c;
	struct discovery *d = arg;

	tally_add(&d->site->ledger.tally, outcomes_of(d), r);
	if (open && !(r->detail & SEEN_MASK)) {
		if (d->at[r->stream].blind)
			report(d, *r, "unknown", NULL);
		return;
	}
	d->at[r->stream].blind = false;
	c = r->outcome == OUTCOME_DROPPED ? ledger_cause(&d->site->ledger, (uint8_t)r->detail)
					  : NULL;
	report(d, *r, open ? "came" : outcome_name(r->outcome), c ? &c->named : NULL);
}

static void note(struct discovery *d, struct discovered *s, bool arrived, uint64_t n)
{
	if (!arrived) {
		s->missing += n;
		return;
	}
	s->delivered += n;
	gaps_note(&d->gaps, s->missing);
	s->missing = 0;
}

/*
 * Resolves numbers that left the window, at most as many as the window holds. Counts and clears
 * arrivals, or all records for these numbers.
 */
static void settle(struct discovery *d, struct sink_streams *t, unsigned i, uint64_t from,
		   uint64_t upto)
{
	const struct range_visitor visitor = {report_range, d};
	const uint8_t *arrivals = t->at[i].arrivals;
	struct discovered *s = &d->at[i];
	uint64_t number = from;

	while (number < upto) {
		size_t at = number & (t->window - 1);
		const uint64_t *eight = (const void *)(arrivals + at);

		if (!(at % EIGHT) && upto - number >= EIGHT && (!*eight || *eight == ARRIVED_8)) {
			note(d, s, *eight, EIGHT);
			number += EIGHT;
			continue;
		}
		note(d, s, arrivals[at], 1);
		number++;
	}
	s->counted = upto;
	if (!d->site->by_number) {
		sink_streams_empty(t, i, from, upto);
		return;
	}
	site_note_given_up(d->site, i, upto);
	outcomes_fold(outcomes_of(d), (uint16_t)i, upto, d->site->ledger.ignored, &visitor);
}

static uint64_t lost_of(const struct recv_stream *s)
{
	const uint64_t known = s->ended ? s->sent : s->highest;

	return known - smaller(s->delivered, known);
}

/* Removes a stream that has lost its slot, so that another or the same can be added. */
static void take_stream(struct recv_result *out, unsigned k)
{
	out->streams--;
	memmove(&out->stream[k], &out->stream[k + 1], (out->streams - k) * sizeof(*out->stream));
}

/* Continues a stream that was silent and had lost its slot. */
static void resume(struct discovery *d, struct sink_streams *t, unsigned i)
{
	const struct sink_stream *st = &t->at[i];
	const uint64_t from = atomic_load(&st->tail);
	struct discovered *s = &d->at[i];

	for (unsigned k = 0; k < d->out->streams; k++) {
		const struct recv_stream *before = &d->out->stream[k];
		const uint64_t next = st->base + before->highest;

		if (before->ended || before->stream != st->id || before->base != st->base)
			continue;
		d->out->lost -= lost_of(before);
		s->delivered = before->delivered;
		s->first = st->base + before->first;
		s->missing = from > next ? from - next : 0;
		s->counted = larger(from, next);
		take_stream(d->out, k);
		sink_streams_set_tail(t, i, s->counted);
		receiver_pass(d->site->receiver);
		sink_streams_empty(t, i, from, s->counted);
		return;
	}
}

static void count(struct discovery *d, struct sink_streams *t, unsigned i, uint64_t upto)
{
	const struct sink_stream *st = &t->at[i];
	struct discovered *s = &d->at[i];
	uint64_t from = atomic_load(&st->tail);

	if (!s->counted) { /* numbers below the first record were missed */
		s->missing = from - st->base;
		s->counted = s->first = from;
		if (d->site->by_number)
			outcomes_of(d)->tail[i] = from;
		else
			resume(d, t, i);
		from = s->counted;
	}
	if (upto <= from)
		return;
	sink_streams_set_tail(t, i, upto);
	receiver_pass(d->site->receiver);
	settle(d, t, i, from, upto);
}

/*
 * Skips a gap larger than the window and continues at the stream's current position. Admits no new
 * numbers until all records in the window are resolved, because new numbers would be mistaken for
 * earlier numbers.
 */
static void jump(struct discovery *d, struct sink_streams *t, unsigned i, uint64_t ahead)
{
	struct discovered *s = &d->at[i];
	uint64_t from = atomic_load(&t->at[i].tail), end = from + t->window;
	uint64_t to = ahead - t->window / 2;

	sink_streams_set_tail(t, i, STAMP_NUMBER_MASK + 1); /* above every valid number, so all
							     * numbers are late */
	receiver_pass(d->site->receiver);
	settle(d, t, i, from, end);
	if (to > end) {
		s->missing += to - end;
		if (d->site->by_number)
			report(d,
			       (struct range){.first = end, .last = to - 1, .stream = (uint16_t)i},
			       "unknown", NULL);
	} else {
		to = end;
	}
	s->next = s->counted = to;
	if (d->site->by_number)
		outcomes_of(d)->tail[i] = to;
	s->blind = true;
	sink_streams_set_tail(t, i, to);
}

uint64_t discover_streams(const struct discovery *d)
{
	const struct sink_streams *t = receiver_streams(d->site->receiver);
	uint64_t streams = d->out->streams + d->out->streams_more;

	for (unsigned i = 0; i < atomic_load(&t->n); i++)
		streams += sink_streams_has(t, i);
	return streams;
}

/* Returns the highest number with any record, plus 1. Dropped packets count, too. */
static uint64_t next_of(struct discovery *d, unsigned i, uint64_t most)
{
	uint64_t next = receiver_next(d->site->receiver, i);
	struct discovered *s = &d->at[i];

	s->next = larger(s->next, next);
	if (!d->site->by_number)
		return s->next;
	s->next = larger(s->next, outcomes_of(d)->tail[i]);
	return s->next = outcomes_highest(outcomes_of(d), (uint16_t)i, s->next, most);
}

/* Adds a stream to the result when it ends or loses its slot, and counts its remaining numbers. */
static struct recv_stream *end_stream(struct discovery *d, unsigned i)
{
	struct receiver *r = d->site->receiver;
	struct sink_streams *t = receiver_streams(r);
	const struct sink_stream *st = &t->at[i];
	struct recv_result *out = d->out;
	bool ended = receiver_ended(r, i);
	uint64_t base = ended ? st->end_base : st->base, next = receiver_next(r, i);
	struct recv_stream *s;

	count(d, t, i, 0);
	count(d, t, i, d->site->by_number ? next_of(d, i, UINT64_MAX) : next);
	if (out->streams == TRACE_STREAMS) {
		d->unended |= !out->stream[0].ended;
		out->streams_more++;
		take_stream(out, 0);
	}
	s = &out->stream[out->streams++];
	*s = (struct recv_stream){
		.stream = st->id,
		.base = base,
		.first = d->at[i].first - base,
		.delivered = d->at[i].delivered,
		.highest = next > base ? next - base : 0,
		.ended = ended,
		.sent = st->end_sent,
		.refused = st->end_refused,
	};
	out->lost += lost_of(s);
	if (ended && s->sent + s->refused > s->highest)
		out->lost_tail += s->sent + s->refused - s->highest;
	return s;
}

/* Frees a stream's slot. Returns false if a packet has just arrived. */
static bool release(struct discovery *d, struct sink_streams *t, unsigned i)
{
	struct receiver *r = d->site->receiver;

	sink_streams_close(t, i);
	receiver_pass(r);
	if (receiver_next(r, i) > d->at[i].counted) {
		sink_streams_open(t, i);
		return false;
	}
	end_stream(d, i);
	receiver_forget(r, i);
	sink_streams_drop(t, i);
	d->at[i] = (struct discovered){};
	return true;
}

/*
 * Returns the stream that has been silent for the longest time and may lose its slot, or `n`. Looks
 * for streams that have ended, or for those that have not.
 */
static unsigned find_silent(const struct discovery *d, const struct sink_streams *t, unsigned n,
			    bool ended, uint64_t now_ns)
{
	const uint64_t least_ns = ended ? SETTLE_NS : SILENT_NS;
	unsigned found = n;

	for (unsigned i = 0; i < n; i++) {
		const struct discovered *s = &d->at[i];

		if (!sink_streams_has(t, i) || !s->counted || s->next > s->counted ||
		    receiver_ended(d->site->receiver, i) != ended || now_ns - s->grew_ns < least_ns)
			continue;
		if (found == n || s->grew_ns < d->at[found].grew_ns)
			found = i;
	}
	return found;
}

/*
 * Keeps slots free for new streams. Programs do not give a slot to another stream, and a ledger
 * names streams by their slots.
 */
static void make_room(struct discovery *d, struct sink_streams *t, unsigned n, uint64_t now_ns)
{
	unsigned spare = t->bytes ? SPARE : t->room - n;

	for (unsigned i = 0; i < n; i++)
		spare += !sink_streams_has(t, i);
	for (; spare < SPARE; spare++) {
		unsigned i = find_silent(d, t, n, true, now_ns);

		if (i == n && !spare)
			i = find_silent(d, t, n, false, now_ns);
		if (i == n || !release(d, t, i))
			break;
	}
}

void discover_move(struct discovery *d, uint64_t now_ns)
{
	struct sink_streams *t = receiver_streams(d->site->receiver);
	uint64_t next[TRACE_STREAMS] = {};
	const uint64_t *leaving;
	unsigned n;

	if (!window_is_due(&d->window, now_ns))
		return;
	if (d->site->by_number)
		site_name(d->site);
	sink_streams_sync(t);
	n = atomic_load(&t->n);
	for (unsigned i = 0; i < n; i++) {
		uint64_t ahead = atomic_exchange(&t->at[i].ahead, 0), known = d->at[i].next;

		if (!sink_streams_has(t, i))
			continue;
		count(d, t, i, 0);
		next[i] = next_of(d, i, LOOK_AHEAD);
		if (next[i] != known || !d->at[i].grew_ns)
			d->at[i].grew_ns = now_ns;
		/*
		 * a stream that advances is at its real position, whatever a forged number claims
		 */
		if (ahead && next[i] == known) {
			jump(d, t, i, ahead);
			next[i] = d->at[i].next;
		}
	}
	window_note(&d->window, now_ns, next);
	leaving = window_leaving(&d->window);
	for (unsigned i = 0; i < n; i++) {
		uint64_t upto = 0;

		if (!next[i])
			continue;
		/* makes room in a window that fills up early */
		if (next[i] > atomic_load(&t->at[i].tail) + t->window / 2)
			upto = next[i] - t->window / 4;
		/* a stream that had this slot before may have had higher numbers */
		if (leaving && leaving[i] > upto && leaving[i] <= next[i])
			upto = leaving[i];
		count(d, t, i, upto);
	}
	make_room(d, t, n, now_ns);
}

void discover_end(struct discovery *d)
{
	struct sink_streams *t = receiver_streams(d->site->receiver);
	const struct sink_sums *sums = &d->site->sink.sums;
	struct ledger *l = &d->site->ledger;
	struct recv_result *out = d->out;
	struct result *res = &out->res;

	site_name(d->site);
	sink_streams_sync(t);
	for (unsigned i = 0; i < atomic_load(&t->n); i++) {
		struct recv_stream *s = sink_streams_has(t, i) ? end_stream(d, i) : NULL;

		if (s)
			s->timed = receiver_fastest(d->site->receiver, i, &s->fastest_ns);
	}
	out->tail_known = out->streams && !d->unended;
	for (unsigned i = 0; i < out->streams; i++)
		out->tail_known &= out->stream[i].ended;
	/* the tracer's counts in this namespace are sums of events, not outcomes */
	for (int i = 0; !d->site->by_number && i < l->n; i++) {
		struct outcome_cause *f = &l->tally.cause[0][l->cause[i].raw.index];

		if (site_is_here(d->site, &l->cause[i]))
			f->packets = l->cause[i].raw.count.packets;
		l->tally.dropped += f->packets;
	}
	site_ledger(d->site, 0, res);
	/* causes have the slot instead of the stream, and numbers as in the sequence header */
	for (unsigned i = 0; d->site->by_number && i < res->n_causes; i++) {
		struct result_cause *c = &res->cause[i];
		const struct recv_stream *s = &out->stream[c->stream];

		c->stream = s->stream;
		c->first -= s->base;
		c->last -= s->base;
	}
	if (!d->site->by_number)
		res->arrivals.gaps = d->gaps;
	site_end(d->site, res);
	for (int s = 0; !d->site->by_number && s < STAGE_COUNT; s++)
		res->stage[s].bytes = 0;
	res->delivered = sums->delivered;
	res->duration_ns = sums->last_ns - sums->first_ns;
	out->received = sums->delivered + sums->duplicated + sums->late;
	out->closed = true;
}
