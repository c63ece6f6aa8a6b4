// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "report/page.h"
#include "report/print.h"
#include "report/series.h"
#include "report/load.h"
#include "drops/stagemap.h"

#define NAME_MAX_LEN 200
#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

/* What always differs, and means nothing. */
static bool is_ignored(const char *key)
{
	static const char *const ignored[] = {"time",	  "command", "streams", "env",
					      "steal_ns", "host",    "bpf"};
	unsigned i = 0;

	while (i < LENGTH(ignored) && strcmp(ignored[i], key))
		i++;
	return i < LENGTH(ignored);
}

static bool is_list_of_objects(const struct json_object *o)
{
	return json_object_is_type(o, json_type_array) && json_object_array_length(o) &&
	       json_object_is_type(json_object_array_get_idx(o, 0), json_type_object);
}

static void compare(struct json_object *list, const char *name, struct json_object *a,
		    struct json_object *b);

static void compare_member(struct json_object *list, const char *name, const char *key,
			   struct json_object *a, struct json_object *b)
{
	char longer[NAME_MAX_LEN];

	snprintf(longer, sizeof(longer), "%.120s%s%.70s", name, *name ? "." : "", key);
	compare(list, longer, a, b);
}

/* `all`: also members that have the name of something that is ignored. */
static void compare_objects(struct json_object *list, const char *name, struct json_object *a,
			    struct json_object *b, bool all)
{
	json_object_object_foreach (a, key, ours) {
		if (all || !is_ignored(key))
			compare_member(list, name, key, ours, json_get(b, key));
	}
	json_object_object_foreach (b, other, theirs) {
		if ((all || !is_ignored(other)) && !json_object_object_get_ex(a, other, NULL))
			compare_member(list, name, other, NULL, theirs);
	}
}

/* The items of a list by their names, as "tx/v-tx": their place in it says nothing. To be put. */
static struct json_object *by_name(struct json_object *list)
{
	struct json_object *o = json_object_new_object();

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *netns = json_get_text(item, "netns");
		const char *ifname = json_get_text(item, "ifname");
		char key[NAME_MAX_LEN];

		snprintf(key, sizeof(key), "%s%s%s", netns, *netns ? "/" : "",
			 *ifname ? ifname : json_get_text(item, "name"));
		json_put(o, key, json_object_get(item));
	}
	return o;
}

static void compare(struct json_object *list, const char *name, struct json_object *a,
		    struct json_object *b)
{
	if (json_object_equal(a, b))
		return;
	if (json_object_is_type(a, json_type_object) && json_object_is_type(b, json_type_object)) {
		compare_objects(list, name, a, b, false);
	} else if (is_list_of_objects(a) && is_list_of_objects(b)) {
		struct json_object *items_a = by_name(a), *items_b = by_name(b);

		compare_objects(list, name, items_a, items_b, true);
		json_object_put(items_a);
		json_object_put(items_b);
	} else {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "name", name);
		json_put(o, "a", json_object_get(a));
		json_put(o, "b", json_object_get(b));
		json_object_array_add(list, o);
	}
}

static const char *value_text(struct json_object *o)
{
	return o ? json_object_get_string(o) : "-";
}

/* The words behind the program, as one. */
static struct json_object *command_text(const struct json_object *start)
{
	char text[1024] = "";
	size_t n = 0;

	for (size_t i = 1; i < json_get_length(start, "command") && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 1 ? " " : "",
				      json_get_item_text(start, "command", i));
	return json_text(text);
}

/* Both ends, for shares of what they sent. */
struct pair {
	struct json_object *list;
	const struct json_object *a, *b;
};

/* Packets of both, which are numbers, as shares of what was sent. */
static void add_share(struct json_object *o, const struct pair *of)
{
	double sent_a = json_get_double(of->a, "sent"), sent_b = json_get_double(of->b, "sent");

	if (sent_a > 0)
		json_put(o, "a_share", json_object_new_double(json_get_double(o, "a") / sent_a));
	if (sent_b > 0)
		json_put(o, "b_share", json_object_new_double(json_get_double(o, "b") / sent_b));
}

/* Takes both values. */
static struct json_object *add_result(struct json_object *list, const char *name,
				      struct json_object *a, struct json_object *b)
{
	double from = json_object_get_double(a), to = json_object_get_double(b);
	struct json_object *o = json_object_new_object();

	json_put_text(o, "name", name);
	json_put(o, "a", a);
	json_put(o, "b", b);
	json_put_double(o, "change", a && b && from > 0 ? (to - from) / from : NAN);
	json_object_array_add(list, o);
	return o;
}

/* Losses of both, in the order of the path. */
static void add_stages(const struct pair *of)
{
	uint64_t a[STAGE_COUNT] = {}, b[STAGE_COUNT] = {};

	rows_add_stages(a, of->a);
	rows_add_stages(b, of->b);
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (a[s] || b[s])
			add_share(add_result(of->list, stage_name(s), json_object_new_uint64(a[s]),
					     json_object_new_uint64(b[s])),
				  of);
	}
}

/* Of two sweeps: what was received at the points that both have, and what share that was. */
static void add_points(const struct pair *of)
{
	for (struct json_each each = json_each(of->a, "points"); json_next(&each);) {
		struct json_object *a = each.item, *b = NULL, *o;
		struct json_object *from, *to, *parameters = json_get(a, "parameters");
		char name[NAME_MAX_LEN] = "";
		size_t n = 0;

		for (struct json_each k = json_each(of->b, "points"); !b && json_next(&k);)
			b = json_object_equal(json_get(k.item, "parameters"), parameters) ? k.item
											  : NULL;
		from = json_get(json_get(a, "rx_pps"), "median");
		to = json_get(json_get(b, "rx_pps"), "median");
		if (!from || !to)
			continue;
		if (json_object_is_type(parameters, json_type_object)) { /* "64k rx_pps" */
			json_object_object_foreach (parameters, key, value) {
				(void)key;
				if (n < sizeof(name))
					n += (size_t)snprintf(name + n, sizeof(name) - n, "%s ",
							      value_text(value));
			}
			if (n < sizeof(name))
				snprintf(name + n, sizeof(name) - n, "rx_pps");
		}
		o = add_result(of->list, name, json_object_get(from), json_object_get(to));
		json_put(o, "a_share",
			 json_object_new_double(
				 1 - json_get_double(json_get(a, "lost_share"), "median")));
		json_put(o, "b_share",
			 json_object_new_double(
				 1 - json_get_double(json_get(b, "lost_share"), "median")));
	}
}

static const struct measure {
	const char *name;
	const char *key, *member;	    /* of the end, and of that; NULL: the name, nothing */
	bool shares;			    /* of what was sent */
	void (*add)(const struct pair *of); /* others in this place; NULL: this one */
} measures[] = {
	{.name = "attempted"},
	{.name = "refused"},
	{.name = "sent"},
	{.add = add_stages},
	{.name = "delivered", .shares = true},
	{.name = "received", .shares = true},
	{.name = "lost", .shares = true},
	{.name = "in_flight", .shares = true},
	{.name = "unaccounted", .shares = true},
	{.name = "impossible"},
	{.name = "duplicated"},
	{.name = "reordered"},
	{.name = "late"},
	{.name = "damaged"},
	{.name = "tx_pps"},
	{.name = "rx_pps"},
	{.name = "jitter_ns"},
	{.name = "ndr_pps", .key = "ndr", .member = "lower_pps"},
	{.name = "pdr_pps", .key = "pdr", .member = "lower_pps"},
	{.name = "mrr_pps", .key = "mrr", .member = "throughput_pps"},
	{.add = add_points},
	{.name = "latency_p50_ns", .key = "latency_ns", .member = "p50"},
	{.name = "latency_p99_ns", .key = "latency_ns", .member = "p99"},
	{.name = "latency_p9999_ns", .key = "latency_ns", .member = "p9999"},
	{.name = "latency_max_ns", .key = "latency_ns", .member = "max"},
};

static struct json_object *value_of(const struct json_object *end, const struct measure *m)
{
	struct json_object *o = json_get(end, m->key ? m->key : m->name);

	return m->member ? json_get(o, m->member) : o;
}

/* What both have. To be given away. */
static struct json_object *compare_results(const struct json_object *a, const struct json_object *b)
{
	const struct pair of = {json_object_new_array(), a, b};

	for (const struct measure *m = measures; m < measures + LENGTH(measures); m++) {
		struct json_object *from, *to, *o;

		if (m->add) {
			m->add(&of);
			continue;
		}
		from = value_of(a, m);
		to = value_of(b, m);
		if (!from || !to)
			continue;
		o = add_result(of.list, m->name, json_object_get(from), json_object_get(to));
		if (m->shares)
			add_share(o, &of);
	}
	return of.list;
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
	if (trialset_is(a->json)) { /* of a run all that counts has members of its own */
		struct json_object *text_a = command_text(start_a), *text_b = command_text(start_b);

		compare(setup, "command", text_a, text_b);
		json_object_put(text_a);
		json_object_put(text_b);
	}
	json_put(o, "env", env);
	json_put(o, "setup", setup);
	json_put(o, "results", compare_results(json_get(a->json, "end"), json_get(b->json, "end")));
	return o;
}

static void print_differences(struct page *p, const char *title,
			      const struct json_object *comparison, const char *key)
{
	page_heading(p, title, json_get_length(comparison, key) ? "" : ": the same");
	for (struct json_each o = json_each(comparison, key); json_next(&o);) {
		page_text(p, 2, STYLE_PLAIN, json_get_text(o.item, "name"));
		p->indent = 36;
		page_words(p, STYLE_PLAIN, "%s", value_text(json_get(o.item, "a")));
		page_words(p, STYLE_DIM, "->");
		page_words(p, STYLE_BOLD, "%s", value_text(json_get(o.item, "b")));
		page_end(p);
	}
}

/* By the unit in the name. */
static void print_amount(struct page *p, const char *name, const struct json_object *o)
{
	double value = json_object_get_double(o);

	page_cell(p, STYLE_PLAIN,
		  !o			 ? "-"
		  : strstr(name, "_ns")	 ? page_ns(json_object_get_uint64(o))
		  : strstr(name, "_pps") ? page_rate(isfinite(value) ? value : 0)
					 : page_count(json_object_get_uint64(o)));
}

static void print_share(struct page *p, const char *format, const struct json_object *o,
			const char *key)
{
	char text[FMT_MAX] = "";

	if (json_get(o, key))
		snprintf(text, sizeof(text), format, json_get_double(o, key) * 100);
	page_cell(p, STYLE_PLAIN, text);
}

static void print_results(struct page *p, const struct json_object *comparison)
{
	struct page_column columns[] = {
		{"results", 16, false}, {"A", 15, true},      {"", 9, true},   {"B", 15, true},
		{"", 9, true},		{"change", 11, true}, {NULL, 0, false}};

	for (struct json_each o = json_each(comparison, "results"); json_next(&o);) {
		size_t width = strlen(json_get_text(o.item, "name"));

		columns[0].width = width > columns[0].width ? (unsigned)width : columns[0].width;
	}
	columns[0].width += 2;
	page_end(p);
	p->indent = 0;
	page_table(p, columns);
	p->indent = 2;
	for (struct json_each each = json_each(comparison, "results"); json_next(&each);) {
		const struct json_object *o = each.item;
		struct json_object *a = json_get(o, "a"), *b = json_get(o, "b");
		const char *name = json_get_text(o, "name");

		if (!json_object_get_double(a) && !json_object_get_double(b) &&
		    strcmp(name, "unaccounted"))
			continue;
		page_cell(p, STYLE_PLAIN, name);
		print_amount(p, name, a);
		print_share(p, "%.2f %%", o, "a_share");
		print_amount(p, name, b);
		print_share(p, "%.2f %%", o, "b_share");
		print_share(p, "%+.1f %%", o, "change");
		page_end(p);
	}
}

static void print_title(struct page *p, const char *name, const struct ledgers_document *d)
{
	page_text(p, 0, STYLE_BOLD, name);
	page_words(p, STYLE_PLAIN, "%s on %s, %s", d->command,
		   json_get_text(json_get(d->json, "start"), "host"), page_when(d->from_ns, true));
	page_words(p, STYLE_DIM, "(%s, %u)", json_get_text(d->json, "file"), d->number);
	page_end(p);
}

void compare_print(const struct print_view *v, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct json_object *comparison)
{
	struct page p = print_page(v, 0);

	if (a && b) {
		print_title(&p, "A ", a);
		print_title(&p, "B ", b);
	}
	print_differences(&p, "hosts", comparison, "env");
	print_differences(&p, "what was done", comparison, "setup");
	print_results(&p, comparison);
}
