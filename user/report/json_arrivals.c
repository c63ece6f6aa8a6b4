// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json.h"

/* Buckets by powers of two that are not empty. */
static struct json_object *buckets(const uint64_t *count, const char *what)
{
	struct json_object *list = json_object_new_array();

	for (unsigned b = 0; b < ARRIVALS_BUCKETS; b++) {
		struct json_object *o;

		if (!count[b])
			continue;
		o = json_object_new_object();
		json_put_u64(o, "from", arrivals_bucket_from(b));
		json_put_u64(o, "to", arrivals_bucket_to(b));
		json_put_u64(o, what, count[b]);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *reordering(const struct reordering *r)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "packets", r->packets);
	json_put_u64(o, "extent_max", r->extent_max);
	json_put(o, "extent", buckets(r->extent, "packets"));
	json_put_u64(o, "extent_unknown", r->extent_unknown);
	return o;
}

static struct json_object *gaps(const struct gaps *g)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "gaps", g->count);
	json_put_u64(o, "packets", g->packets);
	json_put_u64(o, "longest", g->longest);
	json_put(o, "length", buckets(g->length, "gaps"));
	return o;
}

struct json_object *json_quarters(const uint64_t count[HIST_QUARTERS])
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < HIST_QUARTERS; i++) {
		struct json_object *o;

		if (!count[i])
			continue;
		o = json_object_new_object();
		json_put_u64(o, "from_ns", hist_quarter_from(i));
		json_put_u64(o, "to_ns", hist_quarter_to(i));
		json_put_u64(o, "packets", count[i]);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *clock_object(const struct arrivals *a)
{
	struct json_object *o = json_object_new_object();
	const char *doubt = arrivals_clock_doubt(a);

	json_put_text(o, "name", ARRIVALS_CLOCK);
	json_put_u64(o, "negative", a->negative);
	json_put_bool(o, "plausible", !doubt);
	json_put_text(o, "doubt", doubt);
	return o;
}

static struct json_object *flows(const struct arrivals *a)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < a->flows; i++) {
		const struct arrivals_flow *f = &a->flow[i];
		struct json_object *o = json_object_new_object();

		json_put_u64(o, "stream", f->stream);
		json_put_text(o, "source", *f->source ? f->source : NULL);
		json_put_u64(o, "delivered", f->delivered);
		json_put_u64(o, "bytes", f->bytes);
		json_put_u64(o, "duplicated", f->duplicated);
		json_put_u64(o, "reordered", f->order.packets);
		json_put_u64(o, "reordering_extent_max", f->order.extent_max);
		json_put_u64(o, "jitter_ns", f->jitter_ns);
		json_put(o, "latency_ns", json_latency(&f->latency));
		json_object_array_add(list, o);
	}
	return list;
}

void json_put_arrivals(struct json_object *o, const struct arrivals *a)
{
	json_put_u64(o, "reordered", a->order.packets);
	json_put(o, "reordering", reordering(&a->order));
	json_put(o, "loss_gaps", gaps(&a->gaps));
	json_put(o, "latency_ns", json_latency(&a->latency));
	json_put(o, "latency_histogram", a->latency.measured ? json_quarters(a->delay) : NULL);
	json_put(o, "jitter_ns", a->latency.measured ? json_object_new_uint64(a->jitter_ns) : NULL);
	json_put(o, "clock", clock_object(a));
	json_put(o, "flows", flows(a));
	json_put_u64(o, "flows_more", a->flows_more);
}
