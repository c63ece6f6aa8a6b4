// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The page: head, what came of each document, findings, ledger and hosts; how HTML is written. */

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/file.h"
#include "drops/stagemap.h"
#include "report/html_page.h"
#include "report/page.h"
#include "report/print.h"
#include "report/trace.h"
#include "report/series.h"

static const char style[] =
#include "report/html.css.h"
	;
const char html_script[] =
#include "report/live.js.h"
	;

/* `entities` of ASCII, as far as they are not NULL. `controls`: HTML has no use for them. */
static void put_text(FILE *out, const char *s, const char *const entities[128], bool controls)
{
	while (s && *s) {
		unsigned char c = (unsigned char)*s;
		unsigned length = utf8_length(s);

		if (c < 128 && entities[c])
			fputs(entities[c], out);
		else if (!length || (!controls && c != '\t' && c != '\n' && !utf8_shown(s)))
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, length, out);
		s += length ? length : 1;
	}
}

/* The conversion at `fmt`, which begins with %. Returns what is behind it. */
static const char *put_one(FILE *out, const char *fmt, va_list *ap)
{
	static const char *const entities[128] = {['&'] = "&amp;",
						  ['<'] = "&lt;",
						  ['>'] = "&gt;",
						  ['"'] = "&quot;",
						  ['\''] = "&#39;"};
	size_t n = 2 + strspn(fmt + 1, "+0123456789.l");
	const char type = fmt[n - 1];
	char spec[16];

	snprintf(spec, sizeof(spec), "%.*s", (int)n, fmt);
	if (n >= sizeof(spec) || !strchr("%sudfg", type))
		abort(); /* a format that this function is not made for */
	if (type == '%')
		fputc('%', out);
	else if (type == 's')
		put_text(out, va_arg(*ap, const char *), entities, false);
	else if (type == 'f' || type == 'g')
		fprintf(out, spec, va_arg(*ap, double));
	else if (type == 'd')
		fprintf(out, spec, va_arg(*ap, int));
	else if (fmt[n - 2] == 'l')
		fprintf(out, spec, va_arg(*ap, unsigned long));
	else
		fprintf(out, spec, va_arg(*ap, unsigned));
	return fmt + n;
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

void html_put_json(FILE *out, struct json_object *doc)
{
	static const char *const entities[128] = {['<'] = "\\u003c"};

	put_text(out, json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN), entities, true);
}

const char *html_colour(const struct html *h, const char *stage)
{
	static const char *const classes[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
	enum stage s = rows_stage(stage);
	unsigned before = 0;

	for (unsigned i = 0; i < s; i++)
		before += h->lossy[i];
	return s != STAGE_NONE && h->lossy[s] ? classes[before % LENGTH(classes)] : "none";
}

const char *html_stage_title(const char *stage)
{
	enum stage s = rows_stage(stage);

	return s != STAGE_NONE ? stage_title(s) : "";
}

uint64_t html_arrived(const struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), lost = json_sum(end, "stages", "packets");

	if (json_get(end, "delivered"))
		return json_get_u64(end, "delivered");
	return sent > lost ? sent - lost : 0;
}

const char *html_arrival(const struct json_object *end)
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
	struct json_object *trial = json_get_item(doc, "trials", 0);

	return json_get_length(doc, "trials") == 1 && !json_get(trial, "intended") &&
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

/* What tracing saw to be lost: "12 packets lost", "Nothing was lost in 10.0 s". */
static void put_seen(struct html *h, struct json_object *end, uint64_t lost)
{
	uint64_t suspected = json_sum(end, "suspected", "packets");
	uint64_t ns = json_get_u64(end, "duration_ns");

	if (lost || suspected)
		html_put(h, "%s %slost", fmt_many(lost ? lost : suspected, "packet"),
			 lost ? "" : "suspected ");
	else if (json_denies(end, "balanced"))
		html_put(h, "Nothing was seen to be lost");
	else if (h->live || !ns)
		html_put(h, "Nothing was lost%s", h->live ? " so far" : "");
	else
		html_put(h, "Nothing was lost in %s", fmt_ns(ns));
}

static bool is_check(const struct json_object *end)
{
	return json_get(end, "namespaces");
}

/* Of check: "2 causes lose packets now". */
static void put_found(struct html *h, struct json_object *end)
{
	uint64_t losing = 0, n = json_get_length(end, "findings");

	for (struct json_each f = json_each(end, "findings"); json_next(&f);)
		losing += json_get_bool(f.item, "losing");
	if (losing)
		html_put(h, "%s packets now", fmt_many(losing, "cause loses|causes lose"));
	else
		html_put(h, "No counter of losses moved%s%s", n ? "; " : ", and no limit is near",
			 n ? fmt_many(n, "finding") : "");
}

/* "47.00 % lost, most at rcvbuf"; of what has not sent, the packets. */
static void put_loss_headline(struct html *h, struct json_object *end)
{
	uint64_t sent = json_get_u64(end, "sent"), arrived = html_arrived(end);
	uint64_t lost = json_sum(end, "stages", "packets");
	const char *worst = print_worst_stage(end);

	html_put(h, "<h1>");
	if (json_get(end, "received"))
		html_put(h, "%s received", fmt_many(json_get_u64(end, "received"), "packet"));
	else if (is_check(end))
		put_found(h, end);
	else if (!json_get(end, "attempted"))
		put_seen(h, end, lost);
	else if (!sent)
		html_put(h, "Nothing was sent");
	else if (!lost && arrived == sent)
		html_put(h, "%s%s %s", sent > 1 ? "All " : "",
			 fmt_many(sent, "packet was|packets were"), html_arrival(end));
	else if (!arrived)
		html_put(h, "Nothing arrived");
	else if (!lost)
		html_put(h, "%s of the packets were delivered", page_share(arrived, sent));
	else
		html_put(h, "%s lost", page_percent(fraction_of((double)lost, (double)sent)));
	if (*worst)
		html_put(h, ", %s at %s",
			 json_get_u64(print_stage(end, worst), "packets") < lost ? "most" : "all",
			 worst);
	html_put(h, "</h1>");
}

/*
 * Of a balance of TCP that sent something again: where its first transmission was lost, on this
 * host or, if ledgers are joined, on which of the others. False: it is none.
 */
static bool put_tcp_headline(struct html *h, struct json_object *doc, struct json_object *end)
{
	const struct json_object *tcp = json_get(end, "tcp"), *joined = json_get(doc, "joined");
	const struct json_object *of = joined ? joined : tcp;
	const uint64_t again = json_get_u64(tcp, "retransmitted");
	const uint64_t all = joined ? json_get_u64(joined, "segments") : again;
	const struct {
		uint64_t n;
		const char *text;
	} parts[] = {
		{joined ? json_sum(of, "lost", "segments") : json_get_u64(of, "lost_here"),
		 joined ? "lost on the other hosts" : "lost here"},
		{json_sum(of, joined ? "wire" : "downstream", "segments"),
		 joined ? "lost on the wire" : "lost downstream"},
		{json_get_u64(of, "spurious"), "spurious"},
		{json_get_u64(of, "undecided") + json_get_u64(of, "unjoined"), "undecided"},
	};
	const char *before = " sent again: ";

	/* what UDP lost comes first */
	if (!all || (json_get(end, "verdict") && json_sum(end, "stages", "packets")))
		return false;
	html_put(h, "<h1>%s", fmt_many(all, "TCP segment"));
	for (unsigned i = 0; i < LENGTH(parts); i++) {
		if (parts[i].n) {
			html_put(h, "%s%s %s", before,
				 parts[i].n == all ? "all" : fmt_count(parts[i].n), parts[i].text);
			before = ", ";
		}
	}
	html_put(h, "%s</h1>", *before == ',' ? "" : " sent again");
	return true;
}

/* "No drop up to 120.3 kpps" of a search, else "5 trials, 0.10 to 12.00 % lost" */
static void put_trials_headline(struct html *h, struct json_object *doc, struct json_object *end)
{
	double least = 1, most = 0, rate = json_get_double(json_get(end, "ndr"), "lower_pps");

	for (struct json_each trial = json_each(doc, "trials"); json_next(&trial);) {
		double lost = lost_fraction(trial.item);

		if (!json_get_u64(trial.item, "sent"))
			continue;
		least = lost < least ? lost : least;
		most = lost > most ? lost : most;
	}
	if (rate > 0 && json_get_u64(json_get(end, "ndr"), "lost_below"))
		html_put(h, "<h1>%s held, not each time</h1>", fmt_rate(rate));
	else if (rate > 0)
		html_put(h, "<h1>No drop up to %s</h1>", fmt_rate(rate));
	else if (least <= most)
		html_put(h, "<h1>%s, %.2f to %.2f %% lost</h1>",
			 fmt_many(json_get_length(doc, "trials"), "trial"), 100 * least,
			 100 * most);
	if (json_denies(end, "balanced"))
		html_put(h, "<p class=\"bad\">NOT BALANCED: some of the trials.</p>");
}

void html_figure(struct html *h, const char *name, const char *value, const char *more)
{
	html_put(h, "<div><dt>%s</dt><dd>%s <small>%s</small></dd></div>", name, value, more);
}

/* A count and its rate, if the document has the count. */
static void put_flow(struct html *h, struct json_object *end, const char *key, const char *rate)
{
	if (json_get(end, key))
		html_figure(h, key, fmt_count(json_get_u64(end, key)),
			    json_get(end, rate) ? fmt_rate(json_get_double(end, rate)) : "");
}

static void put_figures(struct html *h, struct json_object *end)
{
	uint64_t lost = json_get_u64(end, json_get(end, "dropped") ? "dropped" : "lost"); /* recv */
	struct json_object *latency = json_get(end, "latency_ns"), *tcp = json_get(end, "tcp");
	double ns = json_get_double(end, "duration_ns");
	char cpu[FMT_MAX], calls[2 * FMT_MAX + 8];

	html_put(h, "<dl class=\"figures\">");
	put_flow(h, end, "sent", "tx_pps");
	if (json_get(end, "arrived") && !json_get_u64(end, "arrived") &&
	    json_get(end, "probes")) {
		html_figure(h, "sent by UDP",
			    fmt_count(json_get_u64(json_get(end, "probes"), "sent")), "");
	} else {
		put_flow(h, end, "arrived", "rx_pps");
		put_flow(h, end, "delivered", "rx_pps");
	}
	if (json_get_u64(tcp, "data_segs_out")) {
		html_figure(h, "sent by TCP", fmt_count(json_get_u64(tcp, "data_segs_out")),
			    "segments with data");
		html_figure(h, "sent again", fmt_count(json_get_u64(tcp, "retransmitted")),
			    page_share(json_get_u64(tcp, "retransmitted"),
				       json_get_u64(tcp, "data_segs_out")));
	}
	html_figure(
		h, tcp ? "lost on this host" : "lost", fmt_count(lost),
		page_share(lost, json_get_u64(end, json_get(end, "sent") ? "sent" : "arrived")));
	if (latency)
		html_figure(h, "latency, median", fmt_ns(json_get_u64(latency, "p50")), "");
	if (json_get(end, "duration_ns"))
		html_figure(h, h->live ? "watched for" : "it took",
			    fmt_ns(json_get_u64(end, "duration_ns")), "");
	/* none of it: of two ledgers that were joined it is not known */
	if (ns > 0 && json_get_u64(end, "tx_cpu_ns") + json_get_u64(end, "rx_cpu_ns") > 0) {
		snprintf(cpu, sizeof(cpu), "%.0f + %.0f %%",
			 100 * json_get_double(end, "tx_cpu_ns") / ns,
			 100 * json_get_double(end, "rx_cpu_ns") / ns);
		snprintf(calls, sizeof(calls), "%s + %s calls",
			 fmt_count(json_get_u64(end, "tx_calls")),
			 fmt_count(json_get_u64(end, "rx_calls")));
		html_figure(h, "CPU, sender + receiver", cpu, calls);
	}
	html_put(h, "</dl>");
}

void html_command(struct html *h, struct json_object *start)
{
	size_t n = json_get_length(start, "command");
	char word[4096];

	if (!n)
		return;
	html_put(h, "<pre>");
	for (size_t i = 0; i < n; i++)
		html_put(h, "%s%s", i ? " " : "",
			 change_quote(json_get_item_text(start, "command", i), word, sizeof(word)));
	html_put(h, "</pre>");
}

static void put_limits(struct html *h, struct json_object *doc)
{
	for (struct json_each limit = json_each(doc, "limits"); json_next(&limit);) {
		const char *unit = json_get_text(limit.item, "unit");
		bool fraction = !strcmp(unit, "fraction");

		if (json_get_bool(limit.item, "broken"))
			html_put(h, "<p class=\"bad\">limit %s is broken: %.6g%s</p>",
				 json_get_text(limit.item, "limit"),
				 (fraction ? 100 : 1) * json_get_double(limit.item, "measured"),
				 fraction		? " %"
				 : !strcmp(unit, "pps") ? " a second"
							: "");
	}
}

/* What came of it in a line, the verdict, the command, the figures. */
static void put_head(struct html *h, const struct ledgers_document *d)
{
	struct json_object *start = json_get(d->json, "start"), *end = end_of(d->json);
	bool trials = json_get(d->json, "trials") && !only_trial(d->json);
	const struct print_view v = {.html = h};

	if (trials)
		put_trials_headline(h, d->json, end);
	else if (end && !put_tcp_headline(h, d->json, end))
		put_loss_headline(h, end);
	if (!trials && json_get(end, "attempted") && json_get(end, "balanced"))
		text_run(&v, start, end, TEXT_VERDICT);
	print_state(&v, d);
	html_end_block(h);
	put_limits(h, d->json);
	html_command(h, start);
	if (end && !trials && !is_check(end))
		put_figures(h, end);
}

/* Buckets {from, to, `what`} as bars. */
static void put_bars(struct html *h, const char *title, const char *note,
		     const struct json_object *of, const char *list, const char *what)
{
	uint64_t most = 0;

	for (struct json_each b = json_each(of, list); json_next(&b);) {
		uint64_t v = json_get_u64(b.item, what);

		most = v > most ? v : most;
	}
	if (!most)
		return;
	html_put(h,
		 "<figure><figcaption><b>%s</b> <span class=\"dim\">%s</span></figcaption>"
		 "<div class=\"bars\">",
		 title, note);
	for (struct json_each b = json_each(of, list); json_next(&b);) {
		uint64_t v = json_get_u64(b.item, what);
		uint64_t from = json_get_u64(b.item, "from"), to = json_get_u64(b.item, "to");

		html_put(h,
			 "<span class=\"n\">%s%s%s</span><span class=\"bar\"><i class=\"flow\" "
			 "style=\"width:%.2f%%\"></i></span><span class=\"n\">%s</span>",
			 fmt_count(from), from == to ? "" : " – ", from == to ? "" : fmt_count(to),
			 100 * (double)v / (double)most, fmt_count(v));
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
	html_put(h, "<details><summary>%s</summary>",
		 fmt_many(n + json_get_u64(end, "flows_more"), "flow"));
	page_table(&p, columns);
	for (struct json_each f = json_each(end, "flows"); json_next(&f);) {
		struct json_object *latency = json_get(f.item, "latency_ns");

		page_cell(&p, STYLE_PLAIN, json_get_text(f.item, "source"));
		for (unsigned k = 0; k < LENGTH(counts); k++)
			page_cell(&p, STYLE_PLAIN, fmt_count(json_get_u64(f.item, counts[k])));
		for (unsigned k = LENGTH(counts) + 1; columns[k].name; k++)
			page_cell(&p, STYLE_PLAIN,
				  latency ? fmt_ns(json_get_u64(latency, columns[k].name)) : "");
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
	for (struct json_each s = json_each(end, "stages"); json_next(&s);) {
		for (struct json_each c = json_each(s.item, "counters"); json_next(&c); counters++)
			agree += json_get_bool(c.item, "agrees");
	}
	if (counters)
		snprintf(note, sizeof(note), "%u of %s of the kernel agree", agree,
			 fmt_many(counters, "counter"));
	html_section(h, "The ledger", note);
	if (run)
		text_run(&v, start, end, TEXT_LEDGER);
	else
		text_one_end(&v, end);
	text_run(&v, start, end, TEXT_BESIDE);
	html_end_block(h);
	html_put(h, "<div class=\"charts\">");
	put_bars(h, "Loss bursts", "how many losses in a row, and how often", json_get(end, "loss_bursts"),
		 "length", "bursts");
	put_bars(h, "Reordering", "by how many packets too late, and how many",
		 json_get(end, "reordering"), "extent", "packets");
	html_put(h, "</div>");
	put_flows(h, end);
	html_section_end(h);
}

/* A value of any type, as one would write it. */
static void put_value(struct page *p, struct json_object *value)
{
	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			put_value(p, json_object_array_get_idx(value, i));
	} else if (json_object_is_type(value, json_type_boolean)) {
		page_words(p, STYLE_PLAIN, json_object_get_boolean(value) ? "on" : "off");
	} else {
		page_words(p, STYLE_PLAIN, "%s", value ? json_object_get_string(value) : "–");
	}
}

static void put_row(struct page *p, const char *name, struct json_object *value)
{
	page_text(p, 0, STYLE_PLAIN, name);
	put_value(p, value);
	page_end(p);
}

static void put_interfaces(struct page *p, struct json_object *env)
{
	static const char *const keys[] = {"driver",	"mtu",	 "speed_mbit", "rx_queues",
					   "tx_queues", "qdisc", "xdp"};
	static const struct page_column columns[] = {
		{"interface", 0, false}, {"driver", 0, false},	  {"MTU", 0, false},
		{"Mbit/s", 0, false},	 {"rx queues", 0, false}, {"tx queues", 0, false},
		{"qdisc", 0, false},	 {"XDP", 0, false},	  {NULL, 0, false}};

	if (json_get_length(env, "interfaces"))
		page_table(p, columns);
	for (struct json_each dev = json_each(env, "interfaces"); json_next(&dev);) {
		struct json_object *offloads = json_get(dev.item, "offloads");

		page_cell(p, STYLE_PLAIN, json_get_text(dev.item, "netns"));
		page_words(p, STYLE_BOLD, "%s", json_get_text(dev.item, "ifname"));
		page_break(p);
		if (json_object_is_type(offloads, json_type_object)) {
			json_object_object_foreach (offloads, name, on) {
				if (json_object_get_boolean(on))
					page_words(p, STYLE_DIM, "%s", name);
			}
		}
		for (unsigned k = 0; k < LENGTH(keys); k++) {
			page_cell(p, STYLE_PLAIN, "");
			put_value(p, json_get(dev.item, keys[k]));
		}
		page_end(p);
	}
}

static void put_host(struct html *h, const char *name, struct json_object *env)
{
	static const char *const facts[][2] = {{"version", "pktledger"},
					       {"kernel", "kernel"},
					       {"machine", "machine"},
					       {"cpu_model", "CPU"},
					       {"cpus", "CPUs"},
					       {"cpus_allowed", "CPUs allowed"},
					       {"cgroup_cpus", "CPUs by cgroup quota"},
					       {"governor", "governor"},
					       {"numa_nodes", "NUMA node list"}};
	struct json_object *sysctls = json_get(env, "sysctls");
	struct page p = page_open_html(h);

	if (!env)
		return;
	html_section(h, "Host", name);
	for (unsigned i = 0; i < LENGTH(facts); i++) {
		if (json_get(env, facts[i][0]))
			put_row(&p, facts[i][1], json_get(env, facts[i][0]));
	}
	put_interfaces(&p, env);
	html_end_block(h);
	if (json_object_is_type(sysctls, json_type_object) && json_object_object_length(sysctls)) {
		html_put(h, "<details><summary>%d sysctls</summary>",
			 json_object_object_length(sysctls));
		json_object_object_foreach (sysctls, key, value)
			put_row(&p, key, value);
		html_end_block(h);
		html_put(h, "</details>");
	}
	html_section_end(h);
}

/* In place of all documents, or before them. */
static void put_tables(struct html *h, const struct html_page *page)
{
	const struct print_view v = {.html = h};

	html_put(h, "<div class=\"document\"><header><h1>");
	if (page->comparison) {
		html_put(h, "A and B compared</h1></header>\n");
		html_section(h, "What was different, and what came of it", "");
		compare_print(&v, NULL, NULL, page->comparison);
	} else {
		html_put(h, "Loss between %lu hosts</h1></header>\n",
			 json_get_length(page->matrix, "nodes"));
		html_section(h, "From whom, to whom", "senders down, receivers across");
		matrix_print(&v, page->matrix);
	}
	html_section_end(h);
	html_put(h, "</div>\n");
}

/* `letter`: by which a comparison calls it; "" for one alone. */
static void put_document(struct html *h, const struct ledgers_document *d, const char *name,
			 const char *letter)
{
	struct json_object *start = json_get(d->json, "start"), *end = end_of(d->json);
	struct json_object *only = only_trial(d->json), *hosts = json_get(start, "hosts");
	struct json_object *tx = json_get(hosts, "tx"), *rx = json_get(hosts, "rx");
	const char *time = json_get_text(start, "time"), *host = json_get_text(start, "host");
	const struct print_view v = {.html = h, .verbosity = -1};
	struct page p = page_open_html(h);
	char command[32] = "", when[32] = "";

	/* "run · 2024-05-01 12:00:00 UTC · host": of "pktledger/run/1", and to the second */
	sscanf(json_get_text(d->json, "schema"), "%*[^/]/%31[^/]", command);
	if (strlen(time) >= 19 && time[10] == 'T')
		snprintf(when, sizeof(when), " · %.10s %.8s UTC", time, time + 11);
	html_put(h, "<div class=\"document\"><header><p class=\"dim\">");
	if (*letter)
		html_put(h, "<b>%s</b> · ", letter);
	html_put(h, "%s%s%s%s%s%s", h->live ? "live since" : command, when, *host ? " · " : "",
		 host, *name ? " · " : "", name);
	if (json_get_u64(d->json, "number")) /* in its file */
		html_put(h, " (%lu)", json_get_u64(d->json, "number"));
	html_put(h, "</p>");
	if (json_get(d->json, "between"))
		html_ends_head(h, d->json);
	else
		put_head(h, d);
	html_put(h, "</header>\n");
	html_ends(h, d->json);
	html_search(h, d->json);
	if (json_get_u64(end, "attempted") ||
	    (json_get_u64(end, "dropped") && !json_get(end, "received"))) {
		html_section(h, "The path of the packets", "");
		if (json_get(start, "rx_port")) /* a balance of trace has no such ends */
			text_run(&v, start, end, TEXT_HEADER);
		html_end_block(h);
		html_path(h, start, end);
		html_section_end(h);
	}
	if (!only)
		html_trials(h, d->json);
	if (is_check(end) || json_get_length(end, "findings")) {
		html_section(h, "Findings", "");
		if (is_check(end))
			print_check(&(struct print_view){.html = h}, end);
		else
			text_findings(&p, end);
		html_section_end(h);
	}
	if (only || !json_get(d->json, "trials")) /* else of many, each from its beginning */
		html_time(h, only ? only : d->json);
	html_delay(h, end);
	html_ledger(h, start, end);
	if (!json_get(d->json, "trials") && json_get(end, "dropped") && !json_get(end, "sent") &&
	    !json_get(end, "received")) {
		html_section(h, "Losses", "");
		print_trace(&v, d);
		html_section_end(h);
	}
	if (json_get_length(d->json, "senders") > 1 || json_get_length(d->json, "unknown_streams") ||
	    json_get_length(d->json, "notes")) {
		html_section(h, "Senders", "packets of each, by where they ended");
		print_joined(&v, d->json);
		html_section_end(h);
	}
	put_host(h, json_get_text(start, "host"), json_get(start, "env"));
	put_host(h, json_get_text(tx, "name"), json_get(tx, "env"));
	put_host(h, json_get_text(rx, "name"), json_get(rx, "env"));
	html_put(h, "</div>\n");
}

/* What traces of several hosts say together, in the heading of the page. */
static void put_joined(struct html *h, const struct html_page *page)
{
	char *tcp = joined_tcp_text(page->docs, page->n);
	unsigned lines = 0;

	if (tcp)
		html_put(h, "<div class=\"document\"><header><h1>%s</h1></header></div>\n", tcp);
	free(tcp);
	for (unsigned i = 0; i < page->n * page->n; i++) {
		char *udp = joined_udp_text(&page->docs[i / page->n], &page->docs[i % page->n]);

		if (udp)
			html_put(h, "<p>UDP: %s</p>\n", udp);
		lines += udp != NULL;
		free(udp);
	}
	if (lines)
		html_put(h, "<p class=\"dim\">%s</p>\n", JOINED_UDP_EXACT);
}

/* The stages of a list that lost something get their colours. */
static void add_stages(struct html *h, struct json_object *end)
{
	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);)
		h->lossy[rows_stage(json_get_text(stage.item, "stage"))] = true;
}

static void collect_stages(struct html *h, struct json_object *doc)
{
	add_stages(h, end_of(doc));
	for (struct json_each trial = json_each(doc, "trials"); json_next(&trial);)
		add_stages(h, trial.item);
	for (struct json_each interval = json_each(doc, "intervals"); json_next(&interval);)
		add_stages(h, interval.item);
}

/* What it was read from, if that may be shown. */
static const char *name_of(const struct html_page *page, unsigned i)
{
	const char *file = json_get_text(page->docs[i].json, "file");

	return *file || page->redact || !page->docs[i].path ? file : page->docs[i].path;
}

static void put_documents(struct html *h, const struct html_page *page)
{
	for (unsigned i = 0; i < page->n; i++)
		collect_stages(h, page->docs[i].json);
	if (page->comparison || json_get_length(page->matrix, "nodes"))
		put_tables(h, page);
	if (page->n > 1 && page->n <= JOINED_COUNTS && !page->live)
		put_joined(h, page);
	for (unsigned i = 0; i < page->n && !page->matrix; i++)
		put_document(h, &page->docs[i], name_of(page, i),
			     !page->comparison ? ""
			     : i	       ? "B"
					       : "A");
}

/* The page around its documents. */
static void put_page(struct html *h, const struct html_page *page)
{
	struct json_object *first = page->n ? json_get(page->docs[0].json, "start") : NULL;
	struct json_object *doc;

	html_put(h,
		 HTML_BEGIN
		 "\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		 "<meta name=\"color-scheme\" content=\"light dark\">"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
		 "'none'; style-src 'unsafe-inline'%s\">"
		 "<meta name=\"generator\" content=\"pktledger %s\"><title>pktledger"
		 "%s%s %s</title><style>",
		 page->live ? "; script-src 'self'; connect-src 'self'" : "", PKTLEDGER_VERSION,
		 page->n ? ", " : "", json_get_text(first, "host"), json_get_text(first, "time"));
	fputs(style, h->out);
	html_put(h, "</style></head>\n<body>\n<main>\n");
	put_documents(h, page);
	html_put(h, "</main>\n<footer class=\"dim\">pktledger %s. ", PKTLEDGER_VERSION);
	if (page->live)
		html_put(h, "<button type=\"button\" hidden>Pause</button> <output>as it was when "
			    "the page was loaded</output></footer>\n<script src=\"" HTML_SCRIPT
			    "\"></script>\n");
	else
		html_put(h, "The data is in this file, as JSON.</footer>\n");
	for (unsigned i = 0; i < page->n && !page->live; i++) {
		html_put(h, HTML_DOCUMENT " data-name=\"%s\">", name_of(page, i));
		doc = html_trials_brief(page->docs[i].json);
		html_put_json(h->out, doc);
		json_object_put(doc);
		html_put(h, "</script>\n");
	}
	html_put(h, "</body></html>\n");
}

int html_write(FILE *out, const struct html_page *page, bool all)
{
	struct html h = {.out = out, .live = page->live};

	errno = 0;
	(all ? put_page : put_documents)(&h, page);
	return fflush(out) != EOF && !ferror(out) ? 0 : errno ? -errno : -EIO;
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
		rc = html_write(file.out, page, true);
		if (!is_stdout)
			rc = replace_end(&file, rc);
	}
	return error_errno(err, STATUS_FAILED, rc, file_hint(rc, NULL), "cannot write %s", path);
}
