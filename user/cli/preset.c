// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/preset.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/opt.h"

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

int preset_list(FILE *out, struct error *err)
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
