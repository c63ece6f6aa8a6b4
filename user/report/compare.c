// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/print.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/list.h"
#include "base/num.h"
#include "base/record.h"
#include "report/page.h"
#include "report/series.h"
#include "report/load.h"
#include "drops/stagemap.h"

#define NAME_MAX_LEN 200
#define SYSCTLS	     "sysctls." /* prefix for sysctl names */
#define CELL_WIDTH   22		/* width of "100.00 % socket_filter" */

/* Returns true for members that always differ but have no effect. */
static bool is_ignored(const char *key)
{
	static const char *const ignored[] = {"time",	  "command", "streams",	 "env",
					      "steal_ns", "host",    "bpf_bytes"};

	return is_one_of(key, ignored, LENGTH(ignored));
}

static bool is_list_of_objects(const struct json_object *o)
{
	return json_object_is_type(o, json_type_array) && json_object_array_length(o) &&
	       json_object_is_type(json_object_array_get_idx(o, 0), json_type_object);
}

/* Adds an item with both values, and takes them over. */
static struct json_object *add_both(struct json_object *list, const char *name,
				    struct json_object *a, struct json_object *b)
{
	struct json_object *o = json_add_object(list);

	json_put_text(o, "name", name);
	json_put(o, "a", a);
	json_put(o, "b", b);
	return o;
}

static void compare(struct json_object *list, const char *of, const char *key,
		    struct json_object *a, struct json_object *b);

/* Compares two objects. `all`: include members whose name is normally ignored. */
static void compare_objects(struct json_object *list, const char *name, struct json_object *a,
			    struct json_object *b, bool all)
{
	json_object_object_foreach (a, key, ours) {
		if (all || !is_ignored(key))
			compare(list, name, key, ours, json_get(b, key));
	}
	json_object_object_foreach (b, other, theirs) {
		if ((all || !is_ignored(other)) && !json_object_object_get_ex(a, other, NULL))
			compare(list, name, other, NULL, theirs);
	}
}

/*
 * Returns a list's items keyed by name, such as "tx/v-tx", because their order has no meaning. The
 * caller owns the object.
 */
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

/* Adds a member's differences to the list, with their path. */
static void compare(struct json_object *list, const char *of, const char *key,
		    struct json_object *a, struct json_object *b)
{
	char name[NAME_MAX_LEN];

	if (json_object_equal(a, b))
		return;
	snprintf(name, sizeof(name), "%.120s%s%.70s", of, *of && *key ? "." : "", key);
	if (json_object_is_type(a, json_type_object) && json_object_is_type(b, json_type_object)) {
		compare_objects(list, name, a, b, false);
	} else if (is_list_of_objects(a) && is_list_of_objects(b)) {
		struct json_object *items_a = by_name(a), *items_b = by_name(b);

		compare_objects(list, name, items_a, items_b, true);
		json_object_put(items_a);
		json_object_put(items_b);
	} else if ((a && b) || strcmp(of, "quirks")) { /* a quirk may have gone undetected */
		add_both(list, name, json_object_get(a), json_object_get(b));
	}
}

static const char *value_text(struct json_object *o)
{
	return o ? json_object_get_string(o) : "-";
}

/*
 * Returns a command line's options with their values, as opt_parse() stores them, for example
 * {"--rcvbuf":"4m"}. Leaves out faults, which have their own member in the document, and options
 * for display, storage and duration. The caller owns the object.
 */
static struct json_object *options_of(const struct json_object *start)
{
	static const char *const shown[] = {"--ledger",	 "--html", "--quiet",	   "--duration",
					    "--count",	 "--json", "--json-lines", "--verbose",
					    "--fault",	 "--junit"};
	struct json_object *o = json_object_new_object();

	for (size_t i = 1; i < json_get_length(start, "command"); i++) {
		const char *word = json_get_item_text(start, "command", i);
		char name[NAME_MAX_LEN], value[NAME_MAX_LEN];
		size_t len = strcspn(word, "=");

		snprintf(name, sizeof(name), "%.*s", (int)len, word);
		if (strncmp(word, "--", 2) != 0 || !name[2] || is_one_of(name, shown, LENGTH(shown)))
			continue;
		snprintf(value, sizeof(value), "%.90s%s%.90s", json_get_text(o, name), /* again */
			 json_get(o, name) ? " " : "", word[len] ? word + len + 1 : "yes");
		json_put_text(o, name, value);
	}
	return o;
}

/* Both ends, used to compute fractions of the packets sent. */
struct pair {
	struct json_object *list;
	const struct json_object *a, *b;
};

static void put_change(struct json_object *o, struct json_object *a, struct json_object *b)
{
	double from = json_object_get_double(a), to = json_object_get_double(b);

	json_put_double(o, "change", a && b && from > 0 ? (to - from) / from : NAN);
}

static struct json_object *add_result(struct json_object *list, const char *name,
				      struct json_object *a, struct json_object *b)
{
	struct json_object *o = add_both(list, name, a, b);

	put_change(o, a, b);
	return o;
}

/*
 * Adds both packet counts as fractions of the packets sent. The change is computed from the
 * fractions.
 */
static void add_share(struct json_object *o, const struct pair *of)
{
	double sent_a = json_get_double(of->a, "sent"), sent_b = json_get_double(of->b, "sent");

	if (sent_a > 0)
		json_put(o, "a_fraction", json_object_new_double(fraction_of(json_get_double(o, "a"), sent_a)));
	if (sent_b > 0)
		json_put(o, "b_fraction", json_object_new_double(fraction_of(json_get_double(o, "b"), sent_b)));
	put_change(o, json_get(o, "a_fraction"), json_get(o, "b_fraction"));
}

/* Adds both documents' losses in path order. */
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

/* Returns the fraction of packets that arrived at a point, as the median of its trials. */
static double received_of(const struct json_object *point)
{
	return 1 - fraction_of(json_get_double(json_get(point, "lost_fraction"), "median"), 1);
}

/* Adds the results of two sweeps: packets received at the points they share, and their fraction. */
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
		json_put(o, "a_fraction", json_object_new_double(received_of(a)));
		json_put(o, "b_fraction", json_object_new_double(received_of(b)));
	}
}

static const struct measure {
	const char *name;
	const char *key, *member;	    /* member of the end (NULL: `name`), and of that
					       member */
	const char *words;		    /* label in text (NULL: `name`) */
	const char *limit;		    /* name in a limit (NULL: cannot be limited) */
	bool falls;			    /* lower is worse */
	bool shares;			    /* add the values as fractions of the packets sent */
	void (*add)(const struct pair *of); /* adds other results here (NULL: add this result) */
} measures[] = {
	{.name = "attempted"},
	{.name = "refused"},
	{.name = "sent"},
	{.add = add_stages},
	{.name = "delivered", .shares = true},
	{.name = "received", .shares = true},
	{.name = "lost", .shares = true},
	{.name = "in_flight", .words = "in flight", .shares = true},
	{.name = "unaccounted", .shares = true},
	{.name = "impossible"},
	{.name = "duplicated"},
	{.name = "reordered"},
	{.name = "late"},
	{.name = "damaged"},
	{"tx_pps", .words = "sent at", .limit = "tx_pps", .falls = true},
	{"rx_pps", .words = "received at", .limit = "rx_pps", .falls = true},
	{"jitter_ns", .words = "jitter", .limit = "jitter"},
	{"ndr_pps", "ndr", "lower_pps", "NDR", "ndr", .falls = true},
	{"pdr_pps", "pdr", "lower_pps", "PDR", "pdr", .falls = true},
	{"mrr_pps", "mrr", "throughput_pps", "MRR", "mrr", .falls = true},
	{.add = add_points},
	{"latency_p50_ns", "latency_ns", "p50", "latency p50", .limit = "p50"},
	{"latency_p99_ns", "latency_ns", "p99", "latency p99", .limit = "p99"},
	{"latency_p9999_ns", "latency_ns", "p9999", "latency p99.99", .limit = "p9999"},
	{"latency_max_ns", "latency_ns", "max", "latency max", .limit = "max"},
	{"lost_fraction", .limit = "loss"}, /* fraction of packets sent, computed */
};

/* Returns a number as JSON, or NULL. */
static struct json_object *value_of(const struct json_object *end, const struct measure *m)
{
	struct json_object *o = json_get(end, m->key ? m->key : m->name);

	if (m->member)
		o = json_get(o, m->member);
	return json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double)
		       ? o
		       : NULL;
}

/* Returns the results present in both ends, owned by the caller. */
static struct json_object *compare_results(const struct json_object *a, const struct json_object *b)
{
	const struct pair of = {json_object_new_array(), a, b};

	for (const struct measure *m = measures; m < measures + LENGTH(measures); m++) {
		struct json_object *from = m->add ? NULL : value_of(a, m), *o;
		struct json_object *to = m->add ? NULL : value_of(b, m);

		if (m->add)
			m->add(&of);
		if (!from || !to)
			continue;
		o = add_result(of.list, m->name, json_object_get(from), json_object_get(to));
		if (m->shares)
			add_share(o, &of);
	}
	return of.list;
}

static int parse_limit(const char *item, struct compare_limit *limit, struct error *err)
{
	static const char hint[] = "for example loss=+0.1%, p99=+20%, rx_pps=-5%";
	const char *value = strchr(item, '=');
	char *end;

	snprintf(limit->text, sizeof(limit->text), "%s", item);
	for (unsigned i = 0; value && i < LENGTH(measures); i++) {
		const char *name = measures[i].limit, worse = measures[i].falls ? '-' : '+';

		if (!name || strlen(name) != (size_t)(value - item) ||
		    strncmp(item, name, strlen(name)) != 0)
			continue;
		if (value[1] != worse || !isdigit((unsigned char)value[2]))
			return error_usage(err, hint, "'%s' is not %s=%cN%%", item, name, worse);
		limit->what = i;
		limit->most = strtod(value + 2, &end) / 100;
		if (strcmp(end, "%") != 0 || limit->most > 1e6)
			return error_usage(err, hint, "'%s' is not a percentage", value + 1);
		return 0;
	}
	return error_usage(err, hint, "'%s' is not a limit of a comparison", item);
}

int compare_limits_parse(const char *text, struct compare_limits *l, struct error *err)
{
	char item[OPT_ITEM_LEN];

	for (bool more = true; more; text += strcspn(text, ",") + more) {
		const size_t len = strcspn(text, ",");

		more = text[len];
		if (!len || len >= sizeof(item) || l->n == OPT_LIST_MAX)
			return error_usage(err, NULL, "'%.80s' is not a list of limits", text);
		snprintf(item, sizeof(item), "%.*s", (int)len, text);
		if (parse_limit(item, &l->at[l->n], err))
			return -EINVAL;
		l->n++;
	}
	return 0;
}

int compare_limits(struct json_object *comparison, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct compare_limits *l,
		   struct error *err)
{
	const struct json_object *end_a = json_get(a->json, "end");
	const struct json_object *end_b = json_get(b->json, "end");
	bool kept = true;

	for (const struct compare_limit *limit = l->at; limit < l->at + l->n; limit++) {
		const struct measure *m = &measures[limit->what];
		const bool loss = !strcmp(m->limit, "loss");
		const struct json_object *a_has = loss ? json_get(end_a, "sent") : value_of(end_a, m);
		const struct json_object *b_has = loss ? json_get(end_b, "sent") : value_of(end_b, m);
		struct json_object *list = json_get(comparison, "limits"), *o;
		double from, to, change;
		bool broken;

		if (!a_has || !b_has)
			return error_set(err, STATUS_FAILED, -ENODATA, NULL,
					 "--limit %s: not both results have it", limit->text);
		from = loss ? lost_fraction(end_a) : json_object_get_double(a_has);
		to = loss ? lost_fraction(end_b) : json_object_get_double(b_has);
		change = loss ? to - from : from > 0 ? (to - from) / from : to > 0 ? NAN : 0;
		broken = isnan(change) || (m->falls ? -change : change) > limit->most + 1e-12;
		o = json_add_object(list ? list : json_put_list(comparison, "limits"));
		json_put_text(o, "limit", limit->text);
		json_put(o, "a", json_object_new_double(from));
		json_put(o, "b", json_object_new_double(to));
		json_put(o, "change", isnan(change) ? NULL : json_object_new_double(change));
		json_put_bool(o, "broken", broken);
		kept &= !broken;
	}
	return kept;
}

/*
 * Returns the differing option named after the stage, otherwise the only differing option,
 * otherwise NULL.
 */
static const struct json_object *option_of(const struct json_object *comparison, const char *stage)
{
	const struct json_object *option = NULL;
	unsigned n = 0;

	for (struct json_each o = json_each(comparison, "setup"); json_next(&o);) {
		const char *name = json_get_text(o.item, "name");

		if (!strncmp(name, "--", 2) && *stage && strstr(name, stage))
			return o.item;
		if (*name == '-') {
			option = o.item;
			n++;
		}
	}
	return n == 1 ? option : NULL;
}

static const char *option_text(struct json_object *value)
{
	return value ? value_text(value) : "the default";
}

/*
 * Adds a sentence that names the run that lost more, the difference, the stage, and the differing
 * option.
 */
static void put_verdict(struct json_object *comparison, const struct json_object *a,
			const struct json_object *b)
{
	const double share_a = lost_fraction(a), share_b = lost_fraction(b);
	const bool more_b = share_b >= share_a;
	const double more = fmax(share_a, share_b), less = fmin(share_a, share_b);
	const struct json_object *worse = more_b ? b : a, *option;
	const double lost = more * json_get_double(worse, "sent");
	const char *most = print_worst_stage(worse);
	const double there = json_get_double(print_stage(worse, most), "packets");
	char text[400], amount[64];
	size_t n;

	if (!json_get_u64(a, "sent") || !json_get_u64(b, "sent"))
		return;
	if (more <= 0) {
		json_put_text(comparison, "verdict", "Neither A nor B lost anything.");
		return;
	}
	if (less <= 0)
		snprintf(amount, sizeof(amount), "%.3g %% of the packets it sent", 100 * more);
	else if (more < 1.005 * less)
		snprintf(amount, sizeof(amount), "the same fraction as %c, %.3g %%",
			 more_b ? 'A' : 'B', 100 * more);
	else if (more >= 2 * less)
		snprintf(amount, sizeof(amount), "%.2g times more (%.3g %% and %.3g %%)",
			 more / less, 100 * more, 100 * less);
	else
		snprintf(amount, sizeof(amount), "%.0f %% more (%.3g %% and %.3g %%)",
			 100 * (more / less - 1), 100 * more, 100 * less);
	n = (size_t)snprintf(text, sizeof(text), "%c lost %s", more_b ? 'B' : 'A', amount);
	if (*most)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", %s at %s",
				      there > 0.995 * lost ? "all of it"
				      : there > 0.5 * lost ? "most of it"
							   : "the largest part",
				      most);
	if (less <= 0)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", and %c lost nothing",
				      more_b ? 'A' : 'B');
	option = option_of(comparison, most);
	if (option)
		snprintf(text + n, sizeof(text) - n, "; %c's %.30s was %.60s instead of %.60s",
			 more_b ? 'B' : 'A', json_get_text(option, "name"),
			 option_text(json_get(option, more_b ? "b" : "a")),
			 option_text(json_get(option, more_b ? "a" : "b")));
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, ".");
	json_put_text(comparison, "verdict", text);
}

struct json_object *compare_documents(const struct ledgers_document *a,
				      const struct ledgers_document *b)
{
	struct json_object *start_a = json_get(a->json, "start"), *o = json_object_new_object();
	struct json_object *start_b = json_get(b->json, "start");
	struct json_object *options_a = options_of(start_a), *options_b = options_of(start_b);
	struct json_object *env = json_object_new_array(), *setup = json_object_new_array();

	compare(env, "", "host", json_get(start_a, "host"), json_get(start_b, "host"));
	compare(env, "", "", json_get(start_a, "env"), json_get(start_b, "env"));
	compare(setup, "", "", start_a, start_b);
	compare_objects(setup, "", options_a, options_b, true);
	json_object_put(options_a);
	json_object_put(options_b);
	json_put(o, "env", env);
	json_put(o, "setup", setup);
	json_put(o, "results", compare_results(json_get(a->json, "end"), json_get(b->json, "end")));
	put_verdict(o, json_get(a->json, "end"), json_get(b->json, "end"));
	return o;
}

/*
 * Returns a key's label without the unit at its end: "received at" for rx_pps, even after a sweep
 * point, and "rate" for rate_pps. Leaves names of sysctls and options alone.
 */
static const char *words_of(const char *key)
{
	static const char *const units[] = {"_pps", "_ns", "_bytes"};
	static const char interfaces[] = "interfaces.";
	static char words[NAME_MAX_LEN];
	const char *last = strrchr(key, ' ') ? strrchr(key, ' ') + 1 : key;
	char *at = words, *dot;

	for (const struct measure *m = measures; m < measures + LENGTH(measures); m++) {
		if (m->words && !strcmp(m->name, last)) {
			snprintf(words, sizeof(words), "%.*s%s", (int)(last - key), key, m->words);
			return words;
		}
	}
	if (!strncmp(key, SYSCTLS, strlen(SYSCTLS)))
		return key + strlen(SYSCTLS);
	if (*key == '-' || last > key || is_one_of(key, stage_names, STAGE_COUNT))
		return key;
	if (!strncmp(key, interfaces, strlen(interfaces))) {
		snprintf(words, sizeof(words), "%s", key + strlen(interfaces));
		while ((dot = strchr(at, '.')) && dot[1] >= '0' && dot[1] <= '9') /* eth0.100 */
			at = dot + 1;
		at = dot ? dot : at;
	} else if (!strncmp(key, "granted_mode.", 13)) {
		snprintf(words, sizeof(words), "%s XDP mode", key + 13);
	} else {
		snprintf(words, sizeof(words), "%s", key);
	}
	for (unsigned i = 0; i < LENGTH(units); i++) {
		size_t n = strlen(at), unit = strlen(units[i]);

		if (n > unit && !strcmp(at + n - unit, units[i]))
			at[n - unit] = '\0';
	}
	for (; *at; at++)
		*at = *at == '_' || *at == '.' ? ' ' : *at;
	return words;
}

/* Prints a differing value: numbers with their unit, booleans as on and off. */
static void print_value(struct page *p, enum style style, const char *name, struct json_object *o)
{
	const bool number =
		json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double);
	const bool bytes = strstr(name, "_bytes");

	if (json_object_is_type(o, json_type_boolean))
		page_words(p, style, json_object_get_boolean(o) ? "on" : "off");
	else if (number && strncmp(name, SYSCTLS, strlen(SYSCTLS)) &&
		 (bytes || strstr(name, "_ns") || strstr(name, "_pps")))
		page_words(p, style, "%s%s", page_glue(json_number(name, o)),
			   bytes ? "\vbytes" : "");
	else
		page_words(p, style, "%s", *name == '-' ? option_text(o) : value_text(o));
}

/* Returns true if the differences already include a member that means the same as the option. */
static bool is_told(const struct json_object *comparison, const char *option)
{
	const char *member = !strcmp(option, "--rate")	 ? "rate_pps"
			     : !strcmp(option, "--size") ? "frame_bytes"
			     : !strcmp(option, "--tx")	 ? "tx"
			     : !strcmp(option, "--rx")	 ? "rx"
							 : "";

	for (struct json_each o = json_each(comparison, "setup"); json_next(&o);) {
		if (!strcmp(json_get_text(o.item, "name"), member))
			return true;
	}
	return false;
}

static void print_differences(struct page *p, const char *title,
			      const struct json_object *comparison, const char *key)
{
	page_heading(p, title, json_get_length(comparison, key) ? "" : ": the same");
	for (struct json_each o = json_each(comparison, key); json_next(&o);) {
		const char *name = json_get_text(o.item, "name");

		if (is_told(comparison, name))
			continue;
		page_text(p, 2, STYLE_PLAIN, words_of(name));
		p->indent = 36;
		print_value(p, STYLE_PLAIN, name, json_get(o.item, "a"));
		page_words(p, STYLE_DIM, "->");
		print_value(p, STYLE_BOLD, name, json_get(o.item, "b"));
		page_end(p);
	}
}

static void print_share(struct page *p, const char *format, const struct json_object *o,
			const char *key)
{
	char text[FMT_MAX] = "";

	if (json_get(o, key))
		snprintf(text, sizeof(text), format, json_get_double(o, key) * 100);
	page_cell(p, STYLE_PLAIN, text);
}

static void print_growth(struct page *p, const struct json_object *change)
{
	double by = json_object_get_double(change);
	char text[FMT_MAX] = "";

	if (change && by < 9.995)
		snprintf(text, sizeof(text), "%+.1f %%", by * 100);
	else if (change)
		snprintf(text, sizeof(text), "%.0f times", by + 1);
	page_cell(p, STYLE_PLAIN, text);
}

static void print_results(struct page *p, const struct json_object *comparison)
{
	struct page_column columns[] = {
		{"results", 16, false}, {"A", 15, true},      {"", 9, true},   {"B", 15, true},
		{"", 9, true},		{"change", 11, true}, {NULL, 0, false}};

	for (struct json_each o = json_each(comparison, "results"); json_next(&o);) {
		size_t width = strlen(words_of(json_get_text(o.item, "name")));

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
		page_cell(p, STYLE_PLAIN, words_of(name));
		page_cell(p, STYLE_PLAIN, a ? json_number(name, a) : "-");
		print_share(p, "%.2f %%", o, "a_fraction");
		page_cell(p, STYLE_PLAIN, b ? json_number(name, b) : "-");
		print_share(p, "%.2f %%", o, "b_fraction");
		print_growth(p, json_get(o, "change"));
		page_end(p);
	}
}

static void print_title(struct page *p, const char *name, const struct ledgers_document *d)
{
	page_text(p, 0, STYLE_BOLD, name);
	page_words(p, STYLE_PLAIN, "%s on %s, %s", d->command,
		   json_get_text(json_get(d->json, "start"), "host"), when_text(d->from_ns, true));
	page_words(p, STYLE_DIM, "(%s, %u)", document_file(d), d->number);
	page_end(p);
}

static void print_limits(struct page *p, const struct json_object *comparison)
{
	for (struct json_each limit = json_each(comparison, "limits"); json_next(&limit);) {
		const bool broken = json_get_bool(limit.item, "broken");
		const double change = json_get_double(limit.item, "change");

		if (limit.next == 1)
			page_end(p);
		page_text(p, 0, STYLE_PLAIN, "limit           ");
		page_fill(p, STYLE_PLAIN, limit.item, "{limit}");
		page_words(p, broken ? STYLE_BAD : STYLE_GOOD, broken ? "broken:" : "kept:");
		if (json_get(limit.item, "change"))
			page_words(p, STYLE_PLAIN, "%+.3g\v%%", 100 * change);
		else
			page_words(p, STYLE_PLAIN, "A has 0");
		page_end(p);
	}
}

void compare_print(const struct print_view *v, const struct ledgers_document *a,
		   const struct ledgers_document *b, const struct json_object *comparison)
{
	struct page p = print_page(v, 0);

	if (a && b) {
		print_title(&p, "A ", a);
		print_title(&p, "B ", b);
	}
	print_limits(&p, comparison);
	if (json_get(comparison, "verdict")) {
		p.indent = 0;
		page_words(&p, STYLE_BOLD, "%s", json_get_text(comparison, "verdict"));
		page_end(&p);
	}
	print_differences(&p, "hosts", comparison, "env");
	print_differences(&p, "what was done", comparison, "setup");
	print_results(&p, comparison);
}

/* Runs between many hosts. */

/* Returns the name that identifies one end of a run. */
static const char *node_of(struct json_object *doc, const char *side)
{
	struct json_object *start = json_get(doc, "start");
	const char *name = json_get_text(json_get(json_get(start, "hosts"), side), "name");
	char port[16];

	if (*name)
		return name;
	snprintf(port, sizeof(port), "%s_port", side);
	return json_get_text(json_get(start, port), "address");
}

static int add_node(struct json_object *nodes, const char *name, struct error *err)
{
	size_t n = json_object_array_length(nodes);

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(json_object_get_string(json_object_array_get_idx(nodes, i)), name))
			return 0;
	}
	if (n == MATRIX_NODES)
		return error_set(err, STATUS_USAGE, -E2BIG, "report fewer of them at a time",
				 "more than %u hosts", MATRIX_NODES);
	json_object_array_add(nodes, json_text(name));
	return 0;
}

/* Returns the pair for two nodes, borrowed, or NULL if there was no run between them. */
static struct json_object *pair_of(struct json_object *matrix, const char *from, const char *to)
{
	for (struct json_each pair = json_each(matrix, "pairs"); json_next(&pair);) {
		if (!strcmp(json_get_text(pair.item, "from"), from) &&
		    !strcmp(json_get_text(pair.item, "to"), to))
			return pair.item;
	}
	return NULL;
}

/* Runs from one node to another. */
struct runs {
	const char *from, *to, *stage;
	uint64_t runs, sent, delivered, in_flight;
	uint64_t lost[STAGE_COUNT];
	double lost_fraction;
	bool balanced;
};

static const struct record_field runs_rows[] = {
	RECORD("from", POINTER, runs, from),
	RECORD("to", POINTER, runs, to),
	RECORD("balanced", BOOL, runs, balanced),
	RECORD("runs", UINT, runs, runs),
	RECORD("sent", UINT, runs, sent),
	RECORD("delivered", UINT, runs, delivered),
	RECORD("stage", POINTER, runs, stage),
	RECORD("lost_fraction", DOUBLE, runs, lost_fraction),
	{0},
};

/* Adds a run to its node pair. */
static int add_run(struct list *pairs, struct json_object *nodes, struct json_object *doc,
		   struct error *err)
{
	const char *from = node_of(doc, "tx"), *to = node_of(doc, "rx");
	const struct json_object *end = json_get(doc, "end");
	struct runs *pair = pairs->at;

	if (!*from || !*to || !json_get(end, "sent") || !json_get(end, "delivered"))
		return 0;
	if (add_node(nodes, from, err) || add_node(nodes, to, err))
		return -E2BIG;
	for (unsigned i = pairs->n; i && (strcmp(pair->from, from) || strcmp(pair->to, to)); i--)
		pair++;
	if (pair == (struct runs *)pairs->at + pairs->n) {
		pair = list_add(pairs);
		*pair = (struct runs){.from = from, .to = to, .balanced = true};
	}
	pair->runs++;
	pair->sent += json_get_u64(end, "sent");
	pair->delivered += json_get_u64(end, "delivered");
	pair->in_flight += json_get_u64(end, "in_flight");
	pair->balanced &= json_get_bool(end, "balanced");
	rows_add_stages(pair->lost, end);
	pair->stage = rows_worst_stage(pair->lost);
	pair->lost_fraction =
		pair->sent ? fraction_of((double)lost_packets(pair->sent, pair->delivered,
							      pair->in_flight),
					 (double)pair->sent)
			   : NAN;
	return 0;
}

int matrix_new(const struct ledgers_document *docs, unsigned n, struct json_object **out,
	       struct error *err)
{
	struct json_object *matrix = json_object_new_object(), *nodes = json_put_list(matrix, "nodes");
	struct list pairs = {.size = sizeof(struct runs)};
	bool one_end = false;
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++) {
		one_end |= !strcmp(docs[i].command, "send") || !strcmp(docs[i].command, "recv");
		if (!json_get(docs[i].json, "senders"))
			rc = add_run(&pairs, nodes, docs[i].json, err);
		for (struct json_each s = json_each(docs[i].json, "senders"); !rc && json_next(&s);)
			rc = add_run(&pairs, nodes, s.item, err);
	}
	if (!rc && !pairs.n)
		rc = error_set(err, STATUS_FAILED, -ENODATA,
			       one_end ? "give the ledgers of both ends, of `send` and of `recv`"
				       : "a matrix needs runs between hosts",
			       "no run covers both of its ends");
	json_put(matrix, "pairs", record_items(runs_rows, &pairs));
	list_free(&pairs);
	*out = rc ? NULL : matrix;
	if (rc)
		json_object_put(matrix);
	return rc;
}

/* Prints "4.33 % wire", followed by "!" if a run is not balanced. */
static void print_pair(struct page *p, struct json_object *pair)
{
	double share = fraction_of(json_get_double(pair, "lost_fraction"), 1);

	if (!pair) {
		page_cell(p, STYLE_PLAIN, "-");
		return;
	}
	page_cell(p, STYLE_PLAIN, page_percent(share));
	page_name(p, json_get_text(pair, "stage"));
	if (!json_get_bool(pair, "balanced"))
		page_verbatim(p, " !");
}

void matrix_print(const struct print_view *v, struct json_object *matrix)
{
	struct page p = print_page(v, 0);
	struct page_column columns[MATRIX_NODES + 2] = {{"from \\ to", CELL_WIDTH, false}};
	unsigned n = (unsigned)json_get_length(matrix, "nodes");

	for (unsigned i = 0; i < n; i++) {
		columns[1 + i].name = json_get_item_text(matrix, "nodes", i);
		if (strlen(columns[1 + i].name) > columns[0].width)
			columns[0].width = (unsigned)strlen(columns[1 + i].name);
	}
	columns[0].width += 2;
	for (unsigned i = 0; i < n; i++)
		columns[1 + i].width = columns[0].width;
	page_table(&p, columns);
	for (unsigned i = 0; i < n; i++) {
		const char *from = json_get_item_text(matrix, "nodes", i);

		page_cell(&p, STYLE_PLAIN, from);
		for (unsigned k = 0; k < n; k++)
			print_pair(&p, pair_of(matrix, from, columns[1 + k].name));
		page_end(&p);
	}
}
