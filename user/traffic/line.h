/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a receiver can tell of one line of packets: those of one stream, and of one 5-tuple if flows
 * are told apart. Order is that of arrival at this receiver; a line belongs to one thread.
 */
#ifndef PKTLEDGER_TRAFFIC_LINE_H
#define PKTLEDGER_TRAFFIC_LINE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "drops/arrivals.h"

#define LINE_GAPS 256 /* jumps remembered, to tell the extent of what comes late */

/* Where a packet came from. All 0: flows are not told apart. */
struct line_source {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;		 /* host order */
};

struct line {
	uint16_t stream; /* index in struct sink_streams */
	struct line_source source;
	uint64_t next; /* highest number + 1 */
	uint64_t delivered, bytes, duplicated;
	struct reordering order;

	struct line_gap {
		uint64_t first, end; /* numbers jumped over: [first, end) */
		uint64_t at;	     /* arrivals before the jump */
	} gap[LINE_GAPS];	     /* a ring */
	unsigned gaps;

	int64_t transit; /* of the last packet with a time */
	int64_t fastest; /* the least of them: what the clocks differ by, and the path takes */
	uint64_t jitter; /* RFC 3550 A.8: ns, 16 times */
	bool timed;
	struct hist *delay; /* one-way, ns; NULL: nothing measured */
	uint64_t negative;  /* arrived before they were sent: the clocks differ */
};

/* A line whose numbers begin at `first`. NULL: no memory. */
struct line *line_new(uint16_t stream, const struct line_source *source, uint64_t first);
void line_free(struct line *l);

static inline bool line_is(const struct line *l, uint16_t stream, const struct line_source *source)
{
	return l->stream == stream && l->source.port == source->port &&
	       IN6_ARE_ADDR_EQUAL(&l->source.address, &source->address);
}

/* Anything but the expected number: a jump forwards, or a packet that comes late. */
void line_displaced(struct line *l, uint64_t number);

/* A number arrived for the first time. */
static inline void line_arrived(struct line *l, uint64_t number, unsigned bytes)
{
	if (number == l->next)
		l->next++;
	else
		line_displaced(l, number);
	l->delivered++;
	l->bytes += bytes;
}

/* A packet sent at `sent` arrived at `now`, ns of CLOCK_TAI at either end. */
void line_timed(struct line *l, uint64_t sent, uint64_t now);

/* Interarrival jitter of RFC 3550, ns. */
static inline uint64_t line_jitter(const struct line *l)
{
	return l->jitter >> 4;
}

#endif
