/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pacing by absolute deadlines. All threads share one schedule (struct profile): thread t of n
 * sends the packets t, t + n, t + 2n ... of it, so that the rate is exact however many there are.
 *
 * A thread that came late catches up, but as a token bucket lets it: what it saved up while it did
 * not run leaves as a burst of 2 ms of the schedule at most (or of --burst), the rest at 1.25 times
 * the rate. What is later than 100 ms is given up and counted: the generator could not keep up.
 */
#ifndef PKTLEDGER_TRAFFIC_PACE_H
#define PKTLEDGER_TRAFFIC_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "gen_abi.h"

#define PACE_DEPTH_NS 2000000 /* two scheduler hiccups of a millisecond */
#define PACE_DEBT_NS  100000000
#define PACE_CATCH_UP 1.25

struct pace {
	const struct profile *profile; /* of all threads; NULL: unthrottled */
	unsigned burst;		       /* packets of all threads that are due at once; >= 1 */
	unsigned slot, threads;
	uint64_t end_ns;   /* since start: what is due from then on is not sent; 0: no end */
	uint64_t start_ns; /* CLOCK_MONOTONIC at which packet 0 was due */
	uint64_t done, given_up;
	double tokens;	     /* may leave now */
	double at_s;	     /* when they were counted, since start */
	uint64_t slipped_ns; /* schedule given up because the thread came too late */
};

/*
 * Thread `slot` of `threads` of a shared schedule that starts at start_ns; `profile` is borrowed.
 * Packets leave in groups of `burst` (0: one): packet c is due when packet c - c % burst is.
 */
void pace_start(struct pace *p, const struct profile *profile, unsigned burst, unsigned slot,
		unsigned threads, uint64_t start_ns);

/*
 * How many packets are due, at most `max`. 0: none; then *wait_ns is how long until the next, 0
 * if there is none before the end.
 */
unsigned pace_due(struct pace *p, uint64_t now_ns, unsigned max, uint64_t *wait_ns);

/* `n` packets were sent. */
void pace_sent(struct pace *p, unsigned n);

/* CLOCK_TAI, ns: the time that packets carry. */
uint64_t pace_tai(void);

/* Sleeps if there is time for it, else spins a little: returns at or shortly before the due time.
 */
void pace_wait(uint64_t wait_ns);

/*
 * When packets are due: a rate over time as a function and its inverse. Packet c (from 0, of all
 * threads together) is due at profile_time(c). Pure; time is in seconds since the start, as double:
 * a nanosecond is exact for three months.
 */

#define PROFILE_PARTS 64

struct profile_part {
	double seconds;	 /* > 0 */
	double from, to; /* packets/s at its beginning and its end; linear between */
};

struct profile {
	unsigned parts;
	bool repeat; /* begins again after the last part; else the last rate holds */
	struct profile_part part[PROFILE_PARTS];
	/* Or a schedule of single packets, as captured: parts is 0 then. Borrowed. */
	const uint64_t *due_ns; /* ascending, the first is 0 */
	uint64_t packets;	/* of it */
	uint64_t pass_ns;	/* then it begins again; more than the last of due_ns */
};

/* The same rate for ever; > 0. */
void profile_constant(struct profile *p, double pps);

/* The integral of the rate from 0 to `seconds`: packets 0 .. floor(it) are due by then (for a
 * schedule it is half way to the next). */
double profile_packets(const struct profile *p, double seconds);

/* Its inverse: when packet `c` is due. HUGE_VAL: never. */
double profile_time(const struct profile *p, double c);

/* Whether parts that came from elsewhere are a schedule: some, of some length, that send something.
 */
bool profile_valid(const struct profile *p);

/* The highest rate of any part; 0 for a schedule. */
double profile_peak(const struct profile *p);

/*
 * The schedule of a stream in pieces that a BPF program can follow. A time in the plan is at most
 * PLAN_ERROR_NS beside that of the profile.
 */

#define PLAN_ERROR_NS 2000

#define PLAN_NEVER UINT64_MAX

struct plan {
	const struct profile *profile;
	unsigned burst, slot, threads; /* each but slot at least 1 */
	double origin_s;	       /* times are since then: 78 hours of them can be expressed */
};

/*
 * Plans this thread's packets from number `k` of it (from 0) on, `n` of them at most; `first` is
 * the stamped number of k. Returns how many the segments cover: less than `n` where there are not
 * enough of them, or where the profile ends in silence.
 */
uint64_t plan_segments(const struct plan *p, uint64_t k, uint64_t n, uint64_t first,
		       struct gen_segment out[GEN_SEGMENTS]);

/* When packet k of this thread is due, since the start of the profile; HUGE_VAL: never. */
double plan_seconds(const struct plan *p, uint64_t k);

/* The same since the origin, ns << GEN_PERIOD_SHIFT; PLAN_NEVER: not in the next 78 hours. */
uint64_t plan_due(const struct plan *p, uint64_t k);

/* Packets of this thread that are due before `ns` since the origin. */
uint64_t plan_packets(const struct plan *p, uint64_t ns);

#endif
