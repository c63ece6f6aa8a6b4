/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface behind which all receiving engines stand. One struct rx serves one thread, which
 * is in the receiver's namespace and pinned when open() is called. What an engine takes from the
 * kernel it gives to the sink, which checks the stamp and keeps the ledger.
 */
#ifndef PKTLEDGER_TRAFFIC_RX_H
#define PKTLEDGER_TRAFFIC_RX_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/fates.h"
#include "drops/legs.h"
#include "sink_abi.h"
#include "traffic/shape.h"
#include "traffic/worker.h"

/*
 * What a receiver can report of one line of packets: those of one stream, and of one 5-tuple if
 * flows are told apart. Order is that of arrival at this receiver; a line belongs to one thread.
 */
#define LINE_GAPS 256 /* jumps remembered, to know the extent of what comes late */

struct line {
	uint16_t stream;	/* index in struct sink_streams */
	struct endpoint source; /* all 0: flows are not told apart */
	uint64_t next;		/* highest number + 1 */
	uint64_t delivered, bytes, duplicated;
	struct reordering order;

	struct line_gap {
		uint64_t first, end; /* numbers jumped over: [first, end) */
		uint64_t at;	     /* arrivals before the jump */
	} gap[LINE_GAPS];	     /* a ring */
	unsigned gaps;

	int64_t transit; /* of the last packet with a time */
	int64_t fastest; /* the least of them: what the clocks differ by, and the path takes */
	uint64_t jitter; /* RFC 3550 A.8: ns, 16 times */
	bool timed;
	struct hist *delay; /* one-way, ns; NULL: nothing measured */
	uint64_t negative;  /* arrived before they were sent: the clocks differ */
};

static inline bool line_is(const struct line *l, uint16_t stream, const struct endpoint *source)
{
	return l->stream == stream && l->source.port == source->port &&
	       l->source.ip4.s_addr == source->ip4.s_addr &&
	       IN6_ARE_ADDR_EQUAL(&l->source.ip6, &source->ip6);
}

/* Interarrival jitter of RFC 3550, ns. */
static inline uint64_t line_jitter(const struct line *l)
{
	return l->jitter >> 4;
}

/*
 * Where every receiving engine's packets end: checks the stamp, marks the number as delivered,
 * and keeps what only the receiver can know (duplicates, order, damage, delay). One sink per
 * receiving thread; the sinks of one receiver share the streams.
 */

struct sink_stream {
	uint16_t id;
	uint64_t base;
	_Atomic uint64_t tail;	   /* numbers below have left the window */
	uint8_t *arrivals;	   /* a byte a number, `window` of them */
	_Atomic uint64_t ahead;	   /* with a table: a number that came beyond the window; 0: none */
	atomic_bool ended;	   /* its end record came: */
	_Atomic uint64_t end_base; /* less than `base` if we came late */
	_Atomic uint64_t end_sent, end_refused;
};

/* Streams that may arrive: known beforehand, or learned from their first stamp. */
struct sink_streams {
	uint64_t window; /* numbers kept per stream, a power of two */
	bool learn;
	bool shared;	      /* by several threads */
	pthread_mutex_t lock; /* to learn one */
	uint64_t *tails;      /* of each stream, for a program that receives; NULL: none does */
	/*
	 * With `learn`: the table in which programs learn them too, with a window of bytes for each
	 * of its `room` slots at `bytes`. NULL: they are learned here alone.
	 */
	struct trace_tails *table;
	uint8_t *bytes;
	unsigned room;
	atomic_uint n;
	struct sink_stream at[TRACE_STREAMS];
};

#define SINK_RECENT 256
#define SINK_LINES  512 /* told apart by one thread; the rest shares one line per stream */

struct sink {
	/* set by whoever makes it */
	struct sink_streams *streams;
	unsigned payload;	   /* expected length, the longest one with a shape; 0: any */
	const struct shape *shape; /* gives the length of each number; NULL: all are alike */
	const uint8_t *fill; /* expected bytes behind stamp and time, see flow_fill(); NULL: any */
	bool timed;	     /* packets carry the send time */
	struct reader_state *reader; /* the application's own work on each packet; NULL: none */
	const struct legs *legs;     /* NULL: none are measured */

	_Atomic uint32_t turn; /* odd: between sink_begin() and sink_end() */

	struct endpoint source; /* of the next packet; set by engines that tell flows apart */
	uint64_t came_ns;	/* of the next packet: as legs_read() takes it */

	/* results; written by the receiving thread only */
	struct sink_sums sums;
	uint64_t next[TRACE_STREAMS]; /* highest number seen of each stream + 1; 0: none */
	struct legs_sums legs_sums;
	struct line *line[SINK_LINES];
	unsigned lines;
	struct line *recent[SINK_RECENT]; /* found by source port and stream */
};

/* A UDP payload of `len` bytes, of which `have` are at `data`. now_tai: CLOCK_TAI, 0 if unknown. */
void sink_packet(struct sink *s, const void *data, unsigned have, unsigned len, uint64_t now_tai);

/*
 * Around packets that are given to the sink one after another: what has left the window stays what
 * it was as long. sink_pass() is for whoever has moved a tail: it returns when no packet is looked
 * at any more that may have met the old one.
 */
void sink_begin(struct sink *s);
void sink_end(struct sink *s);
void sink_pass(const struct sink *s);

/* The line of a stream and `source`. */
struct line *sink_line(struct sink *s, uint16_t stream);

/* Adds what another thread or CPU counted. */
void sink_sums_add(struct sink_sums *sum, const struct sink_sums *one);

/* Frees the lines of a sink. */
void sink_forget(struct sink *s);

/* Takes over streams that the table has, whoever has learned them. */
void sink_streams_sync(struct sink_streams *t);

/* Numbers of a stream below `upto` have left its window: what comes of them after a sink_pass() is
 * late. */
void sink_streams_set_tail(struct sink_streams *t, unsigned stream, uint64_t upto);

/* The bytes of numbers that have left the window are made 0, and learned memory given back. */
void sink_streams_empty(struct sink_streams *t, unsigned stream, uint64_t from, uint64_t upto);

/* An end record, or what was to be one. */
bool sink_is_end(const void *data, unsigned have);

/* Frees what was learned. */
void sink_streams_forget(struct sink_streams *t);

/* What all threads of a receiver have in common. */
struct receiver_config {
	const struct rx_ops *ops;
	const struct flow *flow; /* dst_port and family are used; dst address: any */
	const struct netns *ns;	 /* threads enter it; NULL: stay */
	const char *ifname;
	unsigned threads;	   /* <= RECEIVER_THREADS */
	const struct shape *shape; /* of the sender; NULL: not known, or all packets alike */
	struct fates *fates;	   /* numbers, and where arrivals are noted; NULL: discover them */
	struct trace_tails *table; /* with fates: streams are discovered nevertheless, in here */
	int rcvbuf;		   /* bytes asked for (SO_RCVBUFFORCE); 0: the default */
	unsigned xsk_frames; /* xsk: to be filled; a power of two; 0: the engine's own number */
	unsigned xsk_room;   /* xsk: bytes that a frame has room for; 0: the longest packet */
	const struct rx_prog *prog; /* xsk, xdp; borrowed */
	bool xdp_skb_mode;	    /* xsk, xdp: the program is attached as generic XDP */
	const struct legs *legs;    /* borrowed; NULL: none are measured */
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
	/* Takes what is there, waits at most timeout_ms if nothing is. Packets, or -errno. */
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
 * The XDP program of a receiving engine, attached by a BPF link, which ends with this process: that
 * in front of AF_XDP sockets (bpf/xsk.bpf.c), or of engine `xdp` (bpf/sink.bpf.c).
 */
struct rx_prog {
	int fd;	     /* also for a tail call from another program */
	int link;    /* -1: not attached */
	bool native; /* attached in the driver; else generic */
	struct xsk_bpf *xsk;
	int map_fd; /* of it: the XSKMAP */
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
