/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs work that takes long in a thread, until the caller needs its result. */
#ifndef PKTLEDGER_BASE_BESIDE_H
#define PKTLEDGER_BASE_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

struct beside {
	pthread_t thread;
	bool runs;
};

/*
 * Starts the work, unless it runs. If no thread can be created, the work is not done: see
 * beside_end().
 */
static inline void beside_start(struct beside *b, void *(*work)(void *), void *arg)
{
	b->runs = b->runs || !pthread_create(&b->thread, NULL, work, arg);
}

/* Waits for the work to end. Returns false if it was not started since the last call. */
static inline bool beside_end(struct beside *b)
{
	const bool ran = b->runs;

	b->runs = false;
	return ran && !pthread_join(b->thread, NULL);
}

#endif
