/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pacing by absolute deadlines: packet k of a thread is due at start + k / rate. What a thread
 * missed while it was not running is caught up, but never more than PACE_DEBT_NS of it: a burst
 * would be the generator's doing and not the rate that was asked for.
 */
#ifndef PKTLEDGER_PACE_H
#define PKTLEDGER_PACE_H

#include <stdint.h>

#define PACE_DEBT_NS 2000000 /* two scheduler hiccups of a millisecond */

struct pace {
	double rate_pps;   /* 0: unthrottled */
	uint64_t start_ns; /* CLOCK_MONOTONIC at which packet 0 was due */
	uint64_t done;
	uint64_t slipped_ns; /* schedule given up because the thread came too late */
};

void pace_start(struct pace *p, double rate_pps, uint64_t now_ns);

/*
 * How many packets are due, at most `max`. 0: none; then *wait_ns tells how long until the next.
 */
unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns);

/* `n` packets were sent. */
void pace_sent(struct pace *p, unsigned n);

/* CLOCK_MONOTONIC, ns. */
uint64_t pace_now(void);

/* Sleeps if there is time for it, else spins a little: returns at or shortly before the due time. */
void pace_wait(uint64_t wait_ns);

#endif
