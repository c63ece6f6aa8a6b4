/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a socket was full: what its reader did while packets were lost, and how full the queue was
 * (of UDP).
 *
 * Sources: /proc/PID/task/TID/schedstat (proc_pid_schedstat(): time on a CPU, and time runnable
 * without one), stat, wchan and syscall of the same, cpu.stat of the cgroups above it, and
 * SK_MEMINFO of the socket by sock_diag. All are samples, but for what is lost in one go, which a
 * program of bpf/survey.bpf.c counts.
 *
 * The kernel could report it without samples, at sched_switch and sched_wakeup; but these come for
 * every task of the host, some 100,000 times a second on a busy one, loss or not. Here an interval
 * costs some microseconds for each thread, a sample between as much for each socket that loses.
 *
 *	readings_new() .. readings_begin()
 *	every 100 ms or so: readings_sample()
 *	at the end of an interval: readings_note() for each socket that lost packets in it, then
 *	readings_interval()
 */
#ifndef PKTLEDGER_DIAGNOSIS_READER_H
#define PKTLEDGER_DIAGNOSIS_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"
#include "drops/owners.h"

/* Known at a time; the one that has lost nothing for longest gives way. */
#define READING_SOCKETS 64

struct readings;

/* Which socket; 0: not known. */
struct reading_socket {
	uint64_t inode;	 /* as for owners_socket() */
	uint32_t netns;	 /* inode number */
	uint16_t family; /* AF_INET, AF_INET6 */
	uint16_t port;	 /* local, host order */
	bool tcp;	 /* else UDP; then the queue is not looked at */
	uint64_t cgroup;
};

/*
 * The thread that reads: of those seen in a receiving call on this socket, else of all, the one
 * that used or wanted a CPU the longest. Times are those of intervals with losses.
 */
struct reading {
	pid_t pid, tid;
	char process[16], thread[16]; /* names; the same in most processes */
	unsigned threads;	      /* of the process */
	unsigned holders;	      /* processes that have the socket; the others may read too */
	bool seen; /* the thread was seen in a receiving call; else it is a guess if threads > 1 */

	uint64_t window_ns;    /* the whole time; 0: nothing is known */
	uint64_t run_ns;       /* on a CPU */
	uint64_t wait_ns;      /* runnable, without a CPU; the rest it slept */
	uint64_t throttled_ns; /* CPU time that the quota of its cgroup withheld, all CPUs */
	bool stopped;	       /* by a signal or a debugger, in most samples */
	char sleeps_in[48];    /* function of the kernel where it slept most often; "": unknown */

	/* What distinguishes one that is awaited from one that rests: the queue while it slept. */
	unsigned samples;     /* in which it did */
	unsigned full;	      /* of these, with the buffer full by three quarters and more */
	uint64_t queue_bytes; /* truesize waiting, mean over these samples */

	uint64_t burst;		  /* the most packets of UDP lost in one go; 0: not known */
	uint64_t truesize;	  /* bytes that a packet took in the full queue; 0: not known */
	uint64_t lost;		  /* packets, as noted */
	uint64_t received_around; /* by all UDP sockets of its namespace and family (InDatagrams) */
};

/* `owners` is borrowed, and so is its root. */
struct readings *readings_new(struct owners *owners);
void readings_close(struct readings *r);

/*
 * Notes the state of the processes that have UDP sockets now, in the caller's namespace and in the
 * `n` others, if there is room: so the first interval has a beginning. Calls owners_tick().
 */
void readings_begin(struct readings *r, const uint32_t *netns, unsigned n);

/*
 * A sample of the sockets that have lost packets lately. The first one attaches the program that
 * counts bursts (CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN): it takes 20 ms, which no first drop is
 * to wait for.
 */
void readings_sample(struct readings *r);

/* The socket has lost so many packets in the interval that ends now. */
void readings_note(struct readings *r, const struct reading_socket *s, uint64_t packets);

/* Ends the interval. Calls owners_tick(). */
void readings_interval(struct readings *r);

/* -ENOENT: no process was found, or no interval had a beginning and an end. */
int readings_get(const struct readings *r, uint64_t inode, struct reading *out);

/*
 * What the threads of a process did between samples: on a CPU, runnable without one, asleep.
 * /proc/PID/task/TID/schedstat: sum_exec_runtime and run_delay, ns. The first lags by a tick of the
 * scheduler; the second has a wait only when it is over.
 */

#define THREADS_MAX 64 /* of one process; the first ones */

struct thread {
	pid_t tid;
	char name[PROC_NAME];
	uint64_t run_ns, wait_ns; /* summed over the samples that were kept */
	bool receives;		  /* in a sample it waited in a receiving call */

	uint64_t last_run, last_wait; /* as read */
	uint64_t new_run, new_wait;   /* since the last threads_keep() */
	bool new_receives;
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

/* `root`: proc_root(). newborn: what its threads did before the first sample counts, too. */
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

/* Fraction of the time that was watched; 0: nothing is known. */
double reading_fraction(const struct reading *r, uint64_t ns);

uint64_t reading_sleep_ns(const struct reading *r);

/* How often the buffer was full while the reader slept, 0 .. 1; negative: not known. */
double reading_full(const struct reading *r);

/* Whether the buffer was not full while the reader slept. */
bool reading_had_room(const struct reading *r);

/* Whether enough is known to tell why the socket was full. */
bool reading_decides(const struct reading *r);

#define READING_TEXT 128

struct finding_facts;

/* Sets the reading and the name of the reader, in `buf`, which `f` borrows. */
void reading_describe(const struct reading *r, char buf[READING_TEXT], struct finding_facts *f);

#endif
