// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The books as a table, with causes, and the kernel's own counters beside them. */
#include "report/html_parts.h"

#include <string.h>

static void put_count(struct html *h, uint64_t packets, uint64_t whole)
{
	char count[FMT_MAX], share[24];

	html_put(h->out, "<td class=\"n\">%s<td class=\"n\">%s<td>",
		 fmt_count(count, sizeof(count), packets),
		 html_share(share, sizeof(share), packets, whole));
}

static void put_row(struct html *h, const char *class, const char *name, uint64_t packets,
		    uint64_t whole)
{
	html_put(h->out, "<tr class=\"%s\"><th>%s", class, name);
	put_count(h, packets, whole);
}

/* Two causes that differ in their stream only are one for a reader. */
static bool same_cause(struct json_object *a, struct json_object *b)
{
	static const char *const keys[] = {"reason", "location", "ifname",    "netns",
					   "host",   "hook",	 "direction", "process",
					   "socket", "cgroup",	 "pod",	      "flow"};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(json_get_text(a, keys[i]), json_get_text(b, keys[i])))
			return false;
	}
	return true;
}

/* Packets of all causes like the i-th; 0: one before it was the same. */
static uint64_t cause_packets(struct json_object *causes, size_t i)
{
	uint64_t packets = 0;

	for (size_t k = 0; k < html_length(causes); k++) {
		if (!same_cause(html_at(causes, k), html_at(causes, i)))
			continue;
		if (k < i)
			return 0;
		packets += json_get_u64(html_at(causes, k), "packets");
	}
	return packets;
}

/* What is not empty, a blank before it. */
static void put_words(struct html *h, struct json_object *o, const char *const *keys, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const char *word = json_get_text(o, keys[i]);

		if (*word)
			html_put(h->out, " %s", word);
	}
}

static void put_cause(struct html *h, struct json_object *cause, uint64_t packets)
{
	static const char *const where[] = {"host",   "netns",	"ifname", "process",
					    "socket", "cgroup", "pod",	  "flow"};
	const char *place = json_get_text(cause, "location"), *hook = json_get_text(cause, "hook");
	const char *direction = json_get_text(cause, "direction");
	const char *note = json_get_text(cause, "note");
	char count[FMT_MAX];

	html_put(h->out, "<li><b>%s</b> <code>%s</code>", fmt_count(count, sizeof(count), packets),
		 json_get_text(cause, "reason"));
	if (*place)
		html_put(h->out, " in <code>%s</code>", place);
	if (*hook)
		html_put(h->out, ", %s hook", hook);
	html_put(h->out, "<span class=\"dim\">");
	put_words(h, cause, where, sizeof(where) / sizeof(where[0]));
	if (!*hook && strcmp(direction, json_get_text(cause, "netns")))
		html_put(h->out, " %s", direction);
	html_put(h->out, "%s%s</span></li>", *note ? ": " : "", note);
}

static void put_causes(struct html *h, struct json_object *stage)
{
	struct json_object *causes = json_get(stage, "causes");

	html_put(h->out, "<ul>");
	for (size_t i = 0; i < html_length(causes); i++) {
		uint64_t packets = cause_packets(causes, i);

		if (packets)
			put_cause(h, html_at(causes, i), packets);
	}
	html_put(h->out, "</ul>");
}

/* Shares are of `whole`. */
static void put_stages(struct html *h, struct json_object *end, uint64_t whole)
{
	struct json_object *stages = json_get(end, "stages");

	for (size_t i = 0; i < html_length(stages); i++) {
		struct json_object *stage = html_at(stages, i);
		const char *name = json_get_text(stage, "stage");

		if (!json_get_u64(stage, "packets"))
			continue;
		html_put(h->out,
			 "<tr><th class=\"stage\"><i class=\"key %s\"></i>%s<br><span "
			 "class=\"dim\">%s</span>",
			 html_colour(h, name), name, html_stage_title(name));
		put_count(h, json_get_u64(stage, "packets"), whole);
		put_causes(h, stage);
		if (strcmp(json_get_text(stage, "source"), "event"))
			html_put(h->out, "<span class=\"dim\">known by %s</span>",
				 json_get_text(stage, "source"));
	}
}

static void put_refusals(struct html *h, struct json_object *by)
{
	char count[FMT_MAX];

	if (!html_has_members(by))
		return;
	html_put(h->out, "<ul>");
	json_object_object_foreach (by, name, value) {
		if (json_object_is_type(value, json_type_int))
			html_put(h->out, "<li><b>%s</b> <code>%s</code></li>",
				 fmt_count(count, sizeof(count), json_object_get_uint64(value)),
				 name);
	}
	html_put(h->out, "</ul>");
}

static void put_last_seen(struct html *h, struct json_object *seen)
{
	char count[FMT_MAX];

	if (!html_has_members(seen))
		return;
	html_put(h->out, "last seen:<ul>");
	json_object_object_foreach (seen, where, value) {
		uint64_t packets = json_object_is_type(value, json_type_int)
					   ? json_object_get_uint64(value)
					   : 0;

		if (packets)
			html_put(h->out, "<li><b>%s</b> %s</li>",
				 fmt_count(count, sizeof(count), packets), where);
	}
	html_put(h->out, "</ul>");
}

static void begin_table(struct html *h)
{
	html_put(h->out, "<div class=\"scroll\"><table class=\"books\"><thead><tr><th><th "
			 "class=\"n\">packets<th class=\"n\">share<th>why</thead><tbody>");
}

static void put_table(struct html *h, struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), unaccounted = json_get_u64(end, "unaccounted");

	begin_table(h);
	put_row(h, "", "attempted", json_get_u64(end, "attempted"), 0);
	put_row(h, "", "refused", json_get_u64(end, "refused"), json_get_u64(end, "attempted"));
	put_refusals(h, json_get(end, "refused_by"));
	put_row(h, "sum", "sent", sent, sent);
	put_stages(h, end, sent);
	put_row(h, "", html_arrival(end), html_arrived(end), sent);
	if (json_get(end, "in_flight"))
		put_row(h, "", "in flight", json_get_u64(end, "in_flight"), sent);
	html_put(h->out, "%s", json_get_text(end, "in_flight_where"));
	if (json_get(end, "unaccounted"))
		put_row(h, unaccounted ? "bad" : "", "unaccounted", unaccounted, sent);
	if (unaccounted)
		put_last_seen(h, json_get(end, "unaccounted_last_seen"));
	if (json_get_u64(end, "impossible"))
		put_row(h, "bad", "impossible", json_get_u64(end, "impossible"), 0);
	html_put(h->out, "</tbody></table></div>");
}

static void put_counter(struct html *h, const char *stage, struct json_object *c)
{
	bool agrees = json_get_bool(c, "agrees"), documented = json_get_bool(c, "documented");
	char delta[FMT_MAX], expected[FMT_MAX];

	html_put(h->out,
		 "<tr><th><i class=\"key %s\"></i>%s<td><code>%s</code>%s<span "
		 "class=\"dim\">%s</span><td class=\"n\">%s<td class=\"n\">%s<td class=\"%s\">%s",
		 html_colour(h, stage), stage, json_get_text(c, "name"),
		 *json_get_text(c, "note") ? " " : "", json_get_text(c, "note"),
		 fmt_count(delta, sizeof(delta), json_get_u64(c, "delta")),
		 fmt_count(expected, sizeof(expected), json_get_u64(c, "expected")),
		 agrees	      ? "good"
		 : documented ? "warn"
			      : "bad",
		 agrees	      ? "= agrees"
		 : documented ? "~ as known"
			      : "≠ differs");
}

/* The counters of all stages: calls put_counter(), or only counts them. */
static unsigned each_counter(struct html *h, struct json_object *end, bool put, unsigned *agree)
{
	struct json_object *stages = json_get(end, "stages");
	unsigned n = 0;

	*agree = 0;
	for (size_t i = 0; i < html_length(stages); i++) {
		struct json_object *list = json_get(html_at(stages, i), "counters");

		for (size_t k = 0; k < html_length(list); k++, n++) {
			*agree += json_get_bool(html_at(list, k), "agrees");
			if (put)
				put_counter(h, json_get_text(html_at(stages, i), "stage"),
					    html_at(list, k));
		}
	}
	return n;
}

static void put_counters(struct html *h, struct json_object *end)
{
	unsigned agree, n = each_counter(h, end, false, &agree);

	if (!n)
		return;
	html_put(h->out,
		 "<h3>Second books <span class=\"dim\">%u of %u counters of the kernel agree"
		 "</span></h3><div class=\"scroll\"><table class=\"counters\"><thead><tr><th>stage"
		 "<th>counter<th class=\"n\">moved by<th class=\"n\">expected<th>verdict</thead>"
		 "<tbody>",
		 agree, n);
	each_counter(h, end, true, &agree);
	html_put(h->out, "</tbody></table></div>");
}

void html_books(struct html *h, struct json_object *end)
{
	bool closed = json_get(end, "attempted") != NULL;

	if (!closed && !json_get_length(end, "stages"))
		return;
	html_section(h, closed ? "The books" : "Losses",
		     json_get(end, "delivered") && closed
			     ? "sent = delivered + dropped at each stage + in flight + unaccounted"
			     : "");
	if (closed) {
		put_table(h, end);
	} else {
		begin_table(h);
		put_stages(h, end, html_sum(json_get(end, "stages"), "packets"));
		html_put(h->out, "</tbody></table></div>");
	}
	put_counters(h, end);
	html_section_end(h);
}
