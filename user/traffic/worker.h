/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sending and receiving threads share: where they run, and how they are woken. */
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

/* A counter that one thread writes, while others read it by worker_read(). */
static inline void worker_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t worker_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* What the user asked for. */
struct worker_wish {
	bool cpu_set;
	unsigned cpu; /* of the first thread, the others follow; must be one we may use */
};

/* Threads of one end. */
struct worker_group {
	const struct worker_wish *wish;
	int cpu; /* of the first one; -1: any */
	unsigned threads;
};

/* Those that this process may use. */
unsigned worker_cpus(void);

/*
 * What threads with a real-time priority do to each other, or to everybody else: one that does not
 * sleep keeps all others from its CPU (SCHED_FIFO). NULL: nothing.
 */
const char *worker_rt_warning(const struct worker_group *groups, unsigned n);

/* What the threads of one end do. Zero-initialised but for what the caller sets. */
struct worker_team {
	const struct netns *ns;		/* they enter it; NULL: stay */
	const struct worker_wish *wish; /* what of it cannot be granted is an error, */
	const struct tuning *tuning;	/* as are nice and rt of this */
	/*
	 * The first one's CPU, modulo those online, the others follow: a guess of ours, which may
	 * fail, and before which `wish` stands; -1: any.
	 */
	int cpu;
	bool at_once; /* the door is open from the beginning */
	struct worker *(*prepare)(void *of, unsigned slot); /* the worker there, its `arg` set */
	int (*open)(void *arg, struct error *err);	    /* in its place, with all rights, */
	void (*run)(void *arg); /* and this without any, behind the door */
	sem_t ready, door;
	_Atomic(const struct worker *) failed; /* private: one whose open() failed */
};

/* Zero-initialised: not started. */
struct worker {
	struct worker_team *team;
	void *arg;
	unsigned slot;
	struct error error; /* that ended it early: of its place, of open(), or as run() sets it */
	pthread_t thread;
	bool started;		       /* and not joined yet */
	uint64_t cpu_ns;	       /* private: as last asked for */
	_Atomic uint64_t ended_cpu_ns; /* private: of all its life, */
	atomic_bool ended;	       /* once this is set */
};

/* Until so many are open, or have failed. -EIO: there is an error, of one of them or before. */
int worker_team_start(struct worker_team *t, unsigned workers, void *of, struct error *err);

/* It ended, or was never started. */
bool worker_ended(const struct worker *w);

/* Waits for its end; nothing if it was never started. */
void worker_join(struct worker *w);

/* CPU time until now, or until it ended; ns. */
uint64_t worker_cpu_ns(struct worker *w);

/* Lets worker_interrupt() end a blocking system call of a thread; once per process is enough. */
void worker_allow_interrupts(void);
void worker_interrupt(const struct worker *w);

/*
 * The slow reader: what an application does beside reading, which is the commonest cause of loss.
 * Shared by the receiving threads.
 */

struct reader {
	uint64_t work_ns;  /* CPU time spent on each packet */
	uint64_t pause_ns; /* reads nothing for so long, ... */
	uint64_t read_ns;  /* ... then reads for so long, again and again */
	const char *log;   /* file to which each record is written, one write() each; NULL: none */
};

/* "ON/OFF", two times: a pause of ON, then reading for OFF. -EINVAL. */
int reader_parse_pause(const char *text, uint64_t *pause_ns, uint64_t *read_ns);

struct reader_state {
	const struct reader *reader;
	const atomic_bool *stop; /* true: no more work is done */
	int log_fd;
	uint64_t log_errors; /* records that were not written, */
	int log_errno;	     /* why the first was not */
};

/* On a packet of the ledger. */
void reader_work(struct reader_state *s, uint16_t stream, uint64_t number, unsigned len);

/* How long the reader stands still from now, ns; 0: it reads. `start`: of the first pause. */
uint64_t reader_pause(const struct reader *r, uint64_t start, uint64_t now);

/* Whether there is anything to do for each packet. */
static inline bool reader_works(const struct reader *r)
{
	return r->work_ns || r->log;
}

/* How both ends work, as far as it is no property of the traffic. All 0: as by default. */

#define SOCKET_SEGMENTS 64 /* UDP_MAX_SEGMENTS before Linux 6.9 */

struct socket_send {
	bool gso;     /* UDP_SEGMENT: many datagrams in one message, one skb down to the device */
	bool no_wait; /* a full send buffer refuses instead of being waited for */
	bool unconnected;   /* every message carries its address, and is routed on its own */
	const char *device; /* to leave by, whatever the routes say; NULL: as routed */
};

struct socket_receive {
	bool gro;	       /* UDP_GRO: merged datagrams come up as one message */
	unsigned busy_poll_us; /* SO_BUSY_POLL; 0: off */
	struct endpoint group; /* multicast group to join; family 0: none */
	const char *device;    /* to take packets from; NULL: any */
};

/*
 * How many datagrams of `payload` bytes one UDP_SEGMENT message holds, 1 .. SOCKET_SEGMENTS: all of
 * them together are one IP packet until they are cut.
 */
unsigned socket_segments(int family, unsigned payload);

/* Binds a socket to a device (SO_BINDTODEVICE); NULL: leaves it as it is. Returns 0 or -errno. */
int socket_bind_device(int fd, const char *device, struct error *err);

/* What setsockopt() is to set; value 0: nothing. Without `what` a refusal is no error. */
struct socket_option {
	int level, name, value;
	int status;
	const char *hint, *what;
};
int socket_set(int fd, const struct socket_option *options, unsigned n, struct error *err);

struct tuning {
	struct socket_send send;
	struct socket_receive receive;
	unsigned rx_threads; /* sockets and threads that share the port; 0: 1 */
	bool per_flow;	     /* what the receiver reports is told apart by 5-tuple */
	struct worker_wish tx, rx;
	int nice;    /* of all threads, -20 .. 19; 0: as we are */
	unsigned rt; /* their SCHED_FIFO priority, 1 .. 99; 0: off */
	struct reader reader;
};

#endif
