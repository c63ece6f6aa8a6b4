// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"
#include <errno.h>
#include <math.h>

#include "traffic/shape.h"

static unsigned count(const struct imix *m, unsigned frame)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += m->frame[i] == frame;
	return n;
}

CASE(test_imix)
{
	struct error err = {};
	struct imix m;

	assert_int_equal(imix_parse("simple", &m, &err), 0);
	assert_true(m.simple && m.n == 12);
	assert_true(count(&m, 64) == 7 && count(&m, 594) == 4 && count(&m, 1518) == 1);

	assert_int_equal(imix_parse("100:1,200:3", &m, &err), 0);
	assert_true(!m.simple && m.n == 4 && count(&m, 200) == 3);
	assert_int_equal(imix_parse("100,200,100:2", &m, &err), 0);
	assert_true(m.n == 4 && count(&m, 100) == 3);
}

/* Spread evenly: in half a cycle there is half of each. */
CASE(test_imix_is_spread)
{
	struct error err = {};
	struct imix m;
	unsigned first = 0;

	assert_int_equal(imix_parse("64:6,1000:4,1518:2", &m, &err), 0);
	for (unsigned i = 0; i < 6; i++)
		first += m.frame[i] == 64;
	assert_int_equal(first, 3);
}

CASE(test_imix_refuses)
{
	static const char *const bad[] = {
		"",	"simplex", "64:", ":7",	     "64:0",	"64:7,",	   ",64",
		"0:1",	"64:-1",   "aaa", "65536:1", "64:1025", "64:1000,65:1000", "64;7",
		"7 : 4"};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {};
		struct imix m = {.n = 99};

		assert_true(imix_parse(bad[i], &m, &err) < 0);
		assert_int_equal(err.status, STATUS_USAGE);
		assert_int_equal(m.n, 99);
	}
}

static const struct shape_sizes sizes = {18, 18, 100};

CASE(test_profiles)
{
	struct error err = {};
	struct rate_plan plan;
	struct profile p;

	assert_int_equal(rate_plan_parse("ramp:10k..1M/10s", &plan, &err), 0);
	assert_int_equal(rate_plan_profile(&plan, &sizes, -1, 0, &p), 0);
	assert_true(p.parts == 1 && !p.repeat && p.part[0].seconds == 10);
	assert_true(p.part[0].from == 10000 && p.part[0].to == 1000000);

	assert_int_equal(rate_plan_parse("ramp:0..1.6Mbit/l1/500ms", &plan, &err), 0);
	assert_int_equal(rate_plan_profile(&plan, &sizes, -1, 0, &p), 0);
	assert_true(p.part[0].from == 0 && p.part[0].seconds == 0.5);
	assert_true(fabs(p.part[0].to - 1.6e6 / 8 / 120) < 1e-6);

	assert_int_equal(rate_plan_parse("steps:10k,50k,8Mbit/2s", &plan, &err), 0);
	assert_int_equal(rate_plan_profile(&plan, &sizes, -1, 0, &p), 0);
	assert_int_equal(p.parts, 3);
	assert_true(p.part[1].from == 50000 && p.part[1].to == 50000 && p.part[1].seconds == 2);
	assert_true(fabs(p.part[2].to - 1e4) < 1e-6);

	assert_int_equal(rate_plan_parse("onoff:100ms/900ms", &plan, &err), 0);
	assert_int_equal(rate_plan_profile(&plan, &sizes, -1, 0, &p), -EINVAL);
	assert_int_equal(rate_plan_profile(&plan, &sizes, -1, 5000, &p), 0);
	assert_true(p.repeat && p.parts == 2 && p.part[0].from == 5000 && !p.part[1].to);
}

CASE(test_profiles_refused)
{
	static const char *const bad[] = {
		"ramp",		 "ramp:",	   "ramp:10k/10s",  "ramp:10k..1M", "ramp:10k..1M/",
		"ramp:10k..0/1", "ramp:1..max/1",  "ramp:1..2/0",   "steps:/1",	    "steps:1,/1",
		"steps:1,2",	 "steps:max/1",	   "onoff:1",	    "onoff:0/1",    "onoff:1/0",
		"onoff:1/1/1",	 "sine:1k..2k/1s", "ramp:-1..10/1", "ramp:1..2/1x"};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {};
		struct rate_plan plan = {.n = 99};

		assert_true(rate_plan_parse(bad[i], &plan, &err) < 0);
		assert_int_equal(err.status, STATUS_USAGE);
		assert_int_equal(plan.n, 99);
	}
}

CASE(test_ports)
{
	static const char *const bad[] = {"", "0", "65536", "5..4", "1..", "..2", "1-2", "1..2..3"};
	struct shape_ports p;

	assert_int_equal(ports_parse("9", &p), 0);
	assert_true(p.first == 9 && p.n == 1);
	assert_int_equal(ports_parse("1..65535", &p), 0);
	assert_true(p.first == 1 && p.n == 65535);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(ports_parse(bad[i], &p) < 0);
}

CASE(test_addresses)
{
	static const char *const bad[] = {"",
					  "1.2.3",
					  "1.2.3.4..",
					  "1.2.3.5..1.2.3.4",
					  "1.2.3.4/33",
					  "1.2.3.4..2001:2::1",
					  "2001:2::/64",
					  "1.2.3.4/",
					  "x/8",
					  "2001:2::1..2001:3::1"};
	struct shape_addrs a;

	assert_int_equal(addrs_parse("198.18.0.7", &a), 0);
	assert_true(a.family == AF_INET && a.n == 1 && a.first[3] == 7);
	assert_int_equal(addrs_parse("198.18.3.7/22", &a), 0);
	assert_true(a.n == 1024 && a.first[2] == 0 && a.first[3] == 0);
	assert_int_equal(addrs_parse("0.0.0.0/0", &a), 0);
	assert_true(a.n == 1ULL << 32);
	assert_int_equal(addrs_parse("2001:2::fffe..2001:2::1:1", &a), 0);
	assert_true(a.family == AF_INET6 && a.n == 4);
	assert_int_equal(addrs_parse("2001:2::/96", &a), 0);
	assert_true(a.n == 1ULL << 32);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(addrs_parse(bad[i], &a) < 0);
}
