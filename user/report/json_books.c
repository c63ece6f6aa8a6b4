// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_books.h"

static void put_i64(struct json_object *o, const char *key, int64_t v)
{
	json_put(o, key, json_object_new_int64(v));
}

static struct json_object *culprit(const struct flow_books *b)
{
	const struct flow_culprit *c = &b->facts.culprit;
	struct json_object *o;

	if (!c->stage)
		return NULL;
	o = json_object_new_object();
	json_put_text(o, "stage", c->stage);
	json_put_text(o, "socket", c->socket);
	json_put_text(o, "process", c->process);
	json_put_u64(o, "packets", c->packets);
	return o;
}

static struct json_object *sequence(const struct flow_books *b)
{
	const struct balance_streams *s = &b->facts.streams;
	struct json_object *o;

	if (!b->facts.numbered)
		return NULL;
	o = json_object_new_object();
	json_put_u64(o, "streams", s->streams);
	json_put_u64(o, "numbers", s->seen);
	json_put_u64(o, "missing", s->missing);
	json_put_u64(o, "duplicated", s->duplicates);
	json_put_u64(o, "reordered", s->reordered);
	json_put_u64(o, "stray", s->stray);
	json_put_u64(o, "restarts", s->restarts);
	json_put_u64(o, "not_streams", s->strangers);
	return o;
}

static struct json_object *rests_on(const struct flow_books *b)
{
	struct json_object *list = json_object_new_array();
	char line[FLOW_SENTENCE];

	for (unsigned i = 0; !flow_books_rests_on(b, i, line, sizeof(line)); i++)
		json_object_array_add(list, json_text(line));
	return list;
}

/* Numbers about the numbers. */
static struct json_object *checkpoints(const struct flow_books *b, const struct balance_cost *cost)
{
	const struct balance_moment *from = &b->facts.begin, *to = &b->facts.end;
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "entered", to->sum.entered - from->sum.entered);
	json_put_u64(o, "left", b->left);
	json_put_u64(o, "queued_before", from->queued);
	json_put_u64(o, "queued_after", to->queued);
	json_put_u64(o, "window_ns", to->time_ns - from->time_ns);
	json_put_u64(o, "runs", cost->runs);
	json_put_u64(o, "run_ns", cost->run_ns);
	json_put_u64(o, "measured_ns", cost->measured_ns);
	json_put_u64(o, "recursion_misses", b->facts.missed);
	return o;
}

void json_put_books(struct json_object *end, const struct flow_books *b,
		    const struct balance_cost *cost)
{
	put_i64(end, "arrived", b->arrived);
	json_put_u64(end, "delivered", b->delivered);
	put_i64(end, "in_flight", b->in_flight);
	put_i64(end, "unaccounted", b->unaccounted);
	json_put_bool(end, "balanced", b->balanced);
	json_put_text(end, "verdict", flow_verdict_name(b->verdict));
	json_put(end, "culprit", culprit(b));
	json_put(end, "rests_on", rests_on(b));
	json_put(end, "lost_before",
		 b->facts.numbered && b->facts.streams.streams
			 ? json_object_new_uint64(b->lost_before)
			 : NULL);
	json_put(end, "sequence", sequence(b));
	json_put(end, "checkpoints", checkpoints(b, cost));
}
