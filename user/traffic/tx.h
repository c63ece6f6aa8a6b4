/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface behind which all sending engines stand. One struct tx serves one thread and one
 * stream; the thread is already in the sender's namespace and pinned when open() is called.
 *
 * Truth: stream->next moves only over numbers that are closed. What is closed was sent unless
 * tx_fail() noted it: then the packet may still have existed (an observer decides), else it is
 * refused. A number is never sent twice.
 */
#ifndef PKTLEDGER_TRAFFIC_TX_H
#define PKTLEDGER_TRAFFIC_TX_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/fates.h"
#include "traffic/shape.h"
#include "traffic/worker.h"

/* What all threads of a sender have in common. */
struct sender_config {
	const struct tx_ops *ops;
	const struct flow *flow;
	const struct netns *ns; /* threads enter it; NULL: stay */
	const char *ifname;	/* as engines need it */
	unsigned ifindex;
	bool wants_xdp;		   /* see tx_attach_pass() */
	unsigned threads;	   /* <= TRACE_STREAMS */
	struct fates *fates;	   /* numbers, and where failed sends are noted */
	uint64_t count;		   /* packets of all threads; UINT64_MAX: until stopped */
	uint64_t duration_ns;	   /* 0: no limit */
	double rate_pps;	   /* of all threads; 0: unthrottled */
	const struct shape *shape; /* NULL: all packets alike, at an even rate */
	int sndbuf;		   /* bytes; 0: the default */
	int batch_fd;		   /* xdp: the tracer's map of struct trace_batch; -1: none */
	const struct tuning *tuning;
	int cpu; /* first thread's CPU, the others follow; -1: not pinned */
};

/* One thread's part; its queue is that of the stream's slot. Borrowed until close(). */
struct tx_config {
	const struct sender_config *sender;
	struct stream *stream;
	unsigned first_flow, flows;    /* this thread's: first_flow .. first_flow + flows - 1 */
	const struct shape *shape;     /* what the packets are; NULL: all alike, as the flow says */
	const struct profile *profile; /* when those of all threads are due; NULL: unthrottled */
	const atomic_bool *stop;       /* the engine ends waits soon after it becomes true */
	const char *mode; /* set by open(): "native zero-copy", "skb", or "" without a meaning */
};

/* A number that the call did not accept; error: errno, or TX_ERRNO_LOST or _GAP. */
static inline void tx_fail(const struct tx_config *cfg, uint64_t number, int error)
{
	const struct fates *f = cfg->sender->fates;

	__atomic_store_n(&f->failed[fates_index(f, cfg->stream->slot, number)], (uint8_t)error,
			 __ATOMIC_RELAXED);
}

/* Of a thread; of a sender their sums, and from first_ns on, of times, the extremes. */
struct tx_stats {
	uint64_t waits; /* times the engine waited for room */
	uint64_t wait_ns;
	uint64_t calls;			/* system calls that hand over packets */
	uint64_t lost_at_device;	/* xsk: EBUSY: consumed and dropped */
	uint64_t tx_invalid_descs;	/* xsk: XDP_STATISTICS */
	uint64_t uncompleted;		/* xsk: consumed, and not reported as done with */
	uint64_t duplicates, displaced; /* on purpose: second packets, and numbers sent late */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and last packet; 0: not known */
	uint64_t slipped_ns;	    /* schedule given up; of an engine, if it paces itself */
	uint64_t late_ns;	    /* of a sender: behind its schedule at most */
	uint64_t held_ns;	    /* of a sender: waited for sender_allow() */
};

struct tx;

struct tx_ops {
	const char *name;
	size_t size;	    /* of its struct tx */
	bool fragments;	    /* can send payloads beyond the MTU */
	double fastest_pps; /* of a thread, hardly to be exceeded: windows are made for it */
	bool paces;   /* keeps to profile and duration_ns itself: send() is asked for all at once */
	bool shapes;  /* knows tx_config.shape */
	bool sources; /* of it, ranges of sources in turn, and nothing else */
	/* `tx` is all 0; close() follows also if this fails. */
	int (*open)(struct tx *tx, struct tx_config *cfg, struct error *err);
	/*
	 * Sends up to `n` packets of the stream. Returns how many numbers were closed by this call
	 * (0: waited or stopped, call again), or -errno if the engine cannot go on (device gone).
	 */
	int (*send)(struct tx *tx, unsigned n, struct error *err);
	/* First number not closed yet, while send() runs on another thread; NULL: stream->next. */
	uint64_t (*next)(const struct tx *tx);
	/*
	 * Waits until the kernel took all that was handed over, takes back what it never will.
	 * NULL: what is closed is with the kernel.
	 */
	int (*finish)(struct tx *tx, struct error *err);
	void (*stats)(const struct tx *tx, struct tx_stats *st);
	void (*close)(struct tx *tx); /* but for the memory of `tx` itself */
};

extern const struct tx_ops tx_socket, tx_xsk, tx_xdp;

/*
 * Most drivers take live frames, and frames of AF_XDP without a copy, only while an XDP program is
 * attached to the device. Attaches one that passes everything, in the driver. Returns a link that
 * ends with its fd; -errno: the driver takes none, or there is one already.
 */
int tx_attach_pass(unsigned ifindex);

/*
 * Whether this kernel says of every frame that a copying AF_XDP socket hands over whether the
 * device dropped it: lost_at_device is all that is lost then, and no observer is needed to count
 * it.
 */
bool tx_xsk_knows_losses(void);

/*
 * What tx_xdp's program needs to send the flows of a thread. `frame`: by proto_build(), of
 * GEN_HEADER_MAX bytes at least. -ERANGE: the last 4 bytes of its addresses overflow.
 */
struct gen_config;
int tx_xdp_describe(struct gen_config *gen, const uint8_t *frame, const struct tx_config *cfg);

#endif
