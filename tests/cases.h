/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmocka with what it wants included before it, and cases that need no list: CASE(name) { ... } is
 * one, which is given a `state` that few of them use; the linker puts the pointers to all into a
 * section of their own, in the order of the source. */
#ifndef PKTLEDGER_TESTS_CASES_H
#define PKTLEDGER_TESTS_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define CASE_WITH(name, setup, teardown)                                                           \
	static void name(void **state);                                                            \
	static const struct CMUnitTest *const name##_case                                          \
		__attribute__((section("cases"), used)) =                                          \
			&(const struct CMUnitTest){#name, name, setup, teardown, NULL};            \
	static void name(void **state)

#define CASE(name) CASE_WITH(name, NULL, NULL)

static inline int run_cases(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	extern const struct CMUnitTest *const __start_cases[], *const __stop_cases[];
	size_t count = (size_t)(__stop_cases - __start_cases);
	struct CMUnitTest tests[count];

	for (size_t i = 0; i < count; i++)
		tests[i] = *__start_cases[i];
	return cmocka_run_group_tests(tests, setup, teardown);
}

#endif
