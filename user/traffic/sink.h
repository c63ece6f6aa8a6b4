/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where every receiving engine's packets end: checks the stamp, marks the number as delivered,
 * and keeps what only the receiver can know (duplicates, order, damage, delay). One sink per
 * receiving thread; the sinks of one receiver share the streams.
 */
#ifndef PKTLEDGER_TRAFFIC_SINK_H
#define PKTLEDGER_TRAFFIC_SINK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "traffic/line.h"
#include "sink_abi.h"
#include "trace_abi.h"

struct shape;

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
	const struct shape *shape; /* tells the length of each number; NULL: all are alike */
	const uint8_t *fill; /* expected bytes behind stamp and time, see flow_fill(); NULL: any */
	bool timed;	     /* packets carry the send time */
	/* The application's own work on each packet of the ledger; NULL: none. */
	void (*work)(void *arg, uint16_t stream, uint64_t number, unsigned len);
	void *work_arg;

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
