/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the threads of a process did between samples: on a CPU, runnable without one, asleep.
 * /proc/PID/task/TID/schedstat: sum_exec_runtime and run_delay, ns. The first lags by a tick of the
 * scheduler; the second has a wait only when it is over.
 */
#ifndef PKTLEDGER_DIAGNOSIS_THREADS_H
#define PKTLEDGER_DIAGNOSIS_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"

#define THREADS_MAX 64 /* of one process; the first ones */

struct thread {
	pid_t tid;
	char name[PROC_NAME];
	uint64_t run_ns, wait_ns; /* summed over the samples that were kept */
	unsigned receives;	  /* samples in which it waited in a receiving call */

	uint64_t last_run, last_wait; /* as read */
	uint64_t new_run, new_wait;   /* since the last threads_keep() */
	unsigned new_receives;
	bool seen;
};

struct threads {
	int root;
	pid_t pid;
	int fd; /* of the socket */
	struct thread at[THREADS_MAX];
	unsigned n;
	unsigned all; /* threads of the process */
	bool begun;   /* a thread not seen before is new */
};

/*
 * `root`: proc_root(). newborn: what its threads have done until the first sample counts, too; else
 * they begin with it.
 */
void threads_init(struct threads *t, int root, pid_t pid, int fd, bool newborn);

/* A sample. `receives`: look for threads that wait in a call, too. 0; -ESRCH: it has ended. */
int threads_sample(struct threads *t, bool receives);

/* What came since the last call is added to the sums, or forgotten. */
void threads_keep(struct threads *t, bool keep);

/*
 * The thread that reads: of those seen in a receiving call, else of all, the one that ran and
 * waited the longest. NULL: no sample, or the kernel does not keep these times.
 */
const struct thread *threads_reader(const struct threads *t);

#endif
