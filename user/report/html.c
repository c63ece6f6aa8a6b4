// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writes an HTML page: the part that is readable without a script (headlines, losses, findings, the
 * command's text output), the data, and the script that draws it (html.js).
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "report/print.h"
#include "report/series.h"

#define POINTS	  240 /* maximum number of points in a history */
#define MANY	  20  /* with more trials than this, their data is reduced */
#define PLAIN_MOST 65536 /* bytes of a document's text shown to readers without a script */

/*
 * Script and style as emitted, and their hashes for the page's Content-Security-Policy:
 * "sha256-..".
 */
static const struct {
	const char *hash, *text;
} style = {
#include "report/html.css.h"
},
  script = {
#include "report/html.js.h"
};

/*
 * Writes text, replacing ASCII characters that have `entities`, if not NULL. Bytes that are not
 * UTF-8 become U+FFFD.
 */
static void put_escaped(FILE *out, const char *s, const char *const entities[128], bool controls)
{
	for (unsigned length; s && *s; s += length ? length : 1) {
		unsigned char c = (unsigned char)*s;

		length = utf8_length(s);
		if (c < 128 && entities[c])
			fputs(entities[c], out);
		else if (!length || (!controls && c != '\t' && c != '\n' && !utf8_shown(s)))
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, length, out);
	}
}

void html_text(FILE *out, const char *s)
{
	static const char *const entities[128] = {['&'] = "&amp;",
						  ['<'] = "&lt;",
						  ['>'] = "&gt;",
						  ['"'] = "&quot;",
						  ['\''] = "&#39;"};

	put_escaped(out, s, entities, false);
}

void html_json(FILE *out, struct json_object *doc)
{
	static const char *const entities[128] = {['<'] = "\\u003c"};

	put_escaped(out, json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN), entities,
		    true);
}

/* Writes "<b>name</b>". `tag` may include attributes. */
static void put_in(FILE *out, const char *tag, const char *text)
{
	fprintf(out, "<%s>", tag);
	html_text(out, text);
	fprintf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

/* Headlines */

/* Returns the only trial in a sweep, for example a soak test, or NULL. */
static struct json_object *only_trial(struct json_object *doc)
{
	struct json_object *trial = json_get_item(doc, "trials", 0);

	return json_get_length(doc, "trials") == 1 && !json_get(trial, "intended") &&
			       json_get_u64(trial, "attempted")
		       ? trial
		       : NULL;
}

/* Returns the end of a document or of its only trial, or else the sum of a trace or a capture. */
static struct json_object *end_of(struct json_object *doc)
{
	struct json_object *only = only_trial(doc), *end = json_get(doc, "end");

	return only ? only : end ? end : json_get(doc, "sum");
}

/* Writes the result of a trace: "12 packets lost", "Nothing was lost in 10.0 s". */
static void put_seen(FILE *out, const struct json_object *end, uint64_t lost, bool live)
{
	uint64_t suspected = json_sum(end, "suspected", "packets");
	uint64_t ns = json_get_u64(end, "duration_ns");

	if (lost || suspected)
		fprintf(out, "%s %slost", fmt_many(lost ? lost : suspected, "packet"),
			lost ? "" : "suspected ");
	else if (json_denies(end, "balanced"))
		fputs("Nothing was seen to be lost", out);
	else if (live || !ns)
		fprintf(out, "Nothing was lost%s", live ? " so far" : "");
	else
		fprintf(out, "Nothing was lost in %s", fmt_ns(ns));
}

/* Writes the number of findings: "2 causes lose packets now". */
static void put_found(FILE *out, const struct json_object *end)
{
	uint64_t losing = 0, n = json_get_length(end, "findings");

	for (struct json_each f = json_each(end, "findings"); json_next(&f);)
		losing += json_get_bool(f.item, "losing");
	if (losing)
		fprintf(out, "%s packets now", fmt_many(losing, "cause loses|causes lose"));
	else
		fprintf(out, "No counter of losses moved%s%s", n ? "; " : ", and no limit is near",
			n ? fmt_many(n, "finding") : "");
}

/* Writes "47.00 % lost, most at rcvbuf", or a packet count if the number sent is unknown. */
static void put_lost(FILE *out, const struct json_object *end, bool live)
{
	uint64_t sent = json_get_u64(end, "sent"), lost = json_sum(end, "stages", "packets");
	bool delivered = json_get(end, "delivered");
	uint64_t arrived = delivered ? json_get_u64(end, "delivered") : sent - smaller(lost, sent);
	const char *worst = print_worst_stage(end);

	if (json_get(end, "received"))
		fprintf(out, "%s received", fmt_many(json_get_u64(end, "received"), "packet"));
	else if (json_get(end, "namespaces"))
		put_found(out, end);
	else if (!json_get(end, "attempted"))
		put_seen(out, end, lost, live);
	else if (!sent)
		fputs("Nothing was sent", out);
	else if (!lost && arrived == sent)
		fprintf(out, "%s%s %s", sent > 1 ? "All " : "",
			fmt_many(sent, "packet was|packets were"),
			delivered ? "delivered" : "not lost here");
	else if (!arrived)
		fputs("Nothing arrived", out);
	else if (!lost)
		fprintf(out, "%s of the packets were delivered", page_share(arrived, sent));
	else
		fprintf(out, "%s lost", page_percent(lost_fraction(end)));
	if (*worst)
		fprintf(out, ", %s at %s",
			json_get_u64(print_stage(end, worst), "packets") < lost ? "most" : "all",
			worst);
}

/*
 * Writes where TCP lost first transmissions, on this host or on joined hosts. Returns false if that
 * is unknown.
 */
static bool put_tcp(FILE *out, const struct json_object *doc, const struct json_object *end)
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

	/* UDP losses are written first */
	if (!all || (json_get(end, "verdict") && json_sum(end, "stages", "packets")))
		return false;
	fputs(fmt_many(all, "TCP segment"), out);
	for (unsigned i = 0; i < LENGTH(parts); i++) {
		if (!parts[i].n)
			continue;
		fprintf(out, "%s%s %s", before, parts[i].n == all ? "all" : fmt_count(parts[i].n),
			parts[i].text);
		before = ", ";
	}
	fputs(*before == ',' ? "" : " sent again", out);
	return true;
}

/* Writes "No drop up to 120.3 kpps" for a search, else "5 trials, 0.10 to 12.00 % lost". */
static void put_trials(FILE *out, const struct json_object *doc)
{
	const struct json_object *end = json_get(doc, "end"), *ndr = json_get(end, "ndr");
	double least = 1, most = 0, rate = json_get_double(ndr, "lower_pps");

	for (struct json_each trial = json_each(doc, "trials"); json_next(&trial);) {
		if (!json_get_u64(trial.item, "sent"))
			continue;
		least = fmin(least, lost_fraction(trial.item));
		most = fmax(most, lost_fraction(trial.item));
	}
	if (rate > 0 && json_get_u64(ndr, "lost_below"))
		fprintf(out, "%s held, not each time", fmt_rate(rate));
	else if (rate > 0)
		fprintf(out, "No drop up to %s", fmt_rate(rate));
	else if (least <= most)
		fprintf(out, "%s, %.2f to %.2f %% lost",
			fmt_many(json_get_length(doc, "trials"), "trial"), 100 * least, 100 * most);
}

static void put_headline(FILE *out, struct json_object *doc, bool live)
{
	const struct json_object *between = json_get(doc, "between"), *end = end_of(doc);
	uint64_t lost = json_get_u64(between, "lost");

	if (between && lost)
		fprintf(out, "%s lost between A and B",
			page_share(lost, json_get_u64(json_get(between, "a"), "compared")));
	else if (between)
		fputs("Nothing was seen to be lost between A and B", out);
	else if (json_get(doc, "trials") && !only_trial(doc))
		put_trials(out, doc);
	else if (end && !put_tcp(out, doc, end))
		put_lost(out, end, live);
	else if (!end)
		fputs(json_get(doc, "error") ? "It failed" : "It has no end", out);
}

/* Returns the headline, freed by the caller. */
static char *headline_of(struct json_object *doc, bool live)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	put_headline(out, doc, live);
	fclose(out);
	return text;
}

/* The data */

/*
 * Returns the listed members of `from`, as a new object owned by the caller. The list ends with
 * NULL.
 */
static struct json_object *some_of(const struct json_object *from, const char *const *names)
{
	struct json_object *o = json_object_new_object();

	for (; *names; names++) {
		if (json_get(from, *names))
			json_put(o, *names, json_object_get(json_get(from, *names)));
	}
	return o;
}

/* Puts "stages" with packet counts only. */
static void put_brief_stages(struct json_object *o, const struct json_object *of)
{
	static const char *const kept[] = {"stage", "packets", NULL};
	struct json_object *list = json_put_list(o, "stages");

	for (struct json_each s = json_each(of, "stages"); json_next(&s);)
		json_object_array_add(list, some_of(s.item, kept));
}

/* Puts a list of intervals with only the members that are shown. */
static void put_brief(struct json_object *o, const char *key, const struct json_object *of)
{
	static const char *const kept[] = {
		"time_ns",   "time",	  "interval_ns", "sent",      "delivered",    "dropped",
		"peak_pps",  "tx_cpu_ns", "rx_cpu_ns",	 "tcp",	      "memory_bytes", "dropped_pps",
		NULL};
	struct json_object *list = json_put_list(o, key);

	for (struct json_each i = json_each(of, key); json_next(&i);) {
		struct json_object *interval = some_of(i.item, kept);

		put_brief_stages(interval, i.item);
		json_object_array_add(list, interval);
	}
}

/* Puts a document's intervals as a history of at most POINTS points. */
static void put_history(struct json_object *o, const struct ledgers_document *d)
{
	struct series *s = series_new(d->parts, LIVE_BY_STAGE, POINTS);
	const uint64_t joined = json_get_u64(json_get(d->json, "covers"), "joined");
	const struct json_object *end = json_get(d->json, "end");
	struct json_object *covers, *all = json_object_new_object();

	for (struct parts p = parts_of(d); parts_next(&p) && p.item != end;)
		series_add(s, p.item, p.to_ns, p.to_ns);
	json_put(all, "intervals", series_intervals(s));
	put_brief(o, "intervals", all);
	json_object_put(all);
	covers = series_covers(s, d->from_ns, d->to_ns);
	all = json_object_get(json_get(covers, "joined"));
	json_put_all(covers, json_get(d->json, "covers"));
	json_put_u64(covers, "joined", json_object_get_uint64(all) * larger(joined, 1));
	json_object_put(all);
	json_put(o, "covers", covers);
	series_free(s);
}

/*
 * Returns a document as stored in a page: with its history, and if there are many trials, with only
 * the members that are shown. The caller owns the object.
 */
static struct json_object *data_of(const struct ledgers_document *d)
{
	static const char *const of_trial[] = {
		"parameters", "trial",	   "tx",      "rx",	    "error",	   "attempted",
		"sent",	      "delivered", "dropped", "tx_pps",	    "rx_pps",	   "in_flight",
		"balanced",   "intended",  "unsent",  "loss_fraction", "unaccounted", NULL};
	struct json_object *o = json_object_new_object(), *list;

	json_put_all(o, d->json);
	if (json_get_length(d->json, "intervals"))
		put_history(o, d);
	if (json_get(d->json, "worst"))
		put_brief(o, "worst", d->json);
	if (json_get_length(d->json, "trials") <= MANY)
		return o;
	list = json_put_list(o, "trials");
	for (struct json_each t = json_each(d->json, "trials"); json_next(&t);) {
		struct json_object *trial = some_of(t.item, of_trial);

		put_brief_stages(trial, t.item);
		json_object_array_add(list, trial);
	}
	return o;
}

/* Returns the source file's name, unless it is hidden. */
static const char *name_of(const struct html_page *page, unsigned i)
{
	const char *file = json_get_text(page->docs[i].json, "file");

	return *file || page->redact || !page->docs[i].path ? file : page->docs[i].path;
}

/*
 * Returns the data that the script needs in addition to the documents. The caller owns the object.
 */
static struct json_object *view_of(const struct html_page *page)
{
	struct json_object *o = json_object_new_object(), *list = json_put_list(o, "headlines");
	struct json_object *titles = json_put_object(o, "stages");
	struct json_object *parts = json_put_object(o, "parts");

	for (unsigned i = 0; i < page->n; i++) {
		char *headline = headline_of(page->docs[i].json, page->live);

		json_object_array_add(list, json_text(headline));
		free(headline);
	}
	for (int s = 0; s < STAGE_COUNT; s++) {
		json_put_text(titles, stage_name(s), stage_title(s));
		json_put_u64(parts, stage_name(s), stage_facts[s].part);
	}
	json_put(o, "joined",
		 page->live ? json_object_new_array() : show_joined_lines(page->docs, page->n));
	json_put_bool(o, "live", page->live);
	json_put(o, "comparison", json_object_get(page->comparison));
	json_put(o, "matrix", json_object_get(page->matrix));
	return o;
}

/* Fallback without script */

/* Writes a document's end in detail, as text. */
static void put_end(FILE *out, const struct ledgers_document *d)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	print_end(&(struct print_view){.out = f, .verbosity = 1}, d);
	fclose(f);
	if (size > PLAIN_MOST)
		strcpy(text + PLAIN_MOST - 4, "...");
	if (size)
		put_in(out, "pre", text);
	free(text);
}

/* Writes the fallback. `view` comes from view_of(). */
static void put_plain(FILE *out, const struct html_page *page, const struct json_object *view)
{
	for (struct json_each line = json_each(view, "joined"); json_next(&line);)
		put_in(out, line.next == 1 ? "h1" : "p", json_object_get_string(line.item));
	if (page->comparison)
		put_in(out, "h1", json_get_text(page->comparison, "verdict"));
	if (page->matrix)
		fprintf(out, "<h1>Loss between %zu hosts</h1>\n",
			json_get_length(page->matrix, "nodes"));
	for (unsigned i = 0; i < page->n && !page->matrix; i++) {
		put_in(out, "p class=\"dim\"", json_get_text(page->docs[i].json, "schema"));
		put_in(out, "h1", json_get_item_text(view, "headlines", i));
		put_end(out, &page->docs[i]);
	}
}

int html_write(FILE *out, const struct html_page *page)
{
	const struct json_object *first = page->n ? json_get(page->docs[0].json, "start") : NULL;
	struct json_object *view = view_of(page), *o;

	errno = 0;
	fprintf(out,
		HTML_BEGIN
		"\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src '%s'; script-src '%s'%s\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		"<meta name=\"color-scheme\" content=\"light dark\">"
		"<meta name=\"generator\" content=\"pktledger %s\"><title>pktledger, ",
		style.hash, script.hash, page->live ? "; connect-src 'self'" : "",
		PKTLEDGER_VERSION);
	html_text(out, json_get_text(first, "host"));
	fputs(" ", out);
	html_text(out, json_get_text(first, "time"));
	fprintf(out, "</title><style>%s</style></head>\n<body>\n<main>\n", style.text);
	put_plain(out, page, view);
	fputs("</main>\n<section id=\"full\"><h2>In full</h2><pre>\n", out);
	html_text(out, page->text);
	fprintf(out,
		"</pre></section>\n<footer class=\"dim\">pktledger %s. The data is in this page, "
		"as JSON. <button type=\"button\" hidden>Pause</button> <output></output>"
		"</footer>\n",
		PKTLEDGER_VERSION);
	for (unsigned i = 0; i < page->n; i++) {
		fputs(HTML_DOCUMENT " data-name=\"", out);
		html_text(out, name_of(page, i));
		fputs("\">", out);
		o = data_of(&page->docs[i]);
		html_json(out, o);
		json_object_put(o);
		fputs("</script>\n", out);
	}
	fputs("<script type=\"application/json\" class=\"pktledger-view\">", out);
	html_json(out, view);
	json_object_put(view);
	fprintf(out, "</script>\n<script>%s</script>\n</body></html>\n", script.text);
	return fflush(out) != EOF && !ferror(out) ? 0 : errno ? -errno : -EIO;
}

int html_live(FILE *out, const struct html_page *page)
{
	struct json_object *o = view_of(page), *list = json_put_list(o, "documents");

	for (unsigned i = 0; i < page->n; i++)
		json_object_array_add(list, data_of(&page->docs[i]));
	json_put_text(o, "text", page->text);
	errno = 0;
	html_json(out, o);
	json_object_put(o);
	return fflush(out) != EOF && !ferror(out) ? 0 : errno ? -errno : -EIO;
}

int html_file(const char *path, const struct html_page *page, struct error *err)
{
	bool is_stdout = !strcmp(path, "-");
	struct replace file = {.out = stdout};
	const mode_t mask = umask(0); /* give the file the permissions allowed by the umask */
	int rc;

	umask(mask);
	rc = is_stdout ? 0 : replace_begin(&file, path, HTML_BEGIN, 0644 & ~mask);
	if (rc == -EEXIST)
		return error_set(err, STATUS_USAGE, -EEXIST, "name another file, or remove it",
				 "%s exists and is not a pktledger page; not overwritten", path);
	if (!rc) {
		rc = html_write(file.out, page);
		if (!is_stdout)
			rc = replace_end(&file, rc);
		else if (rc == -EPIPE) /* the reader has enough */
			rc = 0;
	}
	return error_errno(err, STATUS_FAILED, rc, file_hint(rc, NULL), "cannot write %s", path);
}
