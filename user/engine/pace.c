// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "engine/pace.h"

#include <sched.h>
#include <time.h>

#define SPIN_NS	    60000    /* a sleep wakes up about this late */
#define MAX_WAIT_NS 50000000 /* so that a stop is seen soon */

uint64_t pace_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void pace_start(struct pace *p, double rate_pps, uint64_t now_ns)
{
	*p = (struct pace){.rate_pps = rate_pps, .start_ns = now_ns};
}

unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns)
{
	double elapsed, due, debt;

	*wait_ns = 0;
	if (p->rate_pps <= 0)
		return max;
	elapsed = (double)(now_ns - p->start_ns) * 1e-9;
	due = elapsed * p->rate_pps + 1 - (double)p->done;
	debt = PACE_DEBT_NS * 1e-9 * p->rate_pps + max;
	if (due > debt) {
		uint64_t slip = (uint64_t)((due - debt) / p->rate_pps * 1e9);

		p->start_ns += slip;
		p->slipped_ns += slip;
		due = debt;
	}
	if (due >= 1)
		return due < max ? (unsigned)due : max;
	*wait_ns = (uint64_t)((1 - due) / p->rate_pps * 1e9) + 1;
	return 0;
}

void pace_sent(struct pace *p, unsigned n)
{
	p->done += n;
}

void pace_wait(uint64_t wait_ns)
{
	struct timespec ts;

	if (wait_ns > MAX_WAIT_NS)
		wait_ns = MAX_WAIT_NS;
	if (wait_ns <= SPIN_NS) {
		sched_yield();
		return;
	}
	wait_ns -= SPIN_NS;
	ts = (struct timespec){.tv_sec = 0, .tv_nsec = (long)wait_ns};
	nanosleep(&ts, NULL);
}
