// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/series.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "diagnosis/facts.h"
#include "host/caps.h"
#include "report/document.h"
#include "report/trials.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
}

/* Which value of each option point `i` has. */
static void place(const struct opt_vary *const *vary, unsigned n, unsigned i, unsigned *which)
{
	for (unsigned k = n; k-- > 0;) {
		which[k] = i % vary[k]->n;
		i /= vary[k]->n;
	}
}

static int fill(struct point *p, const struct opt_vary *const *vary, unsigned n,
		const unsigned *which, int argc, char **argv)
{
	p->argv = calloc((size_t)argc + n + 1, sizeof(*p->argv));
	if (!p->argv)
		return -ENOMEM;
	memcpy(p->argv, argv, (size_t)argc * sizeof(*argv));
	p->argc = argc;
	for (unsigned k = 0; k < n; k++) {
		const struct opt_vary_value *v = &vary[k]->at[which[k]];

		p->text[k] = v->text;
		if (*v->word)
			p->argv[p->argc++] = (char *)v->word; /* getopt leaves it as it is */
	}
	return 0;
}

int points_product(const struct opt_vary *const *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err)
{
	unsigned which[POINTS_COLUMNS] = {};
	uint64_t all = 1;

	*points = (struct points){.columns = n};
	for (unsigned k = 0; k < n; k++) {
		points->column[k] = vary[k]->ref.opt->name;
		all *= vary[k]->n;
		if (all > POINTS_MAX)
			return error_set(err, STATUS_USAGE, -E2BIG, "vary fewer values",
					 "more than %u combinations of values", POINTS_MAX);
	}
	points->at = calloc(all, sizeof(*points->at));
	if (!points->at)
		return out_of_memory(err);
	for (points->n = 0; points->n < all; points->n++) {
		place(vary, n, points->n, which);
		if (fill(&points->at[points->n], vary, n, which, argc, argv)) {
			points_free(points);
			return out_of_memory(err);
		}
	}
	return 0;
}

void points_free(struct points *points)
{
	for (unsigned i = 0; i < points->n; i++)
		free(points->at[i].argv);
	free(points->at);
	free(points->owned);
	*points = (struct points){};
}

#define SUFFIX	  ".txt"
#define LINES_MAX 64
#define WORDS_MAX 48
#define NAMES_MAX 64

struct preset_line {
	const char *label;
	char *word[WORDS_MAX]; /* the first one is `run` */
	int words;
};

struct preset {
	char name[64];
	char *text; /* all texts below are in it */
	const char *title;
	char *prose;
	unsigned n;
	struct preset_line line[LINES_MAX];
};

static int bad_line(struct error *err, const struct preset *p, unsigned line, const char *what)
{
	return error_set(err, STATUS_FAILED, -EINVAL, NULL, "preset %s, line %u: %s", p->name, line,
			 what);
}

/* Cuts at blanks, in place. */
static int split_words(struct preset_line *l, char *text)
{
	char *save = NULL;

	for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (l->words == WORDS_MAX)
			return -E2BIG;
		l->word[l->words++] = w;
	}
	return 0;
}

/* The remark behind ` # `, cut off and without blanks around it; NULL: there is none. */
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

static int add_line(struct preset *p, char *text, unsigned number, struct error *err)
{
	struct preset_line *l = &p->line[p->n];

	if (p->n == LINES_MAX)
		return bad_line(err, p, number, "more commands than a preset can have");
	l->label = cut_remark(text);
	if (!l->label)
		return bad_line(err, p, number, "a command needs a remark: # title of its row");
	if (strpbrk(text, "\"'\\"))
		return bad_line(err, p, number, "there are no quotes in presets");
	if (split_words(l, text))
		return bad_line(err, p, number, "too many words");
	if (!l->words || strcmp(l->word[0], "run"))
		return bad_line(err, p, number, "a command has to begin with run");
	for (int i = 1; i < l->words; i++) {
		if (!strncmp(l->word[i], "--preset", strlen("--preset")))
			return bad_line(err, p, number, "a preset cannot use another");
	}
	p->n++;
	return 0;
}

static bool is_command(const char *line)
{
	return *line == '\t' || !strncmp(line, "    ", 4);
}

static int parse_lines(struct preset *p, struct error *err)
{
	char *save = p->text, *line;
	unsigned number = 0;
	int rc = 0;

	while (!rc && (line = strsep(&save, "\n"))) {
		number++;
		if (number == 1)
			p->title = line;
		else if (is_command(line) && line[strspn(line, " \t")])
			rc = add_line(p, line, number, err);
		else if (p->n && *line)
			rc = bad_line(err, p, number, "prose has to stand before the commands");
	}
	if (!rc && (!p->title || !*p->title || is_command(p->title)))
		rc = bad_line(err, p, 1, "the first line has to be a title");
	if (!rc && !p->n)
		rc = bad_line(err, p, number, "there is no command");
	return rc;
}

/* What is between the title and the first command, without the empty lines around it. */
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
	return strndup(start, (size_t)(end - start));
}

int preset_parse(struct preset **out, const char *name, const char *text, struct error *err)
{
	struct preset *p = calloc(1, sizeof(*p));
	int rc;

	if (p) {
		snprintf(p->name, sizeof(p->name), "%s", name);
		p->text = strdup(text);
		p->prose = copy_prose(text);
	}
	if (!p || !p->text || !p->prose)
		rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	else
		rc = parse_lines(p, err);
	if (rc)
		preset_free(p);
	else
		*out = p;
	return rc;
}

void preset_free(struct preset *p)
{
	if (!p)
		return;
	free(p->text);
	free(p->prose);
	free(p);
}

const char *preset_title(const struct preset *p)
{
	return p->title;
}

const char *preset_prose(const struct preset *p)
{
	return p->prose;
}

int preset_points(const struct preset *p, int argc, char **argv, struct points *points,
		  struct error *err)
{
	*points = (struct points){.columns = 1, .column = {"trial"}};
	points->at = calloc(p->n, sizeof(*points->at));
	for (; points->at && points->n < p->n; points->n++) {
		const struct preset_line *l = &p->line[points->n];
		struct point *point = &points->at[points->n];

		point->argv = calloc((size_t)(l->words + argc) + 1, sizeof(char *));
		if (!point->argv)
			break;
		memcpy(point->argv, l->word, (size_t)l->words * sizeof(char *));
		for (int i = 0; i < argc; i++)
			point->argv[l->words + i] = argv[i];
		point->argc = l->words + argc;
		point->text[0] = l->label;
	}
	if (points->n == p->n)
		return 0;
	points_free(points);
	return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
}

/*
 * Where presets are, from the directory of the program: with the sources it was built from, or
 * where `make install` puts them, whatever PREFIX is. The last one if there is none.
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
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, size, "%s%s", program, places[i]);
		if (!access(path, R_OK))
			return;
	}
}

static int is_preset(const struct dirent *e)
{
	size_t len = strlen(e->d_name), suffix = strlen(SUFFIX);

	return len > suffix && !strcmp(e->d_name + len - suffix, SUFFIX);
}

static int list_files(const char *directory, struct dirent ***files, struct error *err)
{
	int n = scandir(directory, files, is_preset, alphasort);

	if (n < 0)
		return error_set(err, STATUS_FAILED, -errno, "run `make install`, or give a file",
				 "there are no presets in %s: %s", directory, strerror(errno));
	for (int i = 0; i < n; i++)
		(*files)[i]->d_name[strlen((*files)[i]->d_name) - strlen(SUFFIX)] = '\0';
	return n;
}

static void free_files(struct dirent **files, int n)
{
	for (int i = 0; i < n; i++)
		free(files[i]);
	free(files);
}

static int not_known(const char *directory, const char *name, struct error *err)
{
	const char *names[NAMES_MAX], *near;
	struct dirent **files = NULL;
	int n = list_files(directory, &files, err), known = 0;

	if (n < 0)
		return n;
	while (known < n && known < NAMES_MAX) {
		names[known] = files[known]->d_name;
		known++;
	}
	near = opt_nearest(name, names, (unsigned)known);
	error_set(err, STATUS_USAGE, -ENOENT, "--preset help lists them",
		  near ? "there is no preset '%.40s' (did you mean %s?)"
		       : "there is no preset '%.40s'",
		  name, near);
	free_files(files, n);
	return -ENOENT;
}

int preset_open(struct preset **p, const char *name, struct error *err)
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
		return not_known(directory, name, err);
	if (rc)
		return error_set(err, STATUS_USAGE, rc, NULL, "cannot read the preset '%.80s': %s",
				 name, strerror(-rc));
	rc = preset_parse(p, name, text, err);
	free(text);
	return rc;
}

/* Names and titles of all, sorted. */
static int preset_list(FILE *out, struct error *err)
{
	struct dirent **files = NULL;
	char directory[600];
	int n, rc = 0;

	find_directory(directory, sizeof(directory));
	n = list_files(directory, &files, err);
	for (int i = 0; i < n && !rc; i++) {
		struct preset *p;

		rc = preset_open(&p, files[i]->d_name, err);
		if (rc)
			break;
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): -errno is not 0 */
		fprintf(out, "  %-14s  %s\n", files[i]->d_name, preset_title(p));
		preset_free(p);
	}
	free_files(files, n > 0 ? n : 0);
	return n < 0 ? n : rc;
}

/* What a point's words mean. */
struct planned {
	void *options; /* of the command; begins with struct run_options */
	struct run_spec spec;
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
	return rc ? rc : run_plan(p->options, &p->spec, err);
}

static void free_planned(struct planned *p)
{
	traffic_free(&p->spec);
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
	if (c->s->title)
		rows_about(stdout, c->s->title, c->s->about);
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

/* All that each parameter is to be, in turn. */
static struct json_object *values(const struct points *points)
{
	struct json_object *o = json_object_new_object();

	for (unsigned k = 0; k < points->columns; k++) {
		struct json_object *list = json_object_new_array();

		for (unsigned i = 0; i < points->n; i++)
			json_object_array_add(list, json_text(points->at[i].text[k]));
		json_put(o, points->column[k], list);
	}
	return o;
}

static void put_start(const struct course *c)
{
	struct json_object *o = json_solo_origin(program_argc, program_argv, env_read(NULL));
	struct json_object *names = json_object_new_array();

	for (unsigned k = 0; k < c->s->points->columns; k++)
		json_object_array_add(names, json_text(c->s->points->column[k]));
	json_put(o, "parameters", names);
	json_put(o, "values", values(c->s->points));
	if (c->s->title) {
		struct json_object *preset = json_object_new_object();

		json_put_text(preset, "title", c->s->title);
		json_put_text(preset, "about", c->s->about);
		json_put(o, "preset", preset);
	}
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

/* What is of all trials together stands on the command line, not in a preset. */
static int check_line(const void *arg, const struct point *point, const void *options,
		      struct error *err)
{
	const struct run_options *all = arg, *line = options;

	if (line->repeat == all->repeat && line->ledger == all->ledger &&
	    !memcmp(&line->global, &all->global, sizeof(line->global)))
		return 0;
	return error_set(err, STATUS_FAILED, -EINVAL, NULL,
			 "the line of the preset for '%.80s' has options that are of all lines: "
			 "--repeat, --ledger or output",
			 point->text[0]);
}

int preset_run(const struct run_options *o, struct error *err)
{
	struct points points = {};
	struct series series = {.cmd = &cmd_run, .points = &points, .check = check_line, .arg = o};
	struct preset *p = NULL;
	struct report *report;

	if (!strcmp(o->preset, "help"))
		return preset_list(stdout, err) ? (int)err->status : STATUS_OK;
	report = report_new(o, SERIES_SCHEMA, err);
	if (!report)
		return err->status;
	if (!preset_open(&p, o->preset, err) &&
	    !preset_points(p, program_argc - 2, program_argv + 2, &points, err)) {
		series.title = preset_title(p);
		series.about = preset_prose(p);
		series_run(&series, report, o, err);
	}
	points_free(&points);
	preset_free(p);
	return report_finish(report, err);
}
