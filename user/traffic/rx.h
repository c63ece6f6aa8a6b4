/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface behind which all receiving engines stand. One struct rx serves one thread, which
 * is in the receiver's namespace and pinned when open() is called. What an engine takes from the
 * kernel it gives to the sink, which checks the stamp and keeps the books.
 */
#ifndef PKTLEDGER_TRAFFIC_RX_H
#define PKTLEDGER_TRAFFIC_RX_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "traffic/flow.h"
#include "traffic/sink.h"
#include "traffic/socket.h"

struct rx_config {
	const struct flow *flow; /* dst_port and family are used; dst address: any */
	struct sink *sink;	 /* borrowed; one per thread */
	const char *ifname;
	unsigned ifindex;
	unsigned queue;
	int rcvbuf;	   /* bytes asked for; 0: the default */
	bool rcvbuf_force; /* SO_RCVBUFFORCE */
	bool reuseport;
	struct socket_receive socket;
	bool per_flow;	     /* tells the sink where each packet came from */
	int xsk_map_fd;	     /* xsk: XSKMAP to enter the socket in */
	unsigned xsk_frames; /* xsk: to be filled; a power of two; 0: RX_XSK_FRAMES */
	unsigned xsk_room;   /* xsk: bytes that a frame has room for; 0: the longest packet */
	const struct sink_prog *sink_prog; /* xdp: the program that receives; borrowed */
	bool xdp_skb_mode;		   /* xsk, xdp: the program is attached as generic XDP */
	const atomic_bool *stop;
};

struct rx_stats {
	uint64_t packets; /* given to the sink */
	uint64_t calls;
	int64_t socket_drops; /* SK_MEMINFO_DROPS since open; -1: not known */
	/* XDP_STATISTICS */
	uint64_t rx_ring_full, rx_fill_ring_empty, rx_dropped, rx_invalid;
	bool zero_copy;	    /* xsk: as granted */
	uint64_t xdp_drops; /* xdp: frames that our program ended, deliveries all */
	int rcvbuf;	    /* what the socket really has, as getsockopt tells (doubled) */
};

struct rx;

struct rx_ops {
	const char *name;
	const char *title;
	int (*open)(struct rx **rx, const struct rx_config *cfg, struct error *err);
	/* Takes what is there, waits at most timeout_ms if nothing is. Returns packets or -errno.
	 */
	int (*poll)(struct rx *rx, int timeout_ms, struct error *err);
	/* Brings the sink up to date where packets do not pass poll(); NULL: they do. */
	void (*collect)(struct rx *rx);
	/* 0 if nothing waits in the queue of this engine; else its packets or bytes. */
	uint64_t (*pending)(const struct rx *rx);
	void (*stats)(const struct rx *rx, struct rx_stats *st);
	const char *(*mode)(const struct rx *rx);
	int (*fd)(const struct rx *rx); /* the socket */
	void (*close)(struct rx *rx);
};

extern const struct rx_ops rx_socket, rx_xsk, rx_xdp;

/* A UDP socket at the flow's port, with all that `cfg` asks of one. Returns it or -errno. */
int rx_socket_bound(const struct rx_config *cfg, struct error *err);

/*
 * How long a reader looks again before it sleeps. A sleeping one costs the sender's CPU a wake-up
 * for almost every packet, several times what the packet itself costs; this is about what a sleep
 * and a wake-up cost. 0 where the sender needs this CPU, and in a thread of real-time priority,
 * from which nobody else could take it.
 */
uint64_t rx_spin_ns(void);

/* Between two looks: lets the CPU rest for a moment, and the line it looks at with its writer. */
static inline void rx_spin_rest(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
