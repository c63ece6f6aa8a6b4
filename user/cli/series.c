// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/report.h"

#include <errno.h>
#include <glob.h>
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

#define SUFFIX	  ".txt" /* suffix of presets */
#define LINES_MAX 64
#define WORDS_MAX 48

/* Adds a point. The caller fills its `text`. */
static struct point *add_point(struct points *points, char *const *words, int n, char *const *more,
			       int n_more)
{
	struct point *p = &points->at[points->n];

	p->argv = mem_zero((size_t)(n + n_more) + 1, sizeof(*p->argv));
	for (; p->argc < n + n_more; p->argc++)
		p->argv[p->argc] = p->argc < n ? words[p->argc] : more[p->argc - n];
	points->n++;
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
					   "more than %u combinations of values", POINTS_MAX);
	}
	points->at = mem_zero(all, sizeof(*points->at));
	while (points->n < all) {
		const char *text[POINTS_COLUMNS];
		char *word[POINTS_COLUMNS];
		unsigned rest = points->n;
		int words = 0;

		for (unsigned k = n; k-- > 0; rest /= vary[k].n) {
			const struct opt_vary_value *v = &vary[k].at[rest % vary[k].n];

			text[k] = v->text;
			word[k] = (char *)v->word; /* getopt does not modify it */
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
	free(points->about);
	*points = (struct points){};
}

struct parsing {
	struct points *points;
	const char *name;
	unsigned line;
	int argc;
	char **argv; /* the caller's own words */
	struct error *err;
};

static int bad_line(const struct parsing *p, const char *what)
{
	return error_set(p->err, STATUS_FAILED, -EINVAL, NULL, "preset %s, line %u: %s", p->name,
			 p->line, what);
}

/* Cuts off the remark after ` # ` and returns it without surrounding blanks, or NULL. */
static const char *cut_remark(char *text)
{
	char *remark = strstr(text, " # "), *end;

	if (!remark)
		return NULL;
	*remark = '\0';
	remark += 3;
	remark += strspn(remark, " \t");
	for (end = remark + strlen(remark); end > remark && strchr(" \t", end[-1]);)
		*--end = '\0';
	return *remark ? remark : NULL;
}

static int add_line(struct parsing *p, char *text)
{
	char *word[WORDS_MAX], *save = NULL;
	const char *remark;
	int words = 0;

	if (p->points->n == LINES_MAX)
		return bad_line(p, "more commands than a preset can have");
	remark = cut_remark(text);
	if (!remark)
		return bad_line(p, "a command needs a comment before it: # title of its row");
	if (strpbrk(text, "\"'\\"))
		return bad_line(p, "there are no quotes in presets");
	for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (words == WORDS_MAX)
			return bad_line(p, "too many words");
		if (words && !strncmp(w, "--preset", strlen("--preset")))
			return bad_line(p, "a preset cannot use another");
		word[words++] = w;
	}
	if (!words || strcmp(word[0], "run"))
		return bad_line(p, "a command has to begin with run");
	add_point(p->points, word, words, p->argv, p->argc)->text[0] = remark;
	return 0;
}

static bool is_command(const char *line)
{
	return *line == '\t' || !strncmp(line, "    ", 4);
}

static int parse_lines(struct parsing *p)
{
	struct points *points = p->points;
	char *save = points->words, *line;
	int rc = 0;

	points->title = strsep(&save, "\n");
	while (!rc && (line = strsep(&save, "\n"))) {
		p->line++;
		if (is_command(line) && line[strspn(line, " \t")])
			rc = add_line(p, line);
		else if (points->n && *line)
			rc = bad_line(p, "text has to be before the commands");
	}
	if (!rc && !points->n)
		rc = bad_line(p, "there is no command");
	return rc;
}

/* Copies the text between the title and the first command, without surrounding empty lines. */
static char *copy_prose(const char *text)
{
	const char *start = strchrnul(text, '\n'), *end;

	start += strspn(start, "\n");
	for (end = start; *end && !is_command(end);) {
		end = strchrnul(end, '\n');
		end += *end == '\n';
	}
	while (end > start && end[-1] == '\n')
		end--;
	return mem_print("%.*s", (int)(end - start), start);
}

int preset_parse(struct points *points, const char *name, const char *text, int argc, char **argv,
		 struct error *err)
{
	struct parsing p = {points, name, 1, argc, argv, err};
	int rc;

	*points = (struct points){
		.columns = 1,
		.column = {"trial"},
		.at = mem_zero(LINES_MAX, sizeof(*points->at)),
		.words = mem_string(text),
		.about = copy_prose(text),
	};
	if (!*text || *text == '\n' || is_command(text))
		rc = bad_line(&p, "the first line has to be a title");
	else
		rc = parse_lines(&p);
	if (rc)
		points_free(points);
	return rc;
}

/*
 * Finds the directory of presets, relative to the program: in the sources of its build, or where
 * `make install` puts presets, for any PREFIX. The last candidate if not found.
 */
static void find_directory(char *path, size_t size)
{
	static const char *const places[] = {"/../tools/presets", "/../share/pktledger/presets"};
	char program[512];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	program[n > 0 ? n : 0] = '\0';
	slash = strrchr(program, '/');
	if (slash)
		*slash = '\0';
	for (unsigned i = 0; i < LENGTH(places); i++) {
		snprintf(path, size, "%s%s", program, places[i]);
		if (!access(path, R_OK))
			return;
	}
}

/*
 * Lists the names of all presets, sorted, instead of their paths. Requires globfree() if the result
 * is 0.
 */
static int list_names(glob_t *files, struct error *err)
{
	char directory[600], pattern[610];

	find_directory(directory, sizeof(directory));
	snprintf(pattern, sizeof(pattern), "%s/*" SUFFIX, directory);
	if (glob(pattern, 0, NULL, files))
		return error_set(err, STATUS_FAILED, -ENOENT, "run `make install`, or give a file",
				 "there are no presets in %s: %s", directory, strerror(ENOENT));
	for (size_t i = 0; i < files->gl_pathc; i++) {
		char *path = files->gl_pathv[i], *name = strrchr(path, '/') + 1;

		name[strlen(name) - strlen(SUFFIX)] = '\0';
		memmove(path, name, strlen(name) + 1);
	}
	return 0;
}

static int not_known(const char *name, struct error *err)
{
	const char *near;
	glob_t files;
	int rc = list_names(&files, err);

	if (rc)
		return rc;
	near = opt_nearest(name, (const char *const *)files.gl_pathv, (unsigned)files.gl_pathc);
	error_usage(err, "--preset help lists them",
		    near ? "there is no preset '%.40s' (did you mean %s?)"
			 : "there is no preset '%.40s'",
		    name, near);
	globfree(&files);
	return -ENOENT;
}

int preset_open(struct points *points, const char *name, int argc, char **argv, struct error *err)
{
	char directory[600], path[700], *text;
	int rc;

	find_directory(directory, sizeof(directory));
	if (strchr(name, '/'))
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%.60s" SUFFIX, directory, name);
	rc = file_read(path, &text, NULL);
	if (rc == -ENOENT && !strchr(name, '/'))
		return not_known(name, err);
	if (rc)
		return error_usage(err, NULL, "cannot read the preset '%.80s': %s", name,
				   strerror(-rc));
	rc = preset_parse(points, name, text, argc, argv, err);
	free(text);
	return rc;
}

static int preset_list(FILE *out, struct error *err)
{
	struct points points;
	glob_t files;
	int rc = list_names(&files, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < files.gl_pathc && !rc; i++) {
		rc = preset_open(&points, files.gl_pathv[i], 0, NULL, err);
		if (rc)
			break;
		fprintf(out, "  %-14s  %s\n", files.gl_pathv[i], points.title);
		points_free(&points);
	}
	globfree(&files);
	return rc;
}

struct planned {
	void *options; /* options of the command, beginning with struct run_options */
	struct run_spec spec;
};

struct course {
	const struct series *s;
	unsigned repeat;
	struct report *report;
	struct rows rows;
	struct trials *trials;		     /* trials of one point */
	struct json_object *start, *summary; /* start: with the rows, summary: of all points */
	unsigned done, failed;		     /* number of trials */
	uint64_t start_ns;
};

static int plan_point(const struct series *s, const struct point *point, struct planned *p,
		      struct error *err)
{
	struct opt_seen seen;
	int rc;

	*p = (struct planned){.options = mem_zero(1, s->cmd->size)};
	rc = opt_parse(s->cmd, point->argc, point->argv, p->options, &seen, err);
	if (rc > OPT_NEXT_RUN)
		rc = error_usage(err, NULL, "help and version are no values to run with");
	if (!rc && s->check)
		rc = s->check(s->arg, point, p->options, err);
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

	json_put(o, "parameters", parameters(c->s->points, point));
	json_put_u64(o, "trial", number);
	json_put_text(o, "tx", p->spec.tx->name);
	json_put_text(o, "rx", p->spec.rx->name);
	json_put_u64(o, "payload_bytes", p->spec.payload);
	put_error(o, err);
	trial = report_series_trial(c->report, o);
	if (c->report->recorded)
		trials_add(c->trials, trial, p->spec.payload);
	if (c->s->csv) {
		rows_csv_trial(&c->rows, trial, number);
		output_flush();
	}
	json_object_put(trial);
}

static void show_point(struct course *c, const struct point *point, const struct error *failed)
{
	struct json_object *o = json_add_object(c->summary), *which;

	which = parameters(c->s->points, point);
	json_put(o, "parameters", which);
	log_progress_clear();
	if (!c->report->out.json && !c->s->csv) {
		rows_point(&c->rows, which, c->trials,
			   failed->status != STATUS_OK ? failed->message : NULL);
		output_flush();
	}
	trials_put(o, c->trials);
	json_put_text(o, "stage", trials_stage(c->trials));
	put_error(o, failed);
}

/* Runs a point. Returns false if a signal interrupted it. */
static bool run_point(struct course *c, const struct point *point)
{
	const unsigned all = c->s->points->n * c->repeat;
	struct error failed = {};
	struct planned p;
	int rc = plan_point(c->s, point, &p, &failed);
	bool going = true;

	trials_clear(c->trials);
	for (unsigned t = 1; t <= c->repeat && !rc && going; t++) {
		const uint64_t took_ns = clock_now() - c->start_ns;
		struct error err = {};
		char title[96];

		/* estimate from the trials before */
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

/* Writes the start, with the successive values of each parameter, and the heading of the table. */
static void put_start(struct course *c)
{
	const struct points *points = c->s->points;
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
	if (points->title) {
		struct json_object *preset = json_put_object(o, "preset");

		json_put_text(preset, "title", points->title);
		json_put_text(preset, "about", points->about);
	}
	json_put_u64(o, "points", points->n);
	json_put_u64(o, "repeat", c->repeat);
	json_put(document, "start", json_object_get(o));
	report_series(c->report, o);
	if (!c->report->out.json)
		rows_open(&c->rows, stdout, c->s->csv, document);
	c->start = document;
}

static void run_all(struct course *c, struct error *err)
{
	const struct points *points = c->s->points;
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

void series_run(const struct series *s, struct report *report, const struct run_options *o,
		struct error *err)
{
	struct course c = {
		.s = s,
		.repeat = o->repeat,
		.report = report,
		.trials = trials_new(o->repeat),
		.summary = json_object_new_array(),
	};
	uint64_t all_ns = 0;
	bool timed = true;
	int rc = 0;

	/* an invalid value is reported before the first packet */
	for (unsigned i = 0; i < s->points->n && !rc; i++) {
		struct planned p;

		rc = plan_point(s, &s->points->at[i], &p, err);
		timed &= p.spec.duration_ns > 0;
		all_ns += p.spec.duration_ns * o->repeat;
		free_planned(&p);
	}
	if (!rc && !caps_require(s->cmd, NULL, err)) {
		log_info("%s%s%s", fmt_many(s->points->n * o->repeat, "trial"),
			 timed ? ", which send for " : "", timed ? fmt_ns(all_ns) : "");
		run_all(&c, err);
	}
	report_next(report, o, "");
	free(c.trials);
	json_object_put(c.start);
	json_object_put(c.summary);
}

/* Refuses options that apply to all trials: they belong on the command line, not in a preset. */
static int check_line(const void *arg, const struct point *point, const void *options,
		      struct error *err)
{
	const struct run_options *all = arg, *line = options;

	if (line->repeat == all->repeat && line->ledger == all->ledger &&
	    !memcmp(&line->global, &all->global, sizeof(line->global)))
		return 0;
	return error_set(err, STATUS_FAILED, -EINVAL, NULL,
			 "the line of the preset for '%.80s' has options that are for all lines: "
			 "--repeat, --ledger or output",
			 point->text[0]);
}

int preset_run(const struct run_options *o, struct error *err)
{
	struct points points = {};
	const struct series series = {
		.cmd = &cmd_run, .points = &points, .check = check_line, .arg = o};
	struct report *report;

	if (!strcmp(o->preset, "help"))
		return preset_list(stdout, err);
	report = report_new(o, SERIES_SCHEMA, err);
	if (!report)
		return -EIO;
	if (!preset_open(&points, o->preset, program_argc - 2, program_argv + 2, err))
		series_run(&series, report, o, err);
	points_free(&points);
	return report_finish(report, err);
}
