// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "cli/options.h"
#include "cli/report.h"
#include "recorded.h"

#define SHIPPED "tools/presets"

/* The commands of a preset, each with its column, or why it is refused. */
static void take_line(void *arg, const char *verb, char *text)
{
	char *words[] = {"-t", "2", NULL}, *word[1];
	struct points points;
	struct error err = {};

	if (!strcmp(verb, "case"))
		return;
	recorded_words(text, word, LENGTH(word));
	if (preset_parse(&points, word[0], *verb == 'w' ? 2 : 0, words, &err)) {
		assert_null(points.at);
		assert_int_equal(err.status, STATUS_FAILED);
		tell("%s", err.message);
		return;
	}
	assert_int_equal(points.columns, 1);
	tell("%s:", points.column[0]);
	for (unsigned i = 0; i < points.n; i++) {
		const struct point *p = &points.at[i];

		assert_null(p->argv[p->argc]);
		tell("'%s'", p->text[0]);
		for (int w = 0; w < p->argc; w++)
			tell("%s", p->argv[w]);
		tell(";");
	}
	points_free(&points);
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/presets", take_line, NULL);
}

/* Each line of a preset is one that run takes. */
static unsigned check_shipped(const char *path)
{
	struct points points;
	struct error err = {};
	unsigned n;

	if (preset_open(&points, path, 0, NULL, &err))
		fail_msg("%s", err.message);
	assert_true(points.n);
	for (unsigned i = 0; i < points.n; i++) {
		struct opt_seen seen;
		struct run_options o;
		struct run_spec spec;

		if (opt_parse(&cmd_run, points.at[i].argc, points.at[i].argv, &o, &seen, &err) ||
		    run_plan(&o, &spec, &err))
			fail_msg("%s: %s: %s", path, points.at[i].text[0], err.message);
		traffic_free(&spec);
	}
	n = points.n;
	points_free(&points);
	return n;
}

CASE(test_shipped)
{
	DIR *dir = opendir(SHIPPED);
	unsigned files = 0, lines = 0;
	struct dirent *e;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		char path[300];

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), SHIPPED "/%s", e->d_name);
		lines += check_shipped(path);
		files++;
	}
	closedir(dir);
	assert_true(files >= 8 && lines >= 40);
}
