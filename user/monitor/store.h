/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums by labels, for as long as the program runs. They never go back. Their number is bounded:
 * where there is no room, a series that has not moved for an hour gives way; if all have, what is
 * new goes to a series of others, one for each stage and class, so that the sums of stages hold.
 */
#ifndef PKTLEDGER_MONITOR_STORE_H
#define PKTLEDGER_MONITOR_STORE_H

#include <stdint.h>

#include "monitor/labels.h"

struct store;

struct series {
	const char *label[LABEL_COUNT];
	enum noise noise;
	uint64_t packets, bytes;
	uint64_t moved_ns; /* when it did last */
};

struct store_state {
	unsigned series, max; /* without those of others, which do not count */
	uint64_t merged;      /* additions that went to others */
	uint64_t expired;     /* series that gave way */
};

#define STORE_IDLE_NS 3600000000000ULL

/* `max`: series that are told apart, at least 1. NULL: no memory. */
struct store *store_new(unsigned max);
void store_free(struct store *s); /* NULL is allowed */

/*
 * Adds the counts of `row`, at `now_ns` of a clock that goes forward. What is benign is told apart
 * by stage and reason only; NOISE_NOTHING is left out. 0 or -ENOMEM.
 */
int store_add(struct store *s, const struct live_row *row, uint64_t now_ns);

/* Those of a class, in the order of their labels. */
void store_each(const struct store *s, enum noise noise,
		void (*each)(void *arg, const struct series *one), void *arg);

void store_state(const struct store *s, struct store_state *out);

#endif
