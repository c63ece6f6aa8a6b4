/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds out why a socket was full: the work of its reader while packets were lost, and the fill
 * level of the queue (UDP only).
 *
 * Sources: /proc/PID/task/TID/schedstat (proc_pid_schedstat(): time on a CPU, and time runnable
 * without a CPU), stat, wchan and syscall of the same thread, cpu.stat of the cgroups above it, and
 * SK_MEMINFO of the socket from sock_diag. All are samples, except for the packets lost in one go,
 * which a program of bpf/survey.bpf.c counts.
 *
 * The kernel could report this without samples, at sched_switch and sched_wakeup. But these events
 * occur for every task of the host, some 100,000 times per second on a busy host, with or without
 * losses. Here an interval costs some microseconds per thread, and a sample in between about as
 * much per socket with losses.
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

/*
 * Facts of a host are declared once: F(declaration, kind, key, member), L() for a list, is a member
 * of the struct and its row in documents and bundles (base/record.h).
 */
#define FACT_MEMBER(declaration, ...) declaration;

/* Sockets known at a time. The socket with the longest time since its last loss is evicted. */
#define READING_SOCKETS 64

struct readings;

/* Identity of a socket, 0 if unknown. */
struct reading_socket {
	uint64_t inode;	 /* see owners_socket() */
	uint32_t netns;	 /* inode number */
	uint16_t family; /* AF_INET, AF_INET6 */
	uint16_t port;	 /* local, host order */
	bool tcp;	 /* else UDP. The queue of a TCP socket is not read */
	uint64_t cgroup;
};

/*
 * The thread that reads: of the threads seen in a receive call on this socket, else of all, the
 * thread that ran or waited for a CPU the longest. Times cover intervals with losses.
 */
#define READING(F)                                                                                 \
	F(pid_t pid, INT, "pid", pid)                                                              \
	F(pid_t tid, INT, "tid", tid)                                                              \
	F(char process[16], TEXT, "process", process)                                              \
	F(char thread[16], TEXT, "thread", thread) /* the process's name in most of them */        \
	F(unsigned threads, UINT, "threads", threads) /* of the process */                         \
	F(unsigned holders, UINT, "holders", holders) /* processes that may read */                \
	/* the thread was seen in a receive call, else it is a guess if threads > 1 */             \
	F(bool seen, BOOL, "seen", seen)                                                           \
	F(uint64_t window_ns, UINT, "window_ns", window_ns) /* 0 if nothing is known */            \
	F(uint64_t run_ns, UINT, "run_ns", run_ns) /* on a CPU */                                  \
	F(uint64_t wait_ns, UINT, "wait_ns", wait_ns) /* runnable. Else the thread slept */        \
	F(uint64_t throttled_ns, UINT, "throttled_ns", throttled_ns) /* by a quota, all CPUs */    \
	F(bool stopped, BOOL, "stopped", stopped) /* by a signal or debugger, in most samples */   \
	F(char sleeps_in[48], TEXT, "sleeps_in", sleeps_in) /* most often, "" if unknown */        \
	/* while the thread slept, which distinguishes a blocked reader from an idle reader */     \
	F(unsigned samples, UINT, "samples", samples)                                              \
	F(uint64_t queue_bytes, UINT, "queue_bytes", queue_bytes) /* mean truesize */              \
	F(unsigned full, UINT, "full", full) /* samples with three quarters full */                \
	F(uint64_t burst, UINT, "burst", burst) /* most UDP packets lost in one go */              \
	F(uint64_t truesize, UINT, "truesize", truesize) /* bytes per packet in a full queue */    \
	F(uint64_t lost, UINT, "lost", lost) /* packets, as noted */                               \
	/* packets of all UDP sockets of its namespace and family (InDatagrams) */                 \
	F(uint64_t received_around, UINT, "received_around", received_around)

struct reading {
	READING(FACT_MEMBER)
};

/* Creates readings. `owners` and its root are borrowed. */
struct readings *readings_new(struct owners *owners);
void readings_close(struct readings *r);

/*
 * Records the state of the processes that have UDP sockets now, in the caller's namespace and in
 * `n` others, if there is room, so that the first interval has a start. Calls owners_tick().
 */
void readings_begin(struct readings *r, const uint32_t *netns, unsigned n);

/*
 * Samples the sockets with recent losses. The first sample attaches the program that counts bursts
 * (CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN), which takes 20 ms, so it must not delay the handling
 * of the first drop.
 */
void readings_sample(struct readings *r);

/* Records the losses of a socket in the interval that ends now. */
void readings_note(struct readings *r, const struct reading_socket *s, uint64_t packets);

/* Ends the interval. Calls owners_tick(). */
void readings_interval(struct readings *r);

/* Returns the reading of a socket. -ENOENT if no process was found, or no interval is complete. */
int readings_get(const struct readings *r, uint64_t inode, struct reading *out);

/*
 * The threads of a process between samples: on a CPU, runnable without a CPU, asleep.
 * /proc/PID/task/TID/schedstat: sum_exec_runtime and run_delay, ns. The first value lags by a
 * scheduler tick, and the second includes a wait only after its end.
 */

#define THREADS_MAX 64 /* per process, the first threads */

struct thread {
	pid_t tid;
	char name[PROC_NAME];
	uint64_t run_ns, wait_ns; /* sums over the samples that were kept */
	bool receives;		  /* in a sample the thread waited in a receive call */

	uint64_t last_run, last_wait; /* as read */
	uint64_t new_run, new_wait;   /* since the last threads_keep() */
	bool new_receives;
	bool seen;
};

struct threads {
	int root;
	pid_t pid;
	int fd; /* descriptor of the socket */
	struct thread at[THREADS_MAX];
	unsigned n;
	unsigned all; /* threads of the process */
	bool begun;   /* a thread not seen before is new */
};

/*
 * Initialises. `root`: proc_root(). newborn: also counts the work of its threads before the first
 * sample.
 */
void threads_init(struct threads *t, int root, pid_t pid, int fd, bool newborn);

/*
 * Takes a sample. `receives`: also looks for threads that wait in a receive call. Returns 0, or
 * -ESRCH if the process has ended.
 */
int threads_sample(struct threads *t, bool receives);

/* Adds the increase since the last call to the sums, or drops it. */
void threads_keep(struct threads *t, bool keep);

/*
 * Returns the thread that reads: of the threads seen in a receive call, else of all, the thread
 * that ran and waited the longest. NULL without a sample, or if the kernel does not keep these
 * times.
 */
const struct thread *threads_reader(const struct threads *t);

/* Returns the fraction of the observed time, 0 if unknown. */
double reading_fraction(const struct reading *r, uint64_t ns);

uint64_t reading_sleep_ns(const struct reading *r);

/* Returns how often the buffer was full while the reader slept, 0 .. 1, negative if unknown. */
double reading_full(const struct reading *r);

/* Returns whether the buffer was not full while the reader slept. */
bool reading_had_room(const struct reading *r);

/* Returns whether enough is known to tell why the socket was full. */
bool reading_decides(const struct reading *r);

#define READING_TEXT 128

struct finding_facts;

/* Sets the reading and the name of the reader, in `buf`, which `f` borrows. */
void reading_describe(const struct reading *r, char buf[READING_TEXT], struct finding_facts *f);

#endif
