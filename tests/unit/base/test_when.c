// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "cases.h"
#include "base/clock.h"

#define S    1000000000ULL
#define NOON 1714564800ULL /* 2024-05-01T12:00:00Z */

CASE(dates)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{"2024-05-01T12:00:00Z", NOON * S},
		{"2024-05-01T12:00:00.000001Z", NOON * S + 1000},
		{"2024-05-01t12:00:00.123456789123z", NOON * S + 123456789},
		{"2024-05-01 12:00:00Z", NOON * S},
		{"2024-05-01T12:00Z", NOON * S},
		{"2024-05-01T14:00:00+02:00", NOON * S},
		{"2024-05-01T06:30:00-05:30", NOON * S},
		{"2024-05-01T14:00:00", NOON * S}, /* TZ is 2 hours east */
		{"2024-05-01", (NOON - 14 * 3600) * S},
		{"2024-02-29T00:00:00Z", 1709164800 * S},
		{"1970-01-01T00:00:00Z", 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 1;

		if (when_date(rows[i].text, &ns) || ns != rows[i].ns)
			fail_msg("%s: %llu", rows[i].text, (unsigned long long)ns);
	}
}

CASE(no_dates)
{
	static const char *const rows[] = {
		"",
		"now",
		"2024",
		"2024-05",
		"24-05-01",
		"2024-13-01",
		"2024-00-10",
		"2024-02-30",
		"2023-02-29",
		"2024-05-00",
		"2024-5-1",
		"2024-05-01T",
		"2024-05-01T12",
		"2024-05-01T24:00:00Z",
		"2024-05-01T12:60:00Z",
		"2024-05-01T12:00:00.Z",
		"2024-05-01T12:00:00Zz",
		"2024-05-01T12:00:00+2",
		"2024-05-01T12:00:00+02",
		"2024-05-01x12:00:00Z",
		" 2024-05-01",
		"2024-05-01 ",
		"1969-12-31T23:59:59Z",
		"1970-01-01T00:00:00+01:00",
		"12024-05-01",
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 77;

		if (when_date(rows[i], &ns) != -EINVAL || ns != 77)
			fail_msg("'%s' passes", rows[i]);
	}
}

/* It is 14:00 here. */
CASE(moments)
{
	static const struct {
		const char *text;
		uint64_t after, expected; /* s */
	} rows[] = {
		{"now", 0, NOON},
		{"-2h", 0, NOON - 7200},
		{"-0.5h", 0, NOON - 1800},
		{"14:00", 0, NOON},
		{"03:12", 0, NOON - 10 * 3600 - 48 * 60},
		{"03:12:30", 0, NOON - 10 * 3600 - 48 * 60 + 30},
		{"14:01", 0, NOON - 86400 + 60},      /* yesterday */
		{"15:00", NOON, NOON + 3600},	      /* after --since */
		{"13:00", NOON, NOON + 86400 - 3600}, /* the next day */
		{"14:00", NOON, NOON},
		{"2024-04-30T12:00:00Z", 0, NOON - 86400},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 1;
		int rc = when_moment(rows[i].text, NOON * S, rows[i].after * S, &ns);

		if (rc || ns != rows[i].expected * S)
			fail_msg("%s: %d, %llu", rows[i].text, rc, (unsigned long long)(ns / S));
	}
}

CASE(no_moments)
{
	static const char *const rows[] = {"",	       "-",    "--2h",	 "-2x",	  "2h",
					   "+2h",      "3:12", "03:1",	 "24:00", "03:60",
					   "03:12:61", "0312", "03:12Z", "today", "-99999999999d"};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 77;

		if (!when_moment(rows[i], NOON * S, 0, &ns) || ns != 77)
			fail_msg("'%s' passes", rows[i]);
	}
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
