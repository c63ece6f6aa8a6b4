// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/show.h"

#include <errno.h>
#include <stdlib.h>

#include "report/document.h"
#include "report/compare.h"
#include "report/capfile.h"
#include "report/html.h"
#include "report/matrix.h"
#include "report/trials.h"
#include "report/load.h"

static struct json_object *file_object(const struct ledgers_file *f)
{
	struct json_object *o = json_object_new_object(), *cut = NULL;

	json_put_text(o, "file", f->path);
	json_put_u64(o, "lines", f->state.lines);
	json_put_u64(o, "bad", f->state.bad);
	if (f->state.cut) {
		cut = json_object_new_object();
		json_put_u64(cut, "line", f->state.cut_line);
		json_put_u64(cut, "offset", f->state.cut_at);
	}
	json_put(o, "cut", cut);
	json_put_u64(o, "odd", f->odd);
	json_put_u64(o, "headless", f->headless);
	return o;
}

static struct json_object *make_start(const struct show_view *v, struct redact *r)
{
	struct json_object *start = json_solo_origin(v->argc, v->argv, NULL);

	if (r) {
		redact_learn(r, start);
		redact_apply(r, start);
	}
	return start;
}

/* What comes before the documents. */
static void show_files(const struct show_view *v, const struct ledgers *l, struct redact *r)
{
	const struct ledgers_file *f;
	unsigned n;

	json_out_once(v->json, "start", make_start(v, r));
	f = ledgers_files(l, &n);
	for (unsigned i = 0; i < n; i++) {
		struct json_object *o = file_object(&f[i]);

		if (r)
			redact_apply(r, o);
		json_out_each(v->json, "file", o);
	}
}

/* Other names in all that is shown, one set of them. */
static int hide_names(const struct ledgers *l, struct redact **r, struct error *err)
{
	const struct ledgers_document *d;
	unsigned n;

	*r = redact_new();
	if (!*r)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	d = ledgers_documents(l, &n);
	for (unsigned i = 0; i < n; i++)
		redact_learn(*r, d[i].json);
	for (unsigned i = 0; i < n; i++)
		redact_apply(*r, d[i].json);
	return 0;
}

/* Which trial of --repeat it is, and of how many; 0: of none. */
static uint64_t trial_of(const struct ledgers_document *d, uint64_t *of)
{
	const struct json_object *repeat = json_get(json_get(d->json, "start"), "repeat");

	*of = json_get_u64(repeat, "of");
	return json_get_u64(repeat, "trial");
}

/* Whether b is the trial behind a. */
static bool goes_on(const struct ledgers_document *a, const struct ledgers_document *b)
{
	uint64_t of, of_next, trial = trial_of(a, &of);

	return trial && a->path == b->path && trial_of(b, &of_next) == trial + 1 && of == of_next;
}

/* If d[i] is the last trial of a `run --repeat` that is there from the first on: how many. */
static unsigned whole_repeat(const struct ledgers_document *d, unsigned i, unsigned n)
{
	unsigned first = i;
	uint64_t of;

	if (!trial_of(&d[i], &of) || (i + 1 < n && goes_on(&d[i], &d[i + 1])))
		return 0;
	while (first && goes_on(&d[first - 1], &d[first]))
		first--;
	return trial_of(&d[first], &of) == 1 ? i - first + 1 : 0;
}

static void show_text(const struct show_view *v, const struct ledgers_document *d, unsigned i,
		      unsigned n)
{
	unsigned trials = whole_repeat(d, i, n);

	if (i)
		fputc('\n', v->text.out);
	print_document(&v->text, &d[i]);
	if (!trials)
		return;
	fputc('\n', v->text.out);
	print_repeat(&v->text, &d[i + 1 - trials], trials);
}

static void show_documents(const struct show_view *v, const struct ledgers *l)
{
	const struct ledgers_document *d;
	unsigned n;

	d = ledgers_documents(l, &n);
	for (unsigned i = 0; i < n; i++) {
		if (v->json) {
			json_out_each(v->json, "document", json_object_get(d[i].json));
		} else if (v->csv && trialset_is(d[i].json)) {
			rows_print(v->text.out, true, d[i].json);
		} else if (v->csv) {
			csv_document(v->text.out, &d[i]);
		} else {
			show_text(v, d, i, n);
		}
	}
}

static void show_comparison(const struct show_view *v)
{
	struct json_object *o = compare_documents(v->a, v->b);

	if (v->json)
		json_out_once(v->json, "comparison", json_object_get(o));
	else
		compare_print(&v->text, v->a, v->b, o);
	json_object_put(o);
}

/* What it was read from, if that may be told. */
static const char *name_of(const struct show_view *v, const struct ledgers_document *d)
{
	const char *file = json_get_text(d->json, "file");

	return *file ? file : v->redact ? "" : d->path;
}

static int show_page(const struct show_view *v, const struct ledgers *l, struct json_object *matrix,
		     struct error *err)
{
	struct html_page page = {.matrix = matrix};
	const struct ledgers_document *d;
	struct html_document *docs;
	unsigned n;
	int rc;

	d = ledgers_documents(l, &n);
	docs = calloc(n + 1, sizeof(*docs));
	if (!docs)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	for (; page.n < n; page.n++)
		docs[page.n] = (struct html_document){name_of(v, &d[page.n]), d[page.n].json};
	page.docs = docs;
	page.comparison = v->a ? compare_documents(v->a, v->b) : NULL;
	rc = html_file(v->html, &page, err);
	free(docs);
	json_object_put(page.comparison);
	return rc;
}

/* To be put; NULL with an error. */
static struct json_object *matrix_of(const struct ledgers *l, struct error *err)
{
	const struct ledgers_document *d;
	struct json_object **docs, *matrix;
	unsigned n;

	d = ledgers_documents(l, &n);
	docs = calloc(n + 1, sizeof(struct json_object *));
	if (!docs) {
		error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
		return NULL;
	}
	for (unsigned i = 0; i < n; i++)
		docs[i] = d[i].json;
	matrix_new(docs, n, &matrix, err);
	free(docs);
	return matrix;
}

/* Their CSV has another heading; documents of several kinds are never shown together. */
static bool of_trials(const struct ledgers *l)
{
	const struct ledgers_document *d;
	unsigned n;

	d = ledgers_documents(l, &n);
	return n && trialset_is(d[0].json);
}

static int show_forms(const struct show_view *v, const struct ledgers *l, struct error *err)
{
	struct json_object *matrix = v->matrix ? matrix_of(l, err) : NULL;
	int rc = v->matrix && !matrix ? -ENODATA : 0;

	if (!rc && v->html)
		rc = show_page(v, l, matrix, err);
	if (v->csv && !of_trials(l))
		csv_head(v->text.out);
	if (v->json || v->csv || !(v->a || v->html || v->matrix))
		show_documents(v, l);
	if (v->a && !v->csv && (v->json || !v->html))
		show_comparison(v);
	if (matrix && v->json)
		json_out_once(v->json, "matrix", json_object_get(matrix));
	else if (matrix && !v->html)
		matrix_print(&v->text, matrix);
	json_object_put(matrix);
	return rc;
}

int show_ledgers(const struct show_view *v, struct ledgers *l, struct error *err)
{
	struct redact *r = NULL;
	int rc = v->redact ? hide_names(l, &r, err) : 0;

	if (rc)
		return rc;
	if (v->json)
		show_files(v, l, r);
	rc = show_forms(v, l, err);
	redact_free(r);
	return rc;
}

static int show_page_of_ends(const struct show_view *v, struct json_object *start,
			     struct json_object *ends, struct error *err)
{
	struct json_object *doc = json_object_new_object();
	const struct html_document one = {"", doc};
	const struct html_page page = {.docs = &one, .n = 1};
	int rc;

	json_put_text(doc, "schema", "pktledger/report/1");
	json_put(doc, "start", json_object_get(start));
	json_put(doc, "between", json_object_get(ends));
	rc = html_file(v->html, &page, err);
	json_object_put(doc);
	return rc;
}

int show_ends(const struct show_view *v, struct json_object *ends, struct error *err)
{
	struct redact *r = v->redact ? redact_new() : NULL;
	struct json_object *start;
	int rc = 0;

	if (v->redact && !r)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	if (r) {
		redact_learn(r, ends);
		redact_apply(r, ends);
	}
	start = make_start(v, r);
	if (v->html)
		rc = show_page_of_ends(v, start, ends, err);
	if (v->json) {
		json_out_once(v->json, "start", json_object_get(start));
		json_out_once(v->json, "between", json_object_get(ends));
	} else if (!v->html) {
		ends_print(&v->text, ends);
	}
	json_object_put(start);
	redact_free(r);
	return rc;
}

bool show_disagrees(const struct ledgers *l)
{
	const struct ledgers_document *d;
	unsigned n;

	d = ledgers_documents(l, &n);
	for (unsigned i = 0; i < n; i++) {
		if (json_get(d[i].json, "fates_agree") && !json_get_bool(d[i].json, "fates_agree"))
			return true;
		if (json_get(d[i].json, "senders") &&
		    !json_get_bool(json_get(d[i].json, "end"), "balanced"))
			return true;
	}
	return false;
}
