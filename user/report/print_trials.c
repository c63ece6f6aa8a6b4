// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sweeps and searches of ledgers, as they printed themselves: the trials, and what was found. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/pointrows.h"
#include "report/text.h"
#include "report/print_parts.h"
#include "report/document.h"
#include "report/trialset.h"

/* What is printed point by point. */
struct table {
	const struct json_object *document;
	struct rows rows;
	const char *name[ROWS_COLUMNS], *text[ROWS_COLUMNS];
	struct trials *trials; /* of one point */
	struct result *res;
	struct error failed; /* the last of the point */
};

static struct json_object *parameters_of(const struct table *t, size_t i)
{
	return json_get(json_get_item(t->document, "trials", i), "parameters");
}

static const char *value_of(struct json_object *parameters, const char *name)
{
	struct json_object *value = json_get(parameters, name);

	return value ? json_object_get_string(value) : "";
}

static void read_texts(struct table *t, size_t i)
{
	for (unsigned k = 0; k < t->rows.columns; k++)
		t->text[k] = value_of(parameters_of(t, i), t->name[k]);
}

static int open_table(struct table *t, FILE *out, const struct json_object *document)
{
	size_t n = json_get_length(document, "trials");
	unsigned columns;

	*t = (struct table){.document = document, .rows = {.out = out}};
	t->res = calloc(1, sizeof(*t->res));
	t->trials = trials_new((unsigned)n + 1);
	if (!t->res || !t->trials)
		return -ENOMEM;
	t->rows.repeated = json_get_u64(json_get(document, "start"), "repeat") > 1;
	columns = trialset_columns(document, t->name, ROWS_COLUMNS);
	for (unsigned k = 0; k < columns; k++) {
		size_t width = 0;

		for (size_t i = 0; i < n; i++) {
			size_t len = strlen(value_of(parameters_of(t, i), t->name[k]));

			width = len > width ? len : width;
		}
		rows_column(&t->rows, t->name[k], (unsigned)width);
	}
	return 0;
}

static void close_table(struct table *t)
{
	trials_free(t->trials);
	free(t->res);
}

/* NULL: it came to no books. */
static const struct result *read_trial(struct table *t, size_t i)
{
	const struct json_object *trial = json_get_item(t->document, "trials", i);

	if (json_get(trial, "error"))
		json_read_error(json_get(trial, "error"), &t->failed);
	if (!json_get(trial, "attempted"))
		return NULL;
	json_read_end(trial, t->res);
	return t->res;
}

static bool is_last_of_point(const struct table *t, size_t i)
{
	return i + 1 == json_get_length(t->document, "trials") ||
	       !json_object_equal(parameters_of(t, i), parameters_of(t, i + 1));
}

static void print_points(const struct print_view *v, const struct json_object *document)
{
	struct table t;

	if (!open_table(&t, v->out, document)) {
		fputc('\n', v->out);
		rows_heading(&t.rows);
		for (size_t i = 0; i < json_get_length(document, "trials"); i++) {
			const struct result *res = read_trial(&t, i);

			if (res)
				trials_add(t.trials, res);
			if (!is_last_of_point(&t, i))
				continue;
			read_texts(&t, i);
			rows_point(&t.rows, t.text, t.trials,
				   *t.failed.message || !trials_count(t.trials) ? &t.failed : NULL);
			trials_clear(t.trials);
			t.failed = (struct error){};
		}
	}
	close_table(&t);
}

/* Searches that came to a lower bound of that name. */
static unsigned count_lowers(const struct json_object *end, const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < json_get_length(end, "searches"); i++) {
		const struct json_object *rate = json_get(json_get_item(end, "searches", i), name);

		n += json_get(rate, "lower_pps") && json_get_bool(rate, "done");
	}
	return n;
}

static void print_spread(FILE *out, const struct json_object *end)
{
	struct json_object *all = json_get(end, "lower_pps_of_all");

	if (!json_object_is_type(all, json_type_object))
		return;
	json_object_object_foreach (all, name, o) {
		const struct trials_summary s = {
			.median = json_get_double(o, "median"),
			.min = json_get_double(o, "min"),
			.max = json_get_double(o, "max"),
			.spread = json_get_double(o, "spread"),
		};

		text_found_spread(out, name, &s, count_lowers(end, name));
	}
}

/* Each search behind its trials. */
static void print_search(const struct print_view *v, const struct json_object *document)
{
	const struct json_object *end = json_get(document, "end");
	size_t searches = json_get_length(end, "searches"), n = json_get_length(document, "trials");
	size_t shown = 0;
	struct found_trial t;
	struct found f;

	fputc('\n', v->out);
	for (size_t k = 0; k < (searches ? searches : 1); k++) {
		json_read_found(searches ? json_get_item(end, "searches", k) : end, &f);
		for (unsigned i = 0; shown < n && (k + 1 >= searches || i < f.trials); i++) {
			json_read_found_trial(json_get_item(document, "trials", shown), &t);
			text_found_trial(v->out, (unsigned)++shown, &t);
		}
		if (f.trials)
			text_found(v->out, &f);
	}
	print_spread(v->out, end);
}

void print_trials(const struct print_view *v, const struct ledgers_document *d)
{
	if (!strcmp(d->command, "search"))
		print_search(v, d->json);
	else
		print_points(v, d->json);
}

void print_trials_csv(FILE *out, const struct json_object *document)
{
	struct table t;

	if (!open_table(&t, out, document)) {
		rows_csv_heading(&t.rows);
		for (size_t i = 0; i < json_get_length(document, "trials"); i++) {
			const struct json_object *trial = json_get_item(document, "trials", i);
			uint64_t number = json_get_u64(trial, "trial");
			const struct result *res = read_trial(&t, i);

			read_texts(&t, i);
			rows_csv_trial(&t.rows, t.text, number ? (unsigned)number : (unsigned)i + 1,
				       res, *t.failed.message ? &t.failed : NULL);
			t.failed = (struct error){};
		}
	}
	close_table(&t);
}
