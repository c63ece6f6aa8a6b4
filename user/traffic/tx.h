/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of all sending engines. One struct tx serves one thread and one stream. The thread
 * is already in the sender's namespace and pinned when open() is called.
 *
 * Invariant: stream->next advances only over closed numbers. A closed number was sent unless
 * tx_fail() recorded it: then the packet may still have existed (an observer decides), else it is
 * refused. A number is never sent twice.
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
	const struct netns *ns; /* entered by the threads, NULL: stay */
	const char *ifname;	/* as engines need it */
	unsigned ifindex;
	bool wants_xdp;		   /* see tx_attach_pass() */
	unsigned threads;	   /* <= TRACE_STREAMS */
	struct outcomes *outcomes; /* numbers, and where failed sends are noted */
	uint64_t count;		   /* packets of all threads, UINT64_MAX: until stopped */
	uint64_t duration_ns;	   /* 0: no limit */
	double rate_pps;	   /* pps of all threads, 0: unthrottled */
	const struct shape *shape; /* NULL: all packets alike, at an even rate */
	int sndbuf;		   /* bytes, 0: the default */
	int batch_fd;		   /* xdp: the tracer's map of struct trace_batch, or -1 */
	const struct tuning *tuning;
	int cpu; /* first thread's CPU, later threads follow, -1: not pinned */
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
	const atomic_bool *stop;       /* the engine ends waits soon after it becomes true */
	const char *mode; /* set by open(): "native zero-copy", "skb", or "" without a meaning */
};

/* Records a number that the call did not accept. error: errno, or TX_ERRNO_LOST. */
static inline void tx_fail(const struct tx_config *cfg, uint64_t number, int error)
{
	const struct outcomes *f = cfg->sender->outcomes;

	__atomic_store_n(&f->failed[outcomes_index(f, cfg->stream->slot, number)], (uint8_t)error,
			 __ATOMIC_RELAXED);
}

/* Statistics of a thread. A sender sums them, and takes minimum or maximum from first_ns on. */
struct tx_stats {
	uint64_t waits; /* times the engine waited for room */
	uint64_t wait_ns;
	uint64_t calls;			/* system calls that hand over packets */
	uint64_t lost_at_device;	/* xsk: EBUSY: consumed and dropped */
	uint64_t tx_invalid_descs;	/* xsk: XDP_STATISTICS */
	uint64_t uncompleted;		/* xsk: consumed, and not reported as done with */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and last packet, 0: unknown */
	uint64_t slipped_ns;	    /* ns of schedule skipped, for a self-paced engine */
	uint64_t late_ns;	    /* ns, sender: largest delay behind its schedule */
	uint64_t held_ns;	    /* ns, sender: waited for sender_allow() */
};

struct tx;

struct tx_ops {
	const char *name;
	size_t size;	    /* bytes, of the engine's struct tx */
	bool fragments;	    /* can send payloads larger than the MTU */
	double fastest_pps; /* upper bound per thread, used to size windows */
	bool paces;   /* paces itself by profile and duration_ns: send() gets the whole budget */
	bool shapes;  /* supports tx_config.shape */
	bool sources; /* of shapes, supports only source ranges in round robin */
	/* Opens the engine. `tx` is zeroed by the caller, which calls close() even on failure. */
	int (*open)(struct tx *tx, struct tx_config *cfg, struct error *err);
	/*
	 * Sends up to `n` packets of the stream. Returns the numbers closed by this call (0: waited
	 * or stopped, call again), or -errno if the engine cannot continue (interface removed).
	 */
	int (*send)(struct tx *tx, unsigned n, struct error *err);
	/*
	 * Returns the first unclosed number, while send() runs on another thread. NULL:
	 * stream->next.
	 */
	uint64_t (*next)(const struct tx *tx);
	/*
	 * Waits until the kernel has taken all submitted packets, and withdraws packets it will
	 * never take. NULL: closed numbers are already in the kernel.
	 */
	int (*finish)(struct tx *tx, struct error *err);
	void (*stats)(const struct tx *tx, struct tx_stats *st);
	void (*close)(struct tx *tx); /* but for the memory of `tx` itself */
};

extern const struct tx_ops tx_socket, tx_xsk, tx_xdp;

/*
 * Attaches an XDP program that passes everything, in driver mode. Most drivers accept live frames
 * and zero-copy AF_XDP frames only while an XDP program is attached. Returns a link fd, which
 * detaches on close, or -errno if the driver does not support XDP or already has a program.
 */
int tx_attach_pass(unsigned ifindex);

/*
 * Returns whether this kernel reports, for every frame of a copying AF_XDP socket, if the interface
 * dropped it. Then lost_at_device covers all losses, and no observer is needed to count them.
 */
bool tx_xsk_knows_losses(void);

/*
 * Describes the flows of a thread for tx_xdp's program. `frame`: built by proto_build(), at least
 * GEN_HEADER_MAX bytes. -ERANGE: the last 4 bytes of its addresses overflow.
 */
struct gen_config;
int tx_xdp_describe(struct gen_config *gen, const uint8_t *frame, const struct tx_config *cfg);

#endif
