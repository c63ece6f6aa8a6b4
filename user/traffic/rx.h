/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of all receiving engines. One struct rx serves one thread, which is in the
 * receiver's namespace and pinned before open() is called. An engine passes received packets to the
 * sink, which checks the sequence header and keeps the ledger.
 */
#ifndef PKTLEDGER_TRAFFIC_RX_H
#define PKTLEDGER_TRAFFIC_RX_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/outcomes.h"
#include "drops/legs.h"
#include "sink_abi.h"
#include "traffic/shape.h"
#include "traffic/worker.h"

/*
 * Statistics that a receiver reports per stream, or per 5-tuple if flows are told apart. Packet
 * order is the order of arrival at this receiver. Each struct belongs to one thread.
 */
#define LINE_GAPS 256 /* jumps remembered to compute the extent of late packets */

struct line {
	uint16_t stream;	/* index in struct sink_streams */
	struct endpoint source; /* all 0: flows are not distinguished */
	uint64_t next;		/* highest number + 1 */
	uint64_t delivered, bytes, duplicated;
	struct reordering order;

	struct line_gap {
		uint64_t first, end; /* numbers jumped over: [first, end) */
		uint64_t at;	     /* arrivals before the jump */
	} gap[LINE_GAPS];	     /* a ring */
	unsigned gaps;

	int64_t transit; /* ns, of the last packet with a timestamp */
	int64_t fastest; /* ns, smallest transit: clock offset plus the fixed path latency */
	uint64_t jitter; /* RFC 3550 A.8: ns, 16 times */
	bool timed;
	struct hist *delay; /* one-way, ns. NULL: not measured */
	uint64_t negative;  /* arrived before the send time: clocks differ */
};

static inline bool line_is(const struct line *l, uint16_t stream, const struct endpoint *source)
{
	return l->stream == stream && l->source.port == source->port &&
	       l->source.ip4.s_addr == source->ip4.s_addr &&
	       IN6_ARE_ADDR_EQUAL(&l->source.ip6, &source->ip6);
}

/* Returns the interarrival jitter of RFC 3550, in ns. */
static inline uint64_t line_jitter(const struct line *l)
{
	return l->jitter >> 4;
}

/*
 * The common destination of all receiving engines: checks the sequence header, marks the number as
 * delivered, and records receiver-only facts (duplicates, order, damage, latency). Each receiving
 * thread has a sink. The sinks of one receiver share the streams.
 */

struct sink_stream {
	uint16_t id;
	uint64_t base;
	_Atomic uint64_t tail;	   /* numbers below are outside the window */
	uint8_t *arrivals;	   /* one byte per number, `window` bytes */
	_Atomic uint64_t ahead;	   /* a number received above the window, 0: no such number */
	atomic_bool ended;	   /* end record received: */
	_Atomic uint64_t end_base; /* below `base` if the receiver started late */
	_Atomic uint64_t end_sent, end_refused;
};

/* Expected streams: known beforehand, or learned from their first sequence header. */
struct sink_streams {
	uint64_t window;      /* numbers kept per stream, a power of two */
	bool shared;	      /* used by several threads */
	pthread_mutex_t lock; /* held while a stream is learned */
	/*
	 * Streams are learned in this table, by BPF programs too. `bytes` has a window for each of
	 * its `room` slots. NULL: memory is mapped as streams arrive.
	 */
	struct trace_tails *table;
	uint8_t *bytes;
	unsigned room;
	atomic_uint n;
	struct sink_stream at[TRACE_STREAMS];
};

/* Numbers per learned stream until resolved: 5 s at 13 Mpps. Used as numbers arrive. */
#define SINK_LEARNED_WINDOW (1ULL << 26)

#define SINK_RECENT 256
#define SINK_LINES  512 /* flows counted separately per thread, the rest are counted per stream */

struct sink {
	/* set by the creator of the sink */
	struct sink_streams *streams;
	unsigned payload;	   /* expected length in bytes, the longest with a shape, 0: any */
	const struct shape *shape; /* length of each number, NULL: all alike */
	const uint8_t *fill; /* expected bytes after header and timestamp (flow_fill()), NULL:
			      * any */
	bool timed;	     /* packets carry the send time */
	struct reader_state *reader; /* simulated application work per packet, or NULL */
	const struct legs *legs;     /* NULL: latency breakdown not measured */

	_Atomic uint32_t turn; /* odd: between sink_begin() and sink_end() */

	struct endpoint source; /* of the next packet, set by engines that distinguish flows */
	uint64_t came_ns;	/* ns, arrival of the next packet, passed to legs_read() */

	/* results, written only by the receiving thread */
	struct sink_sums sums;
	uint64_t next[TRACE_STREAMS]; /* per stream: highest number received + 1, or 0 */
	struct legs_sums legs_sums;
	struct line *line[SINK_LINES];
	unsigned lines;
	struct line *recent[SINK_RECENT]; /* cached by source port and stream */
};

/*
 * Processes a UDP payload of `len` bytes, of which `have` are at `data`. now_tai: CLOCK_TAI, 0 if
 * unknown.
 */
void sink_packet(struct sink *s, const void *data, unsigned have, unsigned len, uint64_t now_tai);

/*
 * sink_begin() and sink_end() enclose a batch of packets passed to the sink: while it lasts, the
 * memory of numbers outside the window is not reused. Call sink_pass() after advancing a tail: it
 * returns when no thread still processes a packet that may have used the old tail.
 */
void sink_begin(struct sink *s);
void sink_end(struct sink *s);
void sink_pass(const struct sink *s);

/* Returns the line of a stream and `source`. */
struct line *sink_line(struct sink *s, uint16_t stream);

/* Adds the counts of another thread or CPU. */
void sink_sums_add(struct sink_sums *sum, const struct sink_sums *one);

/* Frees the lines of a sink. */
void sink_forget(struct sink *s);

/* Adopts streams registered in the table, whether by a program or by another thread. */
void sink_streams_sync(struct sink_streams *t);

/*
 * Advances the tail: numbers of a stream below `upto` leave its window. Packets with such a number
 * count as late after the next sink_pass().
 */
void sink_streams_set_tail(struct sink_streams *t, unsigned stream, uint64_t upto);

/* Clears the bytes of numbers outside the window and releases learned memory. */
void sink_streams_empty(struct sink_streams *t, unsigned stream, uint64_t from, uint64_t upto);

/* Returns whether the payload is an end record, complete or damaged. */
bool sink_is_end(const void *data, unsigned have);

/* Frees learned streams. */
void sink_streams_forget(struct sink_streams *t);

/* Configuration shared by all threads of a receiver. */
struct receiver_config {
	const struct rx_ops *ops;
	const struct flow *flow; /* only dst_port and family are used, any dst address matches */
	const struct netns *ns;	 /* entered by the threads, NULL: stay */
	const char *ifname;
	unsigned threads;	   /* <= RECEIVER_THREADS */
	const struct shape *shape; /* shape of the sender, NULL: unknown, or all packets alike */
	struct outcomes *outcomes; /* numbers, and records of arrivals, NULL: discover the
				    * streams */
	struct trace_tails *table; /* with outcomes: streams are still learned, in this table */
	int rcvbuf;		   /* bytes (SO_RCVBUFFORCE), 0: the default */
	unsigned xsk_frames; /* xsk: frames to allocate, a power of two, 0: the engine's default */
	unsigned xsk_room;   /* xsk: usable bytes per frame, 0: the longest packet */
	const struct rx_prog *prog; /* xsk and xdp only, borrowed */
	bool xdp_skb_mode;	    /* xsk, xdp: program attached as generic XDP */
	const struct legs *legs;    /* borrowed, NULL: latency breakdown not measured */
	bool paused;		    /* does not read until receiver_resume() */
	uint64_t work_ns;	    /* ns of CPU time per packet, a slow reader */
	const struct tuning *tuning;
	int cpu; /* first thread's CPU, -1: not pinned */
};

/* Configuration of one thread. Pointers are borrowed until close(). */
struct rx_config {
	const struct receiver_config *receiver;
	struct sink *sink;
	unsigned queue;
	const atomic_bool *stop;
	/* Set by open(): the mode as in struct tx_config, and the socket for a socket filter. */
	const char *mode;
	int fd;
};

struct rx_stats {
	uint64_t calls;
	int64_t socket_drops; /* SK_MEMINFO_DROPS since open, -1: unknown */
	/* XDP_STATISTICS */
	uint64_t rx_ring_full, rx_fill_ring_empty, rx_dropped, rx_invalid;
	bool zero_copy;	    /* xsk: as granted by the driver */
	uint64_t xdp_drops; /* xdp: frames dropped by our program, all of them deliveries */
	int rcvbuf;	    /* bytes, as getsockopt() returns it (doubled) */
};

struct rx;

struct rx_ops {
	const char *name;
	size_t size; /* bytes, of the engine's struct rx */
	/* Opens the engine. `rx` is zeroed by the caller, which calls close() even on failure. */
	int (*open)(struct rx *rx, struct rx_config *cfg, struct error *err);
	/*
	 * Receives waiting packets, or waits up to timeout_ms. Returns the number of packets, or
	 * -errno.
	 */
	int (*poll)(struct rx *rx, int timeout_ms, struct error *err);
	/* Updates the sink if packets do not pass poll(). NULL: they do. */
	void (*collect)(struct rx *rx);
	/* Returns packets or bytes in the engine's own queue. NULL: the engine has no queue. */
	uint64_t (*pending)(const struct rx *rx);
	/* Adds the engine's counts to `st`. */
	void (*stats)(const struct rx *rx, struct rx_stats *st);
	void (*close)(struct rx *rx); /* frees everything except `rx` itself */
};

extern const struct rx_ops rx_socket, rx_xsk, rx_xdp;

/* Opens a UDP socket bound to the flow's port, with the options of `cfg`. Returns it or -errno. */
int rx_socket_bound(const struct receiver_config *cfg, struct error *err);

/*
 * Returns the time a receiving thread polls before it sleeps, in ns. A sleeping thread costs the
 * sender's CPU a wake-up for almost every packet, several times the cost of the packet itself. The
 * value is about the cost of one sleep and wake-up. Returns 0 if the sender shares this CPU, and
 * for a thread of real-time priority, which no other thread could preempt.
 */
uint64_t rx_spin_ns(void);

/*
 * The XDP program of a receiving engine: redirects to AF_XDP sockets (bpf/xsk.bpf.c), or receives
 * for engine `xdp` (bpf/sink.bpf.c). Attached by a BPF link, which ends with this process.
 */
struct rx_prog {
	int fd;	     /* also the target of another program's tail call */
	int link;    /* -1: not attached */
	bool native; /* attached in the driver, else generic */
	struct xsk_bpf *xsk;
	int map_fd; /* of the program: the XSKMAP */
	struct sink_bpf *sink;
	struct sink_count *percpu; /* of the program: scratch counts, one per CPU */
	int cpus;
	/* With `learn`, memory-mapped: SINK_WINDOW bytes for each of SINK_LEARNED streams. */
	uint8_t *arrivals;
	struct trace_tails *tails;
};

struct rx_prog_config {
	const struct trace_config *trace; /* selects the numbers of this run. With learn, only
					   * the port */
	bool steer;			  /* redirects into AF_XDP sockets, else the program
					   * receives: */
	unsigned payload;		  /* expected length in bytes, 0: any */
	bool pass;			  /* acts as a probe only, the stack receives */
	bool learn;			  /* streams are unknown in advance, and the maps are not
					   * shared */
	/*
	 * Maps shared with the tracer, or -1. When steering: the cell that takes the number in
	 * progress, and marks for packets that interrupted PID 1. When receiving: a byte per
	 * number, and with `pass` how far each packet got.
	 */
	int cell_fd, arrivals_fd, tails_fd, seen_fd;
};

int rx_prog_open(struct rx_prog **prog, const struct rx_prog_config *cfg, struct error *err);

/*
 * Attaches the program to an interface of this thread's namespace with `queues` receive queues:
 * native if the driver supports it (which may take the link down briefly), else generic. Refuses
 * more queues than the XSKMAP holds (64), because the rest would bypass it.
 */
int rx_prog_attach(struct rx_prog *prog, const char *ifname, unsigned queues, struct error *err);

/*
 * Sums the counts of all CPUs. `next` and last_ns are maxima, first_ns is the smallest nonzero
 * value.
 */
int rx_prog_read(const struct rx_prog *prog, struct sink_count *sum);

/* Detaches and unloads. */
void rx_prog_close(struct rx_prog *prog);

/* Formats "cannot load WHAT: ..." with the verifier's message. Returns the error code. */
int xdp_load_failed(int rc, const char *what, struct error *err);

#endif
