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
#define HAIR	    1e-6      /* packets, an epsilon: see due_by() */
#define DEPTH_S	    (PACE_DEPTH_NS * 1e-9)
#define DEBT_S	    (PACE_DEBT_NS * 1e-9)

uint64_t pace_tai(void)
{
	return clock_ns(CLOCK_TAI);
}

void pace_start(struct pace *p, const struct profile *profile, unsigned burst, unsigned slot,
		unsigned threads, uint64_t start_ns)
{
	*p = (struct pace){
		.profile = profile,
		.burst = burst ? burst : 1,
		.slot = slot,
		.threads = threads,
		.start_ns = start_ns,
		.tokens = HUGE_VAL, /* the bucket starts full */
	};
}

/*
 * Returns how many of a thread's packets are due by then. A silence that starts after a whole
 * number of packets precedes the next packet. The epsilon ensures this for profiles with silences.
 */
static double due_by(const struct profile *p, unsigned burst, unsigned slot, unsigned threads,
		     double seconds)
{
	double hair = p->repeat ? HAIR : 0;
	double all = (floor((profile_packets(p, seconds) - hair) / burst) + 1) * burst;

	return all <= slot ? 0 : ceil((all - slot) / threads);
}

static void count_tokens(struct pace *p, double now_s, unsigned max)
{
	double depth = (profile_packets(p->profile, now_s) -
			profile_packets(p->profile, now_s - DEPTH_S)) /
		       p->threads;
	double fresh = (profile_packets(p->profile, now_s) - profile_packets(p->profile, p->at_s)) /
		       p->threads;

	depth = fmax(depth, ceil((double)p->burst / p->threads)) + max;
	/*
	 * the schedule rounds to whole packets per thread, so one packet more than was saved up may
	 * be due
	 */
	p->tokens = fmin(p->tokens + PACE_CATCH_UP * fresh, depth);
	p->at_s = now_s;
}

/* Returns the time until the next packet, or, if it is already due, until the next token. */
static uint64_t next_wait(const struct pace *p, double now_s, double due)
{
	double taken = (double)(p->done + p->given_up), at;
	double c = taken * p->threads + p->slot;

	if (due >= 1)
		at = profile_time(p->profile, profile_packets(p->profile, now_s) +
						      (1 - p->tokens) * p->threads / PACE_CATCH_UP);
	else
		at = profile_time(p->profile, floor(c / p->burst) * p->burst);
	if (at <= now_s)
		return 1;
	return at - now_s > MAX_WAIT_NS * 1e-9 ? MAX_WAIT_NS : (uint64_t)((at - now_s) * 1e9) + 1;
}

unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns)
{
	double now_s, due, debt;
	bool ended;

	*wait_ns = 0;
	if (!p->profile)
		return max;
	now_s = now_ns > p->start_ns ? (double)(now_ns - p->start_ns) * 1e-9 : 0;
	ended = p->end_ns && now_ns >= p->start_ns + p->end_ns;
	/* one ns earlier, to exclude a packet that is due exactly at the end */
	due = due_by(p->profile, p->burst, p->slot, p->threads,
		     ended ? (double)(p->end_ns - 1) * 1e-9 : now_s) -
	      (double)(p->done + p->given_up);
	debt = (profile_packets(p->profile, now_s) - profile_packets(p->profile, now_s - DEBT_S)) /
	       p->threads;
	if (due > debt + max + p->burst) {
		uint64_t late = (uint64_t)(due - debt - max - p->burst);

		p->given_up += late;
		p->slipped_ns += (uint64_t)((double)late / fmax(debt, 1) * PACE_DEBT_NS);
		due = debt + max + p->burst;
	}
	if (due > p->most_due) {
		double next = (double)(p->done + p->given_up) * p->threads + p->slot;

		p->most_due = due;
		p->late_ns = (uint64_t)(fmax(now_s - profile_time(p->profile, next), 0) * 1e9);
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

/* Limits for schedules from other hosts. Outside them the integrals lose precision. */

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

/* Returns the integral within one part. */
static double within(const struct profile_part *p, double t)
{
	return p->from * t + (p->to - p->from) / p->seconds * t * t / 2;
}

/* Returns the inverse within one part, using the quadratic formula without cancellation. */
static double within_inverse(const struct profile_part *p, double c)
{
	double slope = (p->to - p->from) / p->seconds;
	double root = p->from * p->from + 2 * slope * c;

	return c <= 0 ? 0 : 2 * c / (p->from + sqrt(root > 0 ? root : 0));
}

/* Returns the number of packets in all parts, for one pass. */
static double pass_packets(const struct profile *p, double *seconds)
{
	double sum = 0;

	*seconds = 0;
	for (unsigned i = 0; i < p->parts; i++) {
		sum += part_packets(&p->part[i]);
		*seconds += p->part[i].seconds;
	}
	return sum;
}

/* Returns how many packets of a schedule are due within one pass, at least one. */
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

double profile_packets(const struct profile *p, double seconds)
{
	double sum = 0;

	if (seconds <= 0)
		return 0;
	if (p->due_ns) {
		uint64_t ns = (uint64_t)(seconds * 1e9), pass = ns / p->pass_ns;

		/* half a packet past the last due packet: between two packets */
		return (double)(pass * p->packets + scheduled(p, ns % p->pass_ns)) - 0.5;
	}
	if (p->repeat) {
		double length, one = pass_packets(p, &length), passes = floor(seconds / length);

		sum = passes * one;
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
	if (p->due_ns) {
		uint64_t n = (uint64_t)c;

		return (double)(n / p->packets * p->pass_ns + p->due_ns[n % p->packets]) * 1e-9;
	}
	if (p->repeat) {
		double length, one = pass_packets(p, &length), passes;

		if (one <= 0)
			return HUGE_VAL;
		passes = floor(c / one);
		sum = passes * length;
		c -= passes * one;
	}
	for (unsigned i = 0; i < p->parts; i++) {
		double packets = part_packets(&p->part[i]);

		/* a packet due at the end of a part comes before any silence that follows */
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
	double seconds;

	if (!p->parts || p->parts > PROFILE_PARTS)
		return false;
	for (unsigned i = 0; i < p->parts; i++) {
		const struct profile_part *part = &p->part[i];

		if (!(part->seconds >= LEAST_SECONDS && part->seconds <= MOST_SECONDS) ||
		    !(part->from >= 0 && part->from <= MOST_PPS) ||
		    !(part->to >= 0 && part->to <= MOST_PPS))
			return false;
	}
	return pass_packets(p, &seconds) > 0;
}

double profile_peak(const struct profile *p)
{
	double peak = 0;

	for (unsigned i = 0; i < p->parts; i++)
		peak = fmax(peak, fmax(p->part[i].from, p->part[i].to));
	return peak;
}

#define GROUPS_MAX (1ULL << 30) /* per segment */
#define PROBES	   16
#define GOLDEN	   0x9e3779b97f4a7c15ULL /* 2^64 divided by the golden ratio: its multiples are
					  * spread out */

double plan_seconds(const struct plan *p, uint64_t k)
{
	uint64_t c = k * p->threads + p->slot;

	return profile_time(p->profile, (double)(c - c % p->burst));
}

uint64_t plan_due(const struct plan *p, uint64_t k)
{
	double seconds = plan_seconds(p, k) - p->origin_s;

	if (seconds * 1e9 >= (double)(PLAN_NEVER >> GEN_PERIOD_SHIFT))
		return PLAN_NEVER;
	return (uint64_t)(seconds * 1e9 * (1 << GEN_PERIOD_SHIFT) + 0.5);
}

/* Returns how many of this thread's packets, starting with k, leave together. */
static uint64_t group_of(const struct plan *p, uint64_t k)
{
	uint64_t c = k * p->threads + p->slot;

	return (c - c % p->burst + p->burst - 1 - p->slot) / p->threads - k + 1;
}

/*
 * Checks that `groups` of `size` packets each, starting with k, and the packet after them are
 * evenly spaced. Samples positions in the middle and at both ends, because a silence delays all
 * later packets.
 */
static bool is_even(const struct plan *p, uint64_t k, uint64_t size, uint64_t groups,
		    uint64_t *period)
{
	const uint64_t most = (uint64_t)PLAN_ERROR_NS << GEN_PERIOD_SHIFT;
	uint64_t from = plan_due(p, k), end = plan_due(p, k + groups * size);

	if (end == PLAN_NEVER)
		return false;
	*period = (end - from) / groups;
	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t g = i == 0 ? groups - 1 : i == 1 ? 1 : (uint64_t)(i * GOLDEN) % groups;

		uint64_t due = plan_due(p, k + g * size), even = from + g * *period;

		if ((due > even ? due - even : even - due) > most ||
		    group_of(p, k + g * size) != size)
			return false;
	}
	return true;
}

/* Returns the number of packets in the longest segment that starts with k. */
static uint64_t plan_one(const struct plan *p, uint64_t k, uint64_t n, uint64_t guess,
			 struct gen_segment *s)
{
	uint64_t size = group_of(p, k), groups = smaller(guess, n / size + 1), period = 0, next;

	while (groups > 1 && !is_even(p, k, size, groups, &period))
		groups /= 2;
	if (groups <= 1) {
		groups = 1;
		next = plan_due(p, k + size);
		period = next == PLAN_NEVER ? 0 : next - plan_due(p, k);
	}
	s->due = plan_due(p, k);
	s->period = period;
	s->group = (uint32_t)size;
	return groups * size;
}

uint64_t plan_segments(const struct plan *p, uint64_t k, uint64_t n, uint64_t first,
		       struct gen_segment out[GEN_SEGMENTS])
{
	uint64_t done = 0, guess = GROUPS_MAX;

	for (unsigned i = 0; i < GEN_SEGMENTS && done < n && plan_due(p, k + done) != PLAN_NEVER;
	     i++) {
		uint64_t covered = plan_one(p, k + done, n - done, guess, &out[i]);

		done += covered < n - done ? covered : n - done;
		out[i].until = first + done;
		guess = 4 * (covered / out[i].group);
	}
	return done;
}

uint64_t plan_packets(const struct plan *p, uint64_t ns)
{
	return ns ? (uint64_t)due_by(p->profile, p->burst, p->slot, p->threads,
				     (double)(ns - 1) * 1e-9)
		  : 0;
}
