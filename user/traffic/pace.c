// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/pace.h"

#include <math.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"

#define SPIN_NS	    60000    /* a sleep wakes up about this late */
#define MAX_WAIT_NS 50000000 /* so that a stop is seen soon */
#define HAIR	    1e-6     /* packets */
#define DEPTH_S	    (PACE_DEPTH_NS * 1e-9)
#define DEBT_S	    (PACE_DEBT_NS * 1e-9)

uint64_t pace_tai(void)
{
	return clock_ns(CLOCK_TAI);
}

void pace_start(struct pace *p, double rate_pps, uint64_t now_ns)
{
	*p = (struct pace){.rate_pps = rate_pps,
			   .start_ns = now_ns,
			   .burst = 1,
			   .threads = 1,
			   .tokens = HUGE_VAL};
}

void pace_start_shared(struct pace *p, const struct profile *profile, unsigned burst, unsigned slot,
		       unsigned threads, uint64_t start_ns)
{
	*p = (struct pace){
		.profile = profile,
		.burst = burst ? burst : 1,
		.slot = slot,
		.threads = threads,
		.start_ns = start_ns,
		.tokens = HUGE_VAL, /* a full bucket */
	};
}

/* The schedule of all threads. */
static double packets_at(const struct pace *p, double seconds)
{
	if (seconds <= 0)
		return 0;
	return p->profile ? profile_packets(p->profile, seconds) : p->rate_pps * seconds;
}

static double time_of(const struct pace *p, double c)
{
	return p->profile ? profile_time(p->profile, c) : c / p->rate_pps;
}

/*
 * How many of this thread's packets are due by then. A silence that begins on a whole number of
 * packets comes before the next packet, not behind it: hence the hair where there are silences.
 */
static double due_by(const struct pace *p, double seconds)
{
	double hair = p->profile && p->profile->repeat ? HAIR : 0;
	double all = (floor((packets_at(p, seconds) - hair) / p->burst) + 1) * p->burst;

	return all <= p->slot ? 0 : ceil((all - p->slot) / p->threads);
}

static void count_tokens(struct pace *p, double now_s, unsigned max)
{
	double depth = (packets_at(p, now_s) - packets_at(p, now_s - DEPTH_S)) / p->threads;
	double fresh = (packets_at(p, now_s) - packets_at(p, p->at_s)) / p->threads;

	depth = fmax(depth, ceil((double)p->burst / p->threads)) + max;
	/* the schedule rounds to whole packets of one thread: one more may be due than was saved */
	p->tokens = fmin(p->tokens + PACE_CATCH_UP * fresh, depth);
	p->at_s = now_s;
}

/* The next packet's time, or that of the next token if it is due already. */
static uint64_t next_wait(const struct pace *p, double now_s, double due)
{
	double taken = (double)(p->done + p->given_up), at;
	double c = taken * p->threads + p->slot;

	if (due >= 1)
		at = time_of(p,
			     packets_at(p, now_s) + (1 - p->tokens) * p->threads / PACE_CATCH_UP);
	else
		at = time_of(p, floor(c / p->burst) * p->burst);
	if (at <= now_s)
		return 1;
	return at - now_s > MAX_WAIT_NS * 1e-9 ? MAX_WAIT_NS : (uint64_t)((at - now_s) * 1e9) + 1;
}

static void give_up(struct pace *p, double late, double per_second)
{
	uint64_t n = (uint64_t)late;

	p->given_up += n;
	p->slipped_ns += (uint64_t)((double)n / per_second * 1e9);
}

unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns)
{
	double now_s, due, debt;
	bool ended;

	*wait_ns = 0;
	if (!p->profile && p->rate_pps <= 0)
		return max;
	now_s = now_ns > p->start_ns ? (double)(now_ns - p->start_ns) * 1e-9 : 0;
	ended = p->end_ns && now_ns >= p->start_ns + p->end_ns;
	/* a nanosecond before: what would be due at the end itself is not */
	due = due_by(p, ended ? (double)(p->end_ns - 1) * 1e-9 : now_s) -
	      (double)(p->done + p->given_up);
	debt = (packets_at(p, now_s) - packets_at(p, now_s - DEBT_S)) / p->threads;
	if (due > debt + max + p->burst) {
		give_up(p, due - debt - max - p->burst, fmax(debt, 1) / DEBT_S);
		due = debt + max + p->burst;
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

/* Of parts that came from elsewhere: beyond these no integral is exact. */

#define LEAST_SECONDS 1e-9
#define MOST_SECONDS  1e10
#define MOST_PPS      1e12

void profile_constant(struct profile *p, double pps)
{
	*p = (struct profile){.parts = 1, .part = {{1, pps, pps}}};
}

static double part_packets(const struct profile_part *p)
{
	return (p->from + p->to) / 2 * p->seconds;
}

/* Integral within a part. */
static double within(const struct profile_part *p, double t)
{
	return p->from * t + (p->to - p->from) / p->seconds * t * t / 2;
}

/* Its inverse, in the form of the quadratic formula that does not cancel. */
static double within_inverse(const struct profile_part *p, double c)
{
	double slope = (p->to - p->from) / p->seconds;
	double root = p->from * p->from + 2 * slope * c;

	return c <= 0 ? 0 : 2 * c / (p->from + sqrt(root > 0 ? root : 0));
}

static double pass_packets(const struct profile *p)
{
	double sum = 0;

	for (unsigned i = 0; i < p->parts; i++)
		sum += part_packets(&p->part[i]);
	return sum;
}

static double pass_seconds(const struct profile *p)
{
	double sum = 0;

	for (unsigned i = 0; i < p->parts; i++)
		sum += p->part[i].seconds;
	return sum;
}

/* How many of a schedule are due within one pass; at least one, the first. */
static uint64_t scheduled(const struct profile *p, uint64_t ns)
{
	uint64_t low = 1, high = p->packets;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (p->due_ns[middle] <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static double schedule_packets(const struct profile *p, double seconds)
{
	uint64_t ns = (uint64_t)(seconds * 1e9), pass = ns / p->pass_ns;

	/* half a packet behind the last one due: between two of them */
	return (double)(pass * p->packets + scheduled(p, ns % p->pass_ns)) - 0.5;
}

static double schedule_time(const struct profile *p, double c)
{
	uint64_t n = (uint64_t)c;

	return (double)(n / p->packets * p->pass_ns + p->due_ns[n % p->packets]) * 1e-9;
}

double profile_packets(const struct profile *p, double seconds)
{
	double sum = 0;

	if (seconds <= 0)
		return 0;
	if (p->due_ns)
		return schedule_packets(p, seconds);
	if (p->repeat) {
		double length = pass_seconds(p), passes = floor(seconds / length);

		sum = passes * pass_packets(p);
		seconds -= passes * length;
	}
	for (unsigned i = 0; i < p->parts; i++) {
		if (seconds < p->part[i].seconds)
			return sum + within(&p->part[i], seconds);
		sum += part_packets(&p->part[i]);
		seconds -= p->part[i].seconds;
	}
	return sum + seconds * p->part[p->parts - 1].to;
}

double profile_time(const struct profile *p, double c)
{
	double sum = 0, last;

	if (c <= 0)
		return 0;
	if (p->due_ns)
		return schedule_time(p, c);
	if (p->repeat) {
		double one = pass_packets(p), passes;

		if (one <= 0)
			return HUGE_VAL;
		passes = floor(c / one);
		sum = passes * pass_seconds(p);
		c -= passes * one;
	}
	for (unsigned i = 0; i < p->parts; i++) {
		double packets = part_packets(&p->part[i]);

		/* what is due at the very end of a part is due then, not after a silence behind it
		 */
		if (packets > 0 && c < packets)
			return sum + within_inverse(&p->part[i], c);
		c -= packets;
		sum += p->part[i].seconds;
	}
	last = p->part[p->parts - 1].to;
	return last > 0 ? sum + c / last : c > 0 || !p->repeat ? HUGE_VAL : sum;
}

bool profile_valid(const struct profile *p)
{
	if (!p->parts || p->parts > PROFILE_PARTS)
		return false;
	for (unsigned i = 0; i < p->parts; i++) {
		const struct profile_part *part = &p->part[i];

		if (!(part->seconds >= LEAST_SECONDS && part->seconds <= MOST_SECONDS) ||
		    !(part->from >= 0 && part->from <= MOST_PPS) ||
		    !(part->to >= 0 && part->to <= MOST_PPS))
			return false;
	}
	return pass_packets(p) > 0;
}

double profile_peak(const struct profile *p)
{
	double peak = 0;

	for (unsigned i = 0; i < p->parts; i++)
		peak = fmax(peak, fmax(p->part[i].from, p->part[i].to));
	return peak;
}
