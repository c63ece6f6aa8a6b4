/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The books of a receiver that stands alone and learns its streams from what arrives. Numbers older
 * than the time to settle are counted and forgotten, so that memory does not grow with time.
 */
#ifndef PKTLEDGER_EXPERIMENT_LEARNED_H
#define PKTLEDGER_EXPERIMENT_LEARNED_H

#include "experiment/receiver.h"
#include "experiment/solo.h"
#include "experiment/window.h"

#define LEARNED_SETTLE_NS 5000000000
#define LEARNED_XDP_NS	  1000000000 /* SINK_WINDOW holds as much at 14 Mpps */

/* Of each map that the fates of a ledger are in: a byte a number, the same for each stream. */
#define LEARNED_WINDOW_BYTES (1ULL << 25)

struct learned {
	struct window window;
	struct learned_stream {
		uint64_t counted;   /* numbers below are; 0: nothing yet */
		uint64_t first;	    /* below, nothing was looked at */
		uint64_t delivered; /* of those */
		uint64_t missing;   /* the run of numbers not delivered that is still open */
		uint64_t next;	    /* with fates: beyond the highest of which anything is known */
		bool blind; /* numbers came that could not be noted, up to the first that is */
	} at[TRACE_STREAMS];
	struct gaps gaps;
	/* Whose numbers are told one by one; fates NULL: nobody's. */
	struct fates *fates;
	struct ledger *ledger;
	const struct sink_streams *streams;
	const struct experiment_view *view;
};

void learned_init(struct learned *l, uint64_t settle_ns);

/*
 * From here on the fate of each number is told to view->on_fates, by its number as it is in the
 * stamp: "delivered", "dropped", "came" (seen here, and no more), "unknown" (it may have come, and
 * was not noted). What did not come is not told.
 */
void learned_tell(struct learned *l, struct fates *fates, struct ledger *ledger, struct receiver *r,
		  const struct experiment_view *view);

/* Numbers to be kept of each of so many streams. */
uint64_t learned_window(unsigned streams);

/* To be called often while the receiver runs. */
void learned_move(struct learned *l, struct receiver *r, uint64_t now_ns);

/* The receiver has stopped: counts the rest, and fills streams, losses and gaps of `out`. */
void learned_close(struct learned *l, struct receiver *r, struct recv_result *out);

#endif
