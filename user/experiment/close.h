/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Closing the books of a rig: takes from it what the ledger needs. */
#ifndef PKTLEDGER_EXPERIMENT_CLOSE_H
#define PKTLEDGER_EXPERIMENT_CLOSE_H

#include "ledger/ledger.h"
#include "experiment/rig.h"
#include "experiment/window.h"

struct books {
	const struct experiment_view *view;
	struct ledger ledger;
	uint16_t stream0;
	struct sink sink; /* sums of the receiving threads */
	struct rx_stats rx;
	uint64_t rx_cpu_ns;
	struct arrivals arrivals;
	uint64_t unread;	   /* numbers found in the queue of a socket before it was closed */
	uint64_t unread_confirmed; /* events of the kernel freeing them */
	uint64_t in_socket;	   /* waiting in a socket's queue when time to settle was over */
	struct window window;
	uint64_t known[TRACE_STREAMS]; /* for books_complete(): numbers below are */
};

struct books *books_new(const struct experiment_view *view);
void books_free(struct books *b);

/* Folds numbers older than the time to settle, and lets the sender use their places. To be called
 * often where rig->moving is set.
 */
void books_move_window(struct books *b, struct rig *rig, uint64_t now);

/* Ends seen so far by stage. */
void books_stages(struct books *b, const struct rig *rig, struct trace_count stage[STAGE_COUNT]);

/* Packets in the queueing disciplines of the path. */
uint64_t books_in_qdiscs(const struct rig *rig);

/* Datagrams of which the receiving host has some fragments and waits for the rest. */
uint64_t books_in_reassembly(const struct rig *rig);
/* The address of a next hop is being asked for: packets may wait for the answer. */
bool books_asking(const struct rig *rig);

/*
 * Every number attempted so far has its fate, or is where none will come: in a bridge that did not
 * pass it on, in a socket that nobody reads. The sender has ended.
 */
bool books_complete(struct books *b, const struct rig *rig);

/* Sums of the receiver, whose threads have ended. */
void books_take_receiver(struct books *b, struct rig *rig);

/* What is known before anything is sent: sizes, rate, granted modes. */
void books_describe(const struct rig *rig, struct result *res);

int books_close(struct books *b, struct rig *rig, struct result *res, struct error *err);

#endif
