// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/num.h"

void clock_sleep(uint64_t ns)
{
	const struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	nanosleep(&ts, NULL);
}

static int64_t offset;

static void read_timens(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	long long seconds;
	long ns;

	if (f && fscanf(f, "monotonic %lld %ld", &seconds, &ns) == 2)
		offset = (int64_t)seconds * 1000000000 + ns;
	if (f)
		fclose(f);
}

int64_t ktime_offset(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_timens);
	return offset;
}

uint64_t ktime_now(void)
{
	return clock_now() - (uint64_t)ktime_offset();
}

#define SECOND 1000000000ULL

/*
 * Reads numbers and literal characters according to `form`, in which each 9 is a digit. Advances
 * *s.
 */
static bool read_form(const char **s, const char *form, int *numbers)
{
	const char *p = *s;

	for (; *form; form++, p++) {
		if (*form == '9' ? !is_digit(*p) : *p != *form)
			return false;
		if (*form == '9')
			*numbers = *numbers * 10 + (*p - '0');
		else
			numbers++;
	}
	*s = p;
	return true;
}

/* Reads HH:MM[:SS[.F]]. Digits below 1 ns are ignored. */
static bool read_clock(const char **s, struct tm *tm, uint64_t *ns)
{
	uint64_t digit = SECOND / 10;
	int at[3] = {};
	bool seconds;

	*ns = 0;
	if (!read_form(s, "99:99", at))
		return false;
	seconds = **s == ':';
	if (seconds && !read_form(s, ":99", at + 1))
		return false;
	if (seconds && **s == '.' && is_digit((*s)[1])) {
		for (++*s; is_digit(**s); ++*s, digit /= 10)
			*ns += digit * (uint64_t)(**s - '0');
	}
	tm->tm_hour = at[0];
	tm->tm_min = at[1];
	tm->tm_sec = at[2];
	return at[0] <= 23 && at[1] <= 59 && at[2] <= 60;
}

/* Reads Z or +HH:MM, in seconds east of Greenwich. */
static bool read_offset(const char *s, long *east)
{
	int at[3] = {}; /* the first entry precedes the sign */

	if (!strcmp(s, "Z") || !strcmp(s, "z"))
		return true;
	*east = *s == '-' ? -60 : 60;
	if (!read_form(&s, *s == '-' ? "-99:99" : "+99:99", at))
		return false;
	*east *= at[1] * 60L + at[2];
	return !*s && at[1] <= 23 && at[2] <= 59;
}

int when_date(const char *s, uint64_t *ns)
{
	struct tm tm = {.tm_isdst = -1}, day;
	uint64_t fraction = 0;
	int date[3] = {};
	time_t seconds;
	long east = 0;

	if (!read_form(&s, "9999-99-99", date) || date[0] < 1970)
		return -EINVAL;
	if (*s && (!strchr("Tt ", *s++) || !read_clock(&s, &tm, &fraction) ||
		   (*s && !read_offset(s, &east))))
		return -EINVAL;
	tm.tm_year = date[0] - 1900;
	tm.tm_mon = date[1] - 1;
	tm.tm_mday = date[2];
	day = tm;
	seconds = !*s ? mktime(&tm) : timegm(&tm);
	/* this day does not exist or is before 1970 */
	if (seconds < 0 || tm.tm_mday != day.tm_mday || tm.tm_mon != day.tm_mon || seconds < east)
		return -EINVAL;
	*ns = (uint64_t)(seconds - east) * SECOND + fraction;
	return 0;
}

/* Returns this time of day on the local day `days` after the day of `at_ns`. */
static uint64_t on_day(uint64_t at_ns, int days, const struct tm *clock, uint64_t fraction)
{
	time_t at = (time_t)(at_ns / SECOND);
	struct tm tm = *clock, day;

	localtime_r(&at, &day);
	tm.tm_year = day.tm_year;
	tm.tm_mon = day.tm_mon;
	tm.tm_mday = day.tm_mday + days;
	tm.tm_isdst = -1;
	return (uint64_t)mktime(&tm) * SECOND + fraction;
}

int when_moment(const char *s, uint64_t now_ns, uint64_t after_ns, uint64_t *ns)
{
	struct tm clock = {};
	const char *p = s;
	uint64_t ago, fraction, found;
	int rc;

	if (!strcmp(s, "now")) {
		*ns = now_ns;
		return 0;
	}
	if (*s == '-') {
		rc = num_time(s + 1, &ago);
		if (!rc && ago > now_ns)
			rc = -ERANGE;
		if (!rc)
			*ns = now_ns - ago;
		return rc;
	}
	if (!read_clock(&p, &clock, &fraction) || *p)
		return when_date(s, ns);
	found = on_day(after_ns ? after_ns : now_ns, 0, &clock, fraction);
	if (after_ns && found < after_ns)
		found = on_day(after_ns, 1, &clock, fraction);
	else if (!after_ns && found > now_ns)
		found = on_day(now_ns, -1, &clock, fraction);
	*ns = found;
	return 0;
}

uint64_t when_now(void)
{
	return clock_ns(CLOCK_REALTIME);
}

char *when_text(uint64_t ns, bool day)
{
	char *text = fmt_buffer();
	time_t seconds = (time_t)(ns / SECOND);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, FMT_MAX, day ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &tm);
	return text;
}
