// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The ledger as the text has it, with all causes and counters; beside it how losses lay together.
 */
#include "report/html_page.h"
#include "report/print.h"

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

/* Buckets {from, to, `what`} as bars. */
static void put_bars(struct html *h, const char *title, const char *note,
		     const struct json_object *of, const char *list, const char *what)
{
	uint64_t most = 0;

	for (size_t i = 0; i < json_get_length(of, list); i++) {
		uint64_t v = json_get_u64(json_get_item(of, list, i), what);

		most = v > most ? v : most;
	}
	if (!most)
		return;
	html_put(h,
		 "<figure><figcaption><b>%s</b> <span class=\"dim\">%s</span></figcaption>"
		 "<div class=\"bars\">",
		 title, note);
	for (size_t i = 0; i < json_get_length(of, list); i++) {
		struct json_object *b = json_get_item(of, list, i);
		uint64_t v = json_get_u64(b, what);
		uint64_t from = json_get_u64(b, "from"), to = json_get_u64(b, "to");

		html_put(h,
			 "<span class=\"n\">%s%s%s</span><span class=\"bar\"><i class=\"flow\" "
			 "style=\"width:%.2f%%\"></i></span><span class=\"n\">%s</span>",
			 page_count(from), from == to ? "" : " – ",
			 from == to ? "" : page_count(to), 100 * (double)v / (double)most,
			 page_count(v));
	}
	html_put(h, "</div></figure>");
}

static void put_flows(struct html *h, struct json_object *end)
{
	static const char *const counts[] = {"delivered", "reordered", "duplicated"};
	static const struct page_column columns[] = {
		{"from", 0, false},	 {"delivered", 0, true}, {"reordered", 0, true},
		{"duplicated", 0, true}, {"p50", 0, true},	 {"p99", 0, true},
		{NULL, 0, false}};
	struct page p = page_open_html(h);
	size_t n = json_get_length(end, "flows");

	if (n < 2)
		return;
	html_put(h, "<details><summary>%lu flows</summary>", n + json_get_u64(end, "flows_more"));
	page_table(&p, columns);
	for (size_t i = 0; i < n; i++) {
		struct json_object *f = json_get_item(end, "flows", i);
		struct json_object *latency = json_get(f, "latency_ns");

		page_cell(&p, STYLE_PLAIN, json_get_text(f, "source"));
		for (unsigned k = 0; k < LENGTH(counts); k++)
			page_cell(&p, STYLE_PLAIN, page_count(json_get_u64(f, counts[k])));
		for (unsigned k = LENGTH(counts) + 1; columns[k].name; k++)
			page_cell(&p, STYLE_PLAIN,
				  latency ? page_ns(json_get_u64(latency, columns[k].name)) : "");
		page_end(&p);
	}
	html_end_block(h);
	html_put(h, "</details>");
}

void html_ledger(struct html *h, struct json_object *start, struct json_object *end)
{
	const struct print_view v = {.html = h, .verbosity = 1};
	bool run = json_get(end, "attempted") && json_get(end, "delivered");
	unsigned agree = 0, counters = 0;
	char note[64] = "";

	if (!json_get(end, "attempted") && !json_get(end, "received"))
		return;
	for (size_t i = 0; i < json_get_length(end, "stages"); i++) {
		struct json_object *stage = json_get_item(end, "stages", i);

		for (size_t k = 0; k < json_get_length(stage, "counters"); k++, counters++)
			agree += json_get_bool(json_get_item(stage, "counters", k), "agrees");
	}
	if (counters)
		snprintf(note, sizeof(note), "%u of %u counters of the kernel agree", agree,
			 counters);
	html_section(h, "The ledger", note);
	if (run)
		text_run(&v, start, end, TEXT_LEDGER);
	else
		text_solo(&v, end);
	text_run(&v, start, end, TEXT_BESIDE);
	html_end_block(h);
	html_put(h, "<div class=\"charts\">");
	put_bars(h, "Gaps", "how many losses in a row, and how often", json_get(end, "loss_gaps"),
		 "length", "gaps");
	put_bars(h, "Reordering", "by how many packets too late, and how many",
		 json_get(end, "reordering"), "extent", "packets");
	html_put(h, "</div>");
	put_flows(h, end);
	html_section_end(h);
}
