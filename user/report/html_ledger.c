// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The ledger as a table, with causes; the kernel's own counters and all else beside it. */
#include <string.h>

#include "report/html_page.h"

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

static void put_count(struct html *h, uint64_t packets, uint64_t whole)
{
	html_put(h, "<td class=\"n\">%s<td class=\"n\">%s<td>", html_count(h, packets),
		 html_share(h, packets, whole));
}

static void put_row(struct html *h, const char *class, const char *name, uint64_t packets,
		    uint64_t whole)
{
	html_put(h, "<tr class=\"%s\"><th>%s", class, name);
	put_count(h, packets, whole);
}

/* Two causes that differ in their stream only are one for a reader. */
static bool same_cause(struct json_object *a, struct json_object *b)
{
	static const char *const keys[] = {"reason", "location", "ifname",    "netns",
					   "host",   "hook",	 "direction", "process",
					   "socket", "cgroup",	 "pod",	      "flow"};

	for (unsigned i = 0; i < LENGTH(keys); i++) {
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

static void put_cause(struct html *h, struct json_object *cause, uint64_t packets)
{
	static const char *const where[] = {"host",   "netns",	"ifname", "process",
					    "socket", "cgroup", "pod",	  "flow"};
	const char *place = json_get_text(cause, "location"), *hook = json_get_text(cause, "hook");
	const char *direction = json_get_text(cause, "direction");
	const char *note = json_get_text(cause, "note");

	html_put(h, "<li><b>%s</b> <code>%s</code>", html_count(h, packets),
		 json_get_text(cause, "reason"));
	if (*place)
		html_put(h, " in <code>%s</code>", place);
	if (*hook)
		html_put(h, ", %s hook", hook);
	html_put(h, "<span class=\"dim\">");
	for (unsigned i = 0; i < LENGTH(where); i++) {
		const char *word = json_get_text(cause, where[i]);

		html_put(h, "%s%s", *word ? " " : "", word);
	}
	if (!*hook && strcmp(direction, json_get_text(cause, "netns")))
		html_put(h, " %s", direction);
	html_put(h, "%s%s</span></li>", *note ? ": " : "", note);
}

/* Shares are of `whole`. */
static void put_stages(struct html *h, struct json_object *end, uint64_t whole)
{
	struct json_object *stages = json_get(end, "stages");

	for (size_t i = 0; i < html_length(stages); i++) {
		struct json_object *stage = html_at(stages, i), *causes = json_get(stage, "causes");
		const char *name = json_get_text(stage, "stage");

		if (!json_get_u64(stage, "packets"))
			continue;
		html_put(h,
			 "<tr><th class=\"stage\"><i class=\"key %s\"></i>%s<br><span "
			 "class=\"dim\">%s</span>",
			 html_colour(h, name), name, html_stage_title(name));
		put_count(h, json_get_u64(stage, "packets"), whole);
		html_put(h, "<ul>");
		for (size_t k = 0; k < html_length(causes); k++) {
			uint64_t packets = cause_packets(causes, k);

			if (packets)
				put_cause(h, html_at(causes, k), packets);
		}
		html_put(h, "</ul>");
		if (strcmp(json_get_text(stage, "source"), "event"))
			html_put(h, "<span class=\"dim\">known by %s</span>",
				 json_get_text(stage, "source"));
	}
}

/* The counts of an object: by name, the number in bold. */
static void put_counts(struct html *h, const char *title, struct json_object *counts, bool code)
{
	if (!html_has_members(counts))
		return;
	html_put(h, "%s<ul>", title);
	json_object_object_foreach (counts, name, value) {
		uint64_t packets = json_object_is_type(value, json_type_int)
					   ? json_object_get_uint64(value)
					   : 0;

		if (packets)
			html_put(h,
				 code ? "<li><b>%s</b> <code>%s</code></li>"
				      : "<li><b>%s</b> %s</li>",
				 html_count(h, packets), name);
	}
	html_put(h, "</ul>");
}

static void put_sums(struct html *h, struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), unaccounted = json_get_u64(end, "unaccounted");

	put_row(h, "", "attempted", json_get_u64(end, "attempted"), 0);
	put_row(h, "", "refused", json_get_u64(end, "refused"), json_get_u64(end, "attempted"));
	put_counts(h, "", json_get(end, "refused_by"), true);
	put_row(h, "sum", "sent", sent, sent);
	put_stages(h, end, sent);
	put_row(h, "", html_arrival(end), html_arrived(end), sent);
	if (json_get(end, "in_flight"))
		put_row(h, "", "in flight", json_get_u64(end, "in_flight"), sent);
	html_put(h, "%s", json_get_text(end, "in_flight_where"));
	if (json_get(end, "unaccounted"))
		put_row(h, unaccounted ? "bad" : "", "unaccounted", unaccounted, sent);
	if (unaccounted)
		put_counts(h, "last seen:", json_get(end, "unaccounted_last_seen"), false);
	if (json_get_u64(end, "impossible"))
		put_row(h, "bad", "impossible", json_get_u64(end, "impossible"), 0);
}

static void put_counter(struct html *h, const char *stage, struct json_object *c)
{
	bool agrees = json_get_bool(c, "agrees"), documented = json_get_bool(c, "documented");

	html_put(h,
		 "<tr><th><i class=\"key %s\"></i>%s<td><code>%s</code>%s<span "
		 "class=\"dim\">%s</span><td class=\"n\">%s<td class=\"n\">%s<td class=\"%s\">%s",
		 html_colour(h, stage), stage, json_get_text(c, "name"),
		 *json_get_text(c, "note") ? " " : "", json_get_text(c, "note"),
		 html_count(h, json_get_u64(c, "delta")),
		 html_count(h, json_get_u64(c, "expected")),
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
	html_put(h,
		 "<h3>Counter check <span class=\"dim\">%u of %u counters of the kernel agree"
		 "</span></h3><div class=\"scroll\"><table class=\"counters\"><thead><tr><th>stage"
		 "<th>counter<th class=\"n\">moved by<th class=\"n\">expected<th>verdict</thead>"
		 "<tbody>",
		 agree, n);
	each_counter(h, end, true, &agree);
	html_put(h, "</tbody></table></div>");
}

void html_ledger(struct html *h, struct json_object *end)
{
	bool closed = json_get(end, "attempted") != NULL;

	if (!closed && !json_get_length(end, "stages"))
		return;
	html_section(h, closed ? "The ledger" : "Losses",
		     json_get(end, "delivered") && closed
			     ? "sent = delivered + dropped at each stage + in flight + unaccounted"
			     : "");
	html_put(h, "<div class=\"scroll\"><table class=\"ledger\"><thead><tr><th><th "
		    "class=\"n\">packets<th class=\"n\">share<th>why</thead><tbody>");
	if (closed)
		put_sums(h, end);
	else
		put_stages(h, end, html_sum(json_get(end, "stages"), "packets"));
	html_put(h, "</tbody></table></div>");
	put_counters(h, end);
	html_section_end(h);
}

/* Counts beside the ledger, a line each for those that are not 0. */
static const struct {
	const char *key, *name, *line;
} counts[] = {
	{"duplicated", "duplicated", "also seen"},
	{"reordered", "reordered", "also seen"},
	{"late", "late", "also seen"},
	{"damaged", "damaged", "also seen"},
	{"invalid", "invalid", "also seen"},
	{"foreign", "of another run", "also seen"},
	{"replies", "ICMP replies", "also seen"},
	{"waits", "waits for room", "also seen"},
	{"fragments_made", "made", "fragments"},
	{"fragments_seen", "seen at the receiver", "fragments"},
	{"fragments_dropped", "dropped", "fragments"},
	{"fragments_abandoned", "abandoned", "fragments"},
	{"fragments_unmatched", "without a number", "fragments"},
	{"datagrams_reassembled", "datagrams put together", "fragments"},
	{"causes_full", "without room for their cause", "own losses"},
	{"stamp_unreadable", "with an unreadable stamp", "own losses"},
	{"recursion_misses", "events missed by recursion", "own losses"},
	{"cell_empty", "XDP losses without a number", "own losses"},
	{"gso_split", "merged packets of uneven stamps", "own losses"},
	{"suppressed", "for which tracing was off", "own losses"},
};

/* Returns whether there are any; `put`: writes them. */
static bool each_count(struct html *h, struct json_object *end, bool put)
{
	struct json_object *losses = json_get(end, "own_losses");
	const char *line = "";

	for (unsigned i = 0; i < LENGTH(counts); i++) {
		bool own = !strcmp(counts[i].line, "own losses");
		uint64_t n = json_get_u64(own ? losses : end, counts[i].key);

		if (!n)
			continue;
		if (!put)
			return true;
		if (strcmp(line, counts[i].line))
			html_put(h, "<tr><th>%s<td>", counts[i].line);
		html_put(h, "%s<b>%s</b> %s", strcmp(line, counts[i].line) ? "" : ", ",
			 html_count(h, n), counts[i].name);
		line = counts[i].line;
	}
	return *line;
}

/* Buckets {from, to, `what`} as bars. */
static void put_bars(struct html *h, const char *title, const char *note,
		     struct json_object *buckets, const char *what)
{
	uint64_t most = 0;

	for (size_t i = 0; i < html_length(buckets); i++) {
		uint64_t v = json_get_u64(html_at(buckets, i), what);

		most = v > most ? v : most;
	}
	if (!most)
		return;
	html_put(h,
		 "<figure class=\"chart\"><figcaption><b>%s</b> <span class=\"dim\">%s</span>"
		 "</figcaption><div class=\"bars\">",
		 title, note);
	for (size_t i = 0; i < html_length(buckets); i++) {
		struct json_object *b = html_at(buckets, i);
		uint64_t v = json_get_u64(b, what);
		uint64_t from = json_get_u64(b, "from"), to = json_get_u64(b, "to");

		html_put(h,
			 "<span class=\"n\">%s%s%s</span><span class=\"bar\"><i class=\"flow\" "
			 "style=\"width:%.2f%%\"></i></span><span class=\"n\">%s</span>",
			 html_count(h, from), from == to ? "" : " – ",
			 from == to ? "" : html_count(h, to), 100 * (double)v / (double)most,
			 html_count(h, v));
	}
	html_put(h, "</div></figure>");
}

static void put_flows(struct html *h, struct json_object *end)
{
	static const char *const columns[] = {"delivered", "reordered", "duplicated"};
	static const char *const delays[] = {"p50", "p99"};
	struct json_object *flows = json_get(end, "flows");

	if (html_length(flows) < 2)
		return;
	html_put(h,
		 "<details><summary>%lu flows</summary><div class=\"scroll\"><table>"
		 "<thead><tr><th>from<th class=\"n\">delivered<th class=\"n\">reordered"
		 "<th class=\"n\">duplicated<th class=\"n\">p50<th class=\"n\">p99"
		 "</thead><tbody>",
		 html_length(flows) + json_get_u64(end, "flows_more"));
	for (size_t i = 0; i < html_length(flows); i++) {
		struct json_object *f = html_at(flows, i), *latency = json_get(f, "latency_ns");

		html_put(h, "<tr><td>%s", json_get_text(f, "source"));
		for (unsigned k = 0; k < LENGTH(columns); k++)
			html_put(h, "<td class=\"n\">%s",
				 html_count(h, json_get_u64(f, columns[k])));
		for (unsigned k = 0; k < LENGTH(delays); k++)
			html_put(h, "<td class=\"n\">%s",
				 latency ? html_ns(h, json_get_u64(latency, delays[k])) : "");
	}
	html_put(h, "</tbody></table></div></details>");
}

void html_beside(struct html *h, struct json_object *end)
{
	struct json_object *gaps = json_get(json_get(end, "loss_gaps"), "length");
	struct json_object *order = json_get(json_get(end, "reordering"), "extent");
	const char *off = json_get_text(json_get(end, "own_losses"), "suppressed_evidence");
	bool any = each_count(h, end, false);

	if (!any && json_get_length(end, "flows") < 2 && !html_length(gaps) && !html_length(order))
		return;
	html_section(h, "Beside the ledger", "none of these cancels a loss");
	if (any) {
		html_put(h, "<table class=\"facts\"><tbody>");
		each_count(h, end, true);
		html_put(h,
			 *off ? "<tr><th>suppressed<td>%s</tbody></table>" : "%s</tbody></table>",
			 off);
	}
	html_put(h, "<div class=\"charts\">");
	put_bars(h, "Gaps", "how many losses in a row, and how often", gaps, "gaps");
	put_bars(h, "Reordering", "by how many packets too late, and how many", order, "packets");
	html_put(h, "</div>");
	put_flows(h, end);
	html_section_end(h);
}
