// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>

#include "cases.h"
#include "recorded.h"
#include "traffic/shape.h"

/* What is refused changes nothing. */
static void refused(const struct error *err, unsigned n)
{
	assert_int_equal(err->status, STATUS_USAGE);
	assert_int_equal(n, 99);
	tell("refused");
}

static void tell_imix(const char *text)
{
	struct imix m = {.n = 99};
	struct error err = {};

	if (imix_parse(text, &m, &err) < 0) {
		refused(&err, m.n);
		return;
	}
	for (unsigned i = 0; i < m.n; i++)
		tell("%u", m.frame[i]);
	if (m.simple)
		tell("simple");
}

static void tell_profile(const char *text)
{
	const struct shape_sizes sizes = {18, 18, 100};
	struct rate_plan plan = {.n = 99};
	struct error err = {};
	struct profile p;

	if (rate_plan_parse(text, &plan, &err) < 0) {
		refused(&err, plan.n);
		return;
	}
	if (rate_plan_profile(&plan, &sizes, -1, 0, &p)) /* without a rate of its own */
		assert_int_equal(rate_plan_profile(&plan, &sizes, -1, 5000, &p), 0);
	for (unsigned i = 0; i < p.parts; i++)
		tell("%g s %.6g-%.6g;", p.part[i].seconds, p.part[i].from, p.part[i].to);
	if (p.repeat)
		tell("repeated");
}

static void tell_addrs(const char *text)
{
	struct shape_addrs a;
	char first[INET6_ADDRSTRLEN];

	if (addrs_parse(text, &a) < 0)
		tell("refused");
	else
		tell("%s %" PRIu64, inet_ntop(a.family, a.first, first, sizeof(first)), a.n);
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct shape_ports p;
	char *word;

	if (!strcmp(verb, "case"))
		return;
	recorded_words(text, &word, 1);
	if (!strcmp(verb, "imix"))
		tell_imix(word);
	else if (!strcmp(verb, "profile"))
		tell_profile(word);
	else if (!strcmp(verb, "addrs"))
		tell_addrs(word);
	else if (!strcmp(verb, "ports") && ports_parse(word, &p) < 0)
		tell("refused");
	else if (!strcmp(verb, "ports"))
		tell("%u %u", p.first, p.n);
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/shapes", take_line, NULL);
}
