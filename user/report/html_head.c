// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The head of a document: what came of it in a line, the verdict, the command, the figures. */
#include "report/html_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The stage that lost most, and how many lost something. */
static struct json_object *worst_stage(struct json_object *end, unsigned *n)
{
	struct json_object *worst = NULL;

	*n = 0;
	for (size_t i = 0; i < json_get_length(end, "stages"); i++) {
		struct json_object *stage = json_get_item(end, "stages", i);
		uint64_t packets = json_get_u64(stage, "packets");

		*n += packets != 0;
		if (packets > json_get_u64(worst, "packets"))
			worst = stage;
	}
	return worst;
}

/* "47.00 % lost"; of what has not sent, the packets. */
static void put_outcome(struct html *h, struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), arrived = html_arrived(end);
	uint64_t lost = html_sum(json_get(end, "stages"), "packets");
	char count[FMT_MAX], share[24];

	if (json_get(end, "received"))
		html_put(h->out, "%s packets received",
			 fmt_count(count, sizeof(count), json_get_u64(end, "received")));
	else if (!json_get(end, "attempted"))
		html_put(h->out, "%s packets lost", fmt_count(count, sizeof(count), lost));
	else if (!sent)
		html_put(h->out, "Nothing was sent");
	else if (!lost && arrived == sent)
		html_put(h->out, "All %s packets were %s", fmt_count(count, sizeof(count), sent),
			 html_arrival(end));
	else if (!arrived)
		html_put(h->out, "Nothing arrived");
	else if (!lost)
		html_put(h->out, "%s of the packets were delivered",
			 html_share(share, sizeof(share), arrived, sent));
	else
		html_put(h->out, "%s lost", html_share(share, sizeof(share), lost, sent));
}

static void put_headline(struct html *h, struct json_object *end)
{
	struct json_object *worst;
	unsigned n;

	worst = worst_stage(end, &n);
	html_put(h->out, "<h1>");
	put_outcome(h, end);
	if (worst)
		html_put(h->out, ", %s at %s", n > 1 ? "most" : "all",
			 json_get_text(worst, "stage"));
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

/* "not balanced: 30 unaccounted, 5 in flight" */
static void put_imbalance(struct html *h, struct json_object *end)
{
	static const char *const keys[] = {"unaccounted", "in_flight", "impossible"};
	static const char *const names[] = {"unaccounted for", "still in flight",
					    "of numbers that were never sent"};
	const char *before = ": ";
	char count[FMT_MAX];

	html_put(h->out, "<p class=\"verdict bad\">✗ not balanced");
	for (unsigned i = 0; i < 3; i++) {
		uint64_t packets = json_get_u64(end, keys[i]);

		if (!packets)
			continue;
		html_put(h->out, "%s%s %s", before, fmt_count(count, sizeof(count), packets),
			 names[i]);
		before = ", ";
	}
	html_put(h->out, "</p>");
}

static void put_verdict(struct html *h, struct json_object *end)
{
	if (json_get_bool(end, "balanced"))
		html_put(h->out, "<p class=\"verdict good\">✓ balanced: every packet sent has its "
				 "place</p>");
	else
		put_imbalance(h, end);
	if (json_get_bool(end, "interrupted"))
		html_put(h->out, "<p class=\"verdict warn\">interrupted: these are the books of "
				 "what was sent until then</p>");
}

static void put_figure(struct html *h, const char *name, const char *value, const char *more)
{
	html_put(h->out, "<div><dt>%s</dt><dd>%s <small>%s</small></dd></div>", name, value, more);
}

/* A count and its rate, if the document tells the count. */
static void put_flow(struct html *h, struct json_object *end, const char *key, const char *rate)
{
	char value[FMT_MAX], more[FMT_MAX];

	if (json_get(end, key))
		put_figure(h, key, fmt_count(value, sizeof(value), json_get_u64(end, key)),
			   fmt_rate(more, sizeof(more), json_get_double(end, rate)));
}

/* "98 + 45 %" of the time in which packets were sent. */
static void put_costs(struct html *h, struct json_object *end)
{
	double ns = json_get_double(end, "duration_ns");
	char cpu[FMT_MAX], calls[2 * FMT_MAX + 8], tx[FMT_MAX], rx[FMT_MAX];

	if (!(ns > 0) || !json_get(end, "tx_cpu_ns") || !json_get(end, "rx_cpu_ns"))
		return;
	snprintf(cpu, sizeof(cpu), "%.0f + %.0f %%", 100 * json_get_double(end, "tx_cpu_ns") / ns,
		 100 * json_get_double(end, "rx_cpu_ns") / ns);
	snprintf(calls, sizeof(calls), "%s + %s calls",
		 fmt_count(tx, sizeof(tx), json_get_u64(end, "tx_calls")),
		 fmt_count(rx, sizeof(rx), json_get_u64(end, "rx_calls")));
	put_figure(h, "CPU, sender + receiver", cpu, calls);
}

static void put_figures(struct html *h, struct json_object *start, struct json_object *end)
{
	const char *lost = json_get(end, "dropped") ? "dropped" : "lost"; /* by recv */
	struct json_object *latency = json_get(end, "latency_ns");
	char value[FMT_MAX], more[FMT_MAX];

	html_put(h->out, "<dl class=\"figures\">");
	put_flow(h, end, "sent", "tx_pps");
	put_flow(h, end, "delivered", "rx_pps");
	fmt_count(value, sizeof(value), json_get_u64(end, lost));
	put_figure(
		h, "lost", value,
		html_share(more, sizeof(more), json_get_u64(end, lost), json_get_u64(end, "sent")));
	if (latency)
		put_figure(h, "delay, median",
			   fmt_ns(value, sizeof(value), json_get_u64(latency, "p50")), "");
	if (json_get(end, "duration_ns"))
		put_figure(h, "it took",
			   fmt_ns(value, sizeof(value), json_get_u64(end, "duration_ns")), "");
	put_costs(h, end);
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

void html_command(struct html *h, struct json_object *start)
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

static void put_limits(struct html *h, struct json_object *doc)
{
	for (size_t i = 0; i < json_get_length(doc, "limits"); i++) {
		struct json_object *limit = json_get_item(doc, "limits", i);
		bool share = !strcmp(json_get_text(limit, "unit"), "share");
		bool rate = !strcmp(json_get_text(limit, "unit"), "pps");
		double measured = json_get_double(limit, "measured");

		if (!json_get_bool(limit, "broken"))
			continue;
		html_put(h->out, "<p class=\"verdict bad\">✗ limit %s is broken: %.6g",
			 json_get_text(limit, "limit"), share ? 100 * measured : measured);
		html_put(h->out, "%s</p>", share ? " %" : rate ? " a second" : "");
	}
}

/* Killed, or not over: what the last interval knew. */
static void put_no_end(struct html *h, struct json_object *doc)
{
	size_t n = json_get_length(doc, "intervals");
	struct json_object *last = json_get_item(doc, "intervals", n - 1);
	char sent[FMT_MAX], delivered[FMT_MAX];

	html_put(h->out, "<p class=\"verdict warn\">It has no end: it was killed, or still runs.");
	if (json_get(last, "sent"))
		html_put(h->out, " Until then %s were sent and %s delivered.",
			 fmt_count(sent, sizeof(sent), json_get_u64(last, "sent")),
			 fmt_count(delivered, sizeof(delivered), json_get_u64(last, "delivered")));
	html_put(h->out, "</p>");
}

void html_head(struct html *h, struct json_object *doc)
{
	struct json_object *start = json_get(doc, "start"), *end = html_end_of(doc);
	struct json_object *trials = html_only_trial(doc) ? NULL : json_get(doc, "trials");

	if (trials)
		put_trials_headline(h, trials, json_get(end, "ndr"));
	else if (end)
		put_headline(h, end);
	if (json_get(end, "balanced"))
		put_verdict(h, end);
	put_error(h, doc);
	if (!json_get(doc, "end") && !json_get(doc, "error") &&
	    !strstr(json_get_text(doc, "schema"), "/capture/"))
		put_no_end(h, doc);
	put_limits(h, doc);
	html_command(h, start);
	if (end && !trials)
		put_figures(h, start, end);
}
