/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common code of sending and receiving threads: CPU placement and wake-ups. */
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

/* Adds to a counter written by one thread, while other threads read it with worker_read(). */
static inline void worker_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t worker_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* CPU and scheduling settings requested by the user. */
struct worker_wish {
	bool cpu_set;
	unsigned cpu; /* of the first thread, later threads follow, must be allowed for this
		       * process */
};

/* The threads of one end. */
struct worker_group {
	const struct worker_wish *wish;
	int cpu; /* of the first thread, -1: any */
	unsigned threads;
};

/* Returns the number of CPUs that this process may use. */
unsigned worker_cpus(void);

/*
 * Warns about real-time threads that would starve each other or other processes: a thread that does
 * not sleep keeps all others off its CPU (SCHED_FIFO). Returns NULL if there is no conflict.
 */
const char *worker_rt_warning(const struct worker_group *groups, unsigned n);

/*
 * The threads of one end and their callbacks. Zero-initialise all but the fields set by the caller.
 */
struct worker_team {
	const struct netns *ns;		/* entered by the threads, NULL: stay */
	const struct worker_wish *wish; /* a setting that cannot be granted is an error, */
	const struct tuning *tuning;	/* as are nice and rt of this */
	/*
	 * CPU of the first thread, modulo the number online, later threads follow. Best effort:
	 * errors are ignored, and `wish` takes precedence. -1: any.
	 */
	int cpu;
	bool at_once; /* start without waiting at the barrier */
	struct worker *(*prepare)(void *of, unsigned slot); /* the worker there, its `arg` set */
	int (*open)(void *arg, struct error *err);	    /* in its place, with all rights, */
	void (*run)(void *arg); /* runs without privileges, after the barrier */
	sem_t ready, door;
	_Atomic(const struct worker *) failed; /* private: a thread that failed to open */
};

/* Zero-initialised: not started. */
struct worker {
	struct worker_team *team;
	void *arg;
	unsigned slot;
	struct error error; /* cause of an early end: placement, open(), or set by run() */
	pthread_t thread;
	bool started;		       /* and not joined yet */
	uint64_t cpu_ns;	       /* private: last result */
	_Atomic uint64_t ended_cpu_ns; /* private: total at the end of the thread, */
	atomic_bool ended;	       /* once this is set */
};

/*
 * Waits until `workers` threads are open or have failed. -EIO: `err` has the error of a thread or
 * an earlier error.
 */
int worker_team_start(struct worker_team *t, unsigned workers, void *of, struct error *err);

/* Returns whether the thread ended or was never started. */
bool worker_ended(const struct worker *w);

/* Waits for the thread to end. Does nothing if it was never started. */
void worker_join(struct worker *w);

/* Returns the CPU time used so far (or until the end) in ns. */
uint64_t worker_cpu_ns(struct worker *w);

/*
 * Lets worker_interrupt() end a blocking system call of a thread. One call per process is enough.
 */
void worker_allow_interrupts(void);
void worker_interrupt(const struct worker *w);

/*
 * The slow reader: simulates the work of an application between reads, the most common cause of
 * packet loss. Shared by the receiving threads.
 */

struct reader {
	uint64_t work_ns;  /* CPU time spent on each packet */
	uint64_t pause_ns; /* ns, stop reading for this time, ... */
	uint64_t read_ns;  /* ns, ... then read for this time, and repeat */
	const char *log;   /* file that gets a record per packet, one write() per record, or NULL */
};

/* "ON/OFF", two times: a pause of ON, then reading for OFF. -EINVAL. */
int reader_parse_pause(const char *text, uint64_t *pause_ns, uint64_t *read_ns);

struct reader_state {
	const struct reader *reader;
	const atomic_bool *stop; /* true: end without further work */
	int log_fd;
	uint64_t log_errors; /* records that were not written, */
	int log_errno;	     /* errno of the first failed write */
};

/* On a packet of the ledger. */
void reader_work(struct reader_state *s, uint16_t stream, uint64_t number, unsigned len);

/* Returns how long the reader pauses from now, in ns, 0 if it reads. `start`: ns, first pause. */
uint64_t reader_pause(const struct reader *r, uint64_t start, uint64_t now);

/* Returns whether the reader has any work to do per packet. */
static inline bool reader_works(const struct reader *r)
{
	return r->work_ns || r->log;
}

/* Socket settings of both ends that are not properties of the traffic. All 0: defaults. */

#define SOCKET_SEGMENTS 64 /* UDP_MAX_SEGMENTS before Linux 6.9 */

struct socket_send {
	bool gso;     /* UDP_SEGMENT: many datagrams per message, a single skb down to the
		       * interface */
	bool no_wait; /* a full send buffer refuses instead of being waited for */
	bool unconnected;   /* every message carries its address and is routed separately */
	const char *device; /* outgoing interface regardless of routes, NULL: as routed */
};

struct socket_receive {
	bool gro;	       /* UDP_GRO: merged datagrams arrive as one message */
	unsigned busy_poll_us; /* SO_BUSY_POLL, 0: off */
	struct endpoint group; /* multicast group to join, family 0: not multicast */
	const char *device;    /* interface to receive from, NULL: any */
};

/*
 * Returns the number of datagrams of `payload` bytes that fit one UDP_SEGMENT message, 1 ..
 * SOCKET_SEGMENTS: they form a single IP packet until they are segmented.
 */
unsigned socket_segments(int family, unsigned payload);

/* Binds a socket to an interface (SO_BINDTODEVICE). NULL: does nothing. Returns 0 or -errno. */
int socket_bind_device(int fd, const char *device, struct error *err);

/* A setsockopt() call, skipped if value is 0. Without `what` a refusal is ignored. */
struct socket_option {
	int level, name, value;
	int status;
	const char *hint, *what;
};
int socket_set(int fd, const struct socket_option *options, unsigned n, struct error *err);

struct tuning {
	struct socket_send send;
	struct socket_receive receive;
	unsigned rx_threads; /* sockets and threads that share the port, 0: 1 */
	bool per_flow;	     /* receiver results are reported per 5-tuple */
	struct worker_wish tx, rx;
	int nice;    /* of all threads, -20 .. 19, 0: unchanged */
	unsigned rt; /* SCHED_FIFO priority, 1 .. 99, 0: off */
	struct reader reader;
};

#endif
