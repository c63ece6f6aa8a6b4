/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds out why a socket was full, by watching its reader and the fill level of its queue (UDP
 * only) while packets were lost.
 *
 * Sources: the thread's /proc/PID/task/TID/schedstat (proc_pid_schedstat(): time on a CPU, and time
 * runnable without a CPU), stat, wchan and syscall, as well as cpu.stat in the cgroups above it and
 * the socket's SK_MEMINFO from sock_diag. All are samples, except for the number of packets lost in
 * one go, which a program in bpf/survey.bpf.c counts.
 *
 * Tracing sched_switch and sched_wakeup would avoid sampling. But these events occur for every task
 * on the host, some 100,000 times per second on a busy host, even without losses. By contrast, an
 * interval here costs a few microseconds per thread, and each sample in between costs about as much
 * per socket with losses.
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
 * Host facts are declared once, in a list. Each is a member of the struct and a row in documents
 * and bundles (base/record.h). U() is unsigned, Q() a uint64_t, B() a bool, T() a string. K() has a
 * name that differs from its member's, X() is anything else, L() a list.
 */
#define FACTS(list)		   list(FACT_N, FACT_Q, FACT_B, FACT_T, FACT_Q, FACT_L, FACT_X)
#define FACT_N(member)		   unsigned member;
#define FACT_Q(member, ...)	   uint64_t member;
#define FACT_B(member)		   bool member;
#define FACT_T(member, size)	   char member[size];
#define FACT_L(member, n)	   uint64_t member[n];
#define FACT_X(declaration, ...)   declaration;

/* Maximum number of sockets tracked. The socket that has gone longest without a loss is evicted. */
#define READING_SOCKETS 64

struct readings;

/* Identifies a socket. Members are 0 if unknown. */
struct reading_socket {
	uint64_t inode;	 /* see owners_socket() */
	uint32_t netns;	 /* inode number */
	uint16_t family; /* AF_INET, AF_INET6 */
	uint16_t port;	 /* local, host order */
	bool tcp;	 /* false: UDP. A TCP socket's queue is not read */
	uint64_t cgroup;
};

/*
 * The thread that reads. Chosen from the threads seen in a receive call on this socket, or else
 * from all threads: the one that ran or waited for a CPU the longest. Times cover intervals with
 * losses.
 */
#define READING(U, Q, B, T, K, L, X)                                                               \
	X(pid_t pid, INT, "pid", pid) X(pid_t tid, INT, "tid", tid)                                \
	T(process, 16) T(thread, 16) /* the same in most processes */                              \
	U(threads) /* in the process */ U(holders) /* processes that may read */                   \
	B(seen) /* in a receive call. If not, and threads > 1, it is a guess */                    \
	/* 0 if unknown, on a CPU, runnable (otherwise asleep), throttled over all CPUs */         \
	Q(window_ns) Q(run_ns) Q(wait_ns) Q(throttled_ns)                                          \
	B(stopped) /* by a signal or debugger, in most samples */                                  \
	/* kernel function in which it usually slept (with a full buffer, if it was), or "" */     \
	T(sleeps_in, 48)                                                                           \
	/* Queue while it slept, to tell a blocked reader from an idle reader: number of samples,  \
	 * how many were three quarters full, mean truesize. */                                    \
	U(samples) U(full) Q(queue_bytes)                                                          \
	/* most UDP packets lost in one go, bytes per packet in a full queue, packets as noted,    \
	 * packets to all UDP sockets in its namespace and family (InDatagrams) */                 \
	Q(burst) Q(truesize) Q(lost) Q(received_around)

struct reading {
	FACTS(READING)
};

/* Creates the readings. Borrows `owners` and its root. */
struct readings *readings_new(struct owners *owners);
void readings_close(struct readings *r);

/*
 * Records the current state of processes that have UDP sockets in the caller's namespace and, if
 * there is room, in `n` others, so that the first interval has a start. Calls owners_tick().
 */
void readings_begin(struct readings *r, const uint32_t *netns, unsigned n);

/*
 * Samples sockets that lost packets recently. The first sample attaches the program that counts
 * bursts (CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN). Attaching takes 20 ms, so it must not delay
 * the handling of the first drop.
 */
void readings_sample(struct readings *r);

/* Records a socket's losses in the interval that ends now. */
void readings_note(struct readings *r, const struct reading_socket *s, uint64_t packets);

/* Ends the interval. Calls owners_tick(). */
void readings_interval(struct readings *r);

/* Gets a socket's reading. Returns -ENOENT if no process was found or no interval is complete. */
int readings_get(const struct readings *r, uint64_t inode, struct reading *out);

/*
 * Returns the mean bytes of buffer space per packet in the socket's queue when it last began to lose
 * packets, 0 if unknown.
 */
uint64_t readings_truesize(const struct readings *r, uint64_t inode);

/*
 * Gets how many packets the socket refused since the first sample because all UDP sockets together
 * exceeded net.ipv4.udp_mem. Returns false if unknown.
 */
bool readings_exceeded(const struct readings *r, uint64_t inode, uint64_t *packets);

/* Returns a part of the observed time as a fraction, 0 if unknown. */
double reading_fraction(const struct reading *r, uint64_t ns);

uint64_t reading_sleep_ns(const struct reading *r);

/*
 * Returns how often the buffer was full while the reader slept, from 0 to 1, or a negative value if
 * unknown.
 */
double reading_full(const struct reading *r);

/* Returns true if the buffer had room while the reader slept. */
bool reading_had_room(const struct reading *r);

/* Returns true if it slept in a function that waits for data, on this or another socket. */
bool reading_waits(const struct reading *r);

/* Returns true if enough is known to tell why the socket was full. */
bool reading_decides(const struct reading *r);

#define READING_TEXT 128

struct finding_facts;

/* Sets the reading and the reader's name. The name is stored in `buf`, which `f` borrows. */
void reading_describe(const struct reading *r, char buf[READING_TEXT], struct finding_facts *f);

#endif
