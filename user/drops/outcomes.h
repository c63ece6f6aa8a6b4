/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The outcome of every number, stored in one byte each: the cause that ended it (written by BPF),
 * its arrival (written by the receiver), how far it was seen (probes), and whether the send call
 * failed (sender). For endless runs, folding converts a range of numbers into sums and empties it.
 */
#ifndef PKTLEDGER_DROPS_OUTCOMES_H
#define PKTLEDGER_DROPS_OUTCOMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hist.h"
#include "base/record.h"
#include "trace_abi.h"

/*
 * Receiver statistics in addition to the ledger: order, loss bursts and latency, per flow and in
 * total. Plain data.
 */

#define ARRIVALS_BUCKETS 32 /* by powers of two: 1, 2, 3-4, 5-8 .. */
#define ARRIVALS_FLOWS	 64 /* maximum number of flows displayed */
#define ARRIVALS_CLOCK	 "CLOCK_TAI"

/* Returns the bucket of a value (at least 1), and the values in a bucket. */
unsigned arrivals_bucket(uint64_t value);
uint64_t arrivals_bucket_from(unsigned bucket);
uint64_t arrivals_bucket_to(unsigned bucket);

/* RFC 4737: packets that arrived below their stream's highest number, and their displacement. */
struct reordering {
	uint64_t packets;
	uint64_t extent_max; /* arrivals since the first packet with a higher number */
	uint64_t extent[ARRIVALS_BUCKETS]; /* packets */
	uint64_t extent_unknown;	   /* too late: the jump over them is no longer recorded */
};

void reordering_note(struct reordering *r, uint64_t extent);
void reordering_add(struct reordering *into, const struct reordering *from);

/* Loss bursts: consecutive numbers in one stream that were sent and not delivered. */
struct gaps {
	uint64_t count, packets, longest;
	uint64_t length[ARRIVALS_BUCKETS]; /* bursts */
};

/* Adds a burst of `length` numbers. Does nothing for 0. */
void gaps_note(struct gaps *g, uint64_t length);

struct result_latency {
	bool measured;
	uint64_t min, p50, p90, p99, p999, p9999, max; /* ns */
};

extern const struct record_field result_latency_rows[];

/* Fills in the latency from a histogram of one-way latencies. NULL or empty: not measured. */
void result_latency_fill(struct result_latency *l, const struct hist *delay);

/* Probes on a packet's path on one host (see drops/legs.h), and the time between two of them. */
enum result_point {
	RESULT_SENT,	   /* from the sequence header */
	RESULT_DEVICE_OUT, /* this and the following correspond to enum leg_point */
	RESULT_DEVICE_IN,
	RESULT_SOCKET,
	RESULT_READ,
	RESULT_POINTS,
};

#define RESULT_LEGS 10 /* pairs of probes */

struct result_leg {
	unsigned from, to; /* enum result_point */
	uint64_t packets, mean_ns;
	struct result_latency latency;
};

extern const struct record_field result_leg_rows[];

/* The kernel's receive timestamps (SO_TIMESTAMPING). */
struct result_stamps {
	bool asked; /* the latency breakdown was requested */
	enum result_stamper {
		STAMPED_BY_NONE,     /* the receiving engine has no kernel timestamps */
		STAMPED_BY_SOFTWARE, /* set by the driver, before the packet waits for a CPU */
	} kind;
	uint64_t packets;
	struct result_latency backlog; /* from the software timestamp to RESULT_DEVICE_IN */
};

extern const struct record_field result_stamps_rows[];

struct arrivals_flow {
	uint16_t stream; /* as stamped */
	char source[64]; /* ADDR:PORT; "": flows were not told apart */
	uint64_t delivered, bytes, duplicated;
	struct reordering order;
	uint64_t jitter_ns;
	struct result_latency latency;
};

extern const struct record_field arrivals_flow_rows[];

struct arrivals {
	struct reordering order;
	struct gaps gaps;
	struct result_latency latency;
	uint64_t delay[HIST_QUARTERS]; /* packets by one-way latency: hist_quarters() */
	struct result_leg leg[RESULT_LEGS];
	unsigned legs;
	struct result_stamps stamps;
	uint64_t jitter_ns; /* RFC 3550, average over flows weighted by packets */
	uint64_t negative;  /* packets that appear to have arrived before they were sent */
	struct arrivals_flow flow[ARRIVALS_FLOWS];
	unsigned flows;
	uint64_t flows_more; /* flows included in the sums but not in `flow` */
};

/* Returns why the clocks at the two ends may differ, or NULL. */
const char *arrivals_clock_doubt(const struct arrivals *a);

/* The kernel did not report the error of a truncated sendmmsg() call. */
#define TX_ERRNO_LOST 255

struct outcomes {
	uint64_t base, window; /* as in struct trace_config */
	uint16_t stream0, streams;
	uint8_t *cause; /* mapped from BPF; plain memory if there is no tracer */
	uint8_t *seen;
	uint8_t *arrivals;	      /* mapped from BPF if the receiver may be a program */
	uint8_t *failed;	      /* errno of the send call that refused the number */
	size_t bytes;		      /* size of each of the four */
	uint64_t tail[TRACE_STREAMS]; /* numbers below are already folded */
	/*
	 * Returns a number's L3 bytes (counted from 0) if packet sizes differ. NULL: all are equal.
	 */
	unsigned (*l3_bytes)(const void *arg, uint16_t slot, uint64_t number);
	const void *l3_arg;
};

/*
 * Outcome of a number at one site, or joined from two sites (ledger/join.h). At a single site the
 * outcomes are OPEN, REFUSED, DROPPED and DELIVERED.
 */
enum outcome {
	OUTCOME_NOTHING, /* the receiver was watching and did not see it */
	OUTCOME_OPEN,	 /* no site has seen it end */
	OUTCOME_REFUSED,
	OUTCOME_GAP,  /* never attempted, and missing from a complete ledger */
	OUTCOME_SEEN, /* seen at this site's probe, but no further */
	OUTCOME_DROPPED,
	OUTCOME_GIVEN_UP, /* dropped by a receiver because fragments were missing */
	OUTCOME_DELIVERED,
	OUTCOME_WIRE,	    /* seen leaving, not seen arriving */
	OUTCOME_IMPOSSIBLE, /* arrived or was dropped, but was never attempted */
};

/* Returns "unaccounted", "delivered", "dropped" or "refused". Static. */
const char *outcome_name(enum outcome outcome);

/* Numbers in one stream with the same outcome and the same detail. */
struct range {
	uint64_t first, last; /* counted from 0 unless stated otherwise */
	uint16_t stream;      /* slot of the stream unless stated otherwise */
	/* DROPPED: the cause. OPEN: `seen`. REFUSED: `failed`. Otherwise 0. In files: the ID. */
	uint16_t detail;
	enum outcome outcome;
};

static inline uint64_t range_packets(const struct range *r)
{
	return r->last - r->first + 1;
}

/* Receives ranges, in ascending order per stream. */
struct range_visitor {
	void (*range)(void *arg, const struct range *r);
	void *arg;
};

/* Sums over all numbers folded so far. */
struct outcome_tally {
	uint64_t attempted, refused, delivered, dropped, unaccounted;
	uint64_t impossible;			    /* has an outcome but was never attempted */
	uint64_t unaccounted_seen[SEEN_SOCKET + 1]; /* by last probe passed; 0: not seen */
	uint64_t unaccounted_on_init;		    /* last seen in the context of PID 1 */
	struct gaps gaps;			    /* runs of numbers sent but not delivered */
	uint64_t missing[TRACE_STREAMS];	    /* current run of missing numbers, still open */
	uint64_t refused_by[256];		    /* by errno; TX_ERRNO_LOST: unknown */
	struct outcome_cause {
		uint64_t packets;
		uint64_t first, last; /* numbers, counted from 0 */
		uint64_t l3_bytes;    /* set only with outcomes.l3_bytes */
	} cause[TRACE_STREAMS][TRACE_CAUSES];
};

/* The numbers that belong to a run. */
struct outcomes_numbers {
	uint64_t base, window;
	uint16_t stream0, streams;
};

/* Returns the smallest window that can hold `count` numbers of one stream. */
uint64_t outcomes_window(uint64_t count);

/*
 * Chooses stream0 and base at random, so that late packets from another run never match. Uses
 * `streams` and `window` as given. outcomes_map() allocates the memory.
 */
void outcomes_init(struct outcomes *f, uint16_t streams, uint64_t window);

/* Initialises with numbers chosen by another site. */
void outcomes_init_given(struct outcomes *f, const struct outcomes_numbers *numbers);

/* Returns false if the numbers cannot be genuine: another host's data may be malicious. */
bool outcomes_numbers_valid(const struct outcomes_numbers *numbers);

/*
 * Maps the BPF maps `outcomes`, `seen` and `arrivals` (-1: use plain memory instead) and the rest.
 */
int outcomes_map(struct outcomes *f, int outcomes_fd, int seen_fd, int arrivals_fd,
		 struct error *err);
void outcomes_unmap(struct outcomes *f);

static inline size_t outcomes_index(const struct outcomes *f, uint16_t slot, uint64_t number)
{
	return slot * f->window + (number & (f->window - 1));
}

/*
 * Folds a stream's numbers [tail, upto): converts them to ranges and clears them. `ignored`: causes
 * that do not end a packet (an array of TRACE_CAUSES bytes).
 */
void outcomes_fold(struct outcomes *f, uint16_t slot, uint64_t upto, const uint8_t *ignored,
		   const struct range_visitor *visitor);

/* Adds a range from outcomes_fold() or join_here() to the tally. */
void tally_add(struct outcome_tally *t, const struct outcomes *f, const struct range *r);

/*
 * Assigns this cause to open numbers in [tail, upto) that passed one probe but not the next; both
 * are flags of `seen`. The loss is the difference between two probes that have no other place of
 * loss between them.
 */
void outcomes_settle_between(struct outcomes *f, uint16_t slot, uint64_t upto,
			     const uint8_t *ignored, uint8_t passed, uint8_t missed, uint8_t cause);

/*
 * Returns the first number in [from, upto) that is not folded, has no outcome, and has not come to
 * rest where no event will follow (`rests` receives its `seen`). Returns `upto` if there is none.
 * `ignored`: as in outcomes_fold().
 */
uint64_t outcomes_first_open(const struct outcomes *f, uint16_t slot, uint64_t from, uint64_t upto,
			     const uint8_t *ignored, bool (*rests)(const void *arg, uint8_t seen),
			     const void *arg);

/*
 * Returns the highest number + 1 that has any record, among the next `most` numbers in the window
 * starting at `from`. Returns `from` if there is no record.
 */
uint64_t outcomes_highest(const struct outcomes *f, uint16_t slot, uint64_t from, uint64_t most);

/*
 * Counts outcomes from `next` on, which were never sent, as impossible. Call after the last fold.
 */
void outcomes_beyond(struct outcomes *f, uint16_t slot, uint64_t next, struct outcome_tally *t);

#endif
