// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two captures compared: what was lost between them, as a path, in numbers, and how long it took.
 */
#include "report/html_parts.h"

#include <string.h>

#include "base/json.h"

static const struct {
	const char *method, *text;
} methods[] = {
	{"stamp", "known again by the number that pktledger has put into each"},
	{"rtp", "known again by the numbers of RTP"},
	{"bytes", "known again by ID, length, ports and the first bytes of each"},
};

static uint64_t unknown_of(struct json_object *ends)
{
	struct json_object *unknown = json_get(ends, "unknown");

	return json_get_u64(unknown, "outside") + json_get_u64(unknown, "dropped_or_cut");
}

static uint64_t whole_of(struct json_object *ends)
{
	return json_get_u64(json_get(ends, "a"), "compared");
}

static void put_headline(struct html *h, struct json_object *ends)
{
	uint64_t lost = json_get_u64(ends, "lost"), unknown = unknown_of(ends);
	char share[24], count[FMT_MAX];

	if (lost)
		html_put(h->out, "<h1>%s lost between A and B</h1>",
			 html_share(share, sizeof(share), lost, whole_of(ends)));
	else
		html_put(h->out, "<h1>Nothing was seen to be lost between A and B</h1>");
	if (unknown)
		html_put(h->out,
			 "<p class=\"verdict warn\">of %s packets B cannot know: it was not there, "
			 "or "
			 "its capture dropped or cut packets</p>",
			 fmt_count(count, sizeof(count), unknown));
	for (unsigned i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (!strcmp(methods[i].method, json_get_text(ends, "method")))
			html_put(h->out, "<p class=\"dim\">%s</p>", methods[i].text);
	}
}

static void put_ends(struct html *h, const void *arg)
{
	struct json_object *ends = (struct json_object *)arg;
	uint64_t whole = whole_of(ends), matched = json_get_u64(ends, "matched");
	char count[FMT_MAX], share[24];

	html_put(
		h->out, "<div class=\"from\">in A <b>%s</b><br><span class=\"dim\">%s</span></div>",
		fmt_count(count, sizeof(count), whole), json_get_text(json_get(ends, "a"), "file"));
	html_put(h->out,
		 "<div class=\"to\">in A and B <b>%s</b> %s<br><span class=\"dim\">%s</span></div>",
		 fmt_count(count, sizeof(count), matched),
		 html_share(share, sizeof(share), matched, whole),
		 json_get_text(json_get(ends, "b"), "file"));
}

static void put_path(struct html *h, struct json_object *ends)
{
	struct json_object *unknown = json_get(ends, "unknown");
	const struct {
		const char *name, *class;
		uint64_t packets;
	} all[] = {
		{"lost", "c0", json_get_u64(ends, "lost")},
		{"B not there", "waiting", json_get_u64(unknown, "outside")},
		{"dropped or cut", "unknown", json_get_u64(unknown, "dropped_or_cut")},
	};
	struct html_way way[3] = {};
	unsigned n = 0;

	for (unsigned i = 0; i < 3; i++) {
		if (all[i].packets)
			way[n++] = (struct html_way){.name = all[i].name,
						     .class = all[i].class,
						     .packets = all[i].packets,
						     .whole = whole_of(ends)};
	}
	html_section(h, "From A to B", "");
	html_picture(h, &(struct html_picture){.way = way,
					       .n = n,
					       .arrived = json_get_u64(ends, "matched"),
					       .arrival = "in A and B",
					       .put_ends = put_ends,
					       .arg = ends});
	html_section_end(h);
}

/* As that of a run, if the clocks let it be one. */
static void put_delay(struct html *h, struct json_object *ends)
{
	struct json_object *delay = json_get(ends, "delay_ns"), *end;
	char low[FMT_MAX], high[FMT_MAX];
	int64_t min = json_get_i64(delay, "min"), max = json_get_i64(delay, "max");

	if (delay && min < 0) {
		html_section(h, "Delay", "");
		html_put(h->out,
			 "<p class=\"verdict warn\">from -%s to %s%s: the clocks differ, or these "
			 "went from B to A</p>",
			 fmt_ns(low, sizeof(low), (uint64_t)-min), max < 0 ? "-" : "",
			 fmt_ns(high, sizeof(high), (uint64_t)(max < 0 ? -max : max)));
		html_section_end(h);
		return;
	}
	end = json_object_new_object();
	json_put(end, "latency_ns", json_object_get(delay));
	json_put(end, "latency_histogram", json_object_get(json_get(ends, "delay_histogram")));
	json_put_u64(end, "delivered", json_get_u64(ends, "matched"));
	html_delay(h, end);
	json_object_put(end);
}

static void put_file(struct html *h, const char *name, struct json_object *end)
{
	static const char *const counts[] = {"packets", "compared", "cut", "dropped_by_capture"};
	char count[FMT_MAX];

	html_put(h->out, "<tr><th>%s<td>%s%s", name, json_get_text(end, "file"),
		 json_get_bool(end, "file_is_cut") ? " (the file is cut)" : "");
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		html_put(h->out, "<td class=\"n %s\">%s",
			 i >= 2 && json_get_u64(end, counts[i]) ? "warn" : "",
			 fmt_count(count, sizeof(count), json_get_u64(end, counts[i])));
}

static void put_files(struct html *h, struct json_object *ends)
{
	html_section(h, "The captures", "");
	html_put(h->out,
		 "<div class=\"scroll\"><table class=\"facts\"><thead><tr><th><th>file<th "
		 "class=\"n\">packets<th class=\"n\">compared<th class=\"n\">cut too short<th "
		 "class=\"n\">dropped by the capture</thead><tbody>");
	put_file(h, "A", json_get(ends, "a"));
	put_file(h, "B", json_get(ends, "b"));
	html_put(h->out, "</tbody></table></div>");
	html_section_end(h);
}

static void put_beside(struct html *h, struct json_object *ends)
{
	static const struct {
		const char *key, *name, *what;
	} rows[] = {
		{"gaps", "gaps", "losses in a row count once"},
		{"longest_gap", "longest gap", "packets in a row"},
		{"duplicated", "duplicated", "more often in B than in A"},
		{"reordered", "reordered", "behind a later one of the same flow"},
		{"only_b", "in B only", ""},
		{"ambiguous", "alike", "look the same as another: which was lost is not known"},
	};
	char count[FMT_MAX];

	html_section(h, "Beside", "");
	html_put(h->out, "<div class=\"scroll\"><table class=\"facts\"><tbody>");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		html_put(h->out, "<tr><th>%s<td class=\"n\">%s<td class=\"dim\">%s", rows[i].name,
			 fmt_count(count, sizeof(count), json_get_u64(ends, rows[i].key)),
			 rows[i].what);
	html_put(h->out, "</tbody></table></div>");
	html_section_end(h);
}

static void put_flows(struct html *h, struct json_object *ends)
{
	struct json_object *flows = json_get(ends, "flows");
	char count[FMT_MAX], share[24];

	if (!html_length(flows))
		return;
	html_section(h, "Flows", "those that miss most");
	html_put(h->out, "<div class=\"scroll\"><table class=\"facts\"><thead><tr><th>flow<th "
			 "class=\"n\">in A<th class=\"n\">missing<th class=\"n\">share"
			 "</thead><tbody>");
	for (size_t i = 0; i < html_length(flows); i++) {
		struct json_object *flow = html_at(flows, i);
		uint64_t packets = json_get_u64(flow, "packets");
		uint64_t missing = json_get_u64(flow, "missing");

		html_put(h->out, "<tr><th>%s<td class=\"n\">%s", json_get_text(flow, "flow"),
			 fmt_count(count, sizeof(count), packets));
		html_put(h->out, "<td class=\"n\">%s<td class=\"n\">%s",
			 fmt_count(count, sizeof(count), missing),
			 html_share(share, sizeof(share), missing, packets));
	}
	html_put(h->out, "</tbody></table></div>");
	html_section_end(h);
}

void html_ends_head(struct html *h, struct json_object *doc)
{
	put_headline(h, json_get(doc, "between"));
	html_command(h, json_get(doc, "start"));
}

void html_ends(struct html *h, struct json_object *doc)
{
	struct json_object *ends = json_get(doc, "between");

	if (!ends)
		return;
	put_path(h, ends);
	put_delay(h, ends);
	put_beside(h, ends);
	put_flows(h, ends);
	put_files(h, ends);
}
