/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When packets are due: a rate over time as a function and its inverse. Packet c (from 0, of all
 * threads together) is due at profile_time(c). Pure; time is in seconds since the start, as double:
 * a nanosecond is exact for three months.
 */
#ifndef PKTLEDGER_TRAFFIC_PROFILE_H
#define PKTLEDGER_TRAFFIC_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
