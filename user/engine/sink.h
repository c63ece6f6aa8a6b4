/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where every receiving engine's packets end: checks the stamp, marks the number as delivered,
 * and keeps what only the receiver can know (duplicates, order, damage, delay). One sink per
 * receiving thread; sinks of one run share the arrival bytes.
 */
#ifndef PKTLEDGER_SINK_H
#define PKTLEDGER_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "books/hist.h"
#include "trace_abi.h"

struct sink_stream {
	uint8_t *arrivals;    /* a byte a number, `window` of them; shared with BPF */
	uint64_t highest;     /* highest number seen + 1; 0: none */
};

struct sink {
	/* set by sink_init() */
	uint64_t base, window;
	uint16_t stream0, streams;
	unsigned payload;     /* expected length; 0: any */
	const uint8_t *fill;  /* expected bytes behind stamp and time, see flow_fill() */
	struct sink_stream stream[TRACE_STREAMS];

	/* results; written by the receiving thread only */
	uint64_t delivered;   /* numbers, each once */
	uint64_t bytes;	      /* UDP payload of the delivered */
	uint64_t duplicated;
	uint64_t reordered;   /* RFC 4737: number below the highest of its stream */
	uint64_t damaged;     /* another length than sent */
	uint64_t invalid;     /* no valid stamp */
	uint64_t foreign;     /* stamp of another run */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and last delivery */
	struct hist *delay;   /* one-way, ns; NULL: not measured */
};

/* A UDP payload of `len` bytes, of which `have` are at `data`. now_tai: CLOCK_TAI, 0 if unknown. */
void sink_packet(struct sink *s, const void *data, unsigned have, unsigned len, uint64_t now_tai);

#endif
