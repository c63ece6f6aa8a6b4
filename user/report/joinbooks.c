// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/joinbooks.h"

#include <stdio.h>
#include <string.h>

#include "report/series.h"

/* What an end tells of a number. */
enum told {
	TOLD_NOTHING,
	TOLD_REFUSED,
	TOLD_GAP,
	TOLD_OPEN,
	TOLD_SEEN,
	TOLD_DROPPED,
	TOLD_DELIVERED
};

static enum told told_of(const char *fate)
{
	static const struct {
		const char *name;
		enum told told;
	} known[] = {
		{"refused", TOLD_REFUSED},  {"gap", TOLD_GAP},
		{"left", TOLD_SEEN},	    {"came", TOLD_SEEN},
		{"dropped", TOLD_DROPPED},  {"delivered", TOLD_DELIVERED},
		{"unaccounted", TOLD_OPEN}, {"unknown", TOLD_OPEN},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].name, fate))
			return known[i].told;
	}
	return TOLD_OPEN;
}

/* Walks over the runs of an end, by numbers as in the stamp. */
struct walk {
	const struct joinbooks_end *end;
	uint64_t base;
	size_t at;
	const struct json_object *outcome; /* of the run that holds the number; NULL: none does */
	enum told told;
};

/* Moves to `number`; returns the last number of which the same is told. */
static uint64_t walk_to(struct walk *w, uint64_t number)
{
	const struct joinbooks_end *e = w->end;

	while (w->at < e->n && e->run[w->at].last + w->base < number)
		w->at++;
	w->outcome = NULL;
	w->told = TOLD_NOTHING;
	if (w->at == e->n)
		return UINT64_MAX;
	if (e->run[w->at].first + w->base > number)
		return e->run[w->at].first + w->base - 1;
	w->outcome = fatesum_outcome(e->fates, e->run[w->at].outcome);
	w->told = told_of(json_get_text(w->outcome, "fate"));
	return e->run[w->at].last + w->base;
}

static bool is_same(const struct result_cause *a, const struct result_cause *b)
{
	return a->stage == b->stage && !strcmp(a->reason, b->reason) &&
	       !strcmp(a->location, b->location) && !strcmp(a->ifname, b->ifname) &&
	       !strcmp(a->netns, b->netns) && !strcmp(a->host, b->host) &&
	       !strcmp(a->hook ? a->hook : "", b->hook ? b->hook : "");
}

/*
 * The books hold as many causes as they have room for; the stage counts all. `together`: those of
 * all streams as one.
 */
static void add_cause(struct result *res, const struct result_cause *c, bool together)
{
	for (unsigned i = 0; i < res->n_causes; i++) {
		struct result_cause *known = &res->cause[i];

		if (!is_same(known, c) || (!together && known->stream != c->stream))
			continue;
		known->packets += c->packets;
		if (c->last > known->last)
			known->last = c->last;
		return;
	}
	if (res->n_causes < RESULT_CAUSES)
		res->cause[res->n_causes++] = *c;
}

static void add_loss(struct result *res, const struct result_cause *c, const char *source,
		     unsigned l3_bytes)
{
	struct result_stage *s = &res->stage[c->stage];

	s->packets += c->packets;
	s->events += c->packets;
	s->bytes += c->packets * l3_bytes;
	s->source = source;
	s->scope = "flow";
	res->dropped += c->packets;
	add_cause(res, c, false);
}

static void drop(const struct joinbooks_stream *s, const struct walk *w, uint64_t first,
		 uint64_t last, struct result *res)
{
	const struct json_object *o = w->outcome;
	enum stage stage = rows_stage(json_get_text(o, "stage"));
	struct result_cause c = {
		.stage = stage == STAGE_NONE ? STAGE_OTHER : stage,
		.direction = json_get_text(o, "direction"),
		.hook = *json_get_text(o, "hook") ? json_get_text(o, "hook") : NULL,
		.stream = s->stream,
		.packets = last - first + 1,
		.first = first - s->base,
		.last = last - s->base,
	};

	snprintf(c.reason, sizeof(c.reason), "%s", json_get_text(o, "reason"));
	snprintf(c.location, sizeof(c.location), "%s", json_get_text(o, "location"));
	snprintf(c.ifname, sizeof(c.ifname), "%s", json_get_text(o, "ifname"));
	snprintf(c.netns, sizeof(c.netns), "%s", json_get_text(o, "netns"));
	snprintf(c.host, sizeof(c.host), "%s", w->end->host);
	add_loss(res, &c, "event", s->l3_bytes);
}

static void lose_on_wire(const struct joinbooks_stream *s, uint64_t first, uint64_t last,
			 struct result *res)
{
	const struct result_cause c = {
		.stage = STAGE_WIRE,
		.direction = "",
		.note = "seen to leave the sender, not seen to come to the receiver",
		.stream = s->stream,
		.packets = last - first + 1,
		.first = first - s->base,
		.last = last - s->base,
	};

	add_loss(res, &c, "difference", s->l3_bytes);
}

static void leave_open(struct result *res, enum trace_seen seen, uint64_t packets)
{
	res->unaccounted += packets;
	res->unaccounted_seen[seen] += packets;
}

/* Numbers that left, and of which nothing is told by the receiver. */
static void settle_left(const struct joinbooks_stream *s, uint64_t first, uint64_t last,
			struct result *res)
{
	uint64_t from = first > s->watch_from ? first : s->watch_from;
	uint64_t to = last < s->watch_to ? last : s->watch_to;
	uint64_t watched = from <= to ? to - from + 1 : 0;

	if (watched)
		lose_on_wire(s, from, to, res);
	leave_open(res, SEEN_TX_DEVICE, last - first + 1 - watched);
}

/* Who receives a packet must have had it: its word stands before the sender's. */
static void settle(const struct joinbooks_stream *s, const struct walk *tx, const struct walk *rx,
		   uint64_t first, uint64_t last, struct result *res)
{
	uint64_t n = last - first + 1;
	bool came = rx->told == TOLD_SEEN || rx->told == TOLD_DROPPED || rx->told == TOLD_DELIVERED;

	if (tx->told == TOLD_GAP || (tx->told == TOLD_NOTHING && s->whole)) {
		res->impossible += came ? n : 0;
		return;
	}
	res->attempted += n;
	if (tx->told == TOLD_REFUSED && !came) {
		res->refused += n;
		return;
	}
	res->sent += n;
	if (rx->told == TOLD_DELIVERED)
		res->delivered += n;
	else if (rx->told == TOLD_DROPPED)
		drop(s, rx, first, last, res);
	else if (tx->told == TOLD_DROPPED)
		drop(s, tx, first, last, res);
	else if (rx->told == TOLD_SEEN)
		leave_open(res, SEEN_RX_DEVICE, n);
	else if (tx->told != TOLD_SEEN)
		leave_open(res, 0, n);
	else if (rx->told == TOLD_OPEN)
		leave_open(res, SEEN_TX_DEVICE, n);
	else
		settle_left(s, first, last, res);
}

static uint64_t last_of(const struct joinbooks_end *e, uint64_t base)
{
	return e->n ? e->run[e->n - 1].last + base : 0;
}

void joinbooks_add(const struct joinbooks_stream *s, struct result *res, uint64_t *open)
{
	struct walk tx = {.end = &s->tx, .base = s->base}, rx = {.end = &s->rx};
	uint64_t end = last_of(&s->tx, s->base), number, last, upto;

	if (last_of(&s->rx, 0) > end)
		end = last_of(&s->rx, 0);
	if (!s->tx.n && !s->rx.n)
		return;
	for (number = s->base; number <= end; number = last + 1) {
		last = walk_to(&tx, number);
		upto = walk_to(&rx, number);
		if (upto < last)
			last = upto;
		if (last > end)
			last = end;
		if (tx.told == TOLD_NOTHING && rx.told == TOLD_NOTHING)
			*open += last - number + 1;
		settle(s, &tx, &rx, number, last, res);
	}
}

void joinbooks_sum(struct result *sum, const struct result *one)
{
	sum->attempted += one->attempted;
	sum->refused += one->refused;
	sum->sent += one->sent;
	sum->delivered += one->delivered;
	sum->unaccounted += one->unaccounted;
	sum->impossible += one->impossible;
	sum->dropped += one->dropped;
	for (unsigned i = 0; i <= SEEN_SOCKET; i++)
		sum->unaccounted_seen[i] += one->unaccounted_seen[i];
	for (int s = 0; s < STAGE_COUNT; s++) {
		sum->stage[s].packets += one->stage[s].packets;
		sum->stage[s].events += one->stage[s].events;
		sum->stage[s].bytes += one->stage[s].bytes;
		if (one->stage[s].source) {
			sum->stage[s].source = one->stage[s].source;
			sum->stage[s].scope = one->stage[s].scope;
		}
	}
	for (unsigned i = 0; i < one->n_causes; i++)
		add_cause(sum, &one->cause[i], true);
}
