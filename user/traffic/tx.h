/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of all sending engines. One struct tx serves one thread and one stream. The thread
 * has already entered the sender's namespace and been pinned when open() is called.
 *
 * Invariant: stream->next only advances over closed numbers. A closed number was sent unless
 * tx_fail() recorded it. In that case the packet may still have existed. An observer decides
 * whether it did, and if not, the number counts as refused. A number is never sent twice.
 */
#ifndef PKTLEDGER_TRAFFIC_TX_H
#define PKTLEDGER_TRAFFIC_TX_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/outcomes.h"
#include "traffic/shape.h"
#include "traffic/worker.h"

/* Configuration shared by all threads of a sender. */
struct sender_config {
	const struct tx_ops *ops;
	const struct flow *flow;
	const struct netns *ns; /* the threads enter this namespace, NULL: they stay */
	const char *ifname;	/* interface name, for engines that need it */
	unsigned ifindex;
	bool wants_xdp;		   /* see tx_attach_pass() */
	unsigned threads;	   /* <= TRACE_STREAMS */
	struct outcomes *outcomes; /* numbers, and where failed sends are recorded */
	uint64_t count;		   /* packets to send, all threads, UINT64_MAX: until stopped */
	uint64_t duration_ns;	   /* 0: no limit */
	double rate_pps;	   /* total rate of all threads in pps, 0: unthrottled */
	const struct shape *shape; /* NULL: all packets are alike, at an even rate */
	int sndbuf;		   /* bytes, 0: the default */
	int batch_fd;		   /* xdp: the tracer's map of struct trace_batch, or -1 */
	const struct tuning *tuning;
	int cpu; /* CPU of the first thread, the others use the next ones, -1: not pinned */
};

/*
 * Configuration of one thread. Its queue is the stream's slot. Pointers are borrowed until close().
 */
struct tx_config {
	const struct sender_config *sender;
	struct stream *stream;
	unsigned first_flow, flows;    /* this thread's: first_flow .. first_flow + flows - 1 */
	const struct shape *shape;     /* shape of the packets, NULL: all alike, as in the flow */
	const struct profile *profile; /* schedule of all threads, NULL: unthrottled */
	const atomic_bool *stop;       /* when it becomes true, the engine soon stops waiting */
	const char *mode; /* set by open(): "native zero-copy", "skb", or "" for no mode */
};

/* Records a number that the call did not accept. `error` is an errno or TX_ERRNO_LOST. */
static inline void tx_fail(const struct tx_config *cfg, uint64_t number, int error)
{
	const struct outcomes *f = cfg->sender->outcomes;

	__atomic_store_n(&f->failed[outcomes_index(f, cfg->stream->slot, number)], (uint8_t)error,
			 __ATOMIC_RELAXED);
}

/*
 * One thread's statistics. A sender adds them up, except for the minimum or maximum of first_ns and
 * the fields after it.
 */
struct tx_stats {
	uint64_t waits; /* how often the engine waited for room */
	uint64_t wait_ns;
	uint64_t calls;			/* system calls that pass packets to the kernel */
	uint64_t lost_at_device;	/* xsk: EBUSY, descriptor consumed but packet dropped */
	uint64_t tx_invalid_descs;	/* xsk: XDP_STATISTICS */
	uint64_t uncompleted;		/* xsk: consumed, but completion never reported */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and last packet, 0: unknown */
	uint64_t slipped_ns;	    /* ns of schedule skipped, for self-paced engines */
	uint64_t late_ns;	    /* ns, sender: longest delay behind its schedule */
	uint64_t held_ns;	    /* ns, sender: time spent waiting for sender_allow() */
};

struct tx;

struct tx_ops {
	const char *name;
	size_t size;	    /* bytes, size of the engine's struct tx */
	bool socket;	    /* sends by a UDP socket: the IP layer makes headers and fragments */
	const char *place;  /* where sent frames are counted, NULL: at the edge of this host */
	double fastest_pps; /* upper bound per thread, used to size windows */
	bool paces;   /* paces itself by profile and duration_ns: send() gets the whole budget */
	bool shapes;  /* supports tx_config.shape */
	bool sources; /* the only shapes it supports are source ranges in round robin */
	/* Opens the engine. The caller zeroes `tx`, and calls close() even on failure. */
	int (*open)(struct tx *tx, struct tx_config *cfg, struct error *err);
	/*
	 * Sends up to `n` of the stream's packets. Returns how many numbers this call closed (0: it
	 * waited or was stopped, call again), or -errno if the engine cannot continue (interface
	 * removed).
	 */
	int (*send)(struct tx *tx, unsigned n, struct error *err);
	/*
	 * Returns the first number that is not closed, while send() runs in another thread. NULL:
	 * use stream->next.
	 */
	uint64_t (*next)(const struct tx *tx);
	/*
	 * Waits until the kernel has taken all submitted packets, and withdraws packets that it
	 * will never take. NULL: the kernel already has all closed numbers.
	 */
	int (*finish)(struct tx *tx, struct error *err);
	void (*stats)(const struct tx *tx, struct tx_stats *st);
	void (*close)(struct tx *tx); /* frees everything except `tx` itself */
};

extern const struct tx_ops tx_socket, tx_xsk, tx_xdp;
extern const struct tx_ops *const tx_engines[]; /* the last is NULL */

/*
 * Attaches an XDP program that passes every packet to an interface in `ns`, in driver mode. Most
 * drivers accept live frames and zero-copy AF_XDP frames only while an XDP program is attached.
 * Returns a link fd (closing it detaches the program), or -errno if the driver does not support XDP
 * or already has a program.
 */
int tx_attach_pass(const struct netns *ns, unsigned ifindex);

/*
 * Returns whether this kernel reports, for every frame of an AF_XDP socket in copy mode, whether
 * the interface dropped it. If so, lost_at_device covers all losses, and counting them requires no
 * observer.
 */
bool tx_xsk_knows_losses(void);

/*
 * Describes a thread's flows for tx_xdp's program. `frame` was built by proto_build() and has at
 * least GEN_HEADER_MAX bytes. Returns -ERANGE if the last 4 bytes of the addresses overflow.
 */
struct gen_config;
int tx_xdp_describe(struct gen_config *gen, const uint8_t *frame, const struct tx_config *cfg);

#endif
