/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a socket was full: what its reader did while packets were lost, and how full the queue was.
 *
 * Sources: /proc/PID/task/TID/schedstat (proc_pid_schedstat(): time on a CPU, and time runnable
 * without one, ns), stat, wchan and syscall of the same, cpu.stat of the cgroups above it, and
 * SK_MEMINFO of the socket by sock_diag. All are samples at the ticks of the caller: a loss that
 * lasts shorter than two ticks has no window, and then nothing is said.
 *
 * The kernel could tell it without samples, at sched_switch and sched_wakeup; but these come for
 * every task of the host, some 100,000 times a second on a busy one, loss or not. A read of
 * schedstat costs a microsecond or two for each thread and tick, and only while a socket loses
 * packets.
 */
#ifndef PKTLEDGER_READING_H
#define PKTLEDGER_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "live/owners.h"

#define READING_SOCKETS 16 /* watched at a time; the rest go without */
#define READING_THREADS 64 /* of one process */

struct readings;

/*
 * The thread that reads: the one that was seen in a receiving call on this socket, else the one
 * that used or wanted a CPU the longest. Times are of ticks in which packets were lost, in ns.
 */
struct reading {
	pid_t pid;
	char process[16], thread[16]; /* names; the same in most processes */
	unsigned threads;	      /* of the process */
	bool seen; /* the thread was seen in a receiving call; else it is a guess if threads > 1 */

	uint64_t window_ns;
	uint64_t run_ns;	 /* on a CPU */
	uint64_t wait_ns;	 /* runnable, without a CPU */
	uint64_t sleep_ns;	 /* the rest */
	uint64_t process_run_ns; /* of all threads */
	uint64_t process_wait_ns;
	uint64_t throttled_ns; /* its cgroups had used up their quota (cpu.max), the longest of them
				*/
	bool stopped;	       /* by a signal or a debugger, in most samples */
	char sleeps_in[48];    /* function of the kernel where it slept most often; "": unknown */

	unsigned samples;     /* of the queue */
	uint64_t queue_bytes; /* truesize waiting, mean over the samples */
	uint64_t queue_max_bytes;
	uint64_t rcvbuf; /* SO_RCVBUF as getsockopt tells it; 0: unknown */
	uint64_t drops;	 /* of the socket (sk_drops) within the window: a second book */
};

/* `owners` is borrowed; `root` as there. */
int readings_open(struct readings **r, struct owners *owners, const char *root, struct error *err);
void readings_close(struct readings *r);

/* The socket has lost packets since the last tick. */
void readings_note(struct readings *r, uint64_t inode, uint32_t netns);

/* A sample of all that were noted; the time since the last one counts for those noted since. */
void readings_tick(struct readings *r);

/* -ENOENT: not watched, no process found, or no whole tick seen. */
int readings_get(const struct readings *r, uint64_t inode, struct reading *out);

/* CPU time that the samples took, ns. */
uint64_t readings_cost(const struct readings *r);

#endif
