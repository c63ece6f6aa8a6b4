// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_parts.h"
#include "trace/stagemap.h"

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

	learn_stages(h, json_get(doc, "end"));
	for (unsigned k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		struct json_object *list = json_get(doc, lists[k]);

		for (size_t i = 0; i < html_length(list); i++)
			learn_stages(h, html_at(list, i));
	}
}

/* "47.00 % lost, most at rcvbuf" */
static void put_headline(struct html *h, struct json_object *end)
{
	struct json_object *stages = json_get(end, "stages"), *worst = NULL;
	uint64_t sent = json_get_u64(end, "sent"), delivered = json_get_u64(end, "delivered");
	uint64_t lost = html_sum(stages, "packets");
	char count[FMT_MAX], share[24];
	unsigned n = 0;

	for (size_t i = 0; i < html_length(stages); i++) {
		uint64_t packets = json_get_u64(html_at(stages, i), "packets");

		n += packets != 0;
		if (packets > json_get_u64(worst, "packets"))
			worst = html_at(stages, i);
	}
	html_put(h->out, "<h1>");
	if (!sent)
		html_put(h->out, "Nothing was sent");
	else if (!lost && delivered == sent)
		html_put(h->out, "All %s packets were delivered",
			 fmt_count(count, sizeof(count), sent));
	else if (!delivered && n == 1)
		html_put(h->out, "Nothing arrived: all is lost at %s",
			 json_get_text(worst, "stage"));
	else if (!lost)
		html_put(h->out, "%s of the packets were delivered",
			 html_share(share, sizeof(share), delivered, sent));
	else
		html_put(h->out, "%s lost, %s at %s", html_share(share, sizeof(share), lost, sent),
			 n > 1 ? "most" : "all", json_get_text(worst, "stage"));
	html_put(h->out, "</h1>");
}

/* "No drop up to 120.3 kpps" of a search, else "5 trials, 0.10 to 12.00 % lost" */
static void put_trials_headline(struct html *h, struct json_object *trials, struct json_object *ndr)
{
	size_t n = html_length(trials);
	double least = 1, most = 0;
	char rate[FMT_MAX];

	if (json_get_double(ndr, "lower_pps") > 0) {
		html_put(h->out, "<h1>No drop up to %s</h1>",
			 fmt_rate(rate, sizeof(rate), json_get_double(ndr, "lower_pps")));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct json_object *trial = html_at(trials, i);
		double sent = json_get_double(trial, "sent");
		double lost = 1 - json_get_double(trial, "delivered") / sent;

		if (!(sent > 0))
			continue;
		least = lost < least ? lost : least;
		most = lost > most ? lost : most;
	}
	if (least <= most)
		html_put(h->out, "<h1>%lu trials, %.2f to %.2f %% lost</h1>", n, 100 * least,
			 100 * most);
}

static void put_verdict(struct html *h, struct json_object *end)
{
	if (json_get_bool(end, "balanced"))
		html_put(h->out, "<p class=\"verdict good\">✓ balanced: every packet sent has its "
				 "place</p>");
	else
		html_put(h->out, "<p class=\"verdict bad\">✗ not balanced: the books do not tell "
				 "where every packet went</p>");
	if (json_get_bool(end, "interrupted"))
		html_put(h->out, "<p class=\"verdict warn\">interrupted: these are the books of "
				 "what was sent until then</p>");
}

static void put_figure(struct html *h, const char *name, const char *value, const char *more)
{
	html_put(h->out, "<div><dt>%s</dt><dd>%s <small>%s</small></dd></div>", name, value, more);
}

static void put_figures(struct html *h, struct json_object *start, struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), delivered = json_get_u64(end, "delivered");
	struct json_object *latency = json_get(end, "latency_ns");
	char value[FMT_MAX], more[FMT_MAX];

	html_put(h->out, "<dl class=\"figures\">");
	put_figure(h, "sent", fmt_count(value, sizeof(value), sent),
		   fmt_rate(more, sizeof(more), json_get_double(end, "tx_pps")));
	put_figure(h, "delivered", fmt_count(value, sizeof(value), delivered),
		   fmt_rate(more, sizeof(more), json_get_double(end, "rx_pps")));
	fmt_count(value, sizeof(value), json_get_u64(end, "dropped"));
	put_figure(h, "lost", value,
		   html_share(more, sizeof(more), json_get_u64(end, "dropped"), sent));
	if (latency)
		put_figure(h, "delay, median",
			   fmt_ns(value, sizeof(value), json_get_u64(latency, "p50")), "");
	put_figure(h, "sending took",
		   fmt_ns(value, sizeof(value), json_get_u64(end, "duration_ns")), "");
	if (json_get_u64(start, "frame_bytes")) {
		snprintf(value, sizeof(value), "%" PRIu64 " B", json_get_u64(start, "frame_bytes"));
		snprintf(more, sizeof(more), "%" PRIu64 " of payload",
			 json_get_u64(start, "payload_bytes"));
		put_figure(h, "frame", value, more);
	}
	html_put(h->out, "</dl>");
}

/* A word as a shell would have to be given it. */
static void put_word(struct html *h, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_=+:,./@%";

	if (*word && !word[strspn(word, plain)]) {
		html_put(h->out, "%s", word);
		return;
	}
	html_put(h->out, "'");
	for (size_t n; *word; word += n) {
		char *part;

		n = *word == '\'' ? 1 : strcspn(word, "'");
		part = *word == '\'' ? strdup("'\\''") : strndup(word, n);
		html_put(h->out, "%s", part);
		h->rc = h->rc || part ? h->rc : -ENOMEM;
		free(part);
	}
	html_put(h->out, "'");
}

static void put_command(struct html *h, struct json_object *start)
{
	struct json_object *words = json_get(start, "command");

	if (!html_length(words))
		return;
	html_put(h->out, "<pre class=\"command\">");
	for (size_t i = 0; i < html_length(words); i++) {
		struct json_object *word = html_at(words, i);

		html_put(h->out, "%s", i ? " " : "");
		put_word(h, json_object_is_type(word, json_type_string)
				    ? json_object_get_string(word)
				    : "");
	}
	html_put(h->out, "</pre>");
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
	char schema[64], *command = schema, *end;

	snprintf(schema, sizeof(schema), "%s", json_get_text(doc, "schema"));
	command = strchr(schema, '/');
	end = command ? strchr(command + 1, '/') : NULL;
	if (end)
		*end = '\0';
	html_put(h->out, "<p class=\"dim\">%s", command ? command + 1 : "");
	put_when(h, json_get(doc, "start"));
}

static void put_error(struct html *h, struct json_object *doc)
{
	struct json_object *error = json_get(doc, "error");

	if (!error)
		return;
	html_put(h->out, "<p class=\"verdict bad\">✗ %s", json_get_text(error, "message"));
	if (*json_get_text(error, "hint"))
		html_put(h->out, " <span class=\"dim\">%s</span>", json_get_text(error, "hint"));
	html_put(h->out, "</p>");
}

static void put_document(struct html *h, const struct html_document *d)
{
	struct json_object *start = json_get(d->doc, "start");
	struct json_object *end = json_get(d->doc, "end");
	bool one = json_get(end, "attempted") != NULL; /* not many trials */

	html_put(h->out, "<main><header>");
	put_kind(h, d->doc);
	html_put(h->out, "%s%s</p>", d->name && *d->name ? " · " : "", d->name ? d->name : "");
	if (one)
		put_headline(h, end);
	else
		put_trials_headline(h, json_get(d->doc, "trials"), json_get(end, "ndr"));
	if (json_get(end, "balanced"))
		put_verdict(h, end);
	put_error(h, d->doc);
	put_command(h, start);
	if (one)
		put_figures(h, start, end);
	html_put(h->out, "</header>\n");
	html_search(h, d->doc);
	if (one) {
		html_section(h, "The path of the packets", "");
		html_path(h, start, end);
		html_section_end(h);
	}
	html_trials(h, d->doc);
	html_findings(h, end);
	if (!json_get(d->doc, "trials")) /* else they are of many, each from its own beginning */
		html_time(h, json_get(d->doc, "intervals"));
	html_delay(h, end);
	html_books(h, end);
	html_beside(h, end);
	html_env(h, start);
	html_put(h->out, "</main>\n");
}

static void put_data(struct html *h, const struct html_document *d)
{
	int rc;

	html_put(h->out,
		 "<script type=\"application/json\" class=\"pktledger-document\" data-name=\"%s\">",
		 d->name);
	rc = html_put_json(h->out, d->doc);
	h->rc = h->rc ? h->rc : rc;
	html_put(h->out, "</script>\n");
}

static void put_head(struct html *h)
{
	html_put(h->out,
		 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		 "<meta name=\"color-scheme\" content=\"light dark\">"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'\">"
		 "<meta name=\"generator\" content=\"pktledger %s\"><title>pktledger</title>"
		 "<style>",
		 PKTLEDGER_VERSION);
	fputs(style, h->out);
	html_put(h->out, "</style></head>\n<body>\n");
}

int html_write(FILE *out, const struct html_document *docs, unsigned n)
{
	struct html h = {.out = out};

	errno = 0;
	for (unsigned i = 0; i < n; i++)
		learn(&h, docs[i].doc);
	qsort(h.stage, h.stages, sizeof(h.stage[0]), in_order_of_path);
	put_head(&h);
	for (unsigned i = 0; i < n; i++)
		put_document(&h, &docs[i]);
	html_put(
		out,
		"<footer class=\"dim\">pktledger %s. The data is in this file, as JSON.</footer>\n",
		PKTLEDGER_VERSION);
	for (unsigned i = 0; i < n; i++)
		put_data(&h, &docs[i]);
	html_put(out, "</body></html>\n");
	if (fflush(out) == EOF || ferror(out))
		h.rc = errno ? -errno : -EIO;
	return h.rc;
}
