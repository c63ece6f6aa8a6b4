/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clocks in ns: CLOCK_MONOTONIC, the clock of BPF programs, and CLOCK_REALTIME with its dates. */
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

/* Returns CLOCK_MONOTONIC, ns, to measure time intervals. */
static inline uint64_t clock_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Sleeps for `ns`, or until a signal arrives. */
void clock_sleep(uint64_t ns);

/*
 * Returns CLOCK_MONOTONIC of this process minus the kernel's, in ns. The kernel's clock is the
 * clock of BPF programs, bpf_ktime_get_ns(), which no time namespace shifts.
 *
 * The result is 0 outside of time namespaces (/proc/self/timens_offsets, time_namespaces(7)).
 */
int64_t ktime_offset(void);

/* Returns the current time of the kernel's clock, ns. */
uint64_t ktime_now(void);

/* Points in time as text, in the form users and ledgers write: ns of CLOCK_REALTIME. */

/*
 * Parses a date of RFC 3339: "2024-05-01T12:00:00.5Z", "2024-05-01 12:00+02:00". Seconds, their
 * fraction, the offset (then local time), or the whole time (then midnight) may be omitted. Returns
 * -EINVAL without writing for a malformed or non-existent date. Strict, like base/num.h.
 */
int when_date(const char *s, uint64_t *ns);

/*
 * Parses a moment of --since or --until: a date (when_date()), `now`, a time before now ("-2h"), or
 * a time of day ("03:12", "03:12:30"). A time of day is the last one not after `now_ns`, or the
 * first one from `after_ns` on if that is set. Returns -EINVAL or -ERANGE on error.
 */
int when_moment(const char *s, uint64_t now_ns, uint64_t after_ns, uint64_t *ns);

uint64_t when_now(void);

/*
 * Returns local time, "2024-05-01 12:00:00", kept like fmt_buffer(). Without `day` only the time.
 */
char *when_text(uint64_t ns, bool day);

#endif
