// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/joined.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "report/document.h"
#include "report/joinends.h"

#define CLOCKS_DIFFER_NS 1000000000 /* that is no delay of a network */

/* One receiver with its senders, while its document is made. */
struct joining {
	const struct joinends_receiver *to; /* NULL: of those whose receiver is not known */
	const char *target;		    /* then: where they sent to */
	struct json_object *senders, *strangers, *notes;
	struct result *sum, *one;	      /* of all; of the sender that is added */
	struct run_header head;		      /* of all */
	const struct ledgers_document *first; /* of the senders; NULL: there is none */
	uint64_t from_ns, to_ns;
	unsigned n;
	bool whole; /* nothing is missing in these ledgers */
};

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

static const struct json_object *start_of(const struct ledgers_document *d)
{
	return json_get(d->json, "start");
}

/* NULL: there is none. */
static const struct json_object *end_of(const struct ledgers_document *d)
{
	return json_get(d->json, "end");
}

__attribute__((format(printf, 2, 3))) static void note(struct joining *j, const char *format, ...)
{
	char text[320];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_object_array_add(j->notes, json_text(text));
}

/* What the receiver says of a stream at its end; NULL: nothing. */
static const struct json_object *heard_of(const struct joinends_receiver *to,
					  const struct joinends_stream *st)
{
	const struct json_object *end = end_of(to->d);

	for (size_t i = 0; i < json_get_length(end, "streams"); i++) {
		const struct json_object *s = json_get_item(end, "streams", i);

		if (json_get_u64(s, "stream") == st->stream && json_get_u64(s, "base") == st->base)
			return s;
	}
	return NULL;
}

/*
 * The receiver's clock less the sender's, by the packet that was fastest; more than that by its
 * delay. False: packets that came carried no time.
 */
static bool clocks_of(const struct joinends_sender *s, int64_t *ns)
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

/* Between which numbers the receiver stood there: what did not come then was lost before it. */
static void find_watch(const struct joinends_sender *s, const struct joinends_stream *st,
		       struct joinbooks_stream *out)
{
	const struct json_object *tx = start_of(s->d), *rx, *heard;
	uint64_t tx_end = json_get_u64(end_of(s->d), "tai_ns"), rx_end;
	int64_t offset = 0;

	out->watch_from = UINT64_MAX;
	out->watch_to = 0;
	if (!s->to || s->to->d->damaged)
		return;
	rx = start_of(s->to->d);
	rx_end = json_get_u64(end_of(s->to->d), "tai_ns");
	heard = heard_of(s->to, st);
	clocks_of(s, &offset);
	if (st->n_came) {
		out->watch_from = st->came[0].first;
		out->watch_to = st->came[st->n_came - 1].last;
	}
	if (json_get_i64(rx, "tai_ns") <= json_get_i64(tx, "tai_ns") + offset)
		out->watch_from = 0;
	if (json_get(heard, "sent") || (tx_end && rx_end && rx_end >= tx_end + (uint64_t)offset))
		out->watch_to = UINT64_MAX;
}

static unsigned l3_bytes(const struct ledgers_document *d)
{
	const struct json_object *start = start_of(d);
	unsigned payload = (unsigned)json_get_u64(start, "payload_bytes");

	return payload ? payload + 8 + (*json_get_text(start, "to") == '[' ? 40 : 20) : 0;
}

static void fill_one(const struct joining *j, const struct joinends_sender *s, struct result *res,
		     uint64_t *open)
{
	memset(res, 0, sizeof(*res));
	for (unsigned i = 0; i < s->streams; i++) {
		const struct joinends_stream *st = &s->stream[i];
		struct joinbooks_stream books = {
			.stream = st->stream,
			.base = st->base,
			.tx = {s->d->fates, st->run, st->n, joinends_name(s->d)},
			.rx = {j->to ? j->to->d->fates : NULL, st->came, st->n_came,
			       j->to ? joinends_name(j->to->d) : ""},
			.l3_bytes = l3_bytes(s->d),
			.whole = s->whole,
		};

		find_watch(s, st, &books);
		joinbooks_add(&books, res, open);
	}
	res->tx_pps = json_get_double(end_of(s->d), "tx_pps");
	res->duration_ns = json_get_u64(end_of(s->d), "duration_ns");
	res->waits = json_get_u64(end_of(s->d), "waits");
	res->wait_ns = json_get_u64(end_of(s->d), "wait_ns");
	res->balanced = !res->unaccounted && !res->impossible && s->whole && s->to;
}

static void note_sender(struct joining *j, const struct joinends_sender *s,
			const struct result *res, uint64_t open)
{
	const char *name = joinends_name(s->d);
	char text[FMT_MAX];
	int64_t offset;

	if (!end_of(s->d))
		note(j, "%s has no end: what %s sent after its last line is not known", s->d->path,
		     name);
	if (s->d->damaged)
		note(j, "lines of %s are missing: of %llu numbers it tells nothing", s->d->path,
		     (unsigned long long)open);
	if (s->by_time && res->sent)
		note(j, "nothing of %s came to %s; that it was there is by the clocks of both",
		     name, joinends_name(s->to->d));
	if (clocks_of(s, &offset) && (offset < 0 || offset > CLOCKS_DIFFER_NS)) {
		fmt_ns(text, sizeof(text), (uint64_t)(offset < 0 ? -offset : offset));
		note(j, "the clock of %s is %s %s that of %s: times are each host's own",
		     joinends_name(s->to->d), text, offset < 0 ? "behind" : "ahead of", name);
	}
}

static void fill_place(struct result_host *host, const struct ledgers_document *d)
{
	snprintf(host->name, sizeof(host->name), "%s", joinends_name(d));
	snprintf(host->place, sizeof(host->place), "%s", json_get_text(start_of(d), "checkpoint"));
}

/* "198.18.0.2:28779", "[2001:2::2]:28779" */
static void fill_target(struct header_port *port, const char *to)
{
	const char *end = strrchr(to, ':');
	size_t len = end ? (size_t)(end - to) : strlen(to);

	if (*to == '[' && len > 2) {
		to++;
		len -= 2;
	}
	snprintf(port->address, sizeof(port->address), "%.*s", (int)len, to);
}

/* The receiver's part of the header. */
static void fill_receiver(const struct joinends_receiver *to, struct run_header *h)
{
	const struct json_object *start = start_of(to->d);

	h->rx = json_get_text(start, "rx");
	h->port = (uint16_t)json_get_u64(start, "port");
	snprintf(h->rx_mode, sizeof(h->rx_mode), "%s",
		 json_get_text(json_get(start, "granted_mode"), "rx"));
	fill_place(&h->rx_host, to->d);
	h->far_env = json_get(start, "env");
}

static void fill_head(const struct joining *j, const struct joinends_sender *s,
		      struct run_header *h)
{
	const struct json_object *tx = start_of(s->d);

	*h = (struct run_header){
		.time_ns = s->d->from_ns,
		.two_hosts = true,
		.tx = json_get_text(tx, "tx"),
		.rx = "?",
		.tx_port = {.role = "tx"},
		.rx_port = {.role = "rx"},
		.threads = s->streams,
		.flows = 1,
		.count = end_of(s->d) ? json_get_u64(end_of(s->d), "attempted") : UINT64_MAX,
		.rate_pps = json_get_double(tx, "rate_pps"),
		.payload_bytes = (unsigned)json_get_u64(tx, "payload_bytes"),
		.frame_bytes = (unsigned)json_get_u64(tx, "frame_bytes"),
		.stream0 = s->stream[0].stream,
		.streams = (uint16_t)s->streams,
		.base = s->stream[0].base,
	};
	snprintf(h->host, sizeof(h->host), "%s", joinends_name(s->d));
	snprintf(h->tx_mode, sizeof(h->tx_mode), "%s",
		 json_get_text(json_get(tx, "granted_mode"), "tx"));
	fill_place(&h->tx_host, s->d);
	fill_target(&h->rx_port, json_get_text(tx, "to"));
	snprintf(h->rx_host.name, sizeof(h->rx_host.name), "%s", json_get_text(tx, "to"));
	if (j->to)
		fill_receiver(j->to, h);
}

static void add_sender(struct joining *j, const struct joinends_sender *s)
{
	struct json_object *o = json_object_new_object();
	struct json_object *env = json_get(start_of(s->d), "env");
	struct run_header head;
	uint64_t open = 0;

	fill_one(j, s, j->one, &open);
	fill_head(j, s, &head);
	note_sender(j, s, j->one, open);
	json_put_text(o, "file", s->d->path);
	json_put_u64(o, "number", s->d->number);
	json_put(o, "start", json_start(&head, json_object_get(env)));
	json_put(o, "end", json_end(j->one));
	json_object_array_add(j->senders, o);
	joinbooks_sum(j->sum, j->one);
	j->sum->tx_pps += j->one->tx_pps;
	j->sum->waits += j->one->waits;
	j->sum->wait_ns += j->one->wait_ns;
	if (j->one->duration_ns > j->sum->duration_ns)
		j->sum->duration_ns = j->one->duration_ns;
	j->whole &= s->whole;
	if (!j->n++) {
		j->head = head;
		j->first = s->d;
		return;
	}
	j->head.threads += head.threads;
	j->head.rate_pps =
		j->head.rate_pps > 0 && head.rate_pps > 0 ? j->head.rate_pps + head.rate_pps : 0;
	if (head.time_ns < j->head.time_ns)
		j->head.time_ns = head.time_ns;
}

/* What the receiver alone knows, of all senders together. */
static void fill_received(struct joining *j)
{
	const struct json_object *end = j->to ? end_of(j->to->d) : NULL;
	struct result *sum = j->sum;

	sum->duplicated = json_get_u64(end, "duplicated");
	sum->late = json_get_u64(end, "late");
	sum->damaged = json_get_u64(end, "damaged");
	sum->invalid = json_get_u64(end, "invalid");
	sum->foreign = json_get_u64(end, "foreign");
	sum->arrivals.order.packets = json_get_u64(end, "reordered");
	sum->rx_pps = json_get_double(end, "rx_pps");
	if (!j->to)
		note(j, "the ledger of %s is missing: what became of the packets is not known",
		     j->target);
	else if (!end)
		note(j, "%s has no end: what came after its last line is not known",
		     j->to->d->path);
	else if (j->to->d->damaged)
		note(j, "lines of %s are missing: what did not come is not known", j->to->d->path);
	if (sum->late)
		note(j, "%llu packets came too late to be booked", (unsigned long long)sum->late);
	if (sum->foreign)
		note(j,
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
		note(j, "%zu streams came to %s of which no sender's ledger is here",
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
	return j->target && !strcmp(json_get_text(start_of(s->d), "to"), j->target);
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
		fill_receiver(to, &j.head);
		j.head.time_ns = to->d->from_ns;
		j.to_ns = to->d->to_ns;
	}
	for (unsigned i = 0; i < ends->senders && !rc; i++) {
		const struct joinends_sender *s = &ends->sender[i];

		if (!belongs(&j, s))
			continue;
		add_sender(&j, s);
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
	const char *target = json_get_text(start_of(ends->sender[i].d), "to");

	for (unsigned k = 0; k < i; k++) {
		if (!ends->sender[k].to &&
		    !strcmp(json_get_text(start_of(ends->sender[k].d), "to"), target))
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
			rc = make(ends, NULL, json_get_text(start_of(ends->sender[i].d), "to"),
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
