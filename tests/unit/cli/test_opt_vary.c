// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "base/opt.h"
#include "cli/report.h"
#include "recorded.h"

struct options {
	uint64_t count, bytes, wait, length;
	unsigned threads;
	struct rate rate;
	bool gro;
	int tx;
	const char *file;
};

static const struct opt_value engines[] = {{"socket", 0, NULL}, {"xsk", 1, NULL}, {0}};

static int parse_any(const char *value, void *field, struct error *err)
{
	(void)value;
	(void)field;
	(void)err;
	return 0;
}

#define AT(field) offsetof(struct options, field)

static const struct opt opts[] = {
	{"count", 'c', OPT_COUNT, AT(count), .help = "packets"},
	{"rcvbuf", 0, OPT_SIZE, AT(bytes), .help = "buffer"},
	{"settle", 0, OPT_TIME, AT(wait), .help = "wait"},
	{"length", 'l', OPT_CUSTOM, AT(length), .parse = parse_any, .help = "payload"},
	{"profile", 0, OPT_CUSTOM, AT(length), .parse = parse_any, .help = "shape"},
	{"threads", 'P', OPT_UINT, AT(threads), .help = "threads"},
	{"rate", 'r', OPT_RATE, AT(rate), .help = "how fast"},
	{"gro", 0, OPT_FLAG, AT(gro), .help = "merge"},
	{"tx", 0, OPT_ENUM, AT(tx), .values = engines, .help = "engine"},
	{"log", 0, OPT_STRING, AT(file), .help = "where"},
	{0},
};

static const struct opt_group groups[] = {{"All", opts, 0}, {0}};
static const struct command cmd = {
	.name = "test", .groups = groups, .size = sizeof(struct options)};

/* The values of an option as users see them, and as the words of the command line. */
static void take_line(void *arg, const char *verb, char *text)
{
	struct opt_vary v;
	struct error err = {};

	if (!strcmp(verb, "case"))
		return;
	if (opt_vary_parse(&cmd, text, &v, &err)) {
		assert_int_equal(err.status, STATUS_USAGE);
		tell("%s", err.message);
		return;
	}
	for (unsigned i = 0; i < v.n; i++)
		tell("%s", *verb == 'w' ? v.at[i].word : v.at[i].text);
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/vary", take_line, NULL);
}

/* The end of a range is reached without passing the largest number. */
CASE(test_no_overflow)
{
	volatile long double most = UINT64_MAX;
	struct opt_vary v;
	struct error err = {};

	if (most - 1 == most) /* as valgrind computes: it has 64 bits for a long double */
		skip();
	assert_int_equal(opt_vary_parse(&cmd, "count=18446744073709551614..18446744073709551615/1",
					&v, &err),
			 0);
	assert_int_equal(v.n, 2);
	assert_int_equal(opt_vary_parse(&cmd, "count=10G..18446744073709551615/x10", &v, &err), 0);
	assert_int_equal(v.n, 10);
}

CASE(test_product)
{
	static const char *const wanted[] = {"test -q --rcvbuf=1m --gro", "test -q --rcvbuf=1m",
					     "test -q --gro", "test -q"};
	static struct opt_vary vary[2];
	char *argv[] = {"test", "-q", NULL};
	struct points points;
	struct error err = {};

	assert_int_equal(opt_vary_parse(&cmd, "rcvbuf=1m,default", &vary[0], &err), 0);
	assert_int_equal(opt_vary_parse(&cmd, "gro=on,off", &vary[1], &err), 0);
	assert_int_equal(points_product(vary, 2, 2, argv, &points, &err), 0);
	assert_int_equal(points.n, 4);
	assert_int_equal(points.columns, 2);
	assert_string_equal(points.column[0], "rcvbuf");
	for (unsigned i = 0; i < 4; i++) {
		const struct point *p = &points.at[i];
		char line[128] = "";

		assert_null(p->argv[p->argc]);
		for (int w = 0; w < p->argc; w++) {
			strcat(line, w ? " " : "");
			strcat(line, p->argv[w]);
		}
		assert_string_equal(line, wanted[i]);
		assert_string_equal(p->text[0], i < 2 ? "1m" : "default");
		assert_string_equal(p->text[1], i % 2 ? "off" : "on");
	}
	points_free(&points);
	assert_int_equal(opt_vary_parse(&cmd, "threads=1..200/1", &vary[0], &err), 0);
	assert_int_equal(opt_vary_parse(&cmd, "count=1..200/1", &vary[1], &err), 0);
	assert_int_equal(points_product(vary, 2, 2, argv, &points, &err), -EINVAL);
}
