// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the losses mean and what to change. */
#include "report/html_parts.h"

#include <string.h>

/* `code`: to be pasted. */
static void put_field(struct html *h, struct json_object *finding, const char *key,
		      const char *name, bool code)
{
	const char *text = json_get_text(finding, key);

	if (!*text)
		return;
	if (code)
		html_put(h->out, "<dt>%s</dt><dd><pre>%s</pre></dd>", name, text);
	else
		html_put(h->out, "<dt>%s</dt><dd>%s</dd>", name, text);
}

static void put_finding(struct html *h, struct json_object *f)
{
	const char *stage = json_get_text(f, "stage"), *severity = json_get_text(f, "severity");
	bool info = !strcmp(severity, "info"), error = !strcmp(severity, "error");

	html_put(h->out, "<article class=\"finding %s\"><h3>", error ? "bad" : info ? "" : "warn");
	if (*stage)
		html_put(h->out, "<i class=\"key %s\"></i>%s", html_colour(h, stage), stage);
	else
		html_put(h->out, "%s", json_get_text(f, "id"));
	html_put(h->out, " <span class=\"dim\">%s</span></h3><p>%s</p><dl>", severity,
		 json_get_text(f, "text"));
	put_field(h, f, "evidence", "measured", false);
	put_field(h, f, "current", "now", false);
	put_field(h, f, "wanted", "wanted", false);
	put_field(h, f, "command", "command", true);
	put_field(h, f, "undo", "undo", true);
	put_field(h, f, "risk", "risk", false);
	html_put(h->out, "</dl></article>");
}

void html_findings(struct html *h, struct json_object *end)
{
	struct json_object *list = json_get(end, "findings");

	if (!html_length(list))
		return;
	html_section(h, "Findings", "");
	html_put(h->out, "<div class=\"findings\">");
	for (size_t i = 0; i < html_length(list); i++)
		put_finding(h, html_at(list, i));
	html_put(h->out, "</div>");
	html_section_end(h);
}
