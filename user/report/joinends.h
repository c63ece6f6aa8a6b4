/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which sender's streams came to which receiver, by the numbers that both have. */
#ifndef PKTLEDGER_REPORT_JOINENDS_H
#define PKTLEDGER_REPORT_JOINENDS_H

#include "report/load.h"
#include "trace_abi.h"

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

#endif
