/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clocks in ns: the monotonic one, that of BPF programs, and that of people with its dates. */
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

/* To measure time by: CLOCK_MONOTONIC. */
static inline uint64_t clock_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* For so long, or until a signal. */
void clock_sleep(uint64_t ns);

/*
 * The clock of BPF programs, bpf_ktime_get_ns(): no time namespace moves it.
 *
 * CLOCK_MONOTONIC of this process minus the kernel's, ns: not 0 in a time namespace only
 * (/proc/self/timens_offsets, time_namespaces(7)).
 */
int64_t ktime_offset(void);

/* Now, by the kernel's clock. */
uint64_t ktime_now(void);

/* Moments as people write them, and as ledgers do: ns of CLOCK_REALTIME. */

/*
 * RFC 3339: "2024-05-01T12:00:00.5Z", "2024-05-01 12:00+02:00". Seconds, their fraction, the offset
 * (then local time), or all of the time (then midnight) may be left out. -EINVAL: it is not one, or
 * no such day; nothing is written then. Strict, as all of base/num.h.
 */
int when_date(const char *s, uint64_t *ns);

/*
 * Any moment of --since and --until: when_date(), `now`, before now ("-2h"), or a time of day
 * ("03:12", "03:12:30"): the last one that is not after `now_ns`, or with `after_ns` the first one
 * from there on. -EINVAL, -ERANGE.
 */
int when_moment(const char *s, uint64_t now_ns, uint64_t after_ns, uint64_t *ns);

uint64_t when_now(void);

/* Local: "2024-05-01 12:00:00", as fmt_buffer() keeps it. !`day`: the time only. */
char *when_text(uint64_t ns, bool day);

#endif
