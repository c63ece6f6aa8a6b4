/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long numbers are kept during traffic, and how long to wait for outcomes after its end. */
#ifndef PKTLEDGER_EXPERIMENT_SETTLE_H
#define PKTLEDGER_EXPERIMENT_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace_abi.h"
#include "traffic/tx.h"

#define WINDOW_MARKS 128

/*
 * The window of a run whose numbers do not all fit in memory: endless, or very long. Numbers older
 * than the --settle time leave it, and their slots are reused. Pure except for window_size().
 *
 * A very late caller was suspended, and the packets to be resolved probably were, too, for example
 * in a paused virtual machine: such a time does not count.
 */
struct window {
	unsigned streams;
	uint64_t settle_ns;
	uint64_t moved_ns;   /* ns, time of the last move */
	uint64_t counted_ns; /* ns that count, up to moved_ns */
	struct window_mark { /* progress of the streams at a counted time, in a ring */
		uint64_t counted_ns, next[TRACE_STREAMS];
	} mark[WINDOW_MARKS];
	unsigned marks, oldest;
};

#define WINDOW_CATCH_UP 1.3 /* a paced sender that was late is temporarily faster */

/*
 * Returns pps that an unthrottled thread hardly exceeds. `veth`: the interface is a veth, where
 * AF_XDP has to copy.
 */
double window_pps(const struct tx_ops *tx, bool gso, bool veth);

/*
 * Returns the numbers to keep per stream, a power of two: all `count`, or as many as are sent at
 * `pps` before they are resolved, or as many as fit in an eighth of the host's memory. A faster
 * stream has to wait.
 */
uint64_t window_size(uint64_t count, double pps, uint64_t settle_ns, unsigned streams);

#define WINDOW_EACH 3 /* bytes per number: outcomes, arrivals, seen */

/* Returns the numbers per stream that fit the memory allowed on this host. */
uint64_t window_most(unsigned streams);

void window_init(struct window *w, unsigned streams, uint64_t settle_ns);

/* Returns whether to report the streams' progress again. */
bool window_is_due(const struct window *w, uint64_t now_ns);

/* Records that the streams are at `next` (one per stream). */
void window_note(struct window *w, uint64_t now_ns, const uint64_t *next);

/*
 * Returns the streams' positions whose --settle time is over: numbers below leave the window now.
 * NULL if no position is old enough. Valid until the next window_note(). If it is called rarely,
 * numbers may stay longer than necessary.
 */
const uint64_t *window_leaving(struct window *w);

#define SETTLE_SILENT_NS 1000000000 /* silent_ns if losses leave no event */

/*
 * Waits, after the last packet was sent, for the outcome of every packet. Packets may wait where no
 * queue length is visible, such as the ring of an interface whose NAPI thread gets no CPU.
 */
struct settling {
	uint64_t most_ns;
	uint64_t silent_ns;   /* ns without a new outcome that end the wait: some losses have no
			       * event */
	uint64_t interval_ns; /* ns between calls of show(), 0: never */
	/* Returns a number that changes with each new outcome. false: its source is gone. */
	bool (*outcomes)(void *arg, uint64_t *outcomes);
	/* Returns whether every number has an outcome. Called after quiet_ns without a new one. */
	bool (*complete)(void *arg);
	uint64_t quiet_ns; /* for duplicates, and outcomes of numbers that were never sent */
	/* Returns whether all visible queues are empty. */
	bool (*idle)(void *arg);
	bool (*show)(void *arg, bool settling); /* called with true */
	void *arg;
};

/*
 * Returns when all outcomes are known, no new ones arrive, most_ns have passed, or a signal
 * arrived: then true, and no new work should start. Time while suspended does not count.
 */
bool settle_wait(const struct settling *s);

#endif
