// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What came of two runs, sweeps or searches, side by side. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "report/compare.h"
#include "report/series.h"
#include "drops/stagemap.h"

#define NAME_MAX_LEN 200

/* Both ends, for shares of what they sent. */
struct pair {
	struct json_object *list;
	const struct json_object *a, *b;
};

static void put_share(struct json_object *o, const char *key, const struct json_object *end,
		      struct json_object *packets)
{
	double sent = json_get_double(end, "sent");

	if (sent > 0 && packets)
		json_put(o, key, json_object_new_double(json_object_get_double(packets) / sent));
}

static void add_share(struct json_object *o, const struct pair *of, struct json_object *a,
		      struct json_object *b)
{
	put_share(o, "a_share", of->a, a);
	put_share(o, "b_share", of->b, b);
}

static struct json_object *add_result(struct json_object *list, const char *name,
				      struct json_object *a, struct json_object *b)
{
	double from = json_object_get_double(a), to = json_object_get_double(b);
	struct json_object *o = json_object_new_object();

	json_put_text(o, "name", name);
	json_put(o, "a", json_object_get(a));
	json_put(o, "b", json_object_get(b));
	json_put_double(o, "change", a && b && from > 0 ? (to - from) / from : NAN);
	json_object_array_add(list, o);
	return o;
}

static struct json_object *stage_of(const struct json_object *end, enum stage stage)
{
	for (size_t i = 0; i < json_get_length(end, "stages"); i++) {
		struct json_object *o = json_get_item(end, "stages", i);

		if (rows_stage(json_get_text(o, "stage")) == stage)
			return o;
	}
	return NULL;
}

/* Losses of both, in the order of the path. */
static void add_stages(const struct pair *of)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		struct json_object *a = json_get(stage_of(of->a, s), "packets");
		struct json_object *b = json_get(stage_of(of->b, s), "packets");
		struct json_object *zero;

		if (!json_object_get_uint64(a) && !json_object_get_uint64(b))
			continue;
		zero = json_object_new_int(0);
		a = a ? a : zero;
		b = b ? b : zero;
		add_share(add_result(of->list, stage_name(s), a, b), of, a, b);
		json_object_put(zero);
	}
}

/* Those that both tell. */
static void add_named(const struct pair *of, const char *const *name, unsigned n, bool shares)
{
	for (unsigned i = 0; i < n; i++) {
		struct json_object *a = json_get(of->a, name[i]), *b = json_get(of->b, name[i]), *o;

		if (!a || !b)
			continue;
		o = add_result(of->list, name[i], a, b);
		if (shares)
			add_share(o, of, a, b);
	}
}

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

/* Of two searches. */
static void add_rates(const struct pair *of)
{
	static const char *const rates[][2] = {
		{"ndr", "lower_pps"}, {"pdr", "lower_pps"}, {"mrr", "throughput_pps"}};

	for (unsigned i = 0; i < LENGTH(rates); i++) {
		struct json_object *a = json_get(json_get(of->a, rates[i][0]), rates[i][1]);
		struct json_object *b = json_get(json_get(of->b, rates[i][0]), rates[i][1]);
		char name[32];

		snprintf(name, sizeof(name), "%s_pps", rates[i][0]);
		if (a && b)
			add_result(of->list, name, a, b);
	}
}

/* "64k on rx_pps": what tells a point of a sweep from the others. */
static void name_point(char *buf, size_t size, struct json_object *parameters)
{
	size_t n = 0;

	*buf = '\0';
	if (!json_object_is_type(parameters, json_type_object))
		return;
	json_object_object_foreach (parameters, key, value) {
		(void)key;
		n += (size_t)snprintf(buf + n, n < size ? size - n : 0, "%s ",
				      json_object_get_string(value));
		if (n >= size)
			return;
	}
	snprintf(buf + n, size - n, "rx_pps");
}

static struct json_object *same_point(const struct json_object *end, struct json_object *parameters)
{
	for (size_t i = 0; i < json_get_length(end, "points"); i++) {
		struct json_object *point = json_get_item(end, "points", i);

		if (json_object_equal(json_get(point, "parameters"), parameters))
			return point;
	}
	return NULL;
}

static void put_delivered(struct json_object *o, const char *key, const struct json_object *point)
{
	const struct json_object *lost = json_get(point, "lost_share");

	json_put(o, key, json_object_new_double(1 - json_get_double(lost, "median")));
}

/* Of two sweeps: what was received at the points that both have, and what share that was. */
static void add_points(const struct pair *of)
{
	for (size_t i = 0; i < json_get_length(of->a, "points"); i++) {
		struct json_object *a = json_get_item(of->a, "points", i), *o;
		struct json_object *b = same_point(of->b, json_get(a, "parameters"));
		struct json_object *from = json_get(json_get(a, "rx_pps"), "median");
		struct json_object *to = json_get(json_get(b, "rx_pps"), "median");
		char name[NAME_MAX_LEN];

		if (!from || !to)
			continue;
		name_point(name, sizeof(name), json_get(a, "parameters"));
		o = add_result(of->list, name, from, to);
		put_delivered(o, "a_share", a);
		put_delivered(o, "b_share", b);
	}
}

struct json_object *compare_results(const struct json_object *a, const struct json_object *b)
{
	static const char *const before[] = {"attempted", "refused", "sent"};
	static const char *const ends[] = {"delivered", "received", "lost", "in_flight",
					   "unaccounted"};
	static const char *const beside[] = {"impossible", "duplicated", "reordered", "late",
					     "damaged",	   "tx_pps",	 "rx_pps",    "jitter_ns"};
	static const char *const delays[] = {"p50", "p99", "p9999", "max"};
	const struct json_object *delay_a = json_get(a, "latency_ns");
	const struct json_object *delay_b = json_get(b, "latency_ns");
	const struct pair of = {json_object_new_array(), a, b};

	add_named(&of, before, LENGTH(before), false);
	add_stages(&of);
	add_named(&of, ends, LENGTH(ends), true);
	add_named(&of, beside, LENGTH(beside), false);
	add_rates(&of);
	add_points(&of);
	for (unsigned i = 0; delay_a && delay_b && i < LENGTH(delays); i++) {
		char name[32];

		snprintf(name, sizeof(name), "latency_%s_ns", delays[i]);
		add_result(of.list, name, json_get(delay_a, delays[i]),
			   json_get(delay_b, delays[i]));
	}
	return of.list;
}
