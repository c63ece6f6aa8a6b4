/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a receiver can report of one line of packets: those of one stream, and of one 5-tuple if
 * flows are told apart. Order is that of arrival at this receiver; a line belongs to one thread.
 */
#ifndef PKTLEDGER_TRAFFIC_SINK_H
#define PKTLEDGER_TRAFFIC_SINK_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/fates.h"
#include "sink_abi.h"
#include "trace_abi.h"

#define LINE_GAPS 256 /* jumps remembered, to know the extent of what comes late */

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

static inline bool line_is(const struct line *l, uint16_t stream, const struct line_source *source)
{
	return l->stream == stream && l->source.port == source->port &&
	       IN6_ARE_ADDR_EQUAL(&l->source.address, &source->address);
}

/* Interarrival jitter of RFC 3550, ns. */
static inline uint64_t line_jitter(const struct line *l)
{
	return l->jitter >> 4;
}

/*
 * Where every receiving engine's packets end: checks the stamp, marks the number as delivered,
 * and keeps what only the receiver can know (duplicates, order, damage, delay). One sink per
 * receiving thread; the sinks of one receiver share the streams.
 */

struct shape;
struct reader_state;

struct sink_stream {
	uint16_t id;
	uint64_t base;
	_Atomic uint64_t tail;	/* numbers below have left the window */
	uint8_t *arrivals;	/* a byte a number, `window` of them */
	_Atomic uint64_t ahead; /* with a table: a number that came beyond the window; 0: none */
	atomic_bool ended;	/* its end record came: */
	uint64_t end_base;	/* less than `base` if we came late */
	uint64_t end_sent, end_refused;
};

/* Streams that may arrive: known beforehand, or learned from their first stamp. */
struct sink_streams {
	uint64_t window; /* numbers kept per stream, a power of two */
	bool learn;
	pthread_mutex_t lock; /* to learn one */
	uint64_t *tails;      /* of each stream, for a program that receives; NULL: none does */
	/*
	 * With `learn`: the table in which programs learn them too, with a window of bytes for each
	 * of its `room` slots at `bytes`. NULL: they are learned here alone.
	 */
	struct trace_tails *table;
	uint8_t *bytes;
	unsigned room;
	atomic_uint n;
	struct sink_stream at[TRACE_STREAMS];
};

#define SINK_RECENT 256
#define SINK_LINES  256 /* told apart by one thread; the rest shares one line per stream */

struct sink {
	/* set by whoever makes it */
	struct sink_streams *streams;
	unsigned payload;	   /* expected length, the longest one with a shape; 0: any */
	const struct shape *shape; /* gives the length of each number; NULL: all are alike */
	const uint8_t *fill; /* expected bytes behind stamp and time, see flow_fill(); NULL: any */
	bool timed;	     /* packets carry the send time */
	struct reader_state *reader; /* the application's own work on each packet; NULL: none */

	struct line_source source; /* of the next packet; set by engines that tell flows apart */

	/* results; written by the receiving thread only */
	struct sink_sums sums;
	uint64_t next[TRACE_STREAMS]; /* highest number seen of each stream + 1; 0: none */
	struct line *line[SINK_LINES];
	unsigned lines;
	struct line *recent[SINK_RECENT]; /* found by source port and stream */
};

/* A UDP payload of `len` bytes, of which `have` are at `data`. now_tai: CLOCK_TAI, 0 if unknown. */
void sink_packet(struct sink *s, const void *data, unsigned have, unsigned len, uint64_t now_tai);

/* Adds what another thread or CPU counted. */
void sink_sums_add(struct sink_sums *sum, const struct sink_sums *one);

/* Frees the lines of a sink. */
void sink_forget(struct sink *s);

/* Takes over streams that the table has, whoever has learned them. */
void sink_streams_sync(struct sink_streams *t);

/* Numbers of a stream below `upto` have left its window: what still comes of them is late. */
void sink_streams_set_tail(struct sink_streams *t, unsigned stream, uint64_t upto);

/* The bytes of numbers that have left the window are made 0, and learned memory given back. */
void sink_streams_empty(struct sink_streams *t, unsigned stream, uint64_t from, uint64_t upto);

/* An end record, or what was to be one. */
bool sink_is_end(const void *data, unsigned have);

/* Frees what was learned. */
void sink_streams_forget(struct sink_streams *t);

#endif
