// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/caps.h"
#include "diagnosis/env.h"
#include "report/document.h"
#include "report/pointrows.h"

/* What a point's words mean. */
struct planned {
	void *options; /* of the command; begins with struct run_options */
	struct run_spec spec;
	struct shape_plan shape;
};

struct course {
	const struct series *s;
	unsigned repeat;
	struct report *report;
	struct rows rows;
	struct trials *trials; /* of one point */
	struct json_object *summary;
	unsigned done, failed; /* trials */
	uint64_t start_ns;
};

static int plan_point(const struct series *s, const struct point *point, struct planned *p,
		      struct error *err)
{
	const struct opt *asked;
	int rc;

	*p = (struct planned){.options = calloc(1, s->cmd->size)};
	if (!p->options)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	rc = opt_parse(s->cmd, point->argc, point->argv, p->options, &asked, err);
	if (rc > OPT_NEXT_RUN)
		rc = error_set(err, STATUS_USAGE, -EINVAL, NULL,
			       "help and version are no values to run with");
	if (!rc && s->check)
		rc = s->check(s->arg, point, p->options, err);
	return rc ? rc : run_plan(p->options, &p->spec, &p->shape, err);
}

static void free_planned(struct planned *p)
{
	shape_plan_free(&p->shape);
	free(p->options);
}

/* A value that makes no sense is told before the first packet. */
static int check_all(const struct series *s, struct error *err)
{
	int rc = 0;

	for (unsigned i = 0; i < s->points->n && !rc; i++) {
		struct planned p;

		rc = plan_point(s, &s->points->at[i], &p, err);
		free_planned(&p);
	}
	return rc;
}

static void open_rows(struct course *c)
{
	const struct points *points = c->s->points;

	c->rows = (struct rows){.out = stdout, .repeated = c->repeat > 1};
	for (unsigned k = 0; k < points->columns; k++) {
		size_t width = 0;

		for (unsigned i = 0; i < points->n; i++) {
			size_t len = strlen(points->at[i].text[k]);

			width = len > width ? len : width;
		}
		rows_column(&c->rows, points->column[k], (unsigned)width);
	}
	if (report_json(c->report))
		return;
	if (c->s->csv)
		rows_csv_heading(&c->rows);
	else
		rows_heading(&c->rows);
}

static struct json_object *parameters(const struct points *points, const struct point *point)
{
	struct json_object *o = json_object_new_object();

	for (unsigned k = 0; k < points->columns; k++)
		json_put_text(o, points->column[k], point->text[k]);
	return o;
}

static struct json_object *error_object(const struct error *err)
{
	return json_error(err->message, err->hint, err->status);
}

static void show_trial(struct course *c, const struct point *point, const struct planned *p,
		       unsigned trial, const struct error *failed)
{
	const struct result *res = report_result(c->report);
	struct json_object *o;

	if (c->s->csv) {
		rows_csv_trial(&c->rows, point->text, trial, res, failed);
		output_flush();
	}
	if (!report_records(c->report))
		return;
	o = json_object_new_object();
	json_put(o, "parameters", parameters(c->s->points, point));
	json_put_u64(o, "trial", trial);
	json_put_text(o, "tx", p->spec.tx->name);
	json_put_text(o, "rx", p->spec.rx->name);
	json_put_u64(o, "payload_bytes", p->spec.payload);
	if (failed)
		json_put(o, "error", error_object(failed));
	report_series_trial(c->report, o);
}

static void show_point(struct course *c, const struct point *point, const struct error *failed)
{
	struct json_object *o;

	log_progress_clear();
	if (!report_json(c->report) && !c->s->csv) {
		rows_point(&c->rows, point->text, c->trials, failed);
		output_flush();
	}
	o = json_object_new_object();
	json_put(o, "parameters", parameters(c->s->points, point));
	trials_put(o, c->trials);
	json_put_text(o, "stage", trials_stage_name(trials_stage(c->trials)));
	if (failed)
		json_put(o, "error", error_object(failed));
	json_object_array_add(c->summary, o);
}

/* "3 of 12, 40 s left": from what the trials before took. */
static void tell_progress(const struct course *c, char *buf, size_t size)
{
	unsigned all = c->s->points->n * c->repeat;
	char left[FMT_MAX];
	double each;

	snprintf(buf, size, "trial %u of %u", c->done + 1, all);
	if (!c->done)
		return;
	each = (double)(clock_now() - c->start_ns) / c->done;
	fmt_ns(left, sizeof(left), (uint64_t)(each * (all - c->done)));
	snprintf(buf + strlen(buf), size - strlen(buf), ", %s left", left);
}

/* False: a signal ended it. */
static bool run_point(struct course *c, const struct point *point)
{
	struct error failed = {};
	struct planned p;
	int rc = plan_point(c->s, point, &p, &failed);
	bool going = true;

	trials_clear(c->trials);
	for (unsigned t = 1; t <= c->repeat && !rc && going; t++) {
		struct error err = {};
		char title[96];

		tell_progress(c, title, sizeof(title));
		report_next(c->report, p.options, title);
		report_trial(c->report, &p.spec, &err);
		going = !report_interrupted(c->report) && !stdout_gone();
		if (!going && !report_result(c->report))
			break;
		c->done++;
		if (report_result(c->report))
			trials_add(c->trials, report_result(c->report));
		if (err.status != STATUS_OK) {
			c->failed++;
			failed = err;
		}
		show_trial(c, point, &p, t, err.status != STATUS_OK ? &err : NULL);
	}
	if (trials_count(c->trials) || failed.status != STATUS_OK)
		show_point(c, point, failed.status != STATUS_OK ? &failed : NULL);
	free_planned(&p);
	return going;
}

static void put_start(const struct course *c)
{
	struct json_object *o = json_solo_origin(program_argc, program_argv, env_read(NULL));
	struct json_object *names = json_object_new_array();

	for (unsigned k = 0; k < c->s->points->columns; k++)
		json_object_array_add(names, json_text(c->s->points->column[k]));
	json_put(o, "parameters", names);
	json_put_u64(o, "points", c->s->points->n);
	json_put_u64(o, "repeat", c->repeat);
	report_series(c->report, o);
}

static void put_end(struct course *c, bool interrupted, const struct error *err)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "trials", c->done);
	json_put_u64(o, "failed", c->failed);
	json_put_bool(o, "interrupted", interrupted);
	json_put(o, "points", c->summary);
	c->summary = NULL;
	report_series_end(c->report, o, err);
}

static void run_all(struct course *c, struct error *err)
{
	const struct points *points = c->s->points;
	bool going = true;

	run_prepare(err);
	if (report_records(c->report))
		put_start(c);
	open_rows(c);
	c->start_ns = clock_now();
	for (unsigned i = 0; i < points->n && going; i++)
		going = run_point(c, &points->at[i]);
	log_progress_clear();
	if (c->failed)
		error_set(err, STATUS_FAILED, -EIO, NULL, "%u of %u trials failed", c->failed,
			  c->done);
	if (report_records(c->report))
		put_end(c, !going, err);
}

void series_run(const struct series *s, struct report *report, const struct run_options *o,
		struct error *err)
{
	struct course c = {.s = s, .repeat = o->repeat, .report = report};

	c.trials = trials_new(c.repeat);
	c.summary = json_object_new_array();
	if (!c.trials || !c.summary)
		error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	else if (!check_all(s, err) && !caps_require(s->cmd, NULL, err))
		run_all(&c, err);
	report_next(report, o, "");
	trials_free(c.trials);
	json_object_put(c.summary);
}
