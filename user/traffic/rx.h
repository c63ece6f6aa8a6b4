/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface behind which all receiving engines stand. One struct rx serves one thread, which
 * is in the receiver's namespace and pinned when open() is called. What an engine takes from the
 * kernel it gives to the sink, which checks the stamp and keeps the ledger.
 */
#ifndef PKTLEDGER_TRAFFIC_RX_H
#define PKTLEDGER_TRAFFIC_RX_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/fates.h"
#include "traffic/flow.h"
#include "traffic/sink.h"
#include "traffic/worker.h"

/* What all threads of a receiver have in common. */
struct receiver_config {
	const struct rx_ops *ops;
	const struct flow *flow; /* dst_port and family are used; dst address: any */
	const struct netns *ns;	 /* threads enter it; NULL: stay */
	const char *ifname;
	unsigned ifindex;
	unsigned threads;	   /* <= RECEIVER_THREADS */
	const struct shape *shape; /* of the sender; NULL: not known, or all packets alike */
	struct fates *fates;	   /* numbers, and where arrivals are noted; NULL: discover them */
	struct trace_tails *table; /* with fates: streams are discovered nevertheless, in here */
	int rcvbuf;		   /* bytes asked for (SO_RCVBUFFORCE); 0: the default */
	int xsk_map_fd;		   /* xsk: XSKMAP to enter the socket in */
	unsigned xsk_frames; /* xsk: to be filled; a power of two; 0: the engine's own number */
	unsigned xsk_room;   /* xsk: bytes that a frame has room for; 0: the longest packet */
	const struct sink_prog *sink_prog; /* xdp: the program that receives; borrowed */
	bool xdp_skb_mode;		   /* xsk, xdp: the program is attached as generic XDP */
	bool paused;			   /* does not read until receiver_resume() */
	uint64_t work_ns;		   /* time spent on each packet, a slow reader */
	const struct tuning *tuning;
	int cpu; /* first thread's CPU; -1: not pinned */
};

/* One thread's part. Borrowed until close(). */
struct rx_config {
	const struct receiver_config *receiver;
	struct sink *sink;
	unsigned queue;
	const atomic_bool *stop;
	/* Set by open(): as of struct tx_config, and the socket that a filter can be put on. */
	const char *mode;
	int fd;
};

struct rx_stats {
	uint64_t calls;
	int64_t socket_drops; /* SK_MEMINFO_DROPS since open; -1: not known */
	/* XDP_STATISTICS */
	uint64_t rx_ring_full, rx_fill_ring_empty, rx_dropped, rx_invalid;
	bool zero_copy;	    /* xsk: as granted */
	uint64_t xdp_drops; /* xdp: frames that our program ended, deliveries all */
	int rcvbuf;	    /* what the socket really has, as getsockopt reports it (doubled) */
};

struct rx;

struct rx_ops {
	const char *name;
	size_t size; /* of its struct rx */
	/* `rx` is all 0; close() follows also if this fails. */
	int (*open)(struct rx *rx, struct rx_config *cfg, struct error *err);
	/* Takes what is there, waits at most timeout_ms if nothing is. Returns packets or -errno.
	 */
	int (*poll)(struct rx *rx, int timeout_ms, struct error *err);
	/* Brings the sink up to date where packets do not pass poll(); NULL: they do. */
	void (*collect)(struct rx *rx);
	/* Packets or bytes that wait in the queue of this engine; NULL: it has none. */
	uint64_t (*pending)(const struct rx *rx);
	/* Adds its own. */
	void (*stats)(const struct rx *rx, struct rx_stats *st);
	void (*close)(struct rx *rx); /* but for the memory of `rx` itself */
};

extern const struct rx_ops rx_socket, rx_xsk, rx_xdp;

/* A UDP socket at the flow's port, with all that `cfg` asks of one. Returns it or -errno. */
int rx_socket_bound(const struct receiver_config *cfg, struct error *err);

/*
 * How long a reader polls before it sleeps. A sleeping one costs the sender's CPU a wake-up
 * for almost every packet, several times what the packet itself costs; this is about what a sleep
 * and a wake-up cost. 0 where the sender needs this CPU, and in a thread of real-time priority,
 * from which nobody else could take it.
 */
uint64_t rx_spin_ns(void);

#endif
