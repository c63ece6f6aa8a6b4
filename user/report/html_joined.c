// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Each sender's part of what came to one receiver: report/joined.h. */
#include "report/html_parts.h"

#include <string.h>

static void put_count(struct html *h, uint64_t packets, uint64_t sent)
{
	char count[FMT_MAX], share[24];

	html_put(h->out, "<td class=\"n\">%s", fmt_count(count, sizeof(count), packets));
	if (packets && packets < sent)
		html_put(h->out, " <span class=\"dim\">%s</span>",
			 html_share(share, sizeof(share), packets, sent));
}

static uint64_t lost_at(struct json_object *end, const char *stage)
{
	struct json_object *list = json_get(end, "stages");

	for (size_t i = 0; i < html_length(list); i++) {
		if (!strcmp(json_get_text(html_at(list, i), "stage"), stage))
			return json_get_u64(html_at(list, i), "packets");
	}
	return 0;
}

static void put_sender(struct html *h, struct json_object *sender, struct json_object *stages)
{
	struct json_object *end = json_get(sender, "end");
	struct json_object *hosts = json_get(json_get(sender, "start"), "hosts");
	uint64_t sent = json_get_u64(end, "sent");

	html_put(h->out, "<tr><th>%s", json_get_text(json_get(hosts, "tx"), "name"));
	put_count(h, sent, 0);
	for (size_t i = 0; i < html_length(stages); i++)
		put_count(h, lost_at(end, json_get_text(html_at(stages, i), "stage")), sent);
	put_count(h, json_get_u64(end, "delivered"), sent);
	put_count(h, json_get_u64(end, "unaccounted"), sent);
}

void html_joined(struct html *h, struct json_object *doc)
{
	struct json_object *stages = json_get(json_get(doc, "end"), "stages");
	size_t senders = json_get_length(doc, "senders"), notes = json_get_length(doc, "notes");

	if (!senders && !notes)
		return;
	html_section(h, "Senders", "packets of each, by where they ended");
	html_put(h->out, "<div class=\"scroll\"><table><thead><tr><th>");
	html_put(h->out, "<th class=\"n\">sent");
	for (size_t i = 0; i < html_length(stages); i++) {
		const char *name = json_get_text(html_at(stages, i), "stage");

		html_put(h->out, "<th class=\"n\"><i class=\"key %s\"></i>%s", html_colour(h, name),
			 name);
	}
	html_put(h->out, "<th class=\"n\">delivered<th class=\"n\">unaccounted</thead><tbody>");
	for (size_t i = 0; i < senders; i++)
		put_sender(h, json_get_item(doc, "senders", i), stages);
	html_put(h->out, "</tbody></table></div>");
	for (size_t i = 0; i < notes; i++)
		html_put(h->out, "<p class=\"bad\">%s</p>", json_get_item_text(doc, "notes", i));
	html_section_end(h);
}
