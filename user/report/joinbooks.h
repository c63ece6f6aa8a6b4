/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The books of one stream that a sender and a receiver have each kept their part of. A number that
 * was seen to leave the one, and not seen to come to the other while that one watched, is lost on
 * the wire: a difference of two checkpoints. What only one of the two can tell, and cannot, stays
 * unaccounted. Pure.
 */
#ifndef PKTLEDGER_REPORT_JOINBOOKS_H
#define PKTLEDGER_REPORT_JOINBOOKS_H

#include "ledger/result.h"
#include "report/fatesum.h"

/* What one end has told of the stream; runs ascend and do not overlap. */
struct joinbooks_end {
	struct fatesum *fates; /* that name the outcomes */
	const struct fatesum_run *run;
	size_t n;
	const char *host;
};

struct joinbooks_stream {
	uint16_t stream;
	uint64_t base;		 /* in the stamps of number 0 */
	struct joinbooks_end tx; /* in numbers from 0 */
	struct joinbooks_end rx; /* as in the stamp */
	uint64_t watch_from,
		watch_to;  /* as in the stamp: what did not come between was not there */
	unsigned l3_bytes; /* of a packet; 0: unknown */
	bool whole;	   /* the sender has told of all that it attempted */
};

/*
 * Adds attempted .. unaccounted, stages and causes to `res`. `open`: numbers of which the sender
 * has told nothing, because its ledger is not whole, and the receiver nothing either.
 */
void joinbooks_add(const struct joinbooks_stream *s, struct result *res, uint64_t *open);

/* Adds the sums, stages and causes of one result to those of another. */
void joinbooks_sum(struct result *sum, const struct result *one);

#endif
