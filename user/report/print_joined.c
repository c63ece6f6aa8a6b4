// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What report/joined.h adds to a run: each sender's part, and what is missing. */
#include "base/num.h"
#include "report/print.h"

static void put_count(struct page *p, enum style style, const char *what, uint64_t packets)
{
	char count[FMT_MAX];

	page_words(p, style, "%s\v%s,", fmt_count(count, sizeof(count), packets), what);
}

static void put_sender(struct page *p, const struct json_object *sender)
{
	const struct json_object *end = json_get(sender, "end");
	uint64_t open = json_get_u64(end, "unaccounted");
	char count[FMT_MAX];

	page_row(
		p, STYLE_PLAIN, 2,
		json_get_text(json_get(json_get(json_get(sender, "start"), "hosts"), "tx"), "name"),
		json_get_u64(end, "sent"), 0);
	for (size_t i = 0; i < json_get_length(end, "stages"); i++) {
		const struct json_object *stage = json_get_item(end, "stages", i);

		put_count(p, STYLE_BAD, json_get_text(stage, "stage"),
			  json_get_u64(stage, "packets"));
	}
	if (open)
		put_count(p, STYLE_BAD, "unaccounted", open);
	page_words(p, STYLE_PLAIN, "%s\vdelivered",
		   fmt_count(count, sizeof(count), json_get_u64(end, "delivered")));
	page_words(p, STYLE_DIM, "(%s, %u)", json_get_text(sender, "file"),
		   (unsigned)json_get_u64(sender, "number"));
	page_end(p);
}

static void put_stranger(struct page *p, const struct json_object *stranger)
{
	page_row(p, STYLE_WARN, 2, "not known", json_get_u64(stranger, "delivered"), 0);
	page_words(p, STYLE_PLAIN, "delivered of stream %u, base %llu",
		   (unsigned)json_get_u64(stranger, "stream"),
		   (unsigned long long)json_get_u64(stranger, "base"));
	page_end(p);
}

void print_joined(const struct print_view *v, const struct ledgers_document *d)
{
	const struct json_object *end = json_get(d->json, "end");
	size_t senders = json_get_length(d->json, "senders");
	size_t notes = json_get_length(d->json, "notes");
	size_t strangers = json_get_length(d->json, "strangers");
	struct page p = print_page(v, json_get_u64(end, "attempted"));

	if (senders > 1 || strangers)
		page_heading(&p, "sent by", "");
	for (size_t i = 0; senders > 1 && i < senders; i++)
		put_sender(&p, json_get_item(d->json, "senders", i));
	for (size_t i = 0; i < strangers; i++)
		put_stranger(&p, json_get_item(d->json, "strangers", i));
	if (notes)
		page_end(&p);
	for (size_t i = 0; i < notes; i++) {
		const char *note = json_object_get_string(json_get_item(d->json, "notes", i));

		page_text(&p, 0, STYLE_WARN, "- ");
		page_words(&p, STYLE_WARN, "%s", note ? note : "");
		page_end(&p);
	}
}
