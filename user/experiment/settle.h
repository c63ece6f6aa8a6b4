/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waiting after the last packet was sent, until what became of each packet is known. It may lie
 * where no queue is shown, as in the ring of a device whose NAPI thread gets no CPU.
 */
#ifndef PKTLEDGER_EXPERIMENT_SETTLE_H
#define PKTLEDGER_EXPERIMENT_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#define SETTLE_SILENT_NS 1000000000 /* silent_ns where losses leave no event */

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
	void (*show)(void *arg, uint64_t start_ns, uint64_t now_ns);
	void *arg;
};

/*
 * Returns when all is known, or nothing more came, or most_ns are over, or a signal came: then
 * true, as nothing more is to be begun.
 */
bool settle_wait(const struct settling *s);

#endif
