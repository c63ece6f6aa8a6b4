/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of an experiment between two hosts that is on this one, whichever it is: asked the same
 * things by the client for its own, and by the server for the client.
 */
#ifndef PKTLEDGER_EXPERIMENT_NEAR_H
#define PKTLEDGER_EXPERIMENT_NEAR_H

#include "experiment/msg.h"
#include "experiment/receiving_end.h"
#include "experiment/sending_end.h"

struct near {
	bool sends, open, started, stopped;
	struct send_spec send; /* of these one is used */
	struct recv_spec recv;
	struct sending_end tx;
	struct receiving_end rx;
	struct fates_numbers numbers; /* kept for the specs */
	struct result sums;	      /* of a receiver that has stopped */
	struct counters before;	      /* of the kernel, when it was opened */
	uint64_t unread;	      /* found in its socket then */
};

/* The engine of that name; NULL: there is none. */
const struct tx_ops *near_tx_engine(const char *name);
const struct rx_ops *near_rx_engine(const char *name);

/* By `send` or `recv`, which are filled. -errno; near_close() is due all the same. */
int near_open(struct near *n, bool sends, struct error *err);

struct fates *near_fates(struct near *n);
struct ledger *near_ledger(struct near *n);

/* How its engine works here, and where its checkpoint is. */
void near_ready(const struct near *n, struct peer_ready *ready);

void near_start(struct near *n);
void near_status(struct near *n, struct peer_status *st);

/* Ends the engine; an error that ended it early is in `err`. */
void near_stop(struct near *n, struct error *err);

/* Before numbers below `upto` (from 0, one a stream) are folded: what is known of them is final. */
void near_prepare(struct near *n, const uint64_t *upto);

/* Folds them, and lets a sender use their places. */
void near_fold(struct near *n, const uint64_t *upto, const struct fates_visitor *visitor);

/* What this end knows of itself: the rows of msg_end. It has stopped, and all is folded. */
void near_end(struct near *n, struct result *res);

/*
 * The second books of this end: the kernel's counters here, against what was seen here. Fills the
 * counters of `res`, an empty one, and `replies`. To be called last: causes of the far end leave
 * the ledger.
 */
int near_compare(struct near *n, struct result *res);

/* For near_open(). */
int near_read_counters(struct near *n, struct counters *c);

void near_close(struct near *n);

#endif
