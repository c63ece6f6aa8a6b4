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
	unsigned xsk_frames; /* xsk: to be filled; a power of two; 0: the engine's own number */
	unsigned xsk_room;   /* xsk: bytes that a frame has room for; 0: the longest packet */
	const struct rx_prog *prog; /* xsk, xdp; borrowed */
	bool xdp_skb_mode;	    /* xsk, xdp: the program is attached as generic XDP */
	bool paused;		    /* does not read until receiver_resume() */
	uint64_t work_ns;	    /* time spent on each packet, a slow reader */
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

/*
 * The XDP program of a receiving engine, attached by a BPF link, which the kernel undoes when this
 * process ends: that in front of AF_XDP sockets (bpf/xsk.bpf.c), or that of the engine `xdp`
 * (bpf/sink.bpf.c).
 */
struct rx_prog {
	int fd;	     /* also for a tail call from another program */
	int link;    /* -1: not attached */
	bool native; /* attached in the driver; else generic */
	struct xsk_bpf *xsk;
	int map_fd, cell_fd; /* of it: the XSKMAP, and map `cell` */
	struct sink_bpf *sink;
	struct sink_count *percpu; /* of it: scratch, one a CPU */
	int cpus;
	/* With `learn`, mapped: */
	uint8_t *arrivals;	   /* SINK_WINDOW bytes a stream */
	struct trace_tails *tails; /* numbers below have left the window of the i-th stream */
};

struct rx_prog_config {
	const struct trace_config *trace; /* which numbers are this run's; learn: the port only */
	bool steer;			  /* into AF_XDP sockets; else it receives: */
	unsigned payload;		  /* expected length; 0: any */
	bool pass;			  /* a checkpoint, the stack decides */
	bool learn;			  /* streams are not known, and the maps are its own */
	/*
	 * Maps that it shares with the tracer, -1: with nobody. To be steered by: where the number
	 * under way is left, and where packets are marked that came on top of PID 1. To receive
	 * by: a byte a number, and with `pass` how far packets got.
	 */
	int cell_fd, arrivals_fd, tails_fd, seen_fd;
};

int rx_prog_open(struct rx_prog **prog, const struct rx_prog_config *cfg, struct error *err);

/*
 * To a device of this thread's namespace, with so many receive queues: native if the driver can
 * (which may take the link down for a moment), else generic. More queues than the XSKMAP holds (64)
 * are refused, because the rest would bypass it.
 */
int rx_prog_attach(struct rx_prog *prog, const char *ifname, unsigned queues, struct error *err);

/*
 * With `learn`: the i-th stream that arrived (from 0). NULL: there are not so many yet. There is
 * room for SINK_LEARNED; what arrives of others goes on to the stack and is counted as foreign.
 */
const struct sink_discovered *rx_prog_discovered(const struct rx_prog *prog, unsigned i);

/* Sums of all CPUs; `next` and last_ns are the largest, first_ns the smallest but 0. */
int rx_prog_read(const struct rx_prog *prog, struct sink_count *sum);

/* Detaches and unloads. */
void rx_prog_close(struct rx_prog *prog);

/* "cannot load WHAT: ...", with what the verifier said. */
int xdp_load_failed(int rc, const char *what, struct error *err);

#endif
