// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "base/opt.h"
#include "cli/report.h"

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

static char *join(const struct opt_vary *v, bool words, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < v->n; i++)
		at += snprintf(buf + at, size - at, "%s%s", i ? " " : "",
			       words ? v->at[i].word : v->at[i].text);
	return buf;
}

CASE(test_values)
{
	static const struct {
		const char *text, *values;
	} table[] = {
		{"rate=100k", "100k"},
		{"rate=100k,max,1Gbit", "100k max 1Gbit"},
		{"rate=100k..500k/100k", "100k 200k 300k 400k 500k"},
		{"rate=100k..1m/300k", "100k 400k 700k 1M"},
		{"rate=100k..1M/400k", "100k 500k 900k"},
		{"rate=0.1..0.5/0.1", "0.1 0.2 0.3 0.4 0.5"},
		{"rate=1Gbit..4Gbit/x2", "1Gbit 2Gbit 4Gbit"},
		{"rate=1Gbit/l1..2Gbit/l1/500Mbit/l1", "1Gbit/l1 1500Mbit/l1 2Gbit/l1"},
		{"rate=10%..30%/10%", "10% 20% 30%"},
		{"rcvbuf=64k,256k,1m,4m", "64k 256k 1m 4m"},
		{"rcvbuf=64k..1m/x4", "64k 256k 1m"},
		{"rcvbuf=default,64k..128k/32k", "default 64k 96k 128k"},
		{"count=1k..3k/1k,10k", "1k 2k 3k 10k"},
		{"settle=100ms..300ms/100ms", "100ms 200ms 300ms"},
		{"threads=1..4/1", "1 2 3 4"},
		{"threads=1..10/x1.5", "1 2 3 5 8"},
		{"threads=7..7/1", "7"},
		{"length=64..1472/704", "64 768 1472"},
		{"length=best,1460", "best 1460"},
		{"length=1k..4k/x2", "1024 2048 4096"},
		{"profile=ramp:10k..500k/10s,onoff", "ramp:10k..500k/10s onoff"},
		{"profile=1000..1999", "1000..1999"},
		{"gro=on,off", "on off"},
		{"tx=socket,xsk", "socket xsk"},
		{"log=a..b", "a..b"},
		{0},
	};
	struct opt_vary v;
	struct error err = {};
	char buf[512];

	for (unsigned i = 0; table[i].text; i++) {
		if (opt_vary_parse(&cmd, table[i].text, &v, &err))
			fail_msg("%s: %s", table[i].text, err.message);
		assert_string_equal(join(&v, false, buf, sizeof(buf)), table[i].values);
	}
}

CASE(test_words)
{
	static const char *const table[][2] = {
		{"rate=100k..200k/100k", "--rate=100k --rate=200k"},
		{"rcvbuf=default,1m", " --rcvbuf=1m"},
		{"gro=off,on", " --gro"},
	};
	struct opt_vary v;
	struct error err = {};
	char buf[512];

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(opt_vary_parse(&cmd, table[i][0], &v, &err), 0);
		assert_string_equal(join(&v, true, buf, sizeof(buf)), table[i][1]);
	}
}

CASE(test_refused)
{
	static const char *const table[][2] = {
		{"rate", "is not OPTION=LIST"},
		{"=1", "is not OPTION=LIST"},
		{"", "is not OPTION=LIST"},
		{"rate=", "is empty"},
		{"rate=1k,", "is empty"},
		{"rate=,1k", "is empty"},
		{"rate=1k,,2k", "is empty"},
		{"rat=1k", "did you mean rate?"},
		{"rcbuf=1k", "did you mean rcvbuf?"},
		{"nonsense=1k", "unknown option"},
		{"rate=500k..100k/100k", "runs backwards"},
		{"threads=4..1/1", "runs backwards"},
		{"rate=100k..500k", "needs a step"},
		{"rate=100k..500k/0", "needs a step"},
		{"rate=100k..500k/10%", "needs a step"},
		{"threads=1..4", "needs a step"},
		{"threads=1..4/0", "needs a step"},
		{"threads=1..4/-1", "needs a step"},
		{"threads=1..4/x1", "needs a step above 0, or a factor"},
		{"threads=1..4/x0.5", "needs a step above 0, or a factor"},
		{"threads=1..4/xx", "needs a step above 0, or a factor"},
		{"threads=0..4/x2", "needs a step above 0, or a factor"},
		{"threads=..4/1", "not two values"},
		{"threads=a..4/1", "not two values"},
		{"rate=100k..1Gbit/100k", "two values of one unit"},
		{"rate=100k..max/100k", "two values of one unit"},
		{"threads=1..1000/1", "more than 256 values"},
		{"rate=1..100000/1", "more than 256 values"},
		{"threads=1,2,1", "given twice"},
		{"threads=1..4/1,3", "given twice"},
		{"gro=yes", "is not on or off"},
		{"gro=default", "is not on or off"},
		{"tx=0123456789012345678901234567890123456789012345678901234567890123456789",
		 "too long"},
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct opt_vary v;
		struct error err = {};

		if (!opt_vary_parse(&cmd, table[i][0], &v, &err))
			fail_msg("'%s' is taken", table[i][0]);
		assert_int_equal(err.status, STATUS_USAGE);
		if (!strstr(err.message, table[i][1]))
			fail_msg("'%s': %s", table[i][0], err.message);
	}
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
