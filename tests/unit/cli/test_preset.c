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

	assert_int_equal(preset_parse(&points,
				      "A title\n\nProse of\ntwo lines.\n    \n"
				      "    run -c 10   --size 64    # first one\n\nMore.\n"
				      "\trun # no options",
				      2, words, &err),
			 0);
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
		{"", "no commands"},
		{"Title\n\nprose\n", "no commands"},
		{"Title\n\n    run -c 10\n", "command 1 of the preset"},
		{"Title\n\n    run # x\n    rm -rf x # x\n", "command 2 of the preset"},
		{"Title\n\n    runs # x\n", "command 1 of the preset"},
		{"Title\n\n     # x\n", "command 1 of the preset"},
	};
	char text[8192] = "Title\n\n    run";
	struct points points;
	struct error err = {};

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		err = (struct error){};
		if (!preset_parse(&points, table[i][0], 0, NULL, &err))
			fail_msg("'%s' is taken", table[i][0]);
		assert_null(points.at);
		assert_int_equal(err.status, STATUS_FAILED);
		if (!strstr(err.message, table[i][1]))
			fail_msg("'%s': %s", table[i][0], err.message);
	}
	for (int i = 0; i < 48; i++)
		strcat(text, " -v");
	strcat(text, " # x\n");
	assert_int_not_equal(preset_parse(&points, text, 0, NULL, &err), 0);
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
