// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "cases.h"
#include "base/clock.h"
#include "recorded.h"

#define S    1000000000ULL
#define NOON 1714564800ULL /* 2024-05-01T12:00:00Z */

static void take_line(void *arg, const char *verb, char *text)
{
	char *word[2] = {""};
	uint64_t ns = 77;
	int rc;

	if (!strcmp(verb, "case"))
		return;
	assert_int_equal(recorded_words(text, word, 2), 1);
	rc = *verb == 'd' ? when_date(*word, &ns)
			  : when_moment(*word, NOON * S, *verb == 'a' ? NOON * S : 0, &ns);
	if (!rc) {
		tell("%llu.%09llu", ns / S, ns % S);
	} else {
		assert_true(rc == -EINVAL || rc == -ERANGE);
		assert_int_equal(ns, 77);
		tell("refused");
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/when", take_line, NULL);
}

CASE(texts)
{
	assert_string_equal(when_text(NOON * S, true), "2024-05-01 14:00:00");
	assert_string_equal(when_text(NOON * S + S - 1, false), "14:00:00");
}

int main(void)
{
	setenv("TZ", "XXX-2", 1);
	tzset();
	return run_cases(NULL, NULL);
}
