/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clocks in ns: CLOCK_MONOTONIC, the BPF programs' clock, and CLOCK_REALTIME with its dates. */
#ifndef PKTLEDGER_BASE_CLOCK_H
#define PKTLEDGER_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns CLOCK_MONOTONIC in ns, to measure intervals. */
static inline uint64_t clock_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Sleeps for `ns`, or until a signal arrives. */
void clock_sleep(uint64_t ns);

/*
 * Returns the difference between this process's CLOCK_MONOTONIC and the kernel's, in ns. The
 * kernel's clock is the one BPF programs read with bpf_ktime_get_ns(). Time namespaces do not shift
 * it.
 *
 * Outside of time namespaces the result is 0 (/proc/self/timens_offsets, time_namespaces(7)).
 */
int64_t ktime_offset(void);

/* Returns the current time on the kernel's clock in ns. */
uint64_t ktime_now(void);

/* Points in time (ns of CLOCK_REALTIME) as text, in the form that users and ledgers use. */

/*
 * Parses an RFC 3339 date, such as "2024-05-01T12:00:00.5Z" or "2024-05-01 12:00+02:00". The
 * following may be omitted: the seconds, their fraction, the offset (the time is then local), and
 * the whole time (midnight). Returns -EINVAL, without writing, for a malformed or non-existent
 * date. Strict, like base/num.h.
 */
int when_date(const char *s, uint64_t *ns);

/*
 * Parses the time given to --since or --until: a date (when_date()), `now`, a time before now
 * ("-2h"), or a time of day ("03:12", "03:12:30"). A time of day means its first occurrence from
 * `after_ns` on if that is set, otherwise its last occurrence up to `now_ns`. Returns -EINVAL or
 * -ERANGE on error.
 */
int when_moment(const char *s, uint64_t now_ns, uint64_t after_ns, uint64_t *ns);

uint64_t when_now(void);

/*
 * Returns local time as "2024-05-01 12:00:00", or only the time without `day`. The text stays valid
 * as described for fmt_buffer().
 */
char *when_text(uint64_t ns, bool day);

#endif
