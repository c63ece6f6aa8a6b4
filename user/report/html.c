// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The page: its head, what came of each document, findings and hosts; and how HTML is written. */
#include "report/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "drops/stagemap.h"
#include "report/compare.h"
#include "report/html_page.h"
#include "report/page.h"
#include "report/print.h"

static const char style[] =
#include "report/html.css.h"
	;

#define LENGTH(list) (sizeof(list) / sizeof((list)[0]))

static void put_text(FILE *out, const char *s)
{
	static const char *const entities[] = {['&'] = "&amp;",
					       ['<'] = "&lt;",
					       ['>'] = "&gt;",
					       ['"'] = "&quot;",
					       ['\''] = "&#39;"};

	while (s && *s) {
		unsigned char c = (unsigned char)*s;
		unsigned length = utf8_length(s);

		if (c < LENGTH(entities) && entities[c])
			fputs(entities[c], out);
		else if (!length || (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
			fputs(UTF8_REPLACEMENT, out); /* HTML has no use for controls */
		else
			fwrite(s, 1, length, out);
		s += length ? length : 1;
	}
}

/* The conversion at `fmt`, which begins with %. Returns what is behind it. */
static const char *put_one(FILE *out, const char *fmt, va_list *ap)
{
	size_t n = 1 + strspn(fmt + 1, "+0123456789.l");
	bool is_long = fmt[n - 1] == 'l';
	char spec[16];

	if (n + 2 > sizeof(spec))
		abort();
	memcpy(spec, fmt, n + 1);
	spec[n + 1] = '\0';
	switch (fmt[n]) {
	case '%':
		fputc('%', out);
		break;
	case 's':
		put_text(out, va_arg(*ap, const char *));
		break;
	case 'u':
		if (is_long)
			fprintf(out, spec, va_arg(*ap, unsigned long));
		else
			fprintf(out, spec, va_arg(*ap, unsigned));
		break;
	case 'd':
		fprintf(out, spec, va_arg(*ap, int));
		break;
	case 'f':
	case 'g':
		fprintf(out, spec, va_arg(*ap, double));
		break;
	default:
		abort(); /* a format that this function is not made for */
	}
	return fmt + n + 1;
}

void html_put(const struct html *h, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	while (*fmt) {
		size_t n = strcspn(fmt, "%");

		fwrite(fmt, 1, n, h->out);
		fmt += n;
		if (*fmt)
			fmt = put_one(h->out, fmt, &ap);
	}
	va_end(ap);
}

int html_put_json(FILE *out, struct json_object *doc)
{
	const char *s = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN);

	if (!s)
		return -ENOMEM;
	while (*s) {
		unsigned length = utf8_length(s);

		if (*s == '<')
			fputs("\\u003c", out);
		else if (!length)
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, length, out);
		s += length ? length : 1;
	}
	return 0;
}

static char *next_text(struct html *h)
{
	return h->text[h->texts++ % HTML_TEXTS];
}

const char *html_count(struct html *h, uint64_t count)
{
	return fmt_count(next_text(h), FMT_MAX, count);
}

const char *html_ns(struct html *h, uint64_t ns)
{
	return fmt_ns(next_text(h), FMT_MAX, ns);
}

const char *html_rate(struct html *h, double pps)
{
	return fmt_rate(next_text(h), FMT_MAX, pps);
}

const char *html_share(struct html *h, uint64_t part, uint64_t whole)
{
	return page_share(next_text(h), FMT_MAX, part, whole);
}

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

/* Its number in the order of the path; STAGE_COUNT: this version does not know it. */
static int stage_of(const char *name)
{
	int s = 0;

	while (s < STAGE_COUNT && strcmp(stage_name(s), name))
		s++;
	return s;
}

const char *html_stage_title(const char *stage)
{
	int s = stage_of(stage);

	return s < STAGE_COUNT ? stage_title(s) : "";
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

struct json_object *html_worst_stage(struct json_object *end, unsigned *n)
{
	struct json_object *list = json_get(end, "stages"), *worst = NULL;
	unsigned lossy = 0;

	for (size_t i = 0; i < html_length(list); i++) {
		uint64_t packets = json_get_u64(html_at(list, i), "packets");

		lossy += packets != 0;
		if (packets > json_get_u64(worst, "packets"))
			worst = html_at(list, i);
	}
	if (n)
		*n = lossy;
	return worst;
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
	html_put(h, "<section><h2>%s", title);
	if (*note)
		html_put(h, " <span class=\"dim\">%s</span>", note);
	html_put(h, "</h2>");
}

void html_end_block(struct html *h)
{
	if (h->block)
		fprintf(h->out, "%s\n", h->block);
	h->block = NULL;
}

void html_section_end(struct html *h)
{
	html_end_block(h);
	html_put(h, "</section>\n");
}

/* Of a sweep or a preset of one trial only, as a soak is: that trial; or NULL. */
static struct json_object *only_trial(struct json_object *doc)
{
	struct json_object *trials = json_get(doc, "trials"), *trial = html_at(trials, 0);

	return html_length(trials) == 1 && !json_get(trial, "intended") &&
			       json_get_u64(trial, "attempted")
		       ? trial
		       : NULL;
}

/*
 * How it ended: its end, that of its only trial, or of a trace or capture that has none the sum of
 * what is there. NULL: nothing is known.
 */
static struct json_object *end_of(struct json_object *doc)
{
	struct json_object *end = only_trial(doc);

	if (!end)
		end = json_get(doc, "end");
	return end ? end : json_get(doc, "sum");
}

/* "47.00 % lost"; of what has not sent, the packets. */
static void put_outcome(struct html *h, struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), arrived = html_arrived(end);
	uint64_t lost = html_sum(json_get(end, "stages"), "packets");

	if (json_get(end, "received"))
		html_put(h, "%s packets received", html_count(h, json_get_u64(end, "received")));
	else if (!json_get(end, "attempted"))
		html_put(h, "%s packets lost", html_count(h, lost));
	else if (!sent)
		html_put(h, "Nothing was sent");
	else if (!lost && arrived == sent)
		html_put(h, "All %s packets were %s", html_count(h, sent), html_arrival(end));
	else if (!arrived)
		html_put(h, "Nothing arrived");
	else if (!lost)
		html_put(h, "%s of the packets were delivered", html_share(h, arrived, sent));
	else
		html_put(h, "%s lost", html_share(h, lost, sent));
}

static void put_headline(struct html *h, struct json_object *end)
{
	unsigned n;
	struct json_object *worst = html_worst_stage(end, &n);

	html_put(h, "<h1>");
	put_outcome(h, end);
	if (worst)
		html_put(h, ", %s at %s", n > 1 ? "most" : "all", json_get_text(worst, "stage"));
	html_put(h, "</h1>");
}

/* "No drop up to 120.3 kpps" of a search, else "5 trials, 0.10 to 12.00 % lost" */
static void put_trials_headline(struct html *h, struct json_object *trials, double no_drop_pps)
{
	size_t n = html_length(trials);
	double least = 1, most = 0;

	if (no_drop_pps > 0) {
		html_put(h, "<h1>No drop up to %s</h1>", html_rate(h, no_drop_pps));
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
		html_put(h, "<h1>%lu trials, %.2f to %.2f %% lost</h1>", n, 100 * least,
			 100 * most);
}

/* "not balanced: 30 unaccounted for, 5 still in flight" */
static void put_verdict(struct html *h, struct json_object *end)
{
	static const char *const open[][2] = {{"unaccounted", "unaccounted for"},
					      {"in_flight", "still in flight"},
					      {"impossible", "of numbers that were never sent"}};
	const char *before = ": ";

	if (json_get_bool(end, "balanced")) {
		html_put(h, "<p class=\"verdict good\">✓ balanced: every packet sent has its "
			    "place</p>");
	} else {
		html_put(h, "<p class=\"verdict bad\">✗ not balanced");
		for (unsigned i = 0; i < LENGTH(open); i++) {
			uint64_t packets = json_get_u64(end, open[i][0]);

			if (!packets)
				continue;
			html_put(h, "%s%s %s", before, html_count(h, packets), open[i][1]);
			before = ", ";
		}
		html_put(h, "</p>");
	}
	if (json_get_bool(end, "interrupted"))
		html_put(h, "<p class=\"verdict warn\">interrupted: this is the ledger of "
			    "what was sent until then</p>");
}

static void put_figure(struct html *h, const char *name, const char *value, const char *more)
{
	html_put(h, "<div><dt>%s</dt><dd>%s <small>%s</small></dd></div>", name, value, more);
}

/* A count and its rate, if the document has the count. */
static void put_flow(struct html *h, struct json_object *end, const char *key, const char *rate)
{
	if (json_get(end, key))
		put_figure(h, key, html_count(h, json_get_u64(end, key)),
			   html_rate(h, json_get_double(end, rate)));
}

/* "98 + 45 %" of the time in which packets were sent. */
static void put_costs(struct html *h, struct json_object *end)
{
	double ns = json_get_double(end, "duration_ns");
	char cpu[FMT_MAX], calls[2 * FMT_MAX + 8];

	if (!(ns > 0) || !json_get(end, "tx_cpu_ns") || !json_get(end, "rx_cpu_ns"))
		return;
	snprintf(cpu, sizeof(cpu), "%.0f + %.0f %%", 100 * json_get_double(end, "tx_cpu_ns") / ns,
		 100 * json_get_double(end, "rx_cpu_ns") / ns);
	snprintf(calls, sizeof(calls), "%s + %s calls",
		 html_count(h, json_get_u64(end, "tx_calls")),
		 html_count(h, json_get_u64(end, "rx_calls")));
	put_figure(h, "CPU, sender + receiver", cpu, calls);
}

static void put_figures(struct html *h, struct json_object *start, struct json_object *end)
{
	uint64_t lost = json_get_u64(end, json_get(end, "dropped") ? "dropped" : "lost"); /* recv */
	struct json_object *latency = json_get(end, "latency_ns");
	char frame[FMT_MAX], payload[FMT_MAX];

	html_put(h, "<dl class=\"figures\">");
	put_flow(h, end, "sent", "tx_pps");
	put_flow(h, end, "delivered", "rx_pps");
	put_figure(h, "lost", html_count(h, lost), html_share(h, lost, json_get_u64(end, "sent")));
	if (latency)
		put_figure(h, "delay, median", html_ns(h, json_get_u64(latency, "p50")), "");
	if (json_get(end, "duration_ns"))
		put_figure(h, "it took", html_ns(h, json_get_u64(end, "duration_ns")), "");
	put_costs(h, end);
	if (json_get_u64(start, "frame_bytes")) {
		snprintf(frame, sizeof(frame), "%" PRIu64 " B", json_get_u64(start, "frame_bytes"));
		snprintf(payload, sizeof(payload), "%" PRIu64 " of payload",
			 json_get_u64(start, "payload_bytes"));
		put_figure(h, "frame", frame, payload);
	}
	html_put(h, "</dl>");
}

/* A word as a shell would have to be given it. */
static void put_word(struct html *h, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_=+:,./@%";
	char *copy, *rest, *part;

	if (*word && !word[strspn(word, plain)]) {
		html_put(h, "%s", word);
		return;
	}
	copy = rest = strdup(word);
	h->rc = h->rc || copy ? h->rc : -ENOMEM;
	html_put(h, "'");
	while ((part = strsep(&rest, "'")))
		html_put(h, "%s%s", part, rest ? "'\\''" : "");
	html_put(h, "'");
	free(copy);
}

void html_command(struct html *h, struct json_object *start)
{
	size_t n = json_get_length(start, "command");

	if (n)
		html_put(h, "<pre class=\"command\">");
	for (size_t i = 0; i < n; i++) {
		struct json_object *word = json_get_item(start, "command", i);

		html_put(h, "%s", i ? " " : "");
		put_word(h, json_object_is_type(word, json_type_string)
				    ? json_object_get_string(word)
				    : "");
	}
	if (n)
		html_put(h, "</pre>");
}

static void put_error(struct html *h, struct json_object *doc)
{
	struct json_object *error = json_get(doc, "error");

	if (!error)
		return;
	html_put(h, "<p class=\"verdict bad\">✗ %s", json_get_text(error, "message"));
	if (*json_get_text(error, "hint"))
		html_put(h, " <span class=\"dim\">%s</span>", json_get_text(error, "hint"));
	html_put(h, "</p>");
}

static void put_limits(struct html *h, struct json_object *doc)
{
	for (size_t i = 0; i < json_get_length(doc, "limits"); i++) {
		struct json_object *limit = json_get_item(doc, "limits", i);
		bool share = !strcmp(json_get_text(limit, "unit"), "share");
		bool rate = !strcmp(json_get_text(limit, "unit"), "pps");

		if (json_get_bool(limit, "broken"))
			html_put(h, "<p class=\"verdict bad\">✗ limit %s is broken: %.6g%s</p>",
				 json_get_text(limit, "limit"),
				 (share ? 100 : 1) * json_get_double(limit, "measured"),
				 share	? " %"
				 : rate ? " a second"
					: "");
	}
}

/* Killed, or not over: what the last interval knew. */
static void put_no_end(struct html *h, struct json_object *doc)
{
	size_t n = json_get_length(doc, "intervals");
	struct json_object *last = json_get_item(doc, "intervals", n - 1);

	html_put(h, "<p class=\"verdict warn\">It has no end: it was killed, or still runs.");
	if (json_get(last, "sent"))
		html_put(h, " Until then %s were sent and %s delivered.",
			 html_count(h, json_get_u64(last, "sent")),
			 html_count(h, json_get_u64(last, "delivered")));
	html_put(h, "</p>");
}

/* What came of it in a line, the verdict, the command, the figures. */
static void put_head(struct html *h, struct json_object *doc)
{
	struct json_object *start = json_get(doc, "start"), *end = end_of(doc);
	struct json_object *trials = only_trial(doc) ? NULL : json_get(doc, "trials");

	if (trials)
		put_trials_headline(h, trials, json_get_double(json_get(end, "ndr"), "lower_pps"));
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

/* What the losses mean and what to change. */
static void put_findings(struct html *h, struct json_object *end)
{
	struct page p = page_open_html(h);

	if (!json_get_length(end, "findings"))
		return;
	html_section(h, "Findings", "");
	for (size_t i = 0; i < json_get_length(end, "findings"); i++)
		page_finding(&p, NULL, json_get_item(end, "findings", i), true);
	html_section_end(h);
}

/* A value of any type, as one would write it. */
static void put_value(struct html *h, struct json_object *value)
{
	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < html_length(value); i++) {
			html_put(h, "%s", i ? " " : "");
			put_value(h, html_at(value, i));
		}
	} else if (json_object_is_type(value, json_type_boolean)) {
		html_put(h, "%s", json_object_get_boolean(value) ? "on" : "off");
	} else {
		html_put(h, "%s", value ? json_object_get_string(value) : "–");
	}
}

static void put_facts(struct html *h, struct json_object *env)
{
	static const char *const facts[][2] = {{"version", "pktledger"},
					       {"kernel", "kernel"},
					       {"machine", "machine"},
					       {"cpu_model", "CPU"},
					       {"cpus", "CPUs"},
					       {"cpus_allowed", "CPUs allowed"},
					       {"cgroup_cpus", "CPUs by cgroup quota"},
					       {"governor", "governor"},
					       {"numa_nodes", "NUMA nodes"}};

	html_put(h, "<dl class=\"facts\">");
	for (unsigned i = 0; i < LENGTH(facts); i++) {
		struct json_object *value = json_get(env, facts[i][0]);

		if (!value)
			continue;
		html_put(h, "<div><dt>%s</dt><dd>", facts[i][1]);
		put_value(h, value);
		html_put(h, "</dd></div>");
	}
	html_put(h, "</dl>");
}

static void put_offloads(struct html *h, struct json_object *offloads)
{
	if (!html_has_members(offloads))
		return;
	html_put(h, "<br><span class=\"dim\">on:");
	json_object_object_foreach (offloads, name, on) {
		if (json_object_get_boolean(on))
			html_put(h, " %s", name);
	}
	html_put(h, "</span>");
}

static void put_interfaces(struct html *h, struct json_object *list)
{
	static const char *const keys[][2] = {{"driver", "driver"},
					      {"mtu", "MTU"},
					      {"speed_mbit", "Mbit/s"},
					      {"rx_queues", "rx queues"},
					      {"tx_queues", "tx queues"},
					      {"qdisc", "qdisc"},
					      {"xdp", "XDP"}};

	if (!html_length(list))
		return;
	html_put(h, "<div class=\"scroll\"><table><thead><tr><th>interface");
	for (unsigned k = 0; k < LENGTH(keys); k++)
		html_put(h, "<th>%s", keys[k][1]);
	html_put(h, "</thead><tbody>");
	for (size_t i = 0; i < html_length(list); i++) {
		struct json_object *dev = html_at(list, i);

		html_put(h, "<tr><td><b>%s %s</b>", json_get_text(dev, "netns"),
			 json_get_text(dev, "ifname"));
		put_offloads(h, json_get(dev, "offloads"));
		for (unsigned k = 0; k < LENGTH(keys); k++) {
			html_put(h, "<td>");
			put_value(h, json_get(dev, keys[k][0]));
		}
	}
	html_put(h, "</tbody></table></div>");
}

static void put_sysctls(struct html *h, struct json_object *sysctls)
{
	if (!html_has_members(sysctls))
		return;
	html_put(h, "<details><summary>%d sysctls</summary><table class=\"facts\"><tbody>",
		 json_object_object_length(sysctls));
	json_object_object_foreach (sysctls, name, value) {
		html_put(h, "<tr><th><code>%s</code><td>", name);
		put_value(h, value);
	}
	html_put(h, "</tbody></table></details>");
}

static void put_host(struct html *h, const char *name, struct json_object *env)
{
	if (!env)
		return;
	html_section(h, "Host", name);
	put_facts(h, env);
	put_interfaces(h, json_get(env, "interfaces"));
	put_sysctls(h, json_get(env, "sysctls"));
	html_section_end(h);
}

/* The hosts that the experiment ran on. */
static void put_hosts(struct html *h, struct json_object *start)
{
	struct json_object *hosts = json_get(start, "hosts");
	struct json_object *tx = json_get(hosts, "tx"), *rx = json_get(hosts, "rx");

	put_host(h, json_get_text(start, "host"), json_get(start, "env"));
	put_host(h, json_get_text(tx, "name"), json_get(tx, "env"));
	put_host(h, json_get_text(rx, "name"), json_get(rx, "env"));
}

/* "run · 2024-05-01 12:00:00 UTC · host": of "pktledger/run/1", and to the second, for people. */
static void put_kind(struct html *h, struct json_object *doc)
{
	struct json_object *start = json_get(doc, "start");
	char schema[64], time[20], *command, *end;

	snprintf(schema, sizeof(schema), "%s", json_get_text(doc, "schema"));
	command = strchr(schema, '/');
	end = command ? strchr(command + 1, '/') : NULL;
	if (end)
		*end = '\0';
	html_put(h, "%s", command ? command + 1 : "");
	snprintf(time, sizeof(time), "%.19s", json_get_text(start, "time"));
	if (strlen(time) == 19 && time[10] == 'T') {
		time[10] = ' ';
		html_put(h, " · %s UTC", time);
	}
	if (*json_get_text(start, "host"))
		html_put(h, " · %s", json_get_text(start, "host"));
}

/* What came from which sender, where ledgers were joined. */
static void put_joined(struct html *h, struct json_object *doc)
{
	if (json_get_length(doc, "senders") < 2 && !json_get_length(doc, "strangers") &&
	    !json_get_length(doc, "notes"))
		return;
	html_section(h, "Senders", "packets of each, by where they ended");
	print_joined(&(struct print_view){.html = h}, doc);
	html_section_end(h);
}

/* In place of all documents, or before them. */
static void put_tables(struct html *h, const struct html_page *page)
{
	const struct print_view v = {.html = h};

	html_put(h, "<div class=\"document\"><header><h1>");
	if (page->comparison)
		html_put(h, "A and B compared</h1></header>\n");
	else
		html_put(h, "Loss between %lu hosts</h1></header>\n",
			 json_get_length(page->matrix, "nodes"));
	if (page->comparison) {
		html_section(h, "What was different, and what came of it", "");
		compare_print(&v, NULL, NULL, page->comparison);
	} else {
		html_section(h, "From whom, to whom", "senders down, receivers across");
		matrix_print(&v, page->matrix);
	}
	html_section_end(h);
	html_put(h, "</div>\n");
}

/* `letter`: by which a comparison calls it; "" for one alone. */
static void put_document(struct html *h, const struct html_document *d, const char *letter)
{
	struct json_object *start = json_get(d->doc, "start"), *end = end_of(d->doc);
	struct json_object *only = only_trial(d->doc);

	html_put(h, "<div class=\"document\"><header><p class=\"dim\">");
	if (*letter)
		html_put(h, "<b>%s</b> · ", letter);
	put_kind(h, d->doc);
	html_put(h, "%s%s", d->name && *d->name ? " · " : "", d->name);
	if (json_get_u64(d->doc, "number")) /* in its file */
		html_put(h, " (%lu)", json_get_u64(d->doc, "number"));
	html_put(h, "</p>");
	(json_get(d->doc, "between") ? html_ends_head : put_head)(h, d->doc);
	html_put(h, "</header>\n");
	html_ends(h, d->doc);
	html_search(h, d->doc);
	if (json_get_u64(end, "attempted")) {
		html_section(h, "The path of the packets", "");
		html_path(h, start, end);
		html_section_end(h);
	}
	if (!only)
		html_trials(h, d->doc);
	put_findings(h, end);
	if (only || !json_get(d->doc, "trials")) /* else of many, each from its beginning */
		html_time(h, only ? only : d->doc);
	html_delay(h, end);
	html_ledger(h, end);
	put_joined(h, d->doc);
	html_beside(h, end);
	put_hosts(h, start);
	html_put(h, "</div>\n");
}

/* The stages of a list that lost something get their colours. */
static void add_stages(struct html *h, struct json_object *end)
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
	return stage_of(*(const char *const *)va) - stage_of(*(const char *const *)vb);
}

static void collect_stages(struct html *h, const struct html_page *page)
{
	static const char *const lists[] = {"trials", "intervals"};

	for (unsigned i = 0; i < page->n; i++) {
		add_stages(h, end_of(page->docs[i].doc));
		for (unsigned k = 0; k < LENGTH(lists); k++) {
			struct json_object *list = json_get(page->docs[i].doc, lists[k]);

			for (size_t m = 0; m < html_length(list); m++)
				add_stages(h, html_at(list, m));
		}
	}
	qsort(h->stage, h->stages, sizeof(h->stage[0]), in_order_of_path);
}

int html_write(FILE *out, const struct html_page *page)
{
	struct json_object *first = page->n ? json_get(page->docs[0].doc, "start") : NULL;
	struct html h = {.out = out};

	errno = 0;
	collect_stages(&h, page);
	html_put(&h,
		 HTML_BEGIN
		 "\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		 "<meta name=\"color-scheme\" content=\"light dark\">"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
		 "'none'; style-src 'unsafe-inline'\">"
		 "<meta name=\"generator\" content=\"pktledger %s\"><title>pktledger"
		 "%s%s %s</title><style>",
		 PKTLEDGER_VERSION, page->n ? ", " : "", json_get_text(first, "host"),
		 json_get_text(first, "time"));
	fputs(style, out);
	html_put(&h, "</style></head>\n<body>\n<main>\n");
	if (page->comparison || json_get_length(page->matrix, "nodes"))
		put_tables(&h, page);
	for (unsigned i = 0; i < page->n && !page->matrix; i++)
		put_document(&h, &page->docs[i], !page->comparison ? "" : i ? "B" : "A");
	html_put(&h,
		 "</main>\n<footer class=\"dim\">pktledger %s. The data is in this file, as "
		 "JSON.</footer>\n",
		 PKTLEDGER_VERSION);
	for (unsigned i = 0; i < page->n; i++) {
		int rc;

		html_put(&h, HTML_DOCUMENT " data-name=\"%s\">", page->docs[i].name);
		rc = html_put_json(out, page->docs[i].doc);
		h.rc = h.rc ? h.rc : rc;
		html_put(&h, "</script>\n");
	}
	html_put(&h, "</body></html>\n");
	if (fflush(out) == EOF || ferror(out))
		h.rc = errno ? -errno : -EIO;
	return h.rc;
}

int html_file(const char *path, const struct html_page *page, struct error *err)
{
	bool is_stdout = !strcmp(path, "-");
	struct replace file = {.out = stdout};
	int rc = is_stdout ? 0 : replace_begin(&file, path, HTML_BEGIN, 0600);

	if (rc == -EEXIST)
		return error_set(err, STATUS_USAGE, -EEXIST, "name another file, or remove it",
				 "%s is there, and is no page", path);
	if (!rc) {
		rc = html_write(file.out, page);
		if (!is_stdout)
			rc = replace_end(&file, rc);
	}
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "cannot write %s: %s", path,
			      strerror(-rc))
		  : 0;
}
