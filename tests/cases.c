// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#define CASES_MAX 64

static struct CMUnitTest cases[CASES_MAX];
static size_t n_cases;

void add_case(const char *name, CMUnitTestFunction function, CMFixtureFunction set_up,
	      CMFixtureFunction tear_down)
{
	if (n_cases == CASES_MAX)
		abort();
	cases[n_cases++] = (struct CMUnitTest){name, function, set_up, tear_down, NULL};
}

int run_cases(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	const char *pattern = getenv("PKTLEDGER_TEST_CASE"); /* NULL: all */
	size_t unlike = 0;

	while (pattern && unlike < n_cases && fnmatch(pattern, cases[unlike].name, 0))
		unlike++;
	if (unlike == n_cases) {
		fprintf(stderr, "# no case matches '%s'\n", pattern);
		return 2;
	}
	cmocka_set_test_filter(pattern);
	return _cmocka_run_group_tests("cases", cases, n_cases, set_up, tear_down);
}

__attribute__((weak)) int main(void)
{
	return run_cases(NULL, NULL);
}
