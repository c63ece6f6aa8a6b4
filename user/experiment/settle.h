/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides how long to keep numbers during traffic, and how long to wait for outcomes after it ends.
 */
#ifndef PKTLEDGER_EXPERIMENT_SETTLE_H
#define PKTLEDGER_EXPERIMENT_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace_abi.h"
#include "traffic/tx.h"

#define WINDOW_MARKS 128

/*
 * The window of a run with too many numbers to fit in memory, because it is endless or very long.
 * Numbers older than the --settle time leave the window, and their slots are reused. All functions
 * are pure except window_size().
 *
 * If a caller is very late, it was suspended, for example in a paused virtual machine, and probably
 * so were the packets that have to be resolved. That time does not count.
 */
struct window {
	unsigned streams;
	uint64_t settle_ns;
	uint64_t moved_ns;   /* ns, time of the last move */
	uint64_t counted_ns; /* ns up to moved_ns that count */
	struct window_mark { /* the streams' progress at a counted time, in a ring */
		uint64_t counted_ns, next[TRACE_STREAMS];
	} mark[WINDOW_MARKS];
	unsigned marks, oldest;
};

#define WINDOW_CATCH_UP 1.3 /* a paced sender that was late sends faster for a while */

/*
 * Returns the rate, in pps, that an unthrottled thread hardly exceeds. `veth`: the interface is a
 * veth, where AF_XDP has to copy.
 */
double window_pps(const struct tx_ops *tx, bool gso, bool veth);

/*
 * Returns how many numbers to keep per stream, a power of two. This is all `count`, or as many as
 * are sent at `pps` before they are resolved, or as many as fit in an eighth of the host's memory.
 * A stream that is faster has to wait.
 */
uint64_t window_size(uint64_t count, double pps, uint64_t settle_ns, unsigned streams);

#define WINDOW_EACH 3 /* bytes per number, for outcomes, arrivals and seen */

/* Returns how many numbers per stream fit in the memory allowed on this host. */
uint64_t window_most(unsigned streams);

void window_init(struct window *w, unsigned streams, uint64_t settle_ns);

/* Returns whether to report the streams' progress again. */
bool window_is_due(const struct window *w, uint64_t now_ns);

/* Records that the streams are at `next` (one per stream). */
void window_note(struct window *w, uint64_t now_ns, const uint64_t *next);

/*
 * Returns the streams' positions for which the --settle time is over, so that numbers below them
 * leave the window now. Returns NULL if no position is old enough. The result is valid until the
 * next window_note(). If this is called rarely, numbers may stay longer than necessary.
 */
const uint64_t *window_leaving(struct window *w);

#define SETTLE_SILENT_NS 1000000000 /* silent_ns if some losses leave no event */

/*
 * Waits, after the last packet was sent, for every packet's outcome. Packets may be waiting where
 * no queue length is visible, such as in an interface's ring if the NAPI thread gets no CPU time.
 */
struct settling {
	uint64_t most_ns;
	uint64_t silent_ns;   /* ns without a new outcome that end the wait, because some losses
			       * have no event */
	uint64_t interval_ns; /* ns between calls of show(), 0: never */
	/* Returns a number that changes with each new outcome, or false if the source is gone. */
	bool (*outcomes)(void *arg, uint64_t *outcomes);
	/*
	 * Returns whether every number has an outcome. Called after quiet_ns without a new outcome.
	 */
	bool (*complete)(void *arg);
	uint64_t quiet_ns; /* for duplicates and for outcomes of numbers that were never sent */
	/* Returns whether all visible queues are empty. */
	bool (*idle)(void *arg);
	bool (*show)(void *arg, bool settling); /* called with true */
	void *arg;
};

/*
 * Returns when all outcomes are known, when no new outcomes arrive or when most_ns have passed.
 * Also returns after a signal. It then returns true, and no new work should start. Time while
 * suspended does not count.
 */
bool settle_wait(const struct settling *s);

#endif
