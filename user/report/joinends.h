/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ends of ledgers that are joined: which sender's streams came to which receiver, by the
 * numbers that both have; and what became of each number, as ledger/join.h decides it. For
 * joined.c.
 */
#ifndef PKTLEDGER_REPORT_JOINENDS_H
#define PKTLEDGER_REPORT_JOINENDS_H

#include "ledger/result.h"
#include "report/load.h"

struct joinends_stream {
	uint16_t stream;
	uint64_t base;
	uint64_t first, last; /* numbers that are its own, as in the stamp; last < first: none */
	const struct fatesum_run *run; /* of its sender's ledger */
	size_t n;
	const struct fatesum_run *came; /* of the receiver's */
	size_t n_came;
};

struct joinends_receiver;

struct joinends_sender {
	const struct ledgers_document *d;
	bool whole; /* its ledger has an end, and no line is missing */
	struct joinends_stream stream[TRACE_STREAMS];
	unsigned streams;
	const struct joinends_receiver *to; /* NULL: its ledger is not among these */
	bool by_time;			    /* nothing of it came: it is there by the clocks only */
};

struct joinends_receiver {
	const struct ledgers_document *d;
	bool whole;
	const struct fatesum_run *run;
	size_t n;
};

struct joinends {
	struct joinends_sender *sender;
	unsigned senders;
	struct joinends_receiver *receiver;
	unsigned receivers;
};

/* As joined_make() fails. joinends_free() is due in any case. */
int joinends_match(struct joinends *j, const struct ledgers *l, struct error *err);
void joinends_free(struct joinends *j);

/* "b, ledger 2": by which an end is called. */
const char *joinends_name(const struct ledgers_document *d);

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
