/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of all receiving engines. One struct rx serves one thread. Before open() is called,
 * the thread has entered the receiver's namespace and has been pinned. An engine passes received
 * packets to the sink, which checks the sequence header and keeps the ledger.
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
 * Statistics that a receiver reports per stream, or per 5-tuple if flows are distinguished. Packets
 * are ordered by their arrival at this receiver. Each struct belongs to one thread.
 */
#define LINE_GAPS 256 /* jumps remembered, to compute the extent of late packets */

struct line {
	uint16_t stream;	/* index in struct sink_streams */
	uint16_t id;		/* of that stream, as in the sequence header */
	unsigned life;		/* the slot's `life` when the line began */
	struct endpoint source; /* all 0: flows are not distinguished */
	uint64_t next;		/* highest number + 1 */
	uint64_t delivered, bytes, duplicated;
	struct reordering order;

	struct line_gap {
		uint64_t first, end; /* numbers that were skipped: [first, end) */
		uint64_t at;	     /* packets that had arrived before the jump */
	} gap[LINE_GAPS];	     /* ring buffer */
	unsigned gaps;

	int64_t transit; /* ns, transit of the last packet with a timestamp */
	int64_t fastest; /* ns, smallest transit: the clock offset plus the fixed path latency */
	uint64_t jitter; /* 16 times the jitter in ns (RFC 3550 A.8) */
	bool timed;
	struct hist *delay; /* ns, one-way latency, NULL: not measured */
	uint64_t negative;  /* packets that arrived before their send time: clocks differ */
};

static inline bool line_is(const struct line *l, uint16_t stream, unsigned life,
			   const struct endpoint *source)
{
	return l->stream == stream && l->life == life && l->source.port == source->port &&
	       l->source.ip4.s_addr == source->ip4.s_addr &&
	       IN6_ARE_ADDR_EQUAL(&l->source.ip6, &source->ip6);
}

/* Returns the RFC 3550 interarrival jitter in ns. */
static inline uint64_t line_jitter(const struct line *l)
{
	return l->jitter >> 4;
}

/*
 * Adds a line's counts, order and latency to `sum`, whose jitter becomes the mean over all packets.
 * The caller frees sum->delay.
 */
void line_add(struct line *sum, const struct line *l);

/*
 * All receiving engines pass packets to a sink. It checks the sequence header, marks the number as
 * delivered, and records facts that only the receiver knows: duplicates, order, damage, latency.
 * Each receiving thread has one sink. The sinks of a receiver share the streams.
 */

struct sink_stream {
	_Atomic uint16_t id;
	_Atomic uint64_t base;
	_Atomic uint64_t tail;	   /* numbers below are outside the window */
	uint8_t *arrivals;	   /* one byte per number, `window` bytes */
	_Atomic uint64_t ahead;	   /* a number received above the window, 0: none */
	atomic_bool ended;	   /* end record received, with these values: */
	_Atomic uint64_t end_base; /* below `base` if the receiver started late */
	_Atomic uint64_t end_sent, end_refused;
	atomic_bool closed;    /* no number belongs to this stream any more */
	_Atomic unsigned life; /* number of streams that had this slot before */
};

/* Expected streams, known beforehand or learned from their first sequence header. */
struct sink_streams {
	uint64_t window;      /* numbers kept per stream, a power of two */
	bool shared;	      /* used by several threads */
	pthread_mutex_t lock; /* held while a stream is being learned */
	/*
	 * New streams are entered in this table, by BPF programs too. `bytes` has a window for each
	 * of its `room` slots. NULL: memory is mapped when a stream arrives.
	 */
	struct trace_tails *table;
	uint8_t *bytes;
	unsigned room;
	atomic_uint n;
	struct sink_stream at[TRACE_STREAMS];
};

/*
 * Numbers kept per learned stream until they are resolved, enough for 5 s at 13 Mpps. The memory is
 * used only as numbers arrive.
 */
#define SINK_LEARNED_WINDOW (1ULL << 26)

#define SINK_RECENT 256
#define SINK_LINES  512 /* flows counted separately per thread, any others are counted per stream */

struct sink {
	/* set by the creator of the sink */
	struct sink_streams *streams;
	unsigned payload;	   /* bytes, expected (the longest with a shape), 0: any */
	const struct shape *shape; /* length of each packet, NULL: all packets are alike */
	const uint8_t *fill; /* expected bytes after header and timestamp (flow_fill()), NULL:
			      * any */
	bool timed;	     /* packets carry the send time */
	struct reader_state *reader; /* simulated application work per packet, or NULL */
	const struct legs *legs;     /* NULL: latency breakdown not measured */

	_Atomic uint32_t turn; /* odd while between sink_begin() and sink_end() */

	struct endpoint source; /* of the next packet, set by engines that distinguish flows */
	uint64_t came_ns;	/* ns, arrival time of the next packet, passed to legs_read() */

	/* results, written only by the receiving thread */
	struct sink_sums sums;
	uint64_t next[TRACE_STREAMS]; /* highest number received + 1 per stream, or 0 */
	struct legs_sums legs_sums;
	struct line *line[SINK_LINES];
	unsigned lines;
	struct line *recent[SINK_RECENT]; /* cache, indexed by source port and stream */
	struct line *past; /* sums of lines whose streams have lost their slots, or NULL */
	uint64_t past_lines;
};

/*
 * Processes a UDP payload of `len` bytes, of which `have` are at `data`. `now_tai` is CLOCK_TAI, or
 * 0 if unknown.
 */
void sink_packet(struct sink *s, const void *data, unsigned have, unsigned len, uint64_t now_tai);

/*
 * sink_begin() and sink_end() enclose a batch of packets passed to the sink. Within the batch,
 * memory for numbers outside the window is not reused. Call sink_pass() after advancing a tail. It
 * returns once no thread is still processing a packet that may have used the old tail.
 */
void sink_begin(struct sink *s);
void sink_end(struct sink *s);
void sink_pass(const struct sink *s);

/* Returns the line for a stream and `source`. */
struct line *sink_line(struct sink *s, uint16_t stream);

/* Adds counts from another thread or CPU. */
void sink_sums_add(struct sink_sums *sum, const struct sink_sums *one);

/* Frees a sink's lines. */
void sink_forget(struct sink *s);

/* Adopts streams that a program or another thread has registered in the table. */
void sink_streams_sync(struct sink_streams *t);

/*
 * Advances the tail, so that a stream's numbers below `upto` leave its window. Packets with such
 * numbers count as late after the next sink_pass().
 */
void sink_streams_set_tail(struct sink_streams *t, unsigned stream, uint64_t upto);

/* Clears the bytes of numbers outside the window and releases memory of learned streams. */
void sink_streams_empty(struct sink_streams *t, unsigned stream, uint64_t from, uint64_t upto);

/* Returns whether the payload is an end record, complete or damaged. */
bool sink_is_end(const void *data, unsigned have);

/*
 * sink_streams_close() keeps further packets from a learned stream in private memory: after
 * sink_pass() nothing changes in its slot. sink_streams_open() undoes that. sink_streams_drop()
 * gives the slot of a closed stream, whose numbers must be cleared, to the next unknown stream.
 */
void sink_streams_close(struct sink_streams *t, unsigned stream);
void sink_streams_open(struct sink_streams *t, unsigned stream);
void sink_streams_drop(struct sink_streams *t, unsigned stream);

/* Returns whether there is a stream in this slot, which is one of the first `n`. */
static inline bool sink_streams_has(const struct sink_streams *t, unsigned stream)
{
	return !atomic_load(&t->at[stream].closed);
}

/* Frees learned streams. */
void sink_streams_forget(struct sink_streams *t);

/* Configuration shared by all threads of a receiver. */
struct receiver_config {
	const struct rx_ops *ops;
	const struct flow *flow; /* only dst_port and family are used: any dst address matches */
	const struct netns *ns;	 /* the threads enter this namespace, NULL: they stay */
	const char *ifname;
	unsigned threads;	   /* <= RECEIVER_THREADS */
	const struct shape *shape; /* the sender's shape, NULL: unknown, or all packets are alike */
	struct outcomes *outcomes; /* numbers, and records of arrivals, NULL: discover the
				    * streams */
	struct trace_tails *table; /* with outcomes: streams are still learned, using this table */
	int rcvbuf;		   /* bytes (SO_RCVBUFFORCE), 0: the default */
	unsigned xsk_frames; /* xsk: frames to allocate, a power of two, 0: the engine's default */
	unsigned xsk_room;   /* xsk: usable bytes per frame, 0: enough for the longest packet */
	const struct rx_prog *prog; /* xsk and xdp only, borrowed */
	bool xdp_skb_mode;	    /* xsk, xdp: attach the program as generic XDP */
	const struct legs *legs;    /* borrowed, NULL: latency breakdown not measured */
	bool paused;		    /* does not read until receiver_resume() is called */
	uint64_t work_ns;	    /* ns of CPU time per packet, to simulate a slow reader */
	const struct tuning *tuning;
	int cpu; /* CPU of the first thread, -1: not pinned */
};

/* Configuration of one thread. Pointers are borrowed until close(). */
struct rx_config {
	const struct receiver_config *receiver;
	struct sink *sink;
	unsigned queue;
	const atomic_bool *stop;
	/* Set by open(): the mode (see struct tx_config), and the socket, for a socket filter. */
	const char *mode;
	int fd;
};

struct rx_stats {
	uint64_t calls;
	int64_t socket_drops; /* SK_MEMINFO_DROPS since open, -1: unknown */
	/* XDP_STATISTICS */
	uint64_t rx_ring_full, rx_fill_ring_empty, rx_dropped, rx_invalid;
	bool zero_copy;	    /* xsk: whether the driver granted zero copy */
	uint64_t xdp_drops; /* xdp: frames that our program dropped, all of them delivered */
	int rcvbuf;	    /* bytes, as getsockopt() returns it (doubled) */
};

struct rx;

struct rx_ops {
	const char *name;
	size_t size; /* bytes, size of the engine's struct rx */
	bool socket; /* a UDP socket that receives from the IP layer */
	/* Opens the engine. The caller zeroes `rx`, and calls close() even on failure. */
	int (*open)(struct rx *rx, struct rx_config *cfg, struct error *err);
	/*
	 * Receives waiting packets, or waits up to timeout_ms for one. Returns the number of
	 * packets, or -errno.
	 */
	int (*poll)(struct rx *rx, int timeout_ms, struct error *err);
	/* Updates the sink for packets that do not pass through poll(). NULL: all packets do. */
	void (*collect)(struct rx *rx);
	/*
	 * Returns how many packets or bytes are in the engine's own queue. NULL: it has no queue.
	 */
	uint64_t (*pending)(const struct rx *rx);
	/* Adds the engine's counts to `st`. */
	void (*stats)(const struct rx *rx, struct rx_stats *st);
	void (*close)(struct rx *rx); /* frees everything except `rx` itself */
};

extern const struct rx_ops rx_socket, rx_xsk, rx_xdp;
extern const struct rx_ops *const rx_engines[]; /* the last is NULL */

/* Opens a UDP socket with the options in `cfg`, bound to the flow's port. Returns it or -errno. */
int rx_socket_bound(const struct receiver_config *cfg, struct error *err);

/*
 * Returns how long a receiving thread polls before it sleeps, in ns. A sleeping thread costs the
 * sender's CPU one wake-up for almost every packet, which is several times the cost of the packet
 * itself. The time is about the cost of one sleep and one wake-up. Returns 0 if the sender shares
 * this CPU, and for a thread with real-time priority, because no other thread could preempt it.
 */
uint64_t rx_spin_ns(void);

/*
 * A receiving engine's XDP program. It redirects to AF_XDP sockets (bpf/xsk.bpf.c), or receives
 * packets itself for the `xdp` engine (bpf/sink.bpf.c). It is attached using a BPF link, which ends
 * with this process.
 */
struct rx_prog {
	int fd;	     /* also the target of another program's tail call */
	int link;    /* -1: not attached */
	struct xsk_bpf *xsk;
	int map_fd; /* the program's XSKMAP */
	struct sink_bpf *sink;
	struct sink_count *percpu; /* the program's scratch counts, one per CPU */
	int cpus;
	/* With `learn`, memory-mapped: SINK_WINDOW bytes for each of SINK_LEARNED streams. */
	uint8_t *arrivals;
	struct trace_tails *tails;
};

struct rx_prog_config {
	const struct trace_config *trace; /* selects the numbers of this run, with `learn` only the
					   * port */
	bool steer;			  /* redirect into AF_XDP sockets, otherwise the program
					   * receives packets itself: */
	unsigned payload;		  /* bytes, expected payload length, 0: any */
	bool pass;			  /* only act as a probe: the stack receives the packets */
	bool learn;			  /* streams are not known in advance, and maps are not
					   * shared */
	/*
	 * Maps shared with the tracer, or -1. When steering: the cell for the number in progress,
	 * and marks for packets that interrupted PID 1. When receiving: one byte per number and,
	 * with `pass`, how far each packet got.
	 */
	int cell_fd, arrivals_fd, tails_fd, seen_fd;
};

int rx_prog_open(struct rx_prog **prog, const struct rx_prog_config *cfg, struct error *err);

/*
 * Attaches the program to an interface with `queues` receive queues: native if the driver supports
 * it (the link may go down briefly), otherwise generic. Fails if there are more queues than XSKMAP
 * entries (64), because packets in the remaining queues would bypass it.
 */
int rx_prog_attach(struct rx_prog *prog, const struct netns *ns, const char *ifname,
		   unsigned queues, bool *native, struct error *err);

/*
 * Sums the counts of all CPUs. For `next` and last_ns takes the maximum, for first_ns the smallest
 * nonzero value.
 */
int rx_prog_read(const struct rx_prog *prog, struct sink_count *sum);

/* Detaches and unloads the program. */
void rx_prog_close(struct rx_prog *prog);

/* Formats "cannot load WHAT: ..." with the verifier's message. Returns the error code. */
int xdp_load_failed(int rc, const char *what, struct error *err);

#endif
