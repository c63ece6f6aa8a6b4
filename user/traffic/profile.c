// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/profile.h"

#include <math.h>

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
