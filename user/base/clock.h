/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clocks in ns. That of BPF programs is base/ktime.h, that of people base/when.h. */
#ifndef PKTLEDGER_BASE_CLOCK_H
#define PKTLEDGER_BASE_CLOCK_H

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

#endif
