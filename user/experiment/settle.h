/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long numbers are kept while traffic flows, and waited for when it is over. */
#ifndef PKTLEDGER_EXPERIMENT_SETTLE_H
#define PKTLEDGER_EXPERIMENT_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace_abi.h"
#include "traffic/tx.h"

#define WINDOW_MARKS 128

/*
 * The window of a run whose numbers do not all fit in memory: endless, or very long. Numbers older
 * than the time to settle leave it, and their places are used again. Pure but for that size.
 *
 * A caller that comes very late stood still, and so may everything have done that had to settle
 * meanwhile, as in a virtual machine that was paused: such a time does not count.
 */
struct window {
	unsigned streams;
	uint64_t settle_ns;
	uint64_t moved_ns;   /* when it was moved last */
	uint64_t counted_ns; /* of the time until then */
	struct window_mark { /* how far the streams were at a time that counts; a ring */
		uint64_t counted_ns, next[TRACE_STREAMS];
	} mark[WINDOW_MARKS];
	unsigned marks, oldest;
};

#define WINDOW_CATCH_UP 1.3 /* a paced sender that was late is faster for a while */

/*
 * Packets/s that an unthrottled thread hardly exceeds. `veth`: the device is one, where AF_XDP has
 * to copy.
 */
double window_pps(const struct tx_ops *tx, bool gso, bool veth);

/*
 * Numbers to keep of each stream, a power of two: all `count` of it, or as many as `pps` packets/s
 * make until they have settled, or what an eighth of the host's memory holds. A faster one has to
 * wait.
 */
uint64_t window_size(uint64_t count, double pps, uint64_t settle_ns, unsigned streams);

#define WINDOW_EACH 3 /* of a number: fates, arrivals, seen */

/* The most numbers of each stream that this host's memory is given for. */
uint64_t window_most(unsigned streams);

void window_init(struct window *w, unsigned streams, uint64_t settle_ns);

/* Time to report again how far the streams are. */
bool window_is_due(const struct window *w, uint64_t now_ns);

/* The streams are at `next` (one each). */
void window_note(struct window *w, uint64_t now_ns, const uint64_t *next);

/*
 * Where the streams were when what is before that had to settle; it leaves the window now. NULL:
 * nothing is as old. Valid until the next call of window_note(). The longer this was not called,
 * the more may stay that could leave.
 */
const uint64_t *window_leaving(struct window *w);

#define SETTLE_SILENT_NS 1000000000 /* silent_ns where losses leave no event */

/*
 * Waiting after the last packet was sent, until what became of each packet is known. It may lie
 * where no queue is shown, as in the ring of a device whose NAPI thread gets no CPU.
 */
struct settling {
	uint64_t most_ns;
	uint64_t silent_ns;   /* so long without a new fate ends it: some losses leave no event */
	uint64_t interval_ns; /* show() so often; 0: never */
	/* A number that changes with each new fate; false: the one who knows it is gone. */
	bool (*fates)(void *arg, uint64_t *fates);
	/* Every number has its fate. Asked when no new one came for quiet_ns. */
	bool (*complete)(void *arg);
	uint64_t quiet_ns; /* for a copy of a packet, or a fate of one that nobody sent */
	/* Nothing waits in a queue that can be looked into. */
	bool (*idle)(void *arg);
	bool (*show)(void *arg, bool settling); /* true */
	void *arg;
};

/*
 * Returns when all is known, or nothing more came, or most_ns are over, or a signal came: then
 * true, as nothing more is to be begun. A time in which it stood still does not count.
 */
bool settle_wait(const struct settling *s);

#endif
