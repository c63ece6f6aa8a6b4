/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sending and receiving threads share: where they run, and how they are woken. */
#ifndef PKTLEDGER_TRAFFIC_WORKER_H
#define PKTLEDGER_TRAFFIC_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "host/netns.h"

/* A door that opens once: threads report that they are ready and wait behind it. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned ready;
	bool open;
};

#define GATE_INIT                                                                                  \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER              \
	}

void gate_report(struct gate *g);
void gate_await(struct gate *g, unsigned ready);
void gate_open(struct gate *g);
void gate_pass(struct gate *g);

/* What the user asked for. */
struct worker_wish {
	bool cpu_set;
	unsigned cpu; /* of the first thread, the others follow; must be one we may use */
};

struct tuning;

/*
 * Moves the calling thread into `ns` (NULL: stays) and onto `cpu` modulo those online (-1: any): a
 * guess of ours, which may fail. `wish` stands before it, and what cannot be granted is an error,
 * as are nice and rt of `tuning`; `slot` is the thread's number.
 */
int worker_settle_in(const struct netns *ns, int cpu, const struct worker_wish *wish,
		     const struct tuning *tuning, unsigned slot, struct error *err);

/* Threads of one end, as worker_settle_in() is called for each. */
struct worker_group {
	const struct worker_wish *wish;
	int cpu; /* of the first one; -1: any */
	unsigned threads;
};

/*
 * What threads with a real-time priority do to each other, or to everybody else: one that does not
 * sleep keeps all others from its CPU (SCHED_FIFO). NULL: nothing.
 */
const char *worker_rt_warning(const struct worker_group *groups, unsigned n);

/* Zero-initialised: not started. */
struct worker {
	pthread_t thread;
	bool started;		       /* and not joined yet */
	uint64_t cpu_ns;	       /* private: as last asked for */
	_Atomic uint64_t ended_cpu_ns; /* private: of all its life; 0: it runs */
};

int worker_start(struct worker *w, void *(*run)(void *), void *arg, struct error *err);

/* Waits for its end; nothing if it was never started. */
void worker_join(struct worker *w);

/* CPU time until now, or until it ended; ns. */
uint64_t worker_cpu_ns(struct worker *w);

/* The last that the thread itself does: what CPU time it took stays known. */
void worker_ends(struct worker *w);

/* Lets worker_interrupt() end a blocking system call of a thread; once per process is enough. */
void worker_allow_interrupts(void);
void worker_interrupt(const struct worker *w);

#endif
