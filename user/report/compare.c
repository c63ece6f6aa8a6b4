// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/compare.h"

#include <math.h>
#include <string.h>

#include "base/json_put.h"
#include "base/num.h"
#include "out/page.h"
#include "report/rows.h"
#include "trace/stagemap.h"

#define NAME_MAX_LEN 200

/* What tells one item of a list from the next: its place says nothing. */
static const char *const names[] = {"netns", "ifname", "stream", "name"};

/* What always differs, and means nothing. */
static const char *const ignored[] = {"time", "command", "streams", "env", "steal_ns", "host"};

static bool is_ignored(const char *key)
{
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		if (!strcmp(ignored[i], key))
			return true;
	}
	return false;
}

static bool same_item(const struct json_object *a, const struct json_object *b)
{
	bool any = false;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!json_get(a, names[i]))
			continue;
		if (!json_object_equal(json_get(a, names[i]), json_get(b, names[i])))
			return false;
		any = true;
	}
	return any;
}

/* The item of `list` that stands for `item`; NULL: there is none. */
static struct json_object *partner(const struct json_object *item, struct json_object *list)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *other = json_object_array_get_idx(list, i);

		if (same_item(item, other))
			return other;
	}
	return NULL;
}

static bool is_list_of_objects(const struct json_object *o)
{
	return json_object_is_type(o, json_type_array) && json_object_array_length(o) &&
	       json_object_is_type(json_object_array_get_idx(o, 0), json_type_object);
}

static void add_difference(struct json_object *list, const char *name, struct json_object *a,
			   struct json_object *b)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "name", name);
	json_put(o, "a", json_object_get(a));
	json_put(o, "b", json_object_get(b));
	json_object_array_add(list, o);
}

static void compare(struct json_object *list, const char *name, struct json_object *a,
		    struct json_object *b);

static void put_name(char *buf, const char *name, const char *key)
{
	snprintf(buf, NAME_MAX_LEN, "%.120s%s%.70s", name, *name ? "." : "", key);
}

static void compare_objects(struct json_object *list, const char *name, struct json_object *a,
			    struct json_object *b)
{
	char longer[NAME_MAX_LEN];

	json_object_object_foreach (a, key, value) {
		put_name(longer, name, key);
		if (!is_ignored(key))
			compare(list, longer, value, json_get(b, key));
	}
	json_object_object_foreach (b, other, theirs) {
		put_name(longer, name, other);
		if (!is_ignored(other) && !json_object_object_get_ex(a, other, NULL))
			compare(list, longer, NULL, theirs);
	}
}

/* "interfaces.v-tx" for an item. */
static void item_name(char *buf, const char *name, const struct json_object *item)
{
	const char *known = json_get_text(item, "ifname");
	const char *netns = json_get_text(item, "netns");
	char key[NAME_MAX_LEN];

	snprintf(key, sizeof(key), "%s%s%s", netns, *netns ? "/" : "",
		 *known ? known : json_get_text(item, "name"));
	put_name(buf, name, key);
}

static void compare_lists(struct json_object *list, const char *name, struct json_object *a,
			  struct json_object *b)
{
	char longer[NAME_MAX_LEN];

	for (size_t i = 0; i < json_object_array_length(a); i++) {
		struct json_object *item = json_object_array_get_idx(a, i);

		item_name(longer, name, item);
		compare(list, longer, item, partner(item, b));
	}
	for (size_t i = 0; i < json_object_array_length(b); i++) {
		struct json_object *item = json_object_array_get_idx(b, i);

		item_name(longer, name, item);
		if (!partner(item, a))
			compare(list, longer, NULL, item);
	}
}

static void compare(struct json_object *list, const char *name, struct json_object *a,
		    struct json_object *b)
{
	if (json_object_equal(a, b))
		return;
	if (json_object_is_type(a, json_type_object) && json_object_is_type(b, json_type_object))
		compare_objects(list, name, a, b);
	else if (is_list_of_objects(a) && is_list_of_objects(b))
		compare_lists(list, name, a, b);
	else
		add_difference(list, name, a, b);
}

static void add_result(struct json_object *list, const char *name, struct json_object *a,
		       struct json_object *b)
{
	double from = json_object_get_double(a), to = json_object_get_double(b);
	struct json_object *o = json_object_new_object();

	json_put_text(o, "name", name);
	json_put(o, "a", json_object_get(a));
	json_put(o, "b", json_object_get(b));
	json_put_double(o, "change", a && b && from > 0 ? (to - from) / from : NAN);
	json_object_array_add(list, o);
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
static void add_stages(struct json_object *list, const struct json_object *a,
		       const struct json_object *b)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		struct json_object *of_a = stage_of(a, s), *of_b = stage_of(b, s), *zero;

		if (!json_get_u64(of_a, "packets") && !json_get_u64(of_b, "packets"))
			continue;
		zero = json_object_new_int(0);
		add_result(list, stage_name(s), of_a ? json_get(of_a, "packets") : zero,
			   of_b ? json_get(of_b, "packets") : zero);
		json_object_put(zero);
	}
}

static struct json_object *results(const struct json_object *a, const struct json_object *b)
{
	static const char *const before[] = {"attempted", "refused", "sent"};
	static const char *const after[] = {"delivered",   "received",	 "lost",       "in_flight",
					    "unaccounted", "impossible", "duplicated", "reordered",
					    "damaged",	   "tx_pps",	 "rx_pps",     "jitter_ns"};
	static const char *const delays[] = {"p50", "p99", "p9999", "max"};
	struct json_object *list = json_object_new_array();
	const struct json_object *delay_a = json_get(a, "latency_ns");
	const struct json_object *delay_b = json_get(b, "latency_ns");

	for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		if (json_get(a, before[i]) && json_get(b, before[i]))
			add_result(list, before[i], json_get(a, before[i]), json_get(b, before[i]));
	}
	add_stages(list, a, b);
	for (unsigned i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		if (json_get(a, after[i]) && json_get(b, after[i]))
			add_result(list, after[i], json_get(a, after[i]), json_get(b, after[i]));
	}
	for (unsigned i = 0; delay_a && delay_b && i < sizeof(delays) / sizeof(delays[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "latency_%s_ns", delays[i]);
		add_result(list, name, json_get(delay_a, delays[i]), json_get(delay_b, delays[i]));
	}
	return list;
}

struct json_object *compare_documents(const struct ledgers_document *a,
				      const struct ledgers_document *b)
{
	struct json_object *start_a = json_get(a->json, "start"), *o = json_object_new_object();
	struct json_object *start_b = json_get(b->json, "start");
	struct json_object *env = json_object_new_array(), *setup = json_object_new_array();

	compare(env, "host", json_get(start_a, "host"), json_get(start_b, "host"));
	compare(env, "", json_get(start_a, "env"), json_get(start_b, "env"));
	compare(setup, "", start_a, start_b);
	json_put(o, "env", env);
	json_put(o, "setup", setup);
	json_put(o, "results", results(json_get(a->json, "end"), json_get(b->json, "end")));
	return o;
}

static const char *value_text(struct json_object *o)
{
	return o ? json_object_get_string(o) : "-";
}

static void print_differences(const struct print_view *v, const char *title,
			      const struct json_object *comparison, const char *key)
{
	size_t n = json_get_length(comparison, key);
	struct page p = page_open(v->out, v->colour, 0);

	p.width = v->width;
	page_end(&p);
	page_text(&p, 0, STYLE_BOLD, title);
	if (!n)
		page_words(&p, STYLE_DIM, " the same");
	page_end(&p);
	for (size_t i = 0; i < n; i++) {
		const struct json_object *o = json_get_item(comparison, key, i);

		page_text(&p, 2, STYLE_PLAIN, json_get_text(o, "name"));
		p.indent = 36;
		page_words(&p, STYLE_PLAIN, "%s", value_text(json_get(o, "a")));
		page_words(&p, STYLE_DIM, "->");
		page_words(&p, STYLE_BOLD, "%s", value_text(json_get(o, "b")));
		page_end(&p);
	}
}

static const char *amount(char *buf, size_t size, const char *name, const struct json_object *o)
{
	double value = json_object_get_double(o);

	if (!o)
		snprintf(buf, size, "-");
	else if (strstr(name, "_ns"))
		fmt_ns(buf, size, (uint64_t)value);
	else if (strstr(name, "_pps"))
		fmt_rate(buf, size, value);
	else
		fmt_count(buf, size, json_object_get_uint64(o));
	return buf;
}

void compare_print(const struct print_view *v, const struct json_object *comparison)
{
	print_differences(v, "hosts", comparison, "env");
	print_differences(v, "what was done", comparison, "setup");
	fprintf(v->out, "\n%-20s%16s%16s%12s\n", "results", "A", "B", "change");
	for (size_t i = 0; i < json_get_length(comparison, "results"); i++) {
		const struct json_object *o = json_get_item(comparison, "results", i);
		const char *name = json_get_text(o, "name");
		char a[FMT_MAX], b[FMT_MAX], change[FMT_MAX] = "";

		if (json_get(o, "change"))
			snprintf(change, sizeof(change), "%+.1f %%",
				 json_get_double(o, "change") * 100);
		fprintf(v->out, "  %-18s%16s%16s%12s\n", name,
			amount(a, sizeof(a), name, json_get(o, "a")),
			amount(b, sizeof(b), name, json_get(o, "b")), change);
	}
}
