// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/tx_xsk.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "traffic/frames.h"
#include "traffic/pace.h"
#include "traffic/xsk.h"

/*
 * What tx_xsk.c does differently for shaped traffic: a descriptor is no longer a number. Used by
 * tx_xsk.c only.
 */

struct xsk_shaped;

/* The port is open, its TX frames are free. `cfg` and `port` are borrowed. */
static int xsk_shaped_open(struct xsk_shaped **x, const struct tx_config *cfg,
			   struct xsk_port *port, struct error *err);
static void xsk_shaped_close(struct xsk_shaped *x);

/* Positions of the schedule that are handed over, of which `consumed` descriptors are closed. */
static uint64_t xsk_shaped_backlog(const struct xsk_shaped *x);

/* Writes the frames of at most `n` positions. Returns how many descriptors that made. */
static unsigned xsk_shaped_submit(struct xsk_shaped *x, unsigned n);

/*
 * Moves the stream over what is done now that the kernel consumed `consumed` descriptors since
 * open. Returns how many numbers that closed.
 */
static unsigned xsk_shaped_consume(struct xsk_shaped *x, uint64_t consumed);

/* Closes what was handed over and may or may not have been sent: fail() of each. */
static void xsk_shaped_fail_rest(struct xsk_shaped *x);

static void xsk_shaped_stats(const struct xsk_shaped *x, struct tx_stats *st);

#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 /* since 6.17, which also brought the exact consumer index */
#endif

#define BATCH		 512
#define BATCH_TIMED	 64 /* all of a batch carry the time at which it was made */
#define BATCH_OLD_KERNEL 32 /* TX_BATCH_SIZE: descriptors that one sendto() takes at most */
#define PAUSE_FIRST_NS	 20000L
#define PAUSE_MAX_NS	 1000000L
#define STUCK_NS	 1000000000ULL /* finish(): without any progress */
#define FINISH_NS	 2000000000ULL /* and for each of its two waits, at most */

struct tx {
	struct tx_config cfg;
	struct xsk_port port;
	unsigned frame_length, payload_offset;
	unsigned batch;
	bool exact;    /* what is not consumed is known for certain */
	uint64_t base; /* number of the first descriptor */
	/* Descriptors since open; the ring's indices are the low 32 bits. */
	uint64_t submitted, consumed, completed;
	struct xsk_shaped *shaped; /* NULL: all packets are alike, and a descriptor is a number */
	long pause_ns;		   /* next pause, while nothing moves */
	struct tx_stats stats;
};

static bool stopped(const struct tx *tx)
{
	return tx->cfg.stop && *tx->cfg.stop;
}

/* The consumer index may lag behind what we know from EBUSY and completions, but never lead. */
static void note_consumed(struct tx *tx)
{
	int32_t ahead = xsk_port_tx_consumer(&tx->port) - (uint32_t)tx->consumed;

	if (ahead > 0)
		tx->consumed += ahead;
}

static void recycle(struct tx *tx)
{
	tx->completed += xsk_port_recycle(&tx->port);
	if (tx->consumed < tx->completed)
		tx->consumed = tx->completed;
}

/* One system call. Returns 0 if the engine can go on, or -errno. */
static int kick(struct tx *tx)
{
	uint64_t before = tx->consumed;
	int error = 0;

	tx->stats.calls++;
	if (sendto(tx->port.fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0)
		error = errno;
	note_consumed(tx);
	switch (error) {
	case EBUSY:
		if (tx->port.zero_copy)
			break; /* the driver was busy: no packet of ours */
		tx->stats.lost_at_device++;
		if (tx->consumed == before)
			tx->consumed++;
		break;
	case 0:
	case EAGAIN:
	case ENOBUFS: /* no memory for an skb: not consumed */
	case EINTR:
		break;
	default:
		return -error;
	}
	return 0;
}

/* Hands over as long as the kernel takes. Completions come first: they make room for the call. */
static int hand_over(struct tx *tx)
{
	uint64_t before;
	int ret;

	do {
		recycle(tx);
		note_consumed(tx);
		before = tx->consumed;
		if (before == tx->submitted && !tx->port.zero_copy)
			return 0;
		if (!xsk_ring_prod__needs_wakeup(&tx->port.tx))
			return 0;
		ret = kick(tx);
		if (ret || tx->port.zero_copy)
			return ret;
	} while (tx->consumed != before && !stopped(tx));
	return 0;
}

static void submit(struct tx *tx, unsigned n)
{
	struct frame_pool *pool = &tx->port.umem.tx;
	struct xsk_ring_prod *ring = &tx->port.tx;
	const struct stream *stream = tx->cfg.stream;
	uint64_t number = tx->base + tx->submitted;
	uint64_t left = stream->limit - (number - stream->base);
	uint64_t tai_ns = tx->cfg.flow->time ? pace_tai() : 0;
	uint32_t at;

	if (n > left)
		n = left;
	if (n > pool->free)
		n = pool->free;
	if (!n || !xsk_ring_prod__reserve(ring, n, &at))
		return;
	for (unsigned i = 0; i < n; i++) {
		uint64_t frame = frame_pool_get(pool);
		void *payload = umem_at(&tx->port.umem, frame + tx->payload_offset);

		flow_stamp(payload, tx->cfg.flow->payload, STAMP_WORD(stream->id, number + i),
			   tai_ns);
		*xsk_ring_prod__tx_desc(ring, at + i) =
			(struct xdp_desc){.addr = frame, .len = tx->frame_length};
	}
	xsk_ring_prod__submit(ring, n);
	tx->submitted += n;
}

/*
 * A pause while nothing moves, longer each time. Not poll(): on a copying socket poll() itself
 * sends, and keeps an EBUSY to itself (xsk_poll()).
 */
static void pause_a_while(struct tx *tx)
{
	nanosleep(&(struct timespec){0, tx->pause_ns}, NULL);
	if (tx->pause_ns < PAUSE_MAX_NS)
		tx->pause_ns *= 2;
}

static void wait_for_room(struct tx *tx)
{
	uint64_t start = clock_now();

	pause_a_while(tx);
	tx->stats.waits++;
	tx->stats.wait_ns += clock_now() - start;
}

static int device_error(const struct tx *tx, int ret, struct error *err)
{
	const char *why = strerror(-ret);

	if (ret == -ENETDOWN)
		why = "the interface is down";
	else if (ret == -ENXIO)
		why = "the interface is gone";
	return error_set(err, STATUS_FAILED, ret, NULL, "sending on %s ended: %s", tx->cfg.ifname,
			 why);
}

static void tx_xsk_close(struct tx *tx)
{
	if (!tx)
		return;
	xsk_shaped_close(tx->shaped);
	xsk_port_close(&tx->port);
	free(tx);
}

/* One template a frame, flows taking turns. */
static int fill_frames(struct tx *tx, struct error *err)
{
	struct umem *umem = &tx->port.umem;
	const struct tx_config *cfg = &tx->cfg;

	if (cfg->shape)
		return xsk_shaped_open(&tx->shaped, cfg, &tx->port, err);
	for (unsigned i = 0; i < umem->tx.size; i++) {
		uint64_t frame = frame_pool_get(&umem->tx);
		int ret = proto_build(umem_at(umem, frame), umem->frame_size, cfg->flow,
				      cfg->first_flow + i % cfg->flows);

		frame_pool_put(&umem->tx, frame);
		if (ret < 0)
			return error_set(err, STATUS_USAGE, ret, NULL,
					 "a payload of %u bytes cannot be sent as one frame",
					 cfg->flow->payload);
	}
	return 0;
}

static void set_options(struct tx *tx)
{
	int fd = tx->port.fd, sndbuf = tx->cfg.sndbuf;
	uint32_t budget = XSK_TX_RING;

	/* Without the privilege net.core.wmem_max limits; the packets wait, none is lost. */
	if (sndbuf && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));

	tx->batch = tx->cfg.batch ? tx->cfg.batch : tx->cfg.flow->time ? BATCH_TIMED : BATCH;
	if (tx->batch > XSK_TX_RING)
		tx->batch = XSK_TX_RING;
	if (tx->port.zero_copy)
		return;
	tx->exact = !setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget));
	/* A batch that one call can finish keeps the consumer index of older kernels exact, too. */
	if (!tx->exact && tx->batch > BATCH_OLD_KERNEL)
		tx->batch = BATCH_OLD_KERNEL;
}

static unsigned longest_frame(const struct tx_config *cfg)
{
	return cfg->shape ? frames_longest(cfg->flow, cfg->shape) : proto_frame_length(cfg->flow);
}

static int check(const struct tx_config *cfg, struct error *err)
{
	if (!cfg->flows || cfg->flows > TX_XSK_FLOWS_MAX)
		return error_set(err, STATUS_USAGE, -EINVAL, "use more threads: -P",
				 "the engine xsk sends 1 to %d flows a thread, not %u",
				 TX_XSK_FLOWS_MAX, cfg->flows);
	return frame_fits_mtu(cfg->ifname, longest_frame(cfg), cfg->flow->vlan, "xsk", err);
}

static int tx_xsk_open(struct tx **out, const struct tx_config *cfg, struct error *err)
{
	struct xsk_port_config port = {
		.ifname = cfg->ifname,
		.queue = cfg->queue,
		.packet_bytes = longest_frame(cfg),
		.stop = cfg->stop,
	};
	struct tx *tx;
	int ret;

	ret = check(cfg, err);
	if (ret)
		return ret;
	/* A multiple of the flows, so that each has as many frames as any other. */
	port.tx_frames = (XSK_TX_RING + cfg->flows - 1) / cfg->flows * cfg->flows;

	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	tx->cfg = *cfg;
	tx->frame_length = port.packet_bytes;
	tx->payload_offset = proto_payload_offset(cfg->flow->family);
	tx->base = cfg->stream->next;
	tx->pause_ns = PAUSE_FIRST_NS;
	ret = xsk_port_open(&tx->port, &port, err);
	if (ret) {
		free(tx);
		return ret;
	}
	ret = fill_frames(tx, err);
	if (ret) {
		tx_xsk_close(tx);
		return ret;
	}
	set_options(tx);
	*out = tx;
	return 0;
}

/* Moves the stream over what was consumed since the last time. Returns how many. */
static unsigned fail_numbers(struct tx *tx)
{
	uint64_t next = tx->base + tx->consumed;
	unsigned n = next - tx->cfg.stream->next;

	if (tx->shaped)
		n = xsk_shaped_consume(tx->shaped, tx->consumed);
	else
		tx->cfg.stream->next = next;
	if (n)
		tx->pause_ns = PAUSE_FIRST_NS;
	return n;
}

static int tx_xsk_send(struct tx *tx, unsigned n, struct error *err)
{
	uint64_t backlog =
		tx->shaped ? xsk_shaped_backlog(tx->shaped) : tx->submitted - tx->consumed;
	unsigned closed;
	int ret;

	if (n > tx->batch)
		n = tx->batch;
	recycle(tx);
	if (n > backlog && !stopped(tx)) {
		if (tx->shaped)
			tx->submitted += xsk_shaped_submit(tx->shaped, n - backlog);
		else
			submit(tx, n - backlog);
	}
	ret = hand_over(tx);
	closed = fail_numbers(tx);
	if (closed)
		return closed; /* an error that lasts comes again */
	if (ret)
		return device_error(tx, ret, err);
	if (!stopped(tx))
		wait_for_room(tx);
	return 0;
}

/* Waits until *count is *wanted: a bounded time, and only as long as it moves. */
static int await(struct tx *tx, const uint64_t *count, const uint64_t *wanted)
{
	uint64_t start = clock_now(), since = start, now;
	uint64_t last = *count;
	int ret;

	for (;;) {
		ret = hand_over(tx);
		recycle(tx);
		if (ret || *count == *wanted)
			return ret;
		now = clock_now();
		if (*count != last) {
			last = *count;
			since = now;
			tx->pause_ns = PAUSE_FIRST_NS;
		}
		if (now - since > STUCK_NS || now - start > FINISH_NS)
			return 0;
		pause_a_while(tx);
	}
}

static int tx_xsk_finish(struct tx *tx, struct error *err)
{
	struct stream *stream = tx->cfg.stream;
	uint64_t left;
	int ret;

	ret = await(tx, &tx->consumed, &tx->submitted);
	fail_numbers(tx);
	left = tx->submitted - tx->consumed;
	if (tx->exact) {
		/* Only our own calls make the kernel look at the ring, and there will be none. */
		tx->stats.taken_back += left;
	} else if (tx->shaped) {
		xsk_shaped_fail_rest(tx->shaped);
	} else {
		while (left--)
			tx->cfg.fail(tx->cfg.fail_arg, stream->next++, EAGAIN);
	}
	tx->submitted = tx->consumed;
	if (ret)
		return device_error(tx, ret, err);
	ret = await(tx, &tx->completed, &tx->consumed);
	return ret ? device_error(tx, ret, err) : 0;
}

static void tx_xsk_stats(const struct tx *tx, struct tx_stats *st)
{
	struct xdp_statistics xdp = xsk_port_statistics(&tx->port);

	*st = tx->stats;
	if (tx->shaped)
		xsk_shaped_stats(tx->shaped, st);
	st->uncompleted = tx->consumed - tx->completed;
	st->tx_invalid_descs = xdp.tx_invalid_descs;
	st->tx_ring_empty = xdp.tx_ring_empty_descs;
}

/* There is one copying transmit path, and it makes skbs, whatever mode XDP has on the device. */
static const char *tx_xsk_mode(const struct tx *tx)
{
	return tx->port.zero_copy ? "native zero-copy" : "skb";
}

const struct tx_ops tx_xsk = {
	.name = "xsk",
	.title = "AF_XDP",
	.shapes = true,
	.fastest_pps = 15e6,
	.open = tx_xsk_open,
	.send = tx_xsk_send,
	.finish = tx_xsk_finish,
	.stats = tx_xsk_stats,
	.mode = tx_xsk_mode,
	.close = tx_xsk_close,
};

struct handed {
	uint64_t number; /* absolute */
	uint64_t behind; /* position behind it */
	bool copy, displaced;
};

struct xsk_shaped {
	const struct tx_config *cfg;
	struct xsk_port *port;
	struct frames *frames;
	uint64_t position;	    /* of the schedule: all before are handed over, or gaps */
	uint64_t submitted, closed; /* descriptors since open */
	struct tx_stats stats;
	struct handed handed[XSK_TX_RING]; /* by descriptor */
};

static int xsk_shaped_open(struct xsk_shaped **out, const struct tx_config *cfg,
			   struct xsk_port *port, struct error *err)
{
	struct umem *umem = &port->umem;
	struct xsk_shaped *x = calloc(1, sizeof(*x));
	int rc;

	if (!x)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	x->cfg = cfg;
	x->port = port;
	rc = frames_open(&x->frames, cfg->flow, cfg->shape, cfg->stream->slot, umem->frame_size,
			 err);
	if (rc) {
		free(x);
		return rc;
	}
	for (unsigned i = 0; i < umem->tx.size; i++) {
		uint64_t frame = frame_pool_get(&umem->tx);

		frames_prepare(x->frames, umem_at(umem, frame));
		frame_pool_put(&umem->tx, frame);
	}
	*out = x;
	return 0;
}

static void xsk_shaped_close(struct xsk_shaped *x)
{
	if (!x)
		return;
	frames_close(x->frames);
	free(x);
}

static uint64_t xsk_shaped_backlog(const struct xsk_shaped *x)
{
	return x->position - (x->cfg->stream->next - x->cfg->stream->base);
}

static void put(struct xsk_shaped *x, uint32_t at, const struct shape_step *step, bool copy,
		uint64_t tai_ns)
{
	const struct stream *stream = x->cfg->stream;
	uint64_t frame = frame_pool_get(&x->port->umem.tx), number = stream->base + step->number;
	unsigned length = frames_write(x->frames, umem_at(&x->port->umem, frame), step->number,
				       STAMP_WORD(stream->id, number), tai_ns);

	*xsk_ring_prod__tx_desc(&x->port->tx, at) = (struct xdp_desc){.addr = frame, .len = length};
	x->handed[x->submitted++ % XSK_TX_RING] =
		(struct handed){number, x->position + 1, copy, step->displaced && !copy};
}

static unsigned xsk_shaped_submit(struct xsk_shaped *x, unsigned n)
{
	const struct tx_config *cfg = x->cfg;
	const struct stream *stream = cfg->stream;
	/* no more descriptors than numbers: one call is to finish them (tx_xsk.c) */
	unsigned most = n < 2 ? 2 : n;
	uint64_t before = x->submitted, tai_ns = pace_tai();
	uint32_t at;

	for (; n && x->position < stream->limit; n--, x->position++) {
		struct shape_step step;

		shape_step(cfg->shape, stream->slot, x->position, stream->limit, &step);
		if (!step.copies) {
			cfg->fail(cfg->fail_arg, stream->base + step.number, TX_ERRNO_GAP);
			continue;
		}
		if (x->submitted - before + step.copies > most ||
		    x->submitted + step.copies - x->closed > XSK_TX_RING ||
		    x->port->umem.tx.free < step.copies ||
		    !xsk_ring_prod__reserve(&x->port->tx, step.copies, &at))
			break;
		for (unsigned c = 0; c < step.copies; c++)
			put(x, at + c, &step, c > 0, tai_ns);
	}
	n = (unsigned)(x->submitted - before);
	if (n)
		xsk_ring_prod__submit(&x->port->tx, n);
	return n;
}

/* Gaps are done as soon as all in front of them is. */
static unsigned xsk_shaped_fail(struct xsk_shaped *x, uint64_t positions)
{
	struct stream *stream = x->cfg->stream;
	uint64_t next = stream->base + (x->closed == x->submitted ? x->position : positions);
	unsigned n = (unsigned)(next - stream->next);

	__atomic_store_n(&stream->next, next, __ATOMIC_RELEASE);
	return n;
}

static unsigned xsk_shaped_consume(struct xsk_shaped *x, uint64_t consumed)
{
	uint64_t positions = x->cfg->stream->next - x->cfg->stream->base;

	for (; x->closed < consumed; x->closed++) {
		const struct handed *h = &x->handed[x->closed % XSK_TX_RING];

		x->stats.duplicates += h->copy;
		x->stats.displaced += h->displaced;
		positions = h->behind;
	}
	return xsk_shaped_fail(x, positions);
}

static void xsk_shaped_fail_rest(struct xsk_shaped *x)
{
	const struct tx_config *cfg = x->cfg;

	for (; x->closed < x->submitted; x->closed++) {
		const struct handed *h = &x->handed[x->closed % XSK_TX_RING];

		if (!h->copy)
			cfg->fail(cfg->fail_arg, h->number, EAGAIN);
	}
	xsk_shaped_fail(x, x->position);
}

static void xsk_shaped_stats(const struct xsk_shaped *x, struct tx_stats *st)
{
	st->duplicates = x->stats.duplicates;
	st->displaced = x->stats.displaced;
}
