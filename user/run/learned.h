/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The books of a receiver that stands alone and learns its streams from what arrives. Numbers older
 * than the time to settle are counted and forgotten, so that memory does not grow with time.
 */
#ifndef PKTLEDGER_LEARNED_H
#define PKTLEDGER_LEARNED_H

#include "run/receiver.h"
#include "run/solo.h"
#include "run/window.h"

#define LEARNED_SETTLE_NS 5000000000
#define LEARNED_XDP_NS	  1000000000 /* SINK_WINDOW holds as much at 14 Mpps */

struct learned {
	struct window window;
	struct learned_stream {
		uint64_t counted;   /* numbers below are; 0: nothing yet */
		uint64_t delivered; /* of those */
		uint64_t missing;   /* the run of numbers not delivered that is still open */
	} at[TRACE_STREAMS];
	struct gaps gaps;
};

void learned_init(struct learned *l, uint64_t settle_ns);

/* To be called often while the receiver runs. */
void learned_move(struct learned *l, struct receiver *r, uint64_t now_ns);

/* The receiver has stopped: counts the rest, and fills streams, losses and gaps of `out`. */
void learned_close(struct learned *l, struct receiver *r, struct recv_result *out);

#endif
