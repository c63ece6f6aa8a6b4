/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Code shared by sending and receiving threads: CPU placement and wake-ups. */
#ifndef PKTLEDGER_TRAFFIC_WORKER_H
#define PKTLEDGER_TRAFFIC_WORKER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "host/netns.h"

struct tuning;

/* Adds to a counter that one thread writes while other threads read it with worker_read(). */
static inline void worker_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t worker_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* CPU and scheduling settings that the user requested. */
struct worker_wish {
	bool cpu_set;
	unsigned cpu; /* CPU of the first thread, which this process must be allowed to use. The
		       * other threads use the CPUs after it */
};

/* The threads at one end. */
struct worker_group {
	const struct worker_wish *wish;
	int cpu; /* CPU of the first thread, -1: any */
	unsigned threads;
};

/* Returns how many CPUs this process may use. */
unsigned worker_cpus(void);

/* Returns the n-th of these CPUs, counting from 0 and modulo their number, or -1 if unknown. */
int worker_cpu(int n);

/*
 * Warns about real-time threads that would starve each other or other processes, because a thread
 * that does not sleep keeps all others off its CPU (SCHED_FIFO). Returns NULL if there is no
 * conflict.
 */
const char *worker_rt_warning(const struct worker_group *groups, unsigned n);

/*
 * The threads at one end and their callbacks. Zero-initialise all fields except those that the
 * caller sets.
 */
struct worker_team {
	const struct netns *ns;		/* the threads enter this namespace, NULL: they stay */
	const struct worker_wish *wish; /* an error if it cannot be granted, */
	const struct tuning *tuning;	/* as are its nice and rt */
	/*
	 * CPU of the first thread, modulo the number online. The others use the next ones. Best
	 * effort: errors are ignored, and `wish` takes precedence. -1: any.
	 */
	int cpu;
	bool at_once; /* start without waiting at the barrier */
	struct worker *(*prepare)(void *of, unsigned slot); /* the slot's worker, with `arg` set */
	int (*open)(void *arg, struct error *err);	    /* in its thread, with privileges */
	void (*run)(void *arg); /* runs after the barrier, without privileges */
	sem_t ready, door;
	_Atomic(const struct worker *) failed; /* private: a thread that failed to open */
};

/* All zero means not started. */
struct worker {
	struct worker_team *team;
	void *arg;
	unsigned slot;
	struct error error; /* why it ended early: placement, open(), or set by run() */
	pthread_t thread;
	bool started;		       /* and not joined yet */
	uint64_t cpu_ns;	       /* private: last result */
	_Atomic uint64_t ended_cpu_ns; /* private: total when the thread ended, */
	atomic_bool ended;	       /* valid once this is set */
};

/*
 * Waits until `workers` threads have opened or failed. Returns -EIO with the error of one of the
 * threads, or an earlier error, in `err`.
 */
int worker_team_start(struct worker_team *t, unsigned workers, void *of, struct error *err);

/* Returns whether the thread has ended or was never started. */
bool worker_ended(const struct worker *w);

/* Waits for the thread to end. Does nothing if it was never started. */
void worker_join(struct worker *w);

/* Returns the CPU time that the thread has used so far (or until it ended), in ns. */
uint64_t worker_cpu_ns(struct worker *w);

/*
 * Allows worker_interrupt() to end a thread's blocking system call. One call per process is enough.
 */
void worker_allow_interrupts(void);
void worker_interrupt(const struct worker *w);

/*
 * Simulates a slow reader, that is, the work an application does between reads, which is the most
 * common cause of packet loss. Shared by the receiving threads.
 */

struct reader {
	uint64_t work_ns;  /* ns of CPU time spent on each packet */
	uint64_t pause_ns; /* ns, stop reading for this time ... */
	uint64_t read_ns;  /* ns, ... then read for this time, and repeat */
	const char *log;   /* file that gets one record per packet, using one write(), or NULL */
};

/* Parses "ON/OFF", two times: pause for ON, then read for OFF. Returns -EINVAL on error. */
int reader_parse_pause(const char *text, uint64_t *pause_ns, uint64_t *read_ns);

struct reader_state {
	const struct reader *reader;
	const atomic_bool *stop; /* true: return without doing further work */
	int log_fd;
	uint64_t log_errors; /* records that could not be written */
	int log_errno;	     /* errno of the first failed write */
};

/* Does the work for one packet of the ledger. */
void reader_work(struct reader_state *s, uint16_t stream, uint64_t number, unsigned len);

/*
 * Returns how much longer the reader pauses, in ns, or 0 if it is reading. `start` is the time of
 * the first pause in ns.
 */
uint64_t reader_pause(const struct reader *r, uint64_t start, uint64_t now);

/* Returns whether the reader has work to do for each packet. */
static inline bool reader_works(const struct reader *r)
{
	return r->work_ns || r->log;
}

/* Socket settings at both ends that are not part of the traffic. All 0 means defaults. */

#define SOCKET_SEGMENTS 64 /* UDP_MAX_SEGMENTS before Linux 6.9 */

struct socket_send {
	bool gso;     /* UDP_SEGMENT: many datagrams per message, a single skb until it reaches the
		       * interface */
	bool no_wait; /* do not wait for room in the send buffer: refuse the packet */
	bool unconnected;   /* every message carries its address and is routed separately */
	const char *device; /* outgoing interface regardless of routes, NULL: as routed */
};

struct socket_receive {
	bool gro;	       /* UDP_GRO: merged datagrams arrive as one message */
	unsigned busy_poll_us; /* SO_BUSY_POLL, 0: off */
	struct endpoint group; /* multicast group to join, family 0: none */
	const char *device;    /* interface to receive from, NULL: any */
};

/*
 * Returns how many datagrams of `payload` bytes fit one UDP_SEGMENT message, 1 .. SOCKET_SEGMENTS.
 * They form a single IP packet until they are segmented.
 */
unsigned socket_segments(int family, unsigned payload);

/*
 * Binds a socket to an interface (SO_BINDTODEVICE). Does nothing if `device` is NULL. Returns 0 or
 * -errno.
 */
int socket_bind_device(int fd, const char *device, struct error *err);

/*
 * Arguments of a setsockopt() call, which is skipped if value is 0. If `what` is NULL, failure is
 * ignored.
 */
struct socket_option {
	int level, name, value;
	int status;
	const char *hint, *what;
};
int socket_set(int fd, const struct socket_option *options, unsigned n, struct error *err);

struct tuning {
	struct socket_send send;
	struct socket_receive receive;
	unsigned rx_threads; /* number of sockets and threads that share the port, 0: 1 */
	bool per_flow;	     /* report receiver results per 5-tuple */
	struct worker_wish tx, rx;
	int nice;    /* nice value of all threads, -20 .. 19, 0: unchanged */
	unsigned rt; /* SCHED_FIFO priority, 1 .. 99, 0: off */
	struct reader reader;
};

#endif
