// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/report.h"

#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "diagnosis/facts.h"
#include "host/caps.h"
#include "report/document.h"
#include "report/print.h"

#define LINE_WORDS 48 /* maximum number of words on a preset line */

/* Options that apply to the whole sweep, not to a trial. */
static const char *const whole[] = {
	"vary",	   "preset",	 "csv",	  "repeat", "ledger", "json",
	"version", "json-lines", "quiet", "help",   "verbose",
};

/* Adds a point, whose `text` the caller fills in. */
static struct point *add_point(struct points *points, char *const *words, int n, char *const *more,
			       int n_more)
{
	struct point *p;

	points->at = mem_resize(points->at, points->n + 1, sizeof(*points->at));
	p = &points->at[points->n++];
	*p = (struct point){.argc = n + n_more, .argv = mem_zero((size_t)(n + n_more) + 1,
								 sizeof(*p->argv))};
	memcpy(p->argv, words, (size_t)n * sizeof(*words));
	memcpy(p->argv + n, more, (size_t)n_more * sizeof(*more));
	return p;
}

int points_product(const struct opt_vary *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err)
{
	uint64_t all = 1;

	*points = (struct points){.columns = n};
	for (unsigned k = 0; k < n; k++) {
		points->column[k] = vary[k].ref.opt->name;
		all *= vary[k].n;
		if (all > POINTS_MAX)
			return error_usage(err, "vary fewer values",
					   "there are more than %u combinations of values",
					   POINTS_MAX);
	}
	while (points->n < all) {
		const char *text[POINTS_COLUMNS];
		char *word[POINTS_COLUMNS];
		unsigned rest = points->n;
		int words = 0;

		for (unsigned k = n; k-- > 0; rest /= vary[k].n) {
			const struct opt_vary_value *v = &vary[k].at[rest % vary[k].n];

			text[k] = v->text;
			word[k] = (char *)v->word; /* getopt does not modify the words */
		}
		for (unsigned k = 0; k < n; k++) {
			if (*word[k])
				word[words++] = word[k];
		}
		memcpy(add_point(points, argv, argc, word, words)->text, text, n * sizeof(*text));
	}
	return 0;
}

void points_free(struct points *points)
{
	for (unsigned i = 0; i < points->n; i++)
		free(points->at[i].argv);
	free(points->at);
	free(points->words);
	*points = (struct points){};
}

static int add_line(struct points *points, char *line, int argc, char **argv, struct error *err)
{
	char *word[LINE_WORDS], *name = strstr(line, " # "), *save = NULL;
	int n = 0;

	if (name)
		*name = '\0';
	for (char *rest = line; n < LINE_WORDS && (word[n] = strtok_r(rest, " \t", &save)); n++)
		rest = NULL;
	if (!name || !n || strcmp(*word, "run") || n == LINE_WORDS || points->n == POINTS_MAX)
		return error_set(err, STATUS_FAILED, -EINVAL, "write: run OPTIONS # NAME",
				 "command %u of the preset is not valid", points->n + 1);
	add_point(points, word, n, argv, argc)->text[0] = name + strlen(" # ");
	return 0;
}

int preset_parse(struct points *points, const char *text, int argc, char **argv, struct error *err)
{
	char *rest = mem_string(text), *line;
	int rc = 0;

	*points = (struct points){.columns = 1, .column = {"trial"}, .words = rest};
	while (!rc && (line = strsep(&rest, "\n"))) {
		if ((*line == '\t' || !strncmp(line, "    ", 4)) && line[strspn(line, " \t")])
			rc = add_line(points, line, argc, argv, err);
	}
	if (!rc && !points->n)
		rc = error_set(err, STATUS_FAILED, -EINVAL, "indent them by four blanks",
			       "the preset has no commands");
	if (rc)
		points_free(points);
	return rc;
}

/*
 * Finds presets by name pattern, relative to the program: in the source tree it was built from, or
 * where `make install` puts them, for any PREFIX. A name with a slash is a file.
 */
static int find_presets(const char *name, glob_t *found, struct error *err)
{
	static const char *const places[] = {"../tools/presets", "../share/pktledger/presets"};
	char program[512], path[700];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int rc = strchr(name, '/') ? glob(name, 0, NULL, found) : GLOB_NOMATCH;

	program[n > 0 ? n : 0] = '\0';
	dirname(program);
	for (unsigned i = 0; rc && i < LENGTH(places); i++) {
		snprintf(path, sizeof(path), "%s/%s/%.60s.txt", program, places[i], name);
		rc = glob(path, 0, NULL, found);
	}
	return rc ? error_usage(err, "--preset help lists them", "no preset '%.80s'", name) : 0;
}

int preset_open(struct points *points, const char *name, int argc, char **argv, struct error *err)
{
	glob_t found;
	char *text;
	int rc = find_presets(name, &found, err);

	if (rc)
		return rc;
	rc = file_read(found.gl_pathv[0], &text, NULL);
	globfree(&found);
	if (rc)
		return error_usage(err, NULL, "cannot read the preset '%.80s': %s", name,
				   strerror(-rc));
	rc = preset_parse(points, text, argc, argv, err);
	free(text);
	return rc;
}

int preset_list(struct error *err)
{
	glob_t found;
	int rc = find_presets("*", &found, err);

	for (size_t i = 0; !rc && i < found.gl_pathc; i++) {
		const char *name = basename(found.gl_pathv[i]);
		char *text;

		rc = file_read(found.gl_pathv[i], &text, NULL);
		if (rc)
			break;
		printf("  %-14.*s  %.*s\n", (int)strcspn(name, "."), name,
		       (int)strcspn(text, "\n"), text);
		free(text);
	}
	return rc;
}

struct planned {
	void *options; /* the command's options, which begin with struct run_options */
	struct run_spec spec;
};

struct course {
	const struct points *points;
	bool csv;
	unsigned repeat;
	struct report *report;
	struct rows rows;
	struct trials *trials;		     /* trials for one point */
	struct json_object *start, *summary; /* start: with the rows, summary: over all points */
	unsigned done, failed;		     /* number of trials so far */
	uint64_t start_ns;
};

/*
 * Rejects options that apply to the whole sweep if a trial uses them, and flags on the command line
 * that the trial is meant to leave out.
 */
static int check_given(const struct points *points, const struct point *point,
		       const struct opt_seen *seen, struct error *err)
{
	for (unsigned i = 0; i < seen->n; i++) {
		const struct opt *opt = seen->given[i];

		if (is_one_of(opt->name, whole, LENGTH(whole)) && !opt_given(&program_options, opt))
			return error_usage(err, NULL,
					   "--%s is for the whole sweep, not for a trial", opt->name);
		for (unsigned k = 0; k < points->columns; k++) {
			if (opt->type == OPT_FLAG && !strcmp(points->column[k], opt->name) &&
			    strcmp(point->text[k], "on"))
				return error_usage(err, "leave it to --vary",
						   "--%s is given, so --vary cannot switch it off",
						   opt->name);
		}
	}
	return 0;
}

static int plan_point(const struct points *points, const struct point *point, struct planned *p,
		      struct error *err)
{
	struct opt_seen seen = {};
	int rc;

	*p = (struct planned){.options = mem_zero(1, cmd_sweep.size)};
	rc = opt_parse(&cmd_sweep, point->argc, point->argv, p->options, &seen, err);
	if (rc > OPT_NEXT_RUN)
		rc = error_usage(err, NULL, "help and version cannot be used as values");
	if (!rc)
		rc = check_given(points, point, &seen, err);
	return rc ? rc : run_plan(p->options, &p->spec, err);
}

static void free_planned(struct planned *p)
{
	traffic_free(&p->spec);
	free(p->options);
}

static struct json_object *parameters(const struct points *points, const struct point *point)
{
	struct json_object *o = json_object_new_object();

	for (unsigned k = 0; k < points->columns; k++)
		json_put_text(o, points->column[k], point->text[k]);
	return o;
}

static void put_error(struct json_object *o, const struct error *err)
{
	if (err->status != STATUS_OK)
		json_put(o, "error", json_error(err));
}

static void show_trial(struct course *c, const struct point *point, const struct planned *p,
		       unsigned number, const struct error *err)
{
	struct json_object *o = json_object_new_object(), *trial;

	json_put(o, "parameters", parameters(c->points, point));
	json_put_u64(o, "trial", number);
	json_put_text(o, "tx", p->spec.tx->name);
	json_put_text(o, "rx", p->spec.rx->name);
	json_put_u64(o, "payload_bytes", p->spec.payload);
	put_error(o, err);
	trial = report_series_trial(c->report, o);
	if (c->report->recorded)
		trials_add(c->trials, &c->report->res, p->spec.payload);
	if (c->csv) {
		rows_csv_trial(&c->rows, trial, number);
		output_flush();
	}
	json_object_put(trial);
}

static void show_point(struct course *c, const struct point *point, const struct error *failed)
{
	struct json_object *o = json_add_object(c->summary), *which;

	which = parameters(c->points, point);
	json_put(o, "parameters", which);
	log_progress_clear();
	if (!c->report->out.json && !c->csv) {
		rows_point(&c->rows, which, c->trials,
			   failed->status != STATUS_OK ? failed->message : NULL);
		output_flush();
	}
	trials_put(o, c->trials);
	json_put_text(o, "stage", trials_stage(c->trials));
	put_error(o, failed);
}

/* Runs a point. Returns false if interrupted by a signal. */
static bool run_point(struct course *c, const struct point *point)
{
	const unsigned all = c->points->n * c->repeat;
	struct error failed = {};
	struct planned p;
	int rc = plan_point(c->points, point, &p, &failed);
	bool going = true;

	trials_clear(c->trials);
	for (unsigned t = 1; t <= c->repeat && !rc && going; t++) {
		const uint64_t took_ns = clock_now() - c->start_ns;
		struct error err = {};
		char title[96];

		/* estimated from earlier trials */
		snprintf(title, sizeof(title), "trial %u of %u%s", c->done + 1, all,
			 fmt_left(c->done, all, took_ns));
		report_next(c->report, p.options, title);
		report_trial(c->report, &p.spec, &err);
		going = !c->report->interrupted && !stdout_gone();
		if (!going && !c->report->recorded)
			break;
		c->done++;
		if (err.status != STATUS_OK) {
			c->failed++;
			failed = err;
		}
		show_trial(c, point, &p, t, &err);
	}
	if (c->trials->n || failed.status != STATUS_OK)
		show_point(c, point, &failed);
	free_planned(&p);
	return going;
}

/* Writes the start, including each parameter's successive values, and the table heading. */
static void put_start(struct course *c)
{
	const struct points *points = c->points;
	struct json_object *o =
		json_origin(program_argc, program_argv,
			    (c->report->out.json || c->report->out.ledger) ? env_read(NULL) : NULL);
	struct json_object *names = json_put_list(o, "parameters");
	struct json_object *values = json_put_object(o, "values");
	struct json_object *document = json_object_new_object();

	for (unsigned k = 0; k < points->columns; k++) {
		struct json_object *list = json_put_list(values, points->column[k]);

		for (unsigned i = 0; i < points->n; i++)
			json_object_array_add(list, json_text(points->at[i].text[k]));
		json_object_array_add(names, json_text(points->column[k]));
	}
	json_put_u64(o, "points", points->n);
	json_put_u64(o, "repeat", c->repeat);
	json_put(document, "start", json_object_get(o));
	report_series(c->report, o);
	if (!c->report->out.json)
		rows_open(&c->rows, stdout, c->csv, document);
	c->start = document;
}

static void run_all(struct course *c, struct error *err)
{
	const struct points *points = c->points;
	struct json_object *end = json_object_new_object();
	bool going = true;

	run_prepare(err);
	put_start(c);
	c->start_ns = clock_now();
	for (unsigned i = 0; i < points->n && going; i++)
		going = run_point(c, &points->at[i]);
	log_progress_clear();
	if (!going)
		log_info("interrupted after %u of %s%s", c->done,
			 fmt_many(points->n * c->repeat, "trial"),
			 c->report->recorded ? "; the last of them was cut short" : "");
	if (c->failed)
		error_set(err, STATUS_FAILED, -EIO, NULL, "%u of %s failed", c->failed,
			  fmt_many(c->done, "trial"));
	json_put_u64(end, "trials", c->done);
	json_put_u64(end, "failed", c->failed);
	json_put_bool(end, "interrupted", !going);
	json_put(end, "points", json_object_get(c->summary));
	report_series_end(c->report, end, err);
}

void series_run(const struct points *points, bool csv, struct report *report,
		const struct run_options *o, struct error *err)
{
	struct course c = {
		.points = points,
		.csv = csv,
		.repeat = o->repeat,
		.report = report,
		.trials = trials_new(o->repeat),
		.summary = json_object_new_array(),
	};
	uint64_t all_ns = 0;
	bool timed = true;
	int rc = 0;

	/* report invalid values before sending the first packet */
	for (unsigned i = 0; i < points->n && !rc; i++) {
		struct planned p;

		rc = plan_point(points, &points->at[i], &p, err);
		timed &= p.spec.duration_ns > 0;
		all_ns += p.spec.duration_ns * o->repeat;
		free_planned(&p);
	}
	if (!rc && !caps_require(&cmd_sweep, NULL, err)) {
		log_info("%s%s%s", fmt_many(points->n * o->repeat, "trial"),
			 timed ? ", which send for " : "", timed ? fmt_ns(all_ns) : "");
		run_all(&c, err);
	}
	report_next(report, o, "");
	free(c.trials);
	json_object_put(c.start);
	json_object_put(c.summary);
}
