// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/joinends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ledger/join.h"
#include "report/document.h"
#include "report/series.h"

const char *joinends_name(const struct ledgers_document *d)
{
	const char *host = json_get_text(json_get(d->json, "start"), "host");

	return *host ? host : d->path;
}

static bool is_whole(const struct ledgers_document *d)
{
	return json_get(d->json, "end") && !d->damaged;
}

/* How many of the sorted runs begin before this number of the stream. */
static size_t runs_before(const struct fatesum_run *run, size_t n, uint16_t stream, uint64_t number)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t at = from + (to - from) / 2;

		if (run[at].stream < stream || (run[at].stream == stream && run[at].first < number))
			from = at + 1;
		else
			to = at;
	}
	return from;
}

/* The runs of a stream whose numbers begin in [first, last]. */
static const struct fatesum_run *runs_of(const struct fatesum_run *run, size_t n, uint16_t stream,
					 uint64_t first, uint64_t last, size_t *found)
{
	size_t from = runs_before(run, n, stream, first);

	*found = runs_before(run, n, stream, last + 1) - from;
	return run + from;
}

static void fill_stream(const struct joinends_sender *s, const struct json_object *from,
			struct joinends_stream *out)
{
	const struct fatesum_run *run;
	size_t n;

	run = fatesum_runs(s->d->fates, &n);
	*out = (struct joinends_stream){
		.stream = (uint16_t)json_get_u64(from, "stream"),
		.base = json_get_u64(from, "base"),
	};
	out->run = runs_of(run, n, out->stream, 0, UINT64_MAX - 1, &out->n);
	out->first = out->base;
	out->last = out->n ? out->base + out->run[out->n - 1].last : out->base - 1;
	if (!s->whole && out->last < (out->base | UINT32_MAX))
		out->last = out->base | UINT32_MAX; /* what else it has sent is not known */
}

static int fill_sender(struct joinends_sender *s, const struct ledgers_document *d,
		       struct error *err)
{
	const struct json_object *start = json_get(d->json, "start");
	size_t n = json_get_length(start, "streams");

	s->d = d;
	s->whole = is_whole(d);
	if (!d->fates || !json_get(d->json, "fates"))
		return error_set(err, STATUS_USAGE, -EINVAL, "keep it by `send --ledger FILE`",
				 "%s has no numbers that could be joined", d->path);
	for (size_t i = 0; i < n && s->streams < TRACE_STREAMS; i++)
		fill_stream(s, json_get_item(start, "streams", i), &s->stream[s->streams++]);
	return 0;
}

static int fill(struct joinends *j, const struct ledgers *l, struct error *err)
{
	const struct ledgers_document *d;
	unsigned n;
	int rc = 0;

	d = ledgers_documents(l, &n);
	j->sender = calloc(n + 1, sizeof(*j->sender));
	j->receiver = calloc(n + 1, sizeof(*j->receiver));
	if (!j->sender || !j->receiver)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	for (unsigned i = 0; i < n && !rc; i++) {
		if (!strcmp(d[i].command, "send")) {
			rc = fill_sender(&j->sender[j->senders++], &d[i], err);
		} else if (!strcmp(d[i].command, "recv") && d[i].fates) {
			struct joinends_receiver *r = &j->receiver[j->receivers++];

			r->d = &d[i];
			r->whole = is_whole(&d[i]);
			r->run = fatesum_runs(d[i].fates, &r->n);
		} else {
			rc = error_set(err, STATUS_USAGE, -EINVAL, "report it alone",
				       "%s is of %s: only send and recv are joined", d[i].path,
				       d[i].command);
		}
	}
	if (!rc && !(j->senders && j->receivers))
		rc = error_set(err, STATUS_USAGE, -EINVAL,
			       "`send --ledger` and `recv --ledger` keep what can be joined",
			       "the ledger of %s is missing",
			       j->senders ? "the receiver" : "the senders");
	return rc;
}

static bool is_same_document(const struct ledgers_document *a, const struct ledgers_document *b)
{
	const struct json_object *x = json_get(a->json, "start"), *y = json_get(b->json, "start");

	return !strcmp(json_get_text(x, "time"), json_get_text(y, "time")) &&
	       !strcmp(json_get_text(x, "host"), json_get_text(y, "host"));
}

static bool do_overlap(const struct joinends_stream *a, const struct joinends_stream *b)
{
	return a->stream == b->stream && a->first <= a->last && b->first <= b->last &&
	       a->first <= b->last && b->first <= a->last;
}

static int check_two(const struct joinends_sender *a, const struct joinends_sender *b,
		     struct error *err)
{
	for (unsigned i = 0; i < a->streams * b->streams; i++) {
		const struct joinends_stream *s = &a->stream[i / b->streams];

		if (!do_overlap(s, &b->stream[i % b->streams]))
			continue;
		if (is_same_document(a->d, b->d))
			return error_set(err, STATUS_USAGE, -EINVAL, "name each of them once",
					 "%s and %s are the same ledger", a->d->path, b->d->path);
		return error_set(err, STATUS_FAILED, -EEXIST,
				 "run again: numbers are drawn at random",
				 "%s and %s used the same numbers of stream %u: which of them a "
				 "packet was of cannot be told",
				 a->d->path, b->d->path, s->stream);
	}
	return 0;
}

static int check_numbers(const struct joinends *j, struct error *err)
{
	int rc = 0;

	for (unsigned i = 0; i < j->senders && !rc; i++) {
		for (unsigned k = 0; k < i && !rc; k++)
			rc = check_two(&j->sender[k], &j->sender[i], err);
	}
	return rc;
}

/* By numbers that both have. */
static int match_by_numbers(const struct joinends *j, struct joinends_sender *s, struct error *err)
{
	for (unsigned i = 0; i < s->streams; i++) {
		struct joinends_stream *st = &s->stream[i];

		for (unsigned k = 0; k < j->receivers && st->first <= st->last; k++) {
			const struct joinends_receiver *r = &j->receiver[k];
			const struct fatesum_run *came;
			size_t n;

			came = runs_of(r->run, r->n, st->stream, st->first, st->last, &n);
			if (!n)
				continue;
			if (s->to && s->to != r)
				return error_set(err, STATUS_FAILED, -EEXIST,
						 "a multicast is not joined, nor a ledger that is "
						 "named twice",
						 "packets of %s came to %s and to %s", s->d->path,
						 s->to->d->path, r->d->path);
			s->to = r;
			st->came = came;
			st->n_came = n;
		}
	}
	return 0;
}

/* When it closed its books, by its own clock; who has not may still write. */
static uint64_t closed_ns(const struct ledgers_document *d)
{
	uint64_t from = json_get_u64(json_get(d->json, "start"), "tai_ns");
	uint64_t to = json_get_u64(json_get(d->json, "end"), "tai_ns");

	if (!json_get(d->json, "end"))
		return UINT64_MAX;
	return from && to > from ? d->from_ns + (to - from) : d->to_ns;
}

static bool do_touch(const struct ledgers_document *a, const struct ledgers_document *b)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each end has its document */
	return a->from_ns <= closed_ns(b) && b->from_ns <= closed_ns(a);
}

static const char *target_of(const struct joinends_sender *s)
{
	return json_get_text(json_get(s->d->json, "start"), "to");
}

/* Nothing of it came anywhere: it went where others went that had the same target. */
static int match_by_target(const struct joinends *j, struct joinends_sender *s, struct error *err)
{
	const struct joinends_receiver *to = j->receivers == 1 ? &j->receiver[0] : NULL;
	char a[WHEN_TEXT], b[WHEN_TEXT];

	for (unsigned i = 0; i < j->senders && !to; i++) {
		const struct joinends_sender *other = &j->sender[i];

		if (other->to && !other->by_time && !strcmp(target_of(s), target_of(other)))
			to = other->to;
	}
	if (!to)
		return 0;
	if (!do_touch(s->d, to->d))
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "name those of one run, or choose by --number or --since",
				 "%s (%s) and %s (%s) are of different runs", s->d->path,
				 when_text(a, sizeof(a), s->d->from_ns, true), to->d->path,
				 when_text(b, sizeof(b), to->d->from_ns, true));
	s->to = to;
	s->by_time = true;
	return 0;
}

int joinends_match(struct joinends *j, const struct ledgers *l, struct error *err)
{
	int rc;

	memset(j, 0, sizeof(*j));
	rc = fill(j, l, err);
	if (!rc)
		rc = check_numbers(j, err);
	for (unsigned i = 0; i < j->senders && !rc; i++)
		rc = match_by_numbers(j, &j->sender[i], err);
	for (unsigned i = 0; i < j->senders && !rc; i++) {
		if (!j->sender[i].to)
			rc = match_by_target(j, &j->sender[i], err);
	}
	return rc;
}

void joinends_free(struct joinends *j)
{
	free(j->sender);
	free(j->receiver);
}

/* What became of the numbers. */

/* Of the outcome of a run of numbers. */
static enum told told_of(const struct json_object *outcome)
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
	const char *fate = json_get_text(outcome, "fate");

	if (json_get_bool(outcome, "given_up"))
		return TOLD_GIVEN_UP;
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
	w->told = told_of(w->outcome);
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

static void lose(const struct joinbooks_stream *s, const struct walk *w, uint64_t first,
		 uint64_t last, struct result *res)
{
	struct result_cause c = {
		.stage = STAGE_WIRE,
		.direction = "",
		.note = "seen to leave the sender, not seen to come to the receiver",
	};

	if (w) {
		enum stage stage = rows_stage(json_get_text(w->outcome, "stage"));

		json_read_cause(w->outcome, &c);
		c.stage = stage == STAGE_NONE ? STAGE_OTHER : stage;
		snprintf(c.host, sizeof(c.host), "%s", w->end->host);
	}
	c.stream = s->stream;
	c.packets = last - first + 1;
	c.first = first - s->base;
	c.last = last - s->base;
	add_loss(res, &c, w ? "event" : "difference", s->l3_bytes);
}

static void leave_open(struct result *res, enum trace_seen seen, uint64_t packets)
{
	res->unaccounted += packets;
	res->unaccounted_seen[seen] += packets;
}

/* Of numbers that left and did not come those are lost on the wire that the receiver watched for.
 */
static void lose_on_wire(const struct joinbooks_stream *s, uint64_t first, uint64_t last,
			 struct result *res)
{
	uint64_t from = first > s->watch_from ? first : s->watch_from;
	uint64_t to = last < s->watch_to ? last : s->watch_to;
	uint64_t watched = from <= to ? to - from + 1 : 0;

	if (watched)
		lose(s, NULL, from, to, res);
	leave_open(res, SEEN_TX_DEVICE, last - first + 1 - watched);
}

static void settle(const struct joinbooks_stream *s, const struct walk *tx, const struct walk *rx,
		   uint64_t first, uint64_t last, struct result *res)
{
	/* what a whole ledger does not name was never attempted */
	enum told sent = tx->told == TOLD_NOTHING ? s->whole ? TOLD_GAP : TOLD_OPEN : tx->told;
	enum joint joint = join_decide(sent, rx->told);
	uint64_t n = last - first + 1;

	if (joint == JOINT_IMPOSSIBLE)
		res->impossible += n;
	if (joint == JOINT_IMPOSSIBLE || joint == JOINT_GAP)
		return;
	res->attempted += n;
	if (joint == JOINT_REFUSED)
		res->refused += n;
	else
		res->sent += n;
	if (joint == JOINT_DELIVERED)
		res->delivered += n;
	else if (joint == JOINT_DROPPED_RX || joint == JOINT_DROPPED_TX)
		lose(s, joint == JOINT_DROPPED_RX ? rx : tx, first, last, res);
	else if (joint == JOINT_WIRE && rx->told == TOLD_GIVEN_UP)
		lose(s, NULL, first, last, res);
	else if (joint == JOINT_WIRE)
		lose_on_wire(s, first, last, res);
	else if (joint == JOINT_OPEN && rx->told == TOLD_SEEN)
		leave_open(res, SEEN_RX_DEVICE, n);
	else if (joint == JOINT_OPEN)
		leave_open(res, sent == TOLD_SEEN ? SEEN_TX_DEVICE : 0, n);
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
