// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Joins ledgers from several senders and their receivers. Each stream is assigned to the receiver
 * whose ledger contains its numbers. ledger/join.h determines each number's outcome.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "ledger/join.h"
#include "report/document.h"
#include "report/load.h"
#include "report/series.h"

#define CLOCKS_DIFFER_NS 1000000000 /* ns, longer than any network latency */

/* Ledger written by send or recv. */
struct side {
	const struct ledgers_document *d;
	const struct json_object *start, *end; /* end NULL: the ledger is incomplete */
	const char *name, *target;	       /* host (or file), and a sender's target */
	struct joined_end all;		       /* ranges for all its streams */
	/* for senders */
	struct joined_stream stream[TRACE_STREAMS];
	unsigned streams;
	bool whole;	       /* the ledger has an end and all its lines */
	bool by_time;	       /* no packet arrived, so it is assigned by time only */
	const struct side *to; /* NULL: there is no ledger for its receiver */
};

struct ends {
	struct side *sender, *receiver;
	unsigned senders, receivers;
};

/* Returns how many of the sorted ranges start before this number in the stream. */
static size_t ranges_before(const struct joined_end *e, uint16_t stream, uint64_t number)
{
	size_t from = 0, to = e->n;

	while (from < to) {
		size_t at = from + (to - from) / 2;
		const struct range *range = &e->range[at];

		if (range->stream < stream || (range->stream == stream && range->first < number))
			from = at + 1;
		else
			to = at;
	}
	return from;
}

static void fill_side(struct side *s, const struct ledgers_document *d)
{
	*s = (struct side){
		.d = d, .start = json_get(d->json, "start"), .end = json_get(d->json, "end")};
	s->name = json_get_text(s->start, "host");
	if (!*s->name)
		s->name = d->path;
	s->target = json_get_text(s->start, "to");
	s->whole = s->end && !d->damaged;
	s->all = (struct joined_end){.outcomes = d->outcomes, .host = s->name};
	if (d->outcomes)
		s->all.range = outcome_sum_ranges_kept(d->outcomes, &s->all.n);
}

/* Returns a stream's ranges that start in [first, last]. */
static struct joined_end part_of(struct joined_end e, uint16_t stream, uint64_t first,
				 uint64_t last)
{
	size_t from = ranges_before(&e, stream, first);

	e.n = ranges_before(&e, stream, last + 1) - from;
	if (from) /* do not add an empty list */
		e.range += from;
	return e;
}

static int fill_sender(struct side *s, const struct ledgers_document *d, struct error *err)
{
	unsigned payload, headers;

	fill_side(s, d);
	payload = (unsigned)json_get_u64(s->start, "payload_bytes");
	headers = *s->target == '[' ? 48 : 28;
	if (!d->outcomes || !json_get(d->json, "outcomes"))
		return error_usage(err, "keep it by `send --ledger FILE`",
				   "%s has no packet numbers to join by", d->path);
	for (size_t i = 0; i < json_get_length(s->start, "streams") && s->streams < TRACE_STREAMS;
	     i++) {
		const struct json_object *from = json_get_item(s->start, "streams", i);
		struct joined_stream *st = &s->stream[s->streams++];

		*st = (struct joined_stream){
			.stream = (uint16_t)json_get_u64(from, "stream"),
			.base = json_get_u64(from, "base"),
			.l3_bytes = payload ? payload + headers : 0,
			.whole = s->whole,
		};
		st->tx = part_of(s->all, st->stream, 0, UINT64_MAX - 1);
		st->first = st->base;
		st->last = st->tx.n ? st->base + st->tx.range[st->tx.n - 1].last : st->base - 1;
		if (!s->whole && st->last < (st->base | UINT32_MAX))
			st->last = st->base | UINT32_MAX; /* later numbers are unknown */
	}
	return 0;
}

static int fill(struct ends *j, const struct ledgers *l, struct error *err)
{
	const struct ledgers_document *d = l->document;
	const unsigned n = l->documents;
	int rc = 0;

	j->sender = mem_zero(n, sizeof(*j->sender));
	j->receiver = mem_zero(n, sizeof(*j->receiver));
	for (unsigned i = 0; i < n && !rc; i++) {
		if (!strcmp(d[i].command, "send")) {
			rc = fill_sender(&j->sender[j->senders++], &d[i], err);
		} else if (!strcmp(d[i].command, "recv") && d[i].outcomes) {
			fill_side(&j->receiver[j->receivers++], &d[i]);
		} else {
			rc = error_usage(
				err,
				"report the file alone (for UDP, use `run --to` or "
				"captures of both hosts to find losses between them)",
				"%s was written by %s, but --join needs ledgers of send and "
				"recv, or of TCP by `trace --balance --ledger`",
				d[i].path, d[i].command);
		}
	}
	if (!rc && !(j->senders && j->receivers))
		rc = error_usage(err, "only files of `send --ledger` and `recv --ledger` can be "
				      "joined",
				 "the ledger of %s is missing",
				 j->senders ? "the receiver" : "the senders");
	return rc;
}

bool ledgers_same(const struct ledgers_document *a, const struct ledgers_document *b,
		  struct error *err)
{
	if (!json_object_equal(json_get(a->json, "start"), json_get(b->json, "start")))
		return false;
	error_usage(err, "name each of them once", "%s and %s are the same ledger", a->path,
		    b->path);
	return true;
}

bool ledgers_apart(const struct ledgers_document *a, uint64_t a_ns,
		   const struct ledgers_document *b, uint64_t b_ns, struct error *err)
{
	if (a->from_ns <= b_ns && b->from_ns <= a_ns)
		return false;
	error_usage(err, "name the files of a single run, or choose with --number or --since",
		    "%s (%s) and %s (%s) are of different runs", a->path,
		    when_text(a->from_ns, true), b->path, when_text(b->from_ns, true));
	return true;
}

/* Checks that two senders did not use the same numbers. */
static int check_two(const struct side *a, const struct side *b, struct error *err)
{
	for (unsigned i = 0; i < a->streams * b->streams; i++) {
		const struct joined_stream *s = &a->stream[i / b->streams],
					   *t = &b->stream[i % b->streams];

		if (s->stream != t->stream || s->first > s->last || t->first > t->last ||
		    s->first > t->last || t->first > s->last)
			continue;
		if (ledgers_same(a->d, b->d, err))
			return -EINVAL;
		return error_set(err, STATUS_FAILED, -EEXIST,
				 "run again: numbers are drawn at random",
				 "%s and %s used the same numbers of stream %u, so their packets "
				 "cannot be told apart",
				 a->d->path, b->d->path, s->stream);
	}
	return 0;
}

/* Assigns a sender to the receiver that has some of the same numbers. */
static int match_by_numbers(const struct ends *j, struct side *s, struct error *err)
{
	for (unsigned i = 0; i < s->streams * j->receivers; i++) {
		struct joined_stream *st = &s->stream[i / j->receivers];
		const struct side *r = &j->receiver[i % j->receivers];
		struct joined_end came = part_of(r->all, st->stream, st->first, st->last);

		if (st->first > st->last || !came.n)
			continue;
		if (s->to && s->to != r)
			return error_set(err, STATUS_FAILED, -EEXIST,
					 "multicast ledgers cannot be joined, and no ledger may be "
					 "named twice",
					 "packets of %s came to %s and to %s", s->d->path,
					 s->to->d->path, r->d->path);
		s->to = r;
		st->rx = came;
	}
	return 0;
}

/*
 * Returns when the ledger was closed, according to its own clock. A ledger without an end may still
 * be open.
 */
static uint64_t closed_ns(const struct side *s)
{
	uint64_t from = json_get_u64(s->start, "tai_ns"), to = json_get_u64(s->end, "tai_ns");

	if (!s->end)
		return UINT64_MAX;
	return from && to > from ? s->d->from_ns + (to - from) : s->d->to_ns;
}

/*
 * Assigns a sender whose packets never arrived to the receiver that other senders with the same
 * target used.
 */
static int match_by_target(const struct ends *j, struct side *s, struct error *err)
{
	const struct side *to = j->receivers == 1 ? &j->receiver[0] : NULL;

	for (unsigned i = 0; i < j->senders && !to; i++) {
		const struct side *other = &j->sender[i];

		if (other->to && !other->by_time && !strcmp(s->target, other->target))
			to = other->to;
	}
	if (!to)
		return 0;
	if (ledgers_apart(s->d, closed_ns(s), to->d, closed_ns(to), err))
		return -EINVAL;
	s->to = to;
	s->by_time = true;
	return 0;
}

static int match(struct ends *j, const struct ledgers *l, struct error *err)
{
	int rc = fill(j, l, err);

	for (unsigned i = 0; i < j->senders && !rc; i++) {
		for (unsigned k = 0; k < i && !rc; k++)
			rc = check_two(&j->sender[k], &j->sender[i], err);
	}
	for (unsigned i = 0; i < j->senders && !rc; i++)
		rc = match_by_numbers(j, &j->sender[i], err);
	for (unsigned i = 0; i < j->senders && !rc; i++) {
		if (!j->sender[i].to)
			rc = match_by_target(j, &j->sender[i], err);
	}
	return rc;
}

/* Outcome of each number. */

/* Adds a cause if there is room. `together`: combine the causes from all streams. */
static void add_cause(struct result *res, bool together, const struct result_cause *c)
{
	for (unsigned i = 0; i < res->n_causes; i++) {
		struct result_cause *known = &res->cause[i];

		if (!result_cause_same(known, c) || (!together && known->stream != c->stream))
			continue;
		known->packets += c->packets;
		known->last = larger(known->last, c->last);
		return;
	}
	if (res->n_causes < RESULT_CAUSES)
		res->cause[res->n_causes++] = *c;
}

/* Adds a loss that `by` reported in its range `r`, or a loss on the wire if `by` is NULL. */
static void lose(const struct joined_stream *s, const struct joined_end *by, const struct range *r,
		 uint64_t first, uint64_t last, struct result *res, bool together)
{
	const struct json_object *outcome = by ? outcome_sum_at(by->outcomes, r->detail) : NULL;
	struct result_cause c = {
		.stage = STAGE_WIRE,
		.direction = "",
		.note = "seen to leave the sender, not seen to come to the receiver",
	};
	struct result_stage *sums;

	if (by) {
		json_read_cause(outcome, &c);
		c.stage = rows_stage(json_get_text(outcome, "stage"));
		if (c.stage == STAGE_NONE)
			c.stage = STAGE_OTHER;
		snprintf(c.host, sizeof(c.host), "%s", by->host);
	}
	c.stream = s->stream;
	c.packets = last - first + 1;
	c.first = first - s->base;
	c.last = last - s->base;
	sums = &res->stage[c.stage];
	sums->packets += c.packets;
	sums->events += c.packets;
	sums->bytes += c.packets * s->l3_bytes;
	sums->source = by ? "event" : "difference";
	sums->scope = "flow";
	res->dropped += c.packets;
	add_cause(res, together, &c);
}

static void leave_open(struct result *res, enum trace_seen seen, uint64_t packets)
{
	res->unaccounted += packets;
	res->unaccounted_seen[seen] += packets;
}

/* `missed`: the receiver's report on numbers that are missing from its ledger. */
static void settle(const struct joined_stream *s, const struct join_walk *tx,
		   const struct join_walk *rx, enum outcome missed, uint64_t first, uint64_t last,
		   struct result *res, bool together)
{
	/* numbers that are missing from a complete ledger were never attempted */
	const enum outcome sent = tx->now    ? tx->now->outcome
				  : s->whole ? OUTCOME_GAP
					     : OUTCOME_OPEN;
	const enum outcome came = rx->now ? rx->now->outcome : missed;
	const enum outcome both = join_decide(sent, came);
	const uint64_t n = last - first + 1;

	if (both == OUTCOME_IMPOSSIBLE)
		res->impossible += n;
	if (both == OUTCOME_IMPOSSIBLE || both == OUTCOME_GAP)
		return;
	res->attempted += n;
	if (both == OUTCOME_REFUSED)
		res->refused += n;
	else
		res->sent += n;
	if (both == OUTCOME_DELIVERED)
		res->delivered += n;
	else if (both == OUTCOME_DROPPED && join_believes_receiver(sent, came))
		lose(s, &s->rx, rx->now, first, last, res, together);
	else if (both == OUTCOME_DROPPED)
		lose(s, &s->tx, tx->now, first, last, res, together);
	else if (both == OUTCOME_WIRE)
		lose(s, NULL, NULL, first, last, res, together);
	else if (both == OUTCOME_OPEN && came == OUTCOME_SEEN)
		leave_open(res, SEEN_RX_DEVICE, n);
	else if (both == OUTCOME_OPEN)
		leave_open(res, sent == OUTCOME_SEEN ? SEEN_TX_DEVICE : 0, n);
}

static uint64_t last_of(const struct joined_end *e, uint64_t base)
{
	return e->n ? e->range[e->n - 1].last + base : 0;
}

void joined_add(const struct joined_stream *s, struct result *one, struct result *sum,
		uint64_t *open)
{
	struct join_walk tx = {.range = s->tx.range, .n = s->tx.n, .base = s->base};
	struct join_walk rx = {.range = s->rx.range, .n = s->rx.n};
	uint64_t end = larger(last_of(&s->tx, s->base), last_of(&s->rx, 0)), number, last;

	if (!s->tx.n && !s->rx.n)
		return;
	for (number = s->base; number <= end; number = last + 1) {
		const bool watched = number >= s->watch_from && number <= s->watch_to;
		const enum outcome missed = watched ? OUTCOME_NOTHING : OUTCOME_OPEN;

		last = smaller(join_to(&tx, s->stream, number), join_to(&rx, s->stream, number));
		last = smaller(last, watched ? smaller(s->watch_to, end) : end);
		if (number < s->watch_from)
			last = smaller(last, s->watch_from - 1);
		if (!tx.now && !rx.now)
			*open += last - number + 1;
		settle(s, &tx, &rx, missed, number, last, one, false);
		settle(s, &tx, &rx, missed, number, last, sum, true);
	}
}

/* A receiver and its senders, while their document is being built. */
struct joining {
	const struct side *to; /* NULL: senders whose receiver is unknown */
	const char *target;    /* target of these senders */
	struct json_object *senders, *strangers, *notes;
	struct result *sum, *one; /* sum: all senders, one: the current sender */
	struct run_header head;	  /* header for the joined document */
	const struct side *first; /* first sender, or NULL */
	uint64_t to_ns;
	unsigned n;
	bool whole; /* all of these ledgers are complete */
};

bool joined_wanted(const struct ledgers *l)
{
	bool sends = false, receives = false;

	for (unsigned i = 0; i < l->documents; i++) {
		sends |= !strcmp(l->document[i].command, "send");
		receives |= !strcmp(l->document[i].command, "recv");
	}
	return sends && receives;
}

/* Returns the receiver's end of a stream, or NULL. */
static const struct json_object *heard_of(const struct side *to, const struct joined_stream *st)
{
	for (size_t i = 0; i < json_get_length(to->end, "streams"); i++) {
		const struct json_object *s = json_get_item(to->end, "streams", i);

		if (json_get_u64(s, "stream") == st->stream && json_get_u64(s, "base") == st->base)
			return s;
	}
	return NULL;
}

/*
 * Computes the receiver's clock minus the sender's from the packet with the lowest latency, so the
 * result includes that latency. Returns false if the packets did not carry a time.
 */
static bool clocks_of(const struct side *s, int64_t *ns)
{
	bool known = false;

	for (unsigned i = 0; s->to && i < s->streams; i++) {
		const struct json_object *heard = heard_of(s->to, &s->stream[i]);

		if (!json_get(heard, "fastest_ns"))
			continue;
		if (!known || json_get_i64(heard, "fastest_ns") < *ns)
			*ns = json_get_i64(heard, "fastest_ns");
		known = true;
	}
	return known;
}

/*
 * Finds the range of numbers during which the receiver was running. Numbers missing from that range
 * were lost before they reached it.
 */
static void find_watch(const struct side *s, struct joined_stream *st)
{
	uint64_t tx_end = json_get_u64(s->end, "tai_ns"), rx_end;
	int64_t offset = 0;

	st->watch_from = UINT64_MAX;
	st->watch_to = 0;
	if (!s->to || s->to->d->damaged)
		return;
	rx_end = json_get_u64(s->to->end, "tai_ns");
	clocks_of(s, &offset);
	if (st->rx.n) {
		st->watch_from = st->rx.range[0].first;
		st->watch_to = st->rx.range[st->rx.n - 1].last;
	}
	if (json_get_i64(s->to->start, "tai_ns") <= json_get_i64(s->start, "tai_ns") + offset)
		st->watch_from = 0;
	if (json_get(heard_of(s->to, st), "sent") ||
	    (tx_end && rx_end && rx_end >= tx_end + (uint64_t)offset))
		st->watch_to = UINT64_MAX;
}

static void note_sender(struct joining *j, const struct side *s, uint64_t open)
{
	const char *name = s->name;
	int64_t offset;

	if (!s->end)
		json_add_line(j->notes,
			      "%s is incomplete: packets that %s sent after its last line are "
			      "unknown",
			      s->d->path, name);
	if (s->d->damaged)
		json_add_line(j->notes, "lines of %s are missing: it shows nothing about %s",
			      s->d->path, fmt_many(open, "number"));
	if (s->to && s->by_time && j->one->sent)
		json_add_line(
			j->notes,
			"no packet of %s reached %s (matched by the clocks of both)",
			name, s->to->name);
	if (s->to && clocks_of(s, &offset) && (offset < 0 || offset > CLOCKS_DIFFER_NS))
		json_add_line(j->notes,
			      "the clock of %s is %s %s the clock of %s: each host shows its own "
			      "time",
			      s->to->name, fmt_ns((uint64_t)(offset < 0 ? -offset : offset)),
			      offset < 0 ? "behind" : "ahead of", name);
}

static void fill_place(struct result_host *host, const struct side *s)
{
	snprintf(host->name, sizeof(host->name), "%s", s->name);
	snprintf(host->place, sizeof(host->place), "%s", json_get_text(s->start, "probe"));
}

/* Fills in the receiver's part of the header. */
static void fill_receiver(const struct side *to, struct run_header *h)
{
	h->rx = json_get_text(to->start, "rx");
	h->port = (uint16_t)json_get_u64(to->start, "port");
	snprintf(h->rx_mode, sizeof(h->rx_mode), "%s",
		 json_get_text(json_get(to->start, "granted_mode"), "rx"));
	fill_place(&h->rx_host, to);
	h->far_env = json_get(to->start, "env");
}

static void fill_head(const struct joining *j, const struct side *s, struct run_header *h)
{
	const char *to = s->target; /* "198.18.0.2:28779", "[2001:2::2]:28779" */
	bool v6 = *to == '[';

	*h = (struct run_header){};
	json_read_start(s->start, h);
	h->time_ns = s->d->from_ns;
	h->two_hosts = true;
	h->rx = "?";
	h->tx_port.role = "tx";
	h->rx_port.role = "rx";
	h->threads = h->streams = (uint16_t)s->streams;
	h->flows = 1;
	h->count = s->end ? json_get_u64(s->end, "attempted") : UINT64_MAX;
	h->stream0 = s->stream[0].stream;
	h->base = s->stream[0].base;
	snprintf(h->host, sizeof(h->host), "%s", s->name);
	fill_place(&h->tx_host, s);
	snprintf(h->rx_port.address, sizeof(h->rx_port.address), "%.*s",
		 (int)strcspn(to + v6, v6 ? "]" : ":"), to + v6);
	snprintf(h->rx_host.name, sizeof(h->rx_host.name), "%s", to);
	if (j->to)
		fill_receiver(j->to, h);
}

static void add_sender(struct joining *j, struct side *s)
{
	struct json_object *o = json_add_object(j->senders);
	struct result *one = j->one;
	struct run_header head;
	uint64_t open = 0;

	memset(one, 0, sizeof(*one));
	for (unsigned i = 0; i < s->streams; i++) {
		find_watch(s, &s->stream[i]);
		joined_add(&s->stream[i], one, j->sum, &open);
	}
	one->tx_pps = json_get_double(s->end, "tx_pps");
	one->duration_ns = json_get_u64(s->end, "duration_ns");
	one->waits = json_get_u64(s->end, "waits");
	one->wait_ns = json_get_u64(s->end, "wait_ns");
	one->balanced = !one->unaccounted && !one->impossible && s->whole && s->to;
	fill_head(j, s, &head);
	note_sender(j, s, open);
	json_put_text(o, "file", s->d->path);
	json_put_u64(o, "number", s->d->number);
	json_put(o, "start", json_start(&head, json_object_get(json_get(s->start, "env"))));
	json_put(o, "end", json_end(one));
	j->sum->tx_pps += one->tx_pps;
	j->sum->waits += one->waits;
	j->sum->wait_ns += one->wait_ns;
	j->sum->duration_ns = larger(j->sum->duration_ns, one->duration_ns);
	j->whole &= s->whole;
	j->to_ns = larger(j->to_ns, s->d->to_ns);
	if (!j->n++) {
		j->head = head;
		j->first = s;
		return;
	}
	j->head.threads += head.threads;
	j->head.rate_pps =
		j->head.rate_pps > 0 && head.rate_pps > 0 ? j->head.rate_pps + head.rate_pps : 0;
	j->head.time_ns = smaller(j->head.time_ns, head.time_ns);
}

static void fill_order(const struct json_object *end, struct reordering *order)
{
	struct json_object *o = json_get(end, "reordering");

	order->packets = json_get_u64(end, "reordered");
	order->extent_max = json_get_u64(o, "extent_max");
	order->extent_unknown = json_get_u64(o, "extent_unknown");
	for (size_t i = 0; i < json_get_length(o, "extent"); i++) {
		struct json_object *bucket = json_get_item(o, "extent", i);

		order->extent[arrivals_bucket(json_get_u64(bucket, "from"))] +=
			json_get_u64(bucket, "packets");
	}
}

/* Fills in values that only the receiver measures, for all senders together. */
static void fill_received(struct joining *j)
{
	const struct json_object *end = j->to ? j->to->end : NULL;
	struct result *sum = j->sum;

	sum->duplicated = json_get_u64(end, "duplicated");
	sum->late = json_get_u64(end, "late");
	sum->damaged = json_get_u64(end, "damaged");
	sum->invalid = json_get_u64(end, "invalid");
	sum->foreign = json_get_u64(end, "foreign");
	fill_order(end, &sum->arrivals.order);
	sum->rx_pps = json_get_double(end, "rx_pps");
	if (!j->to)
		json_add_line(
			j->notes,
			"the ledger of %s is missing: the outcome of its packets is unknown",
			j->target);
	else if (!end)
		json_add_line(j->notes, "%s is incomplete: packets that arrived after its last line "
					"are unknown",
			      j->to->d->path);
	else if (j->to->d->damaged)
		json_add_line(j->notes, "lines of %s are missing: losses cannot be determined",
			      j->to->d->path);
	if (sum->late)
		json_add_line(j->notes, "%s arrived too late to be counted",
			      fmt_many(sum->late, "packet"));
	if (sum->foreign)
		json_add_line(j->notes,
			      "%s could not be noted by the receiver: more streams came than it "
			      "had room for (recv --streams), or more was lost at a stretch",
			      fmt_many(sum->foreign, "packet"));
}

static void add_stranger(struct joining *j, const struct range *run)
{
	static const char *const outcomes[] = {"delivered", "dropped", "came"};
	const char *outcome =
		json_get_text(outcome_sum_at(j->to->d->outcomes, run->detail), "outcome");
	uint64_t base = run->first & ~(uint64_t)UINT32_MAX;
	size_t n = json_object_array_length(j->strangers);
	struct json_object *o = n ? json_object_array_get_idx(j->strangers, n - 1) : NULL;

	if (!o || json_get_u64(o, "stream") != run->stream || json_get_u64(o, "base") != base) {
		o = json_add_object(j->strangers);
		json_put_u64(o, "stream", run->stream);
		json_put_u64(o, "base", base);
		for (unsigned i = 0; i < LENGTH(outcomes); i++)
			json_put_u64(o, outcomes[i], 0);
	}
	if (json_get(o, outcome))
		json_put_u64(o, outcome, json_get_u64(o, outcome) + run->last - run->first + 1);
}

/* Finds streams that do not belong to any sender in these ledgers. */
static void find_strangers(struct joining *j, const struct ends *ends)
{
	for (size_t r = 0; j->to && r < j->to->all.n; r++) {
		const struct range *run = &j->to->all.range[r];
		bool known = false;

		for (unsigned i = 0; i < ends->senders && !known; i++) {
			const struct side *s = &ends->sender[i];

			for (unsigned k = 0; s->to == j->to && k < s->streams && !known; k++)
				known = s->stream[k].stream == run->stream &&
					run->first >= s->stream[k].first &&
					run->first <= s->stream[k].last;
		}
		if (!known)
			add_stranger(j, run);
	}
	if (j->to && json_object_array_length(j->strangers))
		json_add_line(j->notes, "%s arrived at %s from senders whose ledgers are missing",
			      fmt_many(json_object_array_length(j->strangers), "stream"),
			      j->to->name);
}

static void finish(struct joining *j, struct ledgers_document *d)
{
	const struct ledgers_document *to = j->to ? j->to->d : NULL;
	const struct side *of = to ? j->to : j->first;
	struct json_object *o = json_object_new_object();

	*d = (struct ledgers_document){
		.json = o,
		.command = "run",
		.path = of->d->path,
		.number = of->d->number,
		.from_ns = to ? to->from_ns : 0,
		.to_ns = j->to_ns,
	};
	j->sum->balanced = !j->sum->unaccounted && !j->sum->impossible && j->whole && to &&
			   !to->damaged && !json_object_array_length(j->strangers);
	if (j->n != 1)
		snprintf(j->head.tx_host.name, sizeof(j->head.tx_host.name), "%u senders", j->n);
	snprintf(j->head.host, sizeof(j->head.host), "%s", of->name);
	json_put_text(o, "schema", "pktledger/run/1");
	json_put_text(o, "file", d->path);
	json_put_u64(o, "number", d->number);
	json_put(o, "start", json_start(&j->head, NULL));
	json_put_list(o, "intervals"); /* left empty, because the senders' clocks differ */
	json_put(o, "covers", series_covers(NULL, d->from_ns, d->to_ns));
	json_put_list(o, "worst");
	json_put(o, "end", json_end(j->sum));
	json_put(o, "senders", j->senders);
	json_put(o, "unknown_streams", j->strangers);
	json_put(o, "notes", j->notes);
}

/*
 * Builds the document for a receiver and its senders, or for all senders to `target` if the
 * receiver is unknown.
 */
static void make(const struct ends *ends, const struct side *to, const char *target,
		 struct ledgers_document *d)
{
	struct joining j = {
		.to = to,
		.target = target,
		.senders = json_object_new_array(),
		.strangers = json_object_new_array(),
		.notes = json_object_new_array(),
		.sum = mem_zero(2, sizeof(*j.sum)),
		.to_ns = to ? to->d->to_ns : 0,
		.head = {.two_hosts = true,
			 .tx = "?",
			 .rx = "?",
			 .tx_port = {.role = "tx"},
			 .rx_port = {.role = "rx"},
			 .time_ns = to ? to->d->from_ns : 0},
		.whole = true,
	};

	j.one = j.sum + 1;
	if (to)
		fill_receiver(to, &j.head);
	for (unsigned i = 0; i < ends->senders; i++) {
		struct side *s = &ends->sender[i];

		if (s->to == to && (to || !strcmp(s->target, target)))
			add_sender(&j, s);
	}
	fill_received(&j);
	find_strangers(&j, ends);
	finish(&j, d);
	free(j.sum);
}

int joined_make(struct ledgers *l, struct error *err)
{
	struct ends ends = {};
	int rc = match(&ends, l, err);
	struct ledgers_document *docs = NULL;
	unsigned n = 0;

	if (!rc)
		docs = mem_zero(ends.receivers + ends.senders, sizeof(*docs));
	for (unsigned i = 0; i < ends.receivers && !rc; i++)
		make(&ends, &ends.receiver[i], NULL, &docs[n++]);
	/* if the receiver's ledger is missing, build one document per target */
	for (unsigned i = 0, k; i < ends.senders && !rc; i++) {
		const char *target = ends.sender[i].target;

		for (k = 0; k < i && (ends.sender[k].to || strcmp(ends.sender[k].target, target));)
			k++;
		if (!ends.sender[i].to && k == i)
			make(&ends, NULL, target, &docs[n++]);
	}
	if (!rc)
		ledgers_replace(l, docs, n);
	free(ends.sender);
	free(ends.receiver);
	return rc;
}
