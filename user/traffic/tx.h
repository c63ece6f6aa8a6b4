/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface behind which all sending engines stand. One struct tx serves one thread and one
 * stream; the thread is already in the sender's namespace and pinned when open() is called.
 *
 * Truth: stream->next moves only over numbers that are closed. What is closed was sent unless
 * fail() was told: then the packet may still have existed (an observer decides), else it is
 * refused. A number is never sent twice.
 */
#ifndef PKTLEDGER_TRAFFIC_TX_H
#define PKTLEDGER_TRAFFIC_TX_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/fates.h"
#include "traffic/flow.h"
#include "traffic/socket.h"

struct profile;
struct shape;

struct tx_config {
	const struct flow *flow;
	struct stream *stream;
	const char *ifname; /* for xsk */
	unsigned ifindex;
	unsigned queue; /* for xsk */
	int sndbuf;	/* bytes; 0: the default */
	/* engines that pace themselves: when packets are due, and how many at once, of all threads
	 * together; NULL: unthrottled */
	const struct profile *profile;
	unsigned burst, threads;
	uint64_t duration_ns; /* the same: after so long send() ends early; 0: no limit */
	int batch_fd;	      /* xdp: the tracer's map of struct trace_batch; -1: none */
	struct socket_send socket;
	unsigned batch;	     /* most packets per call; 0: the engine's own */
	unsigned first_flow; /* flows first_flow .. first_flow + flows - 1 are this thread's */
	unsigned flows;
	const struct shape *shape; /* what the packets are; NULL: all alike, as `flow` tells */
	/* A number that the call did not accept; error: errno, or TX_ERRNO_LOST or _GAP. */
	void (*fail)(void *arg, uint64_t number, int error);
	void *fail_arg;
	const atomic_bool *stop; /* the engine ends waits soon after it becomes true */
};

struct tx_stats {
	uint64_t waits; /* times the engine waited for room */
	uint64_t wait_ns;
	uint64_t calls;		   /* system calls that hand over packets */
	uint64_t lost_at_device;   /* xsk: EBUSY: consumed and dropped */
	uint64_t taken_back;	   /* xsk: descriptors never consumed */
	uint64_t tx_invalid_descs; /* xsk: XDP_STATISTICS */
	uint64_t tx_ring_empty;
	uint64_t uncompleted;	    /* xsk: consumed, and not told to be done with */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and last packet; 0: not known */
	uint64_t slipped_ns;	    /* schedule given up, by engines that pace themselves */
	uint64_t duplicates, displaced; /* on purpose: second packets, and numbers sent late */
};

struct tx;

struct tx_ops {
	const char *name;
	const char *title;
	bool fragments;	    /* can send payloads beyond the MTU */
	double fastest_pps; /* of a thread, hardly to be exceeded: windows are made for it */
	bool paces;  /* keeps to profile and duration_ns itself: send() is asked for all at once */
	bool shapes; /* knows tx_config.shape */
	int (*open)(struct tx **tx, const struct tx_config *cfg, struct error *err);
	/*
	 * Sends up to `n` packets of the stream. Returns how many numbers were closed by this call
	 * (0: waited or stopped, call again), or -errno if the engine cannot go on (device gone).
	 */
	int (*send)(struct tx *tx, unsigned n, struct error *err);
	/* First number not closed yet, while send() runs on another thread; NULL: stream->next. */
	uint64_t (*next)(const struct tx *tx);
	/* Waits until the kernel took all that was handed over, takes back what it never will. */
	int (*finish)(struct tx *tx, struct error *err);
	void (*stats)(const struct tx *tx, struct tx_stats *st);
	/* "native zero-copy", "native copy", "skb", or "" where it has no meaning. */
	const char *(*mode)(const struct tx *tx);
	void (*close)(struct tx *tx);
};

extern const struct tx_ops tx_socket, tx_xsk, tx_xdp;

/* The engine `socket` for shaped traffic; the sender takes it where there is a shape. */
extern const struct tx_ops tx_socket_shaped;

#endif
