// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "report/ends.h"
#include "report/print_parts.h"

static void put_end(struct page *p, const char *label, const struct json_object *end)
{
	char count[FMT_MAX];

	page_text(p, 0, STYLE_BOLD, label);
	page_words(p, STYLE_PLAIN, "%s:", json_get_text(end, "file"));
	page_words(p, STYLE_PLAIN, "%s packets,",
		   fmt_count(count, sizeof(count), json_get_u64(end, "packets")));
	page_words(p, STYLE_PLAIN, "%s compared",
		   fmt_count(count, sizeof(count), json_get_u64(end, "compared")));
	if (json_get_u64(end, "cut"))
		page_words(p, STYLE_WARN, ", %s cut too short to be known again",
			   fmt_count(count, sizeof(count), json_get_u64(end, "cut")));
	if (json_get_u64(end, "dropped_by_capture"))
		page_words(
			p, STYLE_WARN, ", %s dropped by the capture",
			fmt_count(count, sizeof(count), json_get_u64(end, "dropped_by_capture")));
	if (json_get_bool(end, "file_is_cut"))
		page_words(p, STYLE_WARN, "; the file is cut");
	page_end(p);
}

static void put_row(struct page *p, enum style style, const char *label, uint64_t count,
		    uint64_t whole, const char *note)
{
	page_row(p, style, 0, label, count, whole);
	page_words(p, STYLE_PLAIN, "%s", note);
	page_end(p);
}

static void put_row_if(struct page *p, const char *label, uint64_t count, const char *note)
{
	if (count)
		put_row(p, STYLE_WARN, label, count, 0, note);
}

static void put_lost(struct page *p, const struct json_object *ends, uint64_t whole)
{
	uint64_t lost = json_get_u64(ends, "lost"), gaps = json_get_u64(ends, "gaps");
	char count[FMT_MAX], longest[FMT_MAX];

	page_row(p, lost ? STYLE_BAD : STYLE_PLAIN, 0, "lost", lost, whole);
	if (lost)
		page_words(p, STYLE_PLAIN, "%s gap%s, the longest of %s",
			   fmt_count(count, sizeof(count), gaps), gaps == 1 ? "" : "s",
			   fmt_count(longest, sizeof(longest), json_get_u64(ends, "longest_gap")));
	page_end(p);
}

/* ns that may be less than nothing. */
static char *signed_ns(char *buf, size_t size, int64_t ns)
{
	char text[FMT_MAX];

	snprintf(buf, size, "%s%s", ns < 0 ? "-" : "",
		 fmt_ns(text, sizeof(text), (uint64_t)(ns < 0 ? -ns : ns)));
	return page_glue(buf);
}

static void put_delay(struct page *p, const struct json_object *delay)
{
	static const char *const keys[] = {"min", "p50", "p90", "p99", "max"};
	const unsigned n = sizeof(keys) / sizeof(keys[0]);
	char text[FMT_MAX + 1];

	if (!delay)
		return;
	page_text(p, 0, STYLE_PLAIN, "delay           ");
	for (unsigned i = 0; i < n; i++)
		page_words(p, STYLE_PLAIN, "%s\v%s%s", keys[i],
			   signed_ns(text, sizeof(text), json_get_i64(delay, keys[i])),
			   i + 1 < n ? "," : "");
	if (json_get_i64(delay, "min") < 0)
		page_words(p, STYLE_WARN, "(the clocks differ, or these went from B to A)");
	page_end(p);
}

static void put_flows(struct page *p, const struct json_object *ends)
{
	for (size_t i = 0; i < json_get_length(ends, "flows"); i++) {
		const struct json_object *flow = json_get_item(ends, "flows", i);

		page_row(p, i ? STYLE_PLAIN : STYLE_BOLD, 0, i ? "" : "missing of",
			 json_get_u64(flow, "missing"), json_get_u64(flow, "packets"));
		page_words(p, STYLE_PLAIN, "%s", json_get_text(flow, "flow"));
		page_end(p);
	}
}

void ends_print(const struct print_view *v, const struct json_object *ends)
{
	static const struct {
		const char *method, *text;
	} how[] = {
		{"stamp", "by the number that pktledger has put into each"},
		{"rtp", "by the numbers of RTP"},
		{"bytes", "by ID, length, ports and the first bytes of each"},
	};
	const struct json_object *unknown = json_get(ends, "unknown");
	uint64_t whole = json_get_u64(json_get(ends, "a"), "compared");
	struct page p = print_page(v, whole);

	put_end(&p, "A ", json_get(ends, "a"));
	put_end(&p, "B ", json_get(ends, "b"));
	p.indent = 0;
	for (unsigned i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		if (!strcmp(how[i].method, json_get_text(ends, "method")))
			page_words(&p, STYLE_PLAIN, "compared %s", how[i].text);
	}
	page_end(&p);
	page_end(&p);
	put_row(&p, STYLE_PLAIN, "in A", whole, 0, "");
	put_lost(&p, ends, whole);
	put_row_if(&p, "unknown", json_get_u64(unknown, "outside"),
		   "B was not there yet, or no more, when they were due");
	put_row_if(&p, "unknown", json_get_u64(unknown, "dropped_or_cut"),
		   "lost, or dropped or cut by the capture of B");
	put_row(&p, STYLE_BOLD, "in A and B", json_get_u64(ends, "matched"), whole, "");
	put_row_if(&p, "duplicated", json_get_u64(ends, "duplicated"), "more often in B than in A");
	put_row_if(&p, "reordered", json_get_u64(ends, "reordered"),
		   "behind a later one of the same flow");
	put_row_if(&p, "in B only", json_get_u64(ends, "only_b"), "");
	put_row_if(&p, "alike", json_get_u64(ends, "ambiguous"),
		   "look the same as another: which of them was lost is not known");
	put_delay(&p, json_get(ends, "delay_ns"));
	put_flows(&p, ends);
	page_close(&p);
}
