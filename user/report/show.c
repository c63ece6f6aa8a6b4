// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/print.h"

#include "base/mem.h"
#include "report/document.h"
#include "report/capfile.h"
#include "report/junit.h"
#include "report/load.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

static const struct record_field cut_rows[] = {
	RECORD("line", UINT, ledgers_file, state.cut_line),
	RECORD("offset", UINT, ledgers_file, state.cut_at),
	{0},
};

static const struct record_field file_rows[] = {
	RECORD("file", POINTER, ledgers_file, path),
	RECORD("lines", UINT, ledgers_file, state.lines),
	RECORD("bad", UINT, ledgers_file, state.bad),
	RECORD_PART("cut", cut_rows, RECORD_WHEN(ledgers_file, state.cut)),
	RECORD("malformed_lines", UINT, ledgers_file, odd),
	RECORD("orphan_lines", UINT, ledgers_file, headless),
	{0},
};

static void hide_names(struct redact *r, struct json_object *o)
{
	redact_learn(r, o);
	redact_apply(r, o);
}

/* Prints the state of the files before their documents. */
static void show_files(const struct show_view *v, const struct ledgers *l, struct redact *r)
{
	struct json_object *o = json_origin(v->argc, v->argv, NULL);

	hide_names(r, o);
	json_out_once(v->json, "start", o);
	for (unsigned i = 0; i < l->files; i++) {
		o = record_write(file_rows, &l->file[i]);
		redact_apply(r, o);
		json_out_each(v->json, "file", o);
	}
}

/* Returns a member of "repeat": "trial", from 1 (0: not a trial), or "of". */
static uint64_t repeat_of(const struct ledgers_document *d, const char *key)
{
	return json_get_u64(json_get(json_get(d->json, "start"), "repeat"), key);
}

/* Returns true if b is the next trial after a. */
static bool goes_on(const struct ledgers_document *a, const struct ledgers_document *b)
{
	const uint64_t trial = repeat_of(a, "trial");

	return trial && a->path == b->path && repeat_of(b, "trial") == trial + 1 &&
	       repeat_of(a, "of") == repeat_of(b, "of");
}

static void show_documents(const struct show_view *v, const struct ledgers_document *d, unsigned n)
{
	FILE *out = v->text.out;
	unsigned run = 0; /* trials of the same --repeat so far */

	for (unsigned i = 0; i < n; i++) {
		/* set for a comparison of two captures, which has no file */
		struct json_object *between = d[i].path ? NULL : json_get(d[i].json, "between");

		run = i && goes_on(&d[i - 1], &d[i]) ? run + 1 : 1;
		if (between && v->json) {
			json_out_once(v->json, "between", json_object_get(between));
		} else if (between) {
			ends_print(&v->text, between);
		} else if (v->json) {
			json_out_each(v->json, "document", json_object_get(d[i].json));
		} else if (v->csv && trialset_is(&d[i])) {
			rows_print(out, true, d[i].json);
		} else if (v->csv) {
			csv_document(out, &d[i]);
		} else {
			if (i)
				fputc('\n', out);
			print_document(&v->text, &d[i]);
			if (repeat_of(&d[i], "trial") != run ||
			    (i + 1 < n && goes_on(&d[i], &d[i + 1])))
				continue;
			fputc('\n', out);
			print_repeat(&v->text, &d[i + 1 - run], run);
		}
	}
}

struct json_object *show_joined_lines(const struct ledgers_document *d, unsigned n)
{
	struct json_object *list = json_object_new_array();
	char *text = n > 1 ? joined_tcp_text(d, n) : NULL;

	if (text)
		json_object_array_add(list, json_text(text));
	free(text);
	for (unsigned i = 0; n > 1 && n <= JOINED_COUNTS && i < n * n; i++) {
		text = joined_udp_text(&d[i / n], &d[i % n]);
		if (text)
			json_add_line(list, JOINED_UDP "%s", text);
		free(text);
	}
	return list;
}

/* Prints the joint result of several traces before their documents. */
static void show_joined(const struct show_view *v, const struct ledgers_document *d, unsigned n)
{
	struct json_object *lines = show_joined_lines(d, n);
	struct page p = print_page(&v->text, 0);
	bool udp = false;

	for (size_t i = 0; i < json_object_array_length(lines); i++) {
		char *line = mem_string(
			json_object_get_string(json_object_array_get_idx(lines, i)));

		for (char *at = line; (at = strstr(at, " %"));) /* keep numbers next to their % */
			*at = PAGE_BLANK;
		udp = !strncmp(line, JOINED_UDP, strlen(JOINED_UDP));
		page_line(&p, 0, STYLE_BOLD, udp ? "UDP             " : "joined          ",
			  udp ? STYLE_PLAIN : STYLE_BOLD, "%s",
			  line + (udp ? strlen(JOINED_UDP) : 0));
		free(line);
	}
	if (udp)
		page_line(&p, 16, STYLE_DIM, "", STYLE_DIM, "%s", JOINED_UDP_EXACT);
	if (json_object_array_length(lines))
		page_end(&p);
	json_object_put(lines);
}

/* Writes a page with the text that `report` prints, unless `rc` is an error. Closes `text`. */
static int show_page(const struct show_view *v, struct html_page *page, FILE *text,
		     char *const *printed, int rc, struct error *err)
{
	fclose(text);
	page->text = *printed;
	if (!rc)
		rc = html_file(v->html, page, err);
	free(*printed);
	return rc;
}

int show_ledgers(const struct show_view *asked, struct ledgers *l, struct error *err)
{
	struct show_view view = *asked, *v = &view;
	struct redact *r = v->redact ? redact_new() : NULL;
	const struct ledgers_document *d = l->document;
	const unsigned n = l->documents;
	struct html_page page = {.docs = d, .n = n, .redact = v->redact};
	char *printed = NULL;
	size_t size;
	int rc, kept;

	if (v->html)
		v->text = (struct print_view){.out = open_memstream(&printed, &size),
					      .verbosity = v->text.verbosity};

	/* learn from all start events first, because they name hosts and namespaces */
	for (unsigned i = 0; i < n; i++)
		redact_learn(r, json_get(d[i].json, "start"));
	for (unsigned i = 0; i < n; i++) {
		if (v->redact && d[i].path) /* otherwise the page would show its path */
			json_put_text(d[i].json, "file", document_file(&d[i]));
		redact_learn(r, d[i].json);
	}
	for (unsigned i = 0; i < n; i++) {
		struct json_object *tcp = json_get(json_get(d[i].json, "end"), "tcp");

		if (v->html && json_get(tcp, "trail")) /* large, and never shown */
			json_object_object_del(tcp, "trail");
		redact_apply(r, d[i].json);
	}
	if (v->json)
		show_files(v, l, r);
	redact_free(r);
	rc = v->matrix ? matrix_new(d, n, &page.matrix, err) : 0;
	page.comparison = v->a ? compare_documents(v->a, v->b) : NULL;
	kept = v->limits.n ? compare_limits(page.comparison, v->a, v->b, &v->limits, err) : 1;
	if (kept < 0)
		rc = kept;
	for (unsigned i = 0; i < n; i++)
		junit_document(v->junit, d[i].json);
	junit_limits(v->junit, page.comparison);
	if (v->csv && !(n && trialset_is(&d[0]))) /* a CSV of trials has another header line */
		csv_head(v->text.out);
	if (!v->json && !v->csv && !v->matrix)
		show_joined(v, d, n);
	if (v->json || v->csv || !(v->a || v->matrix))
		show_documents(v, d, n);
	if (page.comparison && v->json)
		json_out_once(v->json, "comparison", json_object_get(page.comparison));
	else if (page.comparison && !v->csv)
		compare_print(&v->text, v->a, v->b, page.comparison);
	if (page.matrix && v->json)
		json_out_once(v->json, "matrix", json_object_get(page.matrix));
	else if (page.matrix)
		matrix_print(&v->text, page.matrix);
	if (v->html)
		rc = show_page(v, &page, v->text.out, &printed, rc, err);
	json_object_put(page.comparison);
	json_object_put(page.matrix);
	return rc ? rc : kept ? 0 : STATUS_BROKEN;
}

int show_ends(const struct show_view *v, struct json_object *ends, struct error *err)
{
	struct ledgers_document d = {.json = json_object_new_object()};
	struct ledgers l = {.document = &d, .documents = 1};
	int rc;

	json_put_text(d.json, "schema", "pktledger/report/1");
	json_put(d.json, "start", json_origin(v->argc, v->argv, NULL));
	json_put(d.json, "between", json_object_get(ends));
	rc = show_ledgers(v, &l, err);
	json_object_put(d.json);
	return rc;
}

const struct ledgers_document *show_unbalanced(const struct ledgers *l)
{
	for (unsigned i = 0; i < l->documents; i++) {
		const struct json_object *d = l->document[i].json;
		const struct json_object *joined = json_get(d, "joined");

		/* other hosts may know what was undecided on this one */
		if (json_denies(d, "outcomes_agree") || json_denies(d, "sums_agree") ||
		    json_denies(joined ? joined : json_get(d, "end"), "balanced"))
			return &l->document[i];
	}
	return NULL;
}
