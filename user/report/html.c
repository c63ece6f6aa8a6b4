// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_parts.h"
#include "drops/stagemap.h"

static const char style[] =
#include "report/html.css.h"
	;

const char *html_colour(const struct html *h, const char *stage)
{
	static const char *const classes[HTML_COLOURS] = {"c0", "c1", "c2", "c3",
							  "c4", "c5", "c6", "c7"};

	for (unsigned i = 0; i < h->stages; i++) {
		if (!strcmp(h->stage[i], stage))
			return classes[i % HTML_COLOURS];
	}
	return "none";
}

const char *html_stage_title(const char *stage)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (!strcmp(stage_name(s), stage))
			return stage_title(s);
	}
	return "";
}

char *html_share(char *buf, size_t size, uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		snprintf(buf, size, "%s", "");
	else if (part && share < 0.01)
		snprintf(buf, size, "<0.01 %%");
	else if (part < whole && share > 99.99)
		snprintf(buf, size, ">99.99 %%");
	else
		snprintf(buf, size, "%.2f %%", share);
	return buf;
}

size_t html_length(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

struct json_object *html_at(struct json_object *list, size_t i)
{
	return i < html_length(list) ? json_object_array_get_idx(list, i) : NULL;
}

bool html_has_members(struct json_object *o)
{
	return json_object_is_type(o, json_type_object) && json_object_object_length(o);
}

uint64_t html_sum(struct json_object *list, const char *key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < html_length(list); i++) {
		uint64_t v = json_get_u64(html_at(list, i), key);

		sum = sum + v < sum ? UINT64_MAX : sum + v;
	}
	return sum;
}

struct json_object *html_only_trial(struct json_object *doc)
{
	struct json_object *trials = json_get(doc, "trials"), *trial = html_at(trials, 0);

	return html_length(trials) == 1 && !json_get(trial, "intended") &&
			       json_get_u64(trial, "attempted")
		       ? trial
		       : NULL;
}

struct json_object *html_end_of(struct json_object *doc)
{
	struct json_object *end = html_only_trial(doc);

	if (!end)
		end = json_get(doc, "end");
	return end ? end : json_get(doc, "sum");
}

uint64_t html_arrived(struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent");
	uint64_t lost = html_sum(json_get(end, "stages"), "packets");

	if (json_get(end, "delivered"))
		return json_get_u64(end, "delivered");
	return sent > lost ? sent - lost : 0;
}

const char *html_arrival(struct json_object *end)
{
	return json_get(end, "delivered") ? "delivered" : "not lost here";
}

void html_section(struct html *h, const char *title, const char *note)
{
	html_put(h->out, "<section><h2>%s", title);
	if (*note)
		html_put(h->out, " <span class=\"dim\">%s</span>", note);
	html_put(h->out, "</h2>");
}

void html_section_end(struct html *h)
{
	html_put(h->out, "</section>\n");
}

/* The stages of a list that lost something get their colours, in the order of the path. */
static void learn_stages(struct html *h, struct json_object *end)
{
	struct json_object *list = json_get(end, "stages");

	for (size_t i = 0; i < html_length(list); i++) {
		const char *name = json_get_text(html_at(list, i), "stage");

		if (h->stages < HTML_STAGES && !strcmp(html_colour(h, name), "none"))
			h->stage[h->stages++] = name;
	}
}

static int in_order_of_path(const void *va, const void *vb)
{
	int place[2] = {STAGE_COUNT, STAGE_COUNT};

	for (int s = STAGE_COUNT - 1; s >= 0; s--) {
		if (!strcmp(stage_name(s), *(const char *const *)va))
			place[0] = s;
		if (!strcmp(stage_name(s), *(const char *const *)vb))
			place[1] = s;
	}
	return place[0] - place[1];
}

static void learn(struct html *h, struct json_object *doc)
{
	static const char *const lists[] = {"trials", "intervals"};

	learn_stages(h, html_end_of(doc));
	for (unsigned k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		struct json_object *list = json_get(doc, lists[k]);

		for (size_t i = 0; i < html_length(list); i++)
			learn_stages(h, html_at(list, i));
	}
}

/* "2024-05-01T12:00:00.123456Z" to the second, for people. */
static void put_when(struct html *h, struct json_object *start)
{
	char time[20];

	snprintf(time, sizeof(time), "%.19s", json_get_text(start, "time"));
	if (strlen(time) == 19 && time[10] == 'T') {
		time[10] = ' ';
		html_put(h->out, " · %s UTC", time);
	}
	if (*json_get_text(start, "host"))
		html_put(h->out, " · %s", json_get_text(start, "host"));
}

/* "pktledger/run/1" */
static void put_kind(struct html *h, struct json_object *doc)
{
	char schema[64], *command, *end;

	snprintf(schema, sizeof(schema), "%s", json_get_text(doc, "schema"));
	command = strchr(schema, '/');
	end = command ? strchr(command + 1, '/') : NULL;
	if (end)
		*end = '\0';
	html_put(h->out, "%s", command ? command + 1 : "");
	put_when(h, json_get(doc, "start"));
}

/* `letter`: by which a comparison calls it; "" for one alone. */
static void put_document(struct html *h, const struct html_document *d, const char *letter)
{
	struct json_object *start = json_get(d->doc, "start");
	struct json_object *end = html_end_of(d->doc);

	html_put(h->out, "<div class=\"document\"><header><p class=\"dim\">");
	if (*letter)
		html_put(h->out, "<b>%s</b> · ", letter);
	put_kind(h, d->doc);
	html_put(h->out, "%s%s", d->name && *d->name ? " · " : "", d->name ? d->name : "");
	if (json_get_u64(d->doc, "number")) /* in its file */
		html_put(h->out, " (%lu)", json_get_u64(d->doc, "number"));
	html_put(h->out, "</p>");
	(json_get(d->doc, "between") ? html_ends_head : html_head)(h, d->doc);
	html_put(h->out, "</header>\n");
	html_ends(h, d->doc);
	html_search(h, d->doc);
	if (json_get_u64(end, "attempted")) {
		html_section(h, "The path of the packets", "");
		html_path(h, start, end);
		html_section_end(h);
	}
	if (!html_only_trial(d->doc))
		html_trials(h, d->doc);
	html_findings(h, end);
	if (html_only_trial(d->doc))
		html_time(h, html_only_trial(d->doc));
	else if (!json_get(d->doc, "trials")) /* else they are of many, each from its beginning */
		html_time(h, d->doc);
	html_delay(h, end);
	html_books(h, end);
	html_joined(h, d->doc);
	html_beside(h, end);
	html_env(h, start);
	html_put(h->out, "</div>\n");
}

static void put_data(struct html *h, const struct html_document *d)
{
	int rc;

	html_put(h->out, HTML_DOCUMENT " data-name=\"%s\">", d->name);
	rc = html_put_json(h->out, d->doc);
	h->rc = h->rc ? h->rc : rc;
	html_put(h->out, "</script>\n");
}

static void put_head(struct html *h, const struct html_page *page)
{
	struct json_object *first = page->n ? page->docs[0].doc : NULL;

	html_put(h->out,
		 HTML_BEGIN
		 "\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		 "<meta name=\"color-scheme\" content=\"light dark\">"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'\">"
		 "<meta name=\"generator\" content=\"pktledger %s\"><title>pktledger"
		 "%s%s %s</title><style>",
		 PKTLEDGER_VERSION, first ? ", " : "",
		 json_get_text(json_get(first, "start"), "host"),
		 json_get_text(json_get(first, "start"), "time"));
	fputs(style, h->out);
	html_put(h->out, "</style></head>\n<body>\n<main>\n");
}

int html_write(FILE *out, const struct html_page *page)
{
	struct html h = {.out = out};

	errno = 0;
	for (unsigned i = 0; i < page->n; i++)
		learn(&h, page->docs[i].doc);
	qsort(h.stage, h.stages, sizeof(h.stage[0]), in_order_of_path);
	put_head(&h, page);
	html_compare(&h, page->comparison);
	html_matrix(&h, page->matrix);
	for (unsigned i = 0; i < page->n && !page->matrix; i++)
		put_document(&h, &page->docs[i], !page->comparison ? "" : i ? "B" : "A");
	html_put(out, "</main>\n");
	html_put(out,
		 "<footer class=\"dim\">pktledger %s. The data is in this file, as "
		 "JSON.</footer>\n",
		 PKTLEDGER_VERSION);
	for (unsigned i = 0; i < page->n; i++)
		put_data(&h, &page->docs[i]);
	html_put(out, "</body></html>\n");
	if (fflush(out) == EOF || ferror(out))
		h.rc = errno ? -errno : -EIO;
	return h.rc;
}
