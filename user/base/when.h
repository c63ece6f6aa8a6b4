/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moments as people write them, and as ledgers do. All are ns of CLOCK_REALTIME. */
#ifndef PKTLEDGER_BASE_WHEN_H
#define PKTLEDGER_BASE_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEN_TEXT 40 /* bytes of when_text() */

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

/* Now. */
uint64_t when_now(void);

/* Local: "2024-05-01 12:00:00", of at least WHEN_TEXT bytes; returned. `day` false: the time only.
 */
char *when_text(char *buf, size_t size, uint64_t ns, bool day);

#endif
