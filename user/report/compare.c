// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/compare.h"

#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/clock.h"
#include "report/page.h"
#include "report/load.h"

#define NAME_MAX_LEN 200

/* What tells one item of a list from the next: its place says nothing. */
static const char *const names[] = {"netns", "ifname", "stream", "name"};

/* What always differs, and means nothing. */
static const char *const ignored[] = {"time",	  "command", "streams", "env",
				      "steal_ns", "host",    "bpf"};

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

static void compare_commands(struct json_object *list, const struct json_object *start_a,
			     const struct json_object *start_b)
{
	struct json_object *a = command_text(start_a), *b = command_text(start_b);

	compare(list, "command", a, b);
	json_object_put(a);
	json_object_put(b);
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
	if (trialset_is(a->json)) /* of a run all that counts is told apart */
		compare_commands(setup, start_a, start_b);
	json_put(o, "env", env);
	json_put(o, "setup", setup);
	json_put(o, "results", compare_results(json_get(a->json, "end"), json_get(b->json, "end")));
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
		page_verbatim(&p, ": the same");
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

static const char *percent(char *buf, size_t size, const char *format, const struct json_object *o,
			   const char *key)
{
	*buf = '\0';
	if (json_get(o, key))
		snprintf(buf, size, format, json_get_double(o, key) * 100);
	return buf;
}

static void print_result(const struct print_view *v, const struct json_object *o, int width)
{
	struct json_object *a = json_get(o, "a"), *b = json_get(o, "b");
	const char *name = json_get_text(o, "name");
	char of_a[FMT_MAX], of_b[FMT_MAX], share_a[FMT_MAX], share_b[FMT_MAX], change[FMT_MAX];

	if (!json_object_get_double(a) && !json_object_get_double(b) && strcmp(name, "unaccounted"))
		return;
	percent(change, sizeof(change), "%+.1f %%", o, "change");
	percent(share_a, sizeof(share_a), "%.2f %%", o, "a_share");
	percent(share_b, sizeof(share_b), "%.2f %%", o, "b_share");
	fprintf(v->out, "  %-*s%15s%9s%15s%*s", width, name, amount(of_a, sizeof(of_a), name, a),
		share_a, amount(of_b, sizeof(of_b), name, b), *share_b || *change ? 9 : 0, share_b);
	fprintf(v->out, "%*s\n", *change ? 11 : 0, change);
}

static void print_title(const struct print_view *v, const char *name,
			const struct ledgers_document *d)
{
	struct page p = page_open(v->out, v->colour, 0);
	char text[WHEN_TEXT];

	p.width = v->width;
	page_text(&p, 0, STYLE_BOLD, name);
	page_words(&p, STYLE_PLAIN, "%s on %s, %s", d->command,
		   json_get_text(json_get(d->json, "start"), "host"),
		   when_text(text, sizeof(text), d->from_ns, true));
	page_words(&p, STYLE_DIM, "(%s, %u)", json_get_text(d->json, "file"), d->number);
	page_end(&p);
}

/* Of the longest name of a result. */
static int name_width(const struct json_object *comparison)
{
	size_t width = 16;

	for (size_t i = 0; i < json_get_length(comparison, "results"); i++) {
		const struct json_object *o = json_get_item(comparison, "results", i);
		size_t len = strlen(json_get_text(o, "name"));

		width = len > width ? len : width;
	}
	return (int)width;
}

void compare_print(const struct print_view *v, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct json_object *comparison)
{
	int width = name_width(comparison);

	print_title(v, "A ", a);
	print_title(v, "B ", b);
	print_differences(v, "hosts", comparison, "env");
	print_differences(v, "what was done", comparison, "setup");
	fprintf(v->out, "\n%-*s%15s%9s%15s%9s%11s\n", width + 2, "results", "A", "", "B", "",
		"change");
	for (size_t i = 0; i < json_get_length(comparison, "results"); i++)
		print_result(v, json_get_item(comparison, "results", i), width);
}
