// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/joinpart.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "report/joinbooks.h"

#define CLOCKS_DIFFER_NS 1000000000 /* that is no delay of a network */

const struct json_object *joinpart_start(const struct ledgers_document *d)
{
	return json_get(d->json, "start");
}

const struct json_object *joinpart_end(const struct ledgers_document *d)
{
	return json_get(d->json, "end");
}

void joinpart_note(struct joining *j, const char *format, ...)
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
	const struct json_object *end = joinpart_end(to->d);

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
	const struct json_object *tx = joinpart_start(s->d), *rx, *heard;
	uint64_t tx_end = json_get_u64(joinpart_end(s->d), "tai_ns"), rx_end;
	int64_t offset = 0;

	out->watch_from = UINT64_MAX;
	out->watch_to = 0;
	if (!s->to || s->to->d->damaged)
		return;
	rx = joinpart_start(s->to->d);
	rx_end = json_get_u64(joinpart_end(s->to->d), "tai_ns");
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
	const struct json_object *start = joinpart_start(d);
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
	res->tx_pps = json_get_double(joinpart_end(s->d), "tx_pps");
	res->duration_ns = json_get_u64(joinpart_end(s->d), "duration_ns");
	res->waits = json_get_u64(joinpart_end(s->d), "waits");
	res->wait_ns = json_get_u64(joinpart_end(s->d), "wait_ns");
	res->balanced = !res->unaccounted && !res->impossible && s->whole && s->to;
}

static void note_sender(struct joining *j, const struct joinends_sender *s,
			const struct result *res, uint64_t open)
{
	const char *name = joinends_name(s->d);
	char text[FMT_MAX];
	int64_t offset;

	if (!joinpart_end(s->d))
		joinpart_note(j, "%s has no end: what %s sent after its last line is not known",
			      s->d->path, name);
	if (s->d->damaged)
		joinpart_note(j, "lines of %s are missing: of %llu numbers it tells nothing",
			      s->d->path, (unsigned long long)open);
	if (s->by_time && res->sent)
		joinpart_note(
			j, "nothing of %s came to %s; that it was there is by the clocks of both",
			name, joinends_name(s->to->d));
	if (clocks_of(s, &offset) && (offset < 0 || offset > CLOCKS_DIFFER_NS)) {
		fmt_ns(text, sizeof(text), (uint64_t)(offset < 0 ? -offset : offset));
		joinpart_note(j, "the clock of %s is %s %s that of %s: times are each host's own",
			      joinends_name(s->to->d), text, offset < 0 ? "behind" : "ahead of",
			      name);
	}
}

static void fill_place(struct result_host *host, const struct ledgers_document *d)
{
	snprintf(host->name, sizeof(host->name), "%s", joinends_name(d));
	snprintf(host->place, sizeof(host->place), "%s",
		 json_get_text(joinpart_start(d), "checkpoint"));
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

void joinpart_receiver(const struct joinends_receiver *to, struct run_header *h)
{
	const struct json_object *start = joinpart_start(to->d);

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
	const struct json_object *tx = joinpart_start(s->d);

	*h = (struct run_header){
		.time_ns = s->d->from_ns,
		.two_hosts = true,
		.tx = json_get_text(tx, "tx"),
		.rx = "?",
		.tx_port = {.role = "tx"},
		.rx_port = {.role = "rx"},
		.threads = s->streams,
		.flows = 1,
		.count = joinpart_end(s->d) ? json_get_u64(joinpart_end(s->d), "attempted")
					    : UINT64_MAX,
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
		joinpart_receiver(j->to, h);
}

void joinpart_add(struct joining *j, const struct joinends_sender *s)
{
	struct json_object *o = json_object_new_object();
	struct json_object *env = json_get(joinpart_start(s->d), "env");
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
