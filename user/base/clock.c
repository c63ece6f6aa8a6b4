// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/num.h"

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

/* Exactly n digits at *s, at most `max`; moves *s behind them. */
static bool read_digits(const char **s, unsigned n, int max, int *value)
{
	*value = 0;
	for (; n; n--, ++*s) {
		if (!is_digit(**s))
			return false;
		*value = *value * 10 + (**s - '0');
	}
	return *value <= max;
}

static bool read_char(const char **s, const char *any)
{
	if (!**s || !strchr(any, **s))
		return false;
	++*s;
	return true;
}

/* .5 and the like; digits beyond ns are left out. */
static bool read_fraction(const char **s, uint64_t *ns)
{
	uint64_t digit = SECOND / 10;

	*ns = 0;
	if (!read_char(s, "."))
		return true;
	if (!is_digit(**s))
		return false;
	for (; is_digit(**s); ++*s, digit /= 10)
		*ns += digit * (uint64_t)(**s - '0');
	return true;
}

/* HH:MM[:SS[.F]] */
static bool read_clock(const char **s, struct tm *tm, uint64_t *ns)
{
	*ns = 0;
	if (!read_digits(s, 2, 23, &tm->tm_hour) || !read_char(s, ":") ||
	    !read_digits(s, 2, 59, &tm->tm_min))
		return false;
	if (!read_char(s, ":"))
		return true;
	return read_digits(s, 2, 60, &tm->tm_sec) && read_fraction(s, ns);
}

/* Z or +HH:MM: seconds east of Greenwich; none: `local`. */
static bool read_offset(const char **s, bool *local, long *east)
{
	const char *sign = *s;
	int hours, minutes;

	*east = 0;
	*local = false;
	if (!**s) {
		*local = true;
		return true;
	}
	if (read_char(s, "Zz"))
		return true;
	if (!read_char(s, "+-") || !read_digits(s, 2, 23, &hours) || !read_char(s, ":") ||
	    !read_digits(s, 2, 59, &minutes))
		return false;
	*east = (hours * 60L + minutes) * (*sign == '-' ? -60 : 60);
	return true;
}

int when_date(const char *s, uint64_t *ns)
{
	struct tm tm = {}, day;
	uint64_t fraction = 0;
	bool local = true;
	time_t seconds;
	long east = 0;

	if (!read_digits(&s, 4, 9999, &tm.tm_year) || !read_char(&s, "-") ||
	    !read_digits(&s, 2, 12, &tm.tm_mon) || !read_char(&s, "-") ||
	    !read_digits(&s, 2, 31, &tm.tm_mday))
		return -EINVAL;
	if (*s && (!read_char(&s, "Tt ") || !read_clock(&s, &tm, &fraction) ||
		   !read_offset(&s, &local, &east)))
		return -EINVAL;
	if (*s || tm.tm_year < 1970 || tm.tm_mon < 1)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	tm.tm_isdst = -1;
	day = tm;
	seconds = local ? mktime(&tm) : timegm(&tm);
	/* there is no such day, or it is before 1970 */
	if (seconds < 0 || tm.tm_mday != day.tm_mday || tm.tm_mon != day.tm_mon || seconds < east)
		return -EINVAL;
	*ns = (uint64_t)(seconds - east) * SECOND + fraction;
	return 0;
}

/* That time of the local day which is `days` after that of `at_ns`. */
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

char *when_text(char *buf, size_t size, uint64_t ns, bool day)
{
	time_t seconds = (time_t)(ns / SECOND);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(buf, size, day ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &tm);
	return buf;
}
