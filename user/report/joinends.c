// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/joinends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

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
