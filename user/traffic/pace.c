// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/shape.h"

#include <math.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"

#define SPIN_NS	    60000     /* ns, a sleeping thread wakes up about this late */
#define CAREFUL_NS  100000000 /* ns after a late wake-up during which the safety margin is four
			       * times as long */
#define LAST_NS	    1000      /* ns, about twice the cost of a call into the scheduler */
#define MAX_WAIT_NS 50000000  /* ns, short enough to notice a stop quickly */
#define DEPTH_S	    (PACE_DEPTH_NS * 1e-9)
#define DEBT_S	    (PACE_DEBT_NS * 1e-9)

uint64_t pace_tai(void)
{
	return clock_ns(CLOCK_TAI);
}

bool schedule_shares(unsigned burst, unsigned threads)
{
	return burst % threads == 0 || threads % burst == 0;
}

struct schedule schedule_of(double pps, unsigned burst, unsigned slot, unsigned threads)
{
	const unsigned group = burst > threads ? burst / threads : 1;

	if (pps <= 0)
		return (struct schedule){.group = group};
	return (struct schedule){.offset_s = (slot - slot % burst) / pps,
				 .groups = pps / ((double)group * threads),
				 .group = group};
}

double schedule_time(const struct schedule *s, uint64_t k)
{
	return s->offset_s + (double)(k / s->group) / s->groups;
}

uint64_t schedule_packets(const struct schedule *s, double seconds)
{
	if (seconds < s->offset_s)
		return 0;
	return ((uint64_t)((seconds - s->offset_s) * s->groups) + 1) * s->group;
}

void pace_start(struct pace *p, const struct schedule *schedule, uint64_t start_ns)
{
	*p = (struct pace){
		.schedule = *schedule,
		.start_ns = start_ns,
		.tokens = HUGE_VAL, /* the bucket starts full */
	};
}

static void count_tokens(struct pace *p, double now_s, unsigned max)
{
	const double rate = schedule_pps(&p->schedule);
	double depth = fmax(rate * fmin(now_s, DEPTH_S), p->schedule.group) + max;

	/*
	 * the schedule rounds to whole packets per thread, so one packet more than was saved up may
	 * be due
	 */
	p->tokens = fmin(p->tokens + PACE_CATCH_UP * rate * (now_s - p->at_s), depth);
	p->at_s = now_s;
}

/* Returns the time until the next packet, or, if it is already due, until the next token. */
static uint64_t next_wait(const struct pace *p, double now_s, double due)
{
	double at =
		due < 1 ? schedule_time(&p->schedule, p->done + p->given_up)
			: now_s + (1 - p->tokens) / (PACE_CATCH_UP * schedule_pps(&p->schedule));

	if (at <= now_s)
		return 1;
	return at - now_s > MAX_WAIT_NS * 1e-9 ? MAX_WAIT_NS : (uint64_t)((at - now_s) * 1e9) + 1;
}

unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns)
{
	const struct schedule *s = &p->schedule;
	double now_s, due, debt;
	bool ended;

	*wait_ns = 0;
	if (!s->groups)
		return max;
	now_s = now_ns > p->start_ns ? (double)(now_ns - p->start_ns) * 1e-9 : 0;
	ended = p->end_ns && now_ns >= p->start_ns + p->end_ns;
	/* one ns earlier, to exclude a packet that is due exactly at the end */
	due = (double)schedule_packets(s, ended ? (double)(p->end_ns - 1) * 1e-9 : now_s) -
	      (double)(p->done + p->given_up);
	debt = schedule_pps(s) * fmin(now_s, DEBT_S);
	if (due > debt + max + s->group) {
		uint64_t late = (uint64_t)(due - debt - max - s->group);

		p->given_up += late;
		p->slipped_ns += (uint64_t)((double)late / fmax(debt, 1) * PACE_DEBT_NS);
		due = debt + max + s->group;
	}
	if (due > p->most_due) {
		double next = schedule_time(s, p->done + p->given_up);

		p->most_due = due;
		p->late_ns = (uint64_t)(fmax(now_s - next, 0) * 1e9);
	}
	count_tokens(p, now_s, max);
	if (due >= 1 && p->tokens >= 1)
		return (unsigned)fmin(fmin(due, p->tokens), max);
	*wait_ns = ended && due < 1 ? 0 : next_wait(p, now_s, due);
	return 0;
}

void pace_sent(struct pace *p, unsigned n)
{
	p->done += n;
	p->tokens -= n;
}

void pace_wait(uint64_t wait_ns)
{
	static _Thread_local uint64_t careful_until;
	uint64_t now = clock_now(), spin_ns = now < careful_until ? 4 * SPIN_NS : SPIN_NS, end;
	struct timespec ts;

	wait_ns = smaller(wait_ns, MAX_WAIT_NS);
	end = now + wait_ns;
	if (wait_ns <= LAST_NS) {
		while (clock_now() < end)
			;
		return;
	}
	if (wait_ns <= spin_ns) {
		sched_yield();
		return;
	}
	ts = (struct timespec){.tv_sec = 0, .tv_nsec = (long)(wait_ns - spin_ns)};
	nanosleep(&ts, NULL);
	now = clock_now();
	if (now > end)
		careful_until = now + CAREFUL_NS;
}
