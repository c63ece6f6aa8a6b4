/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cmocka and the headers that it needs. CASE(name) { ... } registers a case of its program, without
 * a list of cases. A program needs main() only if something runs before its cases.
 */
#ifndef PKTLEDGER_TESTS_CASES_H
#define PKTLEDGER_TESTS_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Each case is given a state, which few of them use. `set_up` and `tear_down` may be NULL. */
#define CASE_WITH(name, set_up, tear_down)                                                         \
	static void name(void **state);                                                            \
	__attribute__((constructor)) static void add_##name(void)                                  \
	{                                                                                          \
		add_case(#name, name, set_up, tear_down);                                          \
	}                                                                                          \
	static void name(void **state)

#define CASE(name) CASE_WITH(name, NULL, NULL)

void add_case(const char *name, CMUnitTestFunction function, CMFixtureFunction set_up,
	      CMFixtureFunction tear_down);

/* All cases, in the order of the file, between these two, which may be NULL; main()'s result. */
int run_cases(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#endif
