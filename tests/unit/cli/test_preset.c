// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "cli/options.h"
#include "cli/report.h"

#define SHIPPED "tools/presets"

CASE(test_lines)
{
	char *words[] = {"-t", "2", NULL};
	struct points points;
	struct error err = {};
	static const char *const first[] = {"run", "-c", "10", "--size", "64", "-t", "2"};

	assert_int_equal(preset_parse(&points, "test",
				      "A title\n\nProse of\ntwo lines.\n\nMore.\n\n"
				      "    run -c 10   --size 64    # first one\n\n"
				      "\trun #  no options \n",
				      2, words, &err),
			 0);
	assert_string_equal(points.title, "A title");
	assert_string_equal(points.about, "Prose of\ntwo lines.\n\nMore.");
	assert_int_equal(points.n, 2);
	assert_int_equal(points.columns, 1);
	assert_string_equal(points.column[0], "trial");
	assert_string_equal(points.at[0].text[0], "first one");
	assert_int_equal(points.at[0].argc, 7);
	for (int i = 0; i < 7; i++)
		assert_string_equal(points.at[0].argv[i], first[i]);
	assert_null(points.at[0].argv[7]);
	assert_int_equal(points.at[1].argc, 3);
	assert_string_equal(points.at[1].argv[0], "run");
	assert_string_equal(points.at[1].argv[1], "-t");
	assert_string_equal(points.at[1].text[0], "no options");
	points_free(&points);
}

CASE(test_bad_texts)
{
	static const char *const table[][2] = {
		{"", "line 1: the first line has to be a title"},
		{"\n    run # x\n", "line 1: the first line has to be a title"},
		{"    run # x\n", "line 1: the first line has to be a title"},
		{"Title\n\nprose\n", "there is no command"},
		{"Title\n\n    run -c 10\n", "line 3: a command needs a comment"},
		{"Title\n\n    run -c 10 # \n", "line 3: a command needs a comment"},
		{"Title\n\n    rm -rf x # x\n", "line 3: a command has to begin with run"},
		{"Title\n\n    runs # x\n", "line 3: a command has to begin with run"},
		{"Title\n\n     # x\n", "line 3: a command has to begin with run"},
		{"Title\n\n    run --lab 'a b' # x\n", "line 3: there are no quotes"},
		{"Title\n\n    run --lab a\\ b # x\n", "line 3: there are no quotes"},
		{"Title\n\n    run --preset x # x\n", "line 3: a preset cannot use another"},
		{"Title\n\n    run --preset=x # x\n", "line 3: a preset cannot use another"},
		{"Title\n\n    run # x\nprose\n", "line 4: text has to be before"},
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct points points;
		struct error err = {};

		if (!preset_parse(&points, "test", table[i][0], 0, NULL, &err))
			fail_msg("'%s' is taken", table[i][0]);
		assert_null(points.at);
		assert_int_equal(err.status, STATUS_FAILED);
		if (!strstr(err.message, table[i][1]))
			fail_msg("'%s': %s", table[i][0], err.message);
	}
}

CASE(test_too_much)
{
	char text[8192] = "Title\n\n";
	struct points points;
	struct error err = {};

	for (int i = 0; i < 65; i++)
		strcat(text, "    run # x\n");
	assert_int_not_equal(preset_parse(&points, "test", text, 0, NULL, &err), 0);
	assert_non_null(strstr(err.message, "more commands"));
	err = (struct error){};
	strcpy(text, "Title\n\n    run");
	for (int i = 0; i < 48; i++)
		strcat(text, " -v");
	strcat(text, " # x\n");
	assert_int_not_equal(preset_parse(&points, "test", text, 0, NULL, &err), 0);
	assert_non_null(strstr(err.message, "too many words"));
}

/* Each line of a preset is one that run takes. */
static unsigned check_shipped(const char *path)
{
	struct points points;
	struct error err = {};
	unsigned n;

	if (preset_open(&points, path, 0, NULL, &err))
		fail_msg("%s", err.message);
	assert_true(strlen(points.title) < 60 && *points.about);
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
