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
 * Facts of a host are declared once, in a list: each is a member of the struct and its row in
 * documents and bundles (base/record.h). U() is unsigned, Q() a uint64_t, B() a bool, T() a text. K()
 * has another name than its member, X() is anything else, L() a list.
 */
#define FACTS(list)		   list(FACT_N, FACT_Q, FACT_B, FACT_T, FACT_Q, FACT_L, FACT_X)
#define FACT_N(member)		   unsigned member;
#define FACT_Q(member, ...)	   uint64_t member;
#define FACT_B(member)		   bool member;
#define FACT_T(member, size)	   char member[size];
#define FACT_L(member, n)	   uint64_t member[n];
#define FACT_X(declaration, ...)   declaration;

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
#define READING(U, Q, B, T, K, L, X)                                                               \
	X(pid_t pid, INT, "pid", pid) X(pid_t tid, INT, "tid", tid)                                \
	T(process, 16) T(thread, 16) /* the same name in most processes */                         \
	U(threads) /* of the process */ U(holders) /* processes that may read */                   \
	B(seen) /* in a receive call, else the thread is a guess if threads > 1 */                 \
	/* 0 if nothing is known; on a CPU; runnable, else it slept; withheld by a quota, all CPUs */\
	Q(window_ns) Q(run_ns) Q(wait_ns) Q(throttled_ns)                                          \
	B(stopped) /* by a signal or a debugger, in most samples */                                \
	T(sleeps_in, 48) /* kernel function in which it slept most often, "" if unknown */         \
	/* The queue while it slept, which distinguishes a blocked reader from an idle reader:     \
	 * samples, of these three quarters full, mean truesize. */                                \
	U(samples) U(full) Q(queue_bytes)                                                          \
	/* most UDP packets lost in one go, bytes per packet in the full queue, packets as noted,  \
	 * packets of all UDP sockets of its namespace and family (InDatagrams) */                 \
	Q(burst) Q(truesize) Q(lost) Q(received_around)

struct reading {
	FACTS(READING)
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

/* Returns the fraction of the observed time, 0 if unknown. */
double reading_fraction(const struct reading *r, uint64_t ns);

uint64_t reading_sleep_ns(const struct reading *r);

/* Returns how often the buffer was full while the reader slept, 0 .. 1, negative if unknown. */
double reading_full(const struct reading *r);

/* Returns whether the buffer was not full while the reader slept. */
bool reading_had_room(const struct reading *r);

/* Returns whether it slept in a function that waits for data, of this or another socket. */
bool reading_waits(const struct reading *r);

/* Returns whether enough is known to tell why the socket was full. */
bool reading_decides(const struct reading *r);

#define READING_TEXT 128

struct finding_facts;

/* Sets the reading and the name of the reader, in `buf`, which `f` borrows. */
void reading_describe(const struct reading *r, char buf[READING_TEXT], struct finding_facts *f);

#endif
