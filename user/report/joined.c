// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/joined.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/document.h"
#include "report/joinpart.h"

bool joined_wanted(const struct ledgers *l)
{
	const struct ledgers_document *d;
	bool sends = false, receives = false;
	unsigned n;

	d = ledgers_documents(l, &n);
	for (unsigned i = 0; i < n; i++) {
		sends |= !strcmp(d[i].command, "send");
		receives |= !strcmp(d[i].command, "recv");
	}
	return sends && receives;
}

/* What the receiver alone knows, of all senders together. */
static void fill_received(struct joining *j)
{
	const struct json_object *end = j->to ? joinpart_end(j->to->d) : NULL;
	struct result *sum = j->sum;

	sum->duplicated = json_get_u64(end, "duplicated");
	sum->late = json_get_u64(end, "late");
	sum->damaged = json_get_u64(end, "damaged");
	sum->invalid = json_get_u64(end, "invalid");
	sum->foreign = json_get_u64(end, "foreign");
	sum->arrivals.order.packets = json_get_u64(end, "reordered");
	sum->rx_pps = json_get_double(end, "rx_pps");
	if (!j->to)
		joinpart_note(
			j, "the ledger of %s is missing: what became of the packets is not known",
			j->target);
	else if (!end)
		joinpart_note(j, "%s has no end: what came after its last line is not known",
			      j->to->d->path);
	else if (j->to->d->damaged)
		joinpart_note(j, "lines of %s are missing: what did not come is not known",
			      j->to->d->path);
	if (sum->late)
		joinpart_note(j, "%llu packets came too late to be booked",
			      (unsigned long long)sum->late);
	if (sum->foreign)
		joinpart_note(
			j,
			"%llu packets could not be noted by the receiver: more streams came than "
			"it had room for (recv --streams), or more was lost at a stretch",
			(unsigned long long)sum->foreign);
}

static void add_stranger(struct joining *j, const struct fatesum_run *run)
{
	const char *fate = json_get_text(fatesum_outcome(j->to->d->fates, run->outcome), "fate");
	uint64_t base = run->first & ~(uint64_t)UINT32_MAX;
	size_t n = json_object_array_length(j->strangers);
	struct json_object *o = n ? json_object_array_get_idx(j->strangers, n - 1) : NULL;

	if (!o || json_get_u64(o, "stream") != run->stream || json_get_u64(o, "base") != base) {
		o = json_object_new_object();
		json_put_u64(o, "stream", run->stream);
		json_put_u64(o, "base", base);
		json_put_u64(o, "delivered", 0);
		json_put_u64(o, "dropped", 0);
		json_put_u64(o, "came", 0);
		json_object_array_add(j->strangers, o);
	}
	if (json_get(o, fate))
		json_put_u64(o, fate, json_get_u64(o, fate) + run->last - run->first + 1);
}

static bool holds(const struct joinends_stream *st, const struct fatesum_run *run)
{
	return st->stream == run->stream && run->first >= st->first && run->first <= st->last;
}

/* Of no sender whose ledger is among these. */
static void find_strangers(struct joining *j, const struct joinends *ends)
{
	if (!j->to)
		return;
	for (size_t r = 0; r < j->to->n; r++) {
		const struct fatesum_run *run = &j->to->run[r];
		bool known = false;

		for (unsigned i = 0; i < ends->senders && !known; i++) {
			const struct joinends_sender *s = &ends->sender[i];

			for (unsigned k = 0; s->to == j->to && k < s->streams && !known; k++)
				known = holds(&s->stream[k], run);
		}
		if (!known)
			add_stranger(j, run);
	}
	if (json_object_array_length(j->strangers))
		joinpart_note(j, "%zu streams came to %s of which no sender's ledger is here",
			      json_object_array_length(j->strangers), joinends_name(j->to->d));
}

/* No intervals: those of each are by its own clock. */
static struct json_object *covers(const struct joining *j)
{
	struct json_object *o = json_object_new_object();
	char time[32];

	json_put_text(o, "from", json_time(time, sizeof(time), j->from_ns));
	json_put_text(o, "to", json_time(time, sizeof(time), j->to_ns));
	json_put_u64(o, "intervals", 0);
	json_put_u64(o, "joined", 0);
	return o;
}

static void finish(struct joining *j, struct ledgers_document *d)
{
	const struct ledgers_document *to = j->to ? j->to->d : NULL, *of = to ? to : j->first;
	struct json_object *o = json_object_new_object();

	j->sum->balanced = !j->sum->unaccounted && !j->sum->impossible && j->whole && to &&
			   !to->damaged && !json_object_array_length(j->strangers);
	if (j->n != 1)
		snprintf(j->head.tx_host.name, sizeof(j->head.tx_host.name), "%u senders", j->n);
	snprintf(j->head.host, sizeof(j->head.host), "%s", joinends_name(of));
	json_put_text(o, "schema", "pktledger/run/1");
	json_put_text(o, "file", of->path);
	json_put_u64(o, "number", of->number);
	json_put(o, "start", json_start(&j->head, NULL));
	json_put(o, "intervals", json_object_new_array());
	json_put(o, "covers", covers(j));
	json_put(o, "worst", json_object_new_array());
	json_put(o, "end", json_end(j->sum));
	json_put(o, "senders", j->senders);
	json_put(o, "strangers", j->strangers);
	json_put(o, "notes", j->notes);
	*d = (struct ledgers_document){
		.json = o,
		.command = "run",
		.path = of->path,
		.number = of->number,
		.from_ns = j->from_ns,
		.to_ns = j->to_ns,
	};
}

/* Whether the sender is one of this document: its receiver's, or that of an unknown target. */
static bool belongs(const struct joining *j, const struct joinends_sender *s)
{
	if (s->to || j->to)
		return s->to == j->to;
	return j->target && !strcmp(json_get_text(joinpart_start(s->d), "to"), j->target);
}

static int make(const struct joinends *ends, const struct joinends_receiver *to, const char *target,
		struct ledgers_document *d)
{
	struct joining j = {
		.to = to,
		.target = target,
		.senders = json_object_new_array(),
		.strangers = json_object_new_array(),
		.notes = json_object_new_array(),
		.sum = calloc(1, sizeof(*j.sum)),
		.one = calloc(1, sizeof(*j.one)),
		.from_ns = to ? to->d->from_ns : 0,
		.head = {.two_hosts = true,
			 .tx = "?",
			 .rx = "?",
			 .tx_port = {.role = "tx"},
			 .rx_port = {.role = "rx"}},
		.whole = true,
	};
	int rc = j.sum && j.one ? 0 : -ENOMEM;

	if (to) {
		joinpart_receiver(to, &j.head);
		j.head.time_ns = to->d->from_ns;
		j.to_ns = to->d->to_ns;
	}
	for (unsigned i = 0; i < ends->senders && !rc; i++) {
		const struct joinends_sender *s = &ends->sender[i];

		if (!belongs(&j, s))
			continue;
		joinpart_add(&j, s);
		if (s->d->to_ns > j.to_ns)
			j.to_ns = s->d->to_ns;
	}
	if (!rc) {
		fill_received(&j);
		find_strangers(&j, ends);
		finish(&j, d);
	}
	free(j.sum);
	free(j.one);
	return rc;
}

/* Targets of which no receiver's ledger is there; each once. */
static bool is_first_of_target(const struct joinends *ends, unsigned i)
{
	const char *target = json_get_text(joinpart_start(ends->sender[i].d), "to");

	for (unsigned k = 0; k < i; k++) {
		if (!ends->sender[k].to &&
		    !strcmp(json_get_text(joinpart_start(ends->sender[k].d), "to"), target))
			return false;
	}
	return true;
}

static int make_all(struct ledgers *l, const struct joinends *ends)
{
	struct ledgers_document *docs = calloc(ends->receivers + ends->senders + 1, sizeof(*docs));
	unsigned n = 0;
	int rc = docs ? 0 : -ENOMEM;

	for (unsigned i = 0; i < ends->receivers && !rc; i++)
		rc = make(ends, &ends->receiver[i], NULL, &docs[n++]);
	for (unsigned i = 0; i < ends->senders && !rc; i++) {
		if (!ends->sender[i].to && is_first_of_target(ends, i))
			rc = make(ends, NULL,
				  json_get_text(joinpart_start(ends->sender[i].d), "to"),
				  &docs[n++]);
	}
	if (!rc)
		rc = ledgers_replace(l, docs, n);
	free(docs);
	return rc;
}

int joined_make(struct ledgers *l, struct error *err)
{
	struct joinends ends;
	int rc = joinends_match(&ends, l, err);

	if (!rc) {
		rc = make_all(l, &ends);
		if (rc)
			error_set(err, STATUS_FAILED, rc, NULL, "out of memory");
	}
	joinends_free(&ends);
	return rc;
}
