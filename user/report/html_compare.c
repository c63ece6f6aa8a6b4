// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two runs side by side: what was different before they began, then what came of it. */
#include "report/html_parts.h"

#include <math.h>
#include <string.h>

/* By the unit in the name. "-": there is none. */
static const char *amount(char *buf, size_t size, const char *name, struct json_object *value)
{
	double v = json_object_get_double(value);

	if (!value)
		snprintf(buf, size, "–");
	else if (strstr(name, "_ns"))
		fmt_ns(buf, size, json_object_get_uint64(value));
	else if (strstr(name, "_pps"))
		fmt_rate(buf, size, isfinite(v) ? v : 0);
	else
		fmt_count(buf, size, json_object_get_uint64(value));
	return buf;
}

static void put_amount(struct html *h, struct json_object *row, const char *key,
		       const char *share_key)
{
	char text[FMT_MAX];

	html_put(h->out, "<td class=\"n\">%s",
		 amount(text, sizeof(text), json_get_text(row, "name"), json_get(row, key)));
	if (json_get(row, share_key))
		html_put(h->out, " <span class=\"dim\">%.2f %%</span>",
			 100 * json_get_double(row, share_key));
}

static bool is_stage(const char *name)
{
	return *html_stage_title(name);
}

static void put_results(struct html *h, struct json_object *comparison)
{
	html_put(h->out, "<div class=\"scroll\"><table><thead><tr><th><th class=\"n\">A<th "
			 "class=\"n\">B<th class=\"n\">change</thead><tbody>");
	for (size_t i = 0; i < json_get_length(comparison, "results"); i++) {
		struct json_object *row = json_get_item(comparison, "results", i);
		const char *name = json_get_text(row, "name");

		if (!(json_get_double(row, "a") > 0) && !(json_get_double(row, "b") > 0))
			continue;
		html_put(h->out, "<tr><th>");
		if (is_stage(name))
			html_put(h->out, "<i class=\"key %s\"></i>", html_colour(h, name));
		html_put(h->out, "%s", name);
		put_amount(h, row, "a", "a_share");
		put_amount(h, row, "b", "b_share");
		html_put(h->out, "<td class=\"n\">");
		if (json_get(row, "change"))
			html_put(h->out, "%+.1f %%", 100 * json_get_double(row, "change"));
	}
	html_put(h->out, "</tbody></table></div>");
}

static const char *value_text(struct json_object *value)
{
	return value ? json_object_get_string(value) : "–";
}

static void put_differences(struct html *h, const char *title, struct json_object *comparison,
			    const char *key)
{
	size_t n = json_get_length(comparison, key);

	html_put(h->out, "<h3>%s%s</h3>", title, n ? "" : ": the same");
	if (!n)
		return;
	html_put(h->out, "<div class=\"scroll\"><table><thead><tr><th><th>A<th>B</thead><tbody>");
	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_get_item(comparison, key, i);

		html_put(h->out, "<tr><th><code>%s</code><td>%s<td>%s", json_get_text(row, "name"),
			 value_text(json_get(row, "a")), value_text(json_get(row, "b")));
	}
	html_put(h->out, "</tbody></table></div>");
}

void html_compare(struct html *h, struct json_object *comparison)
{
	if (!comparison)
		return;
	html_put(h->out, "<div class=\"document\"><header><h1>A and B compared</h1></header>\n");
	html_section(h, "What was different", "");
	put_differences(h, "Hosts", comparison, "env");
	put_differences(h, "What was done", comparison, "setup");
	html_section_end(h);
	html_section(h, "What came of it", "");
	put_results(h, comparison);
	html_section_end(h);
	html_put(h->out, "</div>\n");
}
