// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What stands beside the books: columns of their own, gaps, order, flows, our own losses. */
#include "report/html_parts.h"

struct column {
	const char *key, *name;
};

static const struct column seen[] = {
	{"duplicated", "duplicated"}, {"reordered", "reordered"},  {"late", "late"},
	{"damaged", "damaged"},	      {"invalid", "invalid"},	   {"foreign", "of another run"},
	{"replies", "ICMP replies"},  {"waits", "waits for room"},
};

static const struct column fragments[] = {
	{"fragments_made", "made"},
	{"fragments_seen", "seen at the receiver"},
	{"fragments_dropped", "dropped"},
	{"fragments_abandoned", "abandoned"},
	{"fragments_unmatched", "without a number"},
	{"datagrams_reassembled", "datagrams put together"},
};

static const struct column own[] = {
	{"causes_full", "without room for their cause"},
	{"stamp_unreadable", "with an unreadable stamp"},
	{"recursion_misses", "events missed by recursion"},
	{"cell_empty", "XDP losses without a number"},
	{"gso_split", "merged packets of uneven stamps"},
	{"suppressed", "for which tracing was off"},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* One line of those that are not 0; none if all are. */
static void put_columns(struct html *h, const char *title, struct json_object *o,
			const struct column *column, size_t n)
{
	char count[FMT_MAX];
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = json_get_u64(o, column[i].key);

		if (!v)
			continue;
		if (!any)
			html_put(h->out, "<tr><th>%s<td>", title);
		html_put(h->out, "%s<b>%s</b> %s", any ? ", " : "",
			 fmt_count(count, sizeof(count), v), column[i].name);
		any = true;
	}
}

static uint64_t largest(struct json_object *buckets, const char *what)
{
	uint64_t most = 0;

	for (size_t i = 0; i < html_length(buckets); i++) {
		uint64_t v = json_get_u64(html_at(buckets, i), what);

		most = v > most ? v : most;
	}
	return most;
}

/* Buckets {from, to, `what`} as bars. */
static void put_bars(struct html *h, const char *title, const char *note,
		     struct json_object *buckets, const char *what)
{
	double most = (double)largest(buckets, what);
	char from[FMT_MAX], to[FMT_MAX], count[FMT_MAX];

	if (!(most > 0))
		return;
	html_put(h->out,
		 "<figure class=\"chart\"><figcaption><b>%s</b> <span class=\"dim\">%s</span>"
		 "</figcaption><div class=\"bars\">",
		 title, note);
	for (size_t i = 0; i < html_length(buckets); i++) {
		struct json_object *b = html_at(buckets, i);
		uint64_t v = json_get_u64(b, what);
		bool one = json_get_u64(b, "from") == json_get_u64(b, "to");

		html_put(h->out,
			 "<span class=\"n\">%s%s%s</span><span class=\"bar\"><i class=\"flow\" "
			 "style=\"width:%.2f%%\"></i></span><span class=\"n\">%s</span>",
			 fmt_count(from, sizeof(from), json_get_u64(b, "from")), one ? "" : " – ",
			 one ? "" : fmt_count(to, sizeof(to), json_get_u64(b, "to")),
			 100 * (double)v / most, fmt_count(count, sizeof(count), v));
	}
	html_put(h->out, "</div></figure>");
}

static void put_shapes(struct html *h, struct json_object *end)
{
	struct json_object *gaps = json_get(end, "loss_gaps");
	struct json_object *order = json_get(end, "reordering");

	html_put(h->out, "<div class=\"charts\">");
	put_bars(h, "Gaps", "how many losses in a row, and how often", json_get(gaps, "length"),
		 "gaps");
	put_bars(h, "Reordering", "by how many packets too late, and how many",
		 json_get(order, "extent"), "packets");
	html_put(h->out, "</div>");
}

static void put_flows(struct html *h, struct json_object *end)
{
	struct json_object *flows = json_get(end, "flows");
	char text[FMT_MAX];

	if (html_length(flows) < 2)
		return;
	html_put(h->out,
		 "<details><summary>%lu flows</summary><div class=\"scroll\"><table>"
		 "<thead><tr><th>from<th class=\"n\">delivered<th class=\"n\">reordered"
		 "<th class=\"n\">duplicated<th class=\"n\">p50<th class=\"n\">p99"
		 "</thead><tbody>",
		 html_length(flows) + json_get_u64(end, "flows_more"));
	for (size_t i = 0; i < html_length(flows); i++) {
		static const char *const counts[] = {"delivered", "reordered", "duplicated"};
		static const char *const delays[] = {"p50", "p99"};
		struct json_object *f = html_at(flows, i);
		struct json_object *latency = json_get(f, "latency_ns");

		html_put(h->out, "<tr><td>%s", json_get_text(f, "source"));
		for (unsigned k = 0; k < COUNT(counts); k++)
			html_put(h->out, "<td class=\"n\">%s",
				 fmt_count(text, sizeof(text), json_get_u64(f, counts[k])));
		for (unsigned k = 0; k < COUNT(delays); k++)
			html_put(h->out, "<td class=\"n\">%s",
				 latency ? fmt_ns(text, sizeof(text),
						  json_get_u64(latency, delays[k]))
					 : "");
	}
	html_put(h->out, "</tbody></table></div></details>");
}

static bool has_any(struct json_object *o, const struct column *column, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (json_get_u64(o, column[i].key))
			return true;
	}
	return false;
}

static bool has_shapes(struct json_object *end)
{
	return json_get_length(end, "flows") > 1 ||
	       json_get_length(json_get(end, "loss_gaps"), "length") ||
	       json_get_length(json_get(end, "reordering"), "extent");
}

static void put_facts(struct html *h, struct json_object *end, struct json_object *losses)
{
	html_put(h->out, "<table class=\"facts\"><tbody>");
	put_columns(h, "also seen", end, seen, COUNT(seen));
	put_columns(h, "fragments", end, fragments, COUNT(fragments));
	put_columns(h, "own losses", losses, own, COUNT(own));
	if (*json_get_text(losses, "suppressed_evidence"))
		html_put(h->out, "<tr><th>suppressed<td>%s",
			 json_get_text(losses, "suppressed_evidence"));
	html_put(h->out, "</tbody></table>");
}

void html_beside(struct html *h, struct json_object *end)
{
	struct json_object *losses = json_get(end, "own_losses");
	bool facts = has_any(end, seen, COUNT(seen)) || has_any(end, fragments, COUNT(fragments)) ||
		     has_any(losses, own, COUNT(own));

	if (!facts && !has_shapes(end))
		return;
	html_section(h, "Beside the books", "none of these cancels a loss");
	if (facts)
		put_facts(h, end, losses);
	put_shapes(h, end);
	put_flows(h, end);
	html_section_end(h);
}
