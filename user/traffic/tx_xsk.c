// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The AF_XDP sending engine. Frames are filled once, when the engine opens. Sending only rewrites
 * the sequence header. It needs no XDP program on the interface (drivers that require one for zero
 * copy fall back to copying).
 *
 * A number is closed when the kernel has consumed its descriptor, in ring order:
 *
 * - Zero-copy: the driver has taken it, as the ring's consumer index shows.
 * - Copying: our own sendto() does all the work (__xsk_generic_xmit()). EAGAIN means that the first
 *   descriptor that was not consumed cannot be sent now and stays in the ring. EBUSY means that the
 *   interface dropped the packet of the last descriptor consumed. Observers see its skb being
 *   freed. Since 6.17, the consumer index is exact when sendto() returns, except after EBUSY on the
 *   call's first descriptor, which only a later call shows. Before 6.17, it advances only when the
 *   kernel has finished all descriptors that it found when it last read the ring. Completions,
 *   which never precede consumption, then tell us more. The number of descriptors that we assume
 *   consumed is therefore never too large, and it is exact once the ring is drained.
 *
 * finish() withdraws descriptors that were definitely not consumed. If that is uncertain
 * (zero-copy, or before 6.17), their numbers are closed by tx_fail() with EAGAIN, and an observer
 * decides what happened.
 *
 * Do not call send() after finish().
 *
 * socket_send.no_wait has no effect, because a descriptor waiting in the ring keeps its number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "traffic/frames.h"
#include "traffic/tx.h"
#include "traffic/xsk.h"

#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 /* since 6.17, which also made the consumer index exact */
#endif

#define FLOWS_MAX	 16384 /* per thread, because each flow needs its own frame */
#define BATCH		 512
#define BATCH_TIMED	 64 /* all packets of a batch carry the time at which it was made */
#define BATCH_OLD_KERNEL 32 /* TX_BATCH_SIZE: most descriptors that one sendto() processes */
#define PAUSE_FIRST_NS	 20000L
#define PAUSE_MAX_NS	 1000000L
#define STUCK_NS	 1000000000ULL /* ns, finish(): give up after this long without progress */
#define FINISH_NS	 2000000000ULL /* ns, finish(): longest duration of each of its two waits */

struct tx {
	const struct tx_config *cfg;
	struct xsk_port port;
	struct frames *frames; /* only with a shape */
	unsigned frame_length, payload_offset;
	unsigned batch;
	bool exact;    /* consumption is known exactly */
	uint64_t next; /* numbers below have been handed over */
	/* Descriptors since open. The ring's indices are the low 32 bits. */
	uint64_t submitted, consumed, completed;
	uint64_t closed; /* consumed, and the stream has advanced past their numbers */
	long pause_ns;	 /* ns, next pause while there is no progress */
	struct tx_stats stats;
};

static bool stopped(const struct tx *tx)
{
	return *tx->cfg->stop;
}

/*
 * The consumer index may lag behind the position derived from EBUSY and completions, but it never
 * leads.
 */
static void note_consumed(struct tx *tx)
{
	uint32_t consumer = __atomic_load_n(tx->port.tx.consumer, __ATOMIC_ACQUIRE);
	int32_t ahead = (int32_t)(consumer - (uint32_t)tx->consumed);

	if (ahead > 0)
		tx->consumed += ahead;
}

static void recycle(struct tx *tx)
{
	tx->completed += xsk_port_recycle(&tx->port);
	tx->consumed = larger(tx->consumed, tx->completed);
}

/* Makes one system call. Returns 0 if the engine can continue, or -errno. */
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
			break; /* the driver was busy, none of our packets is affected */
		tx->stats.lost_at_device++;
		if (tx->consumed == before)
			tx->consumed++;
		break;
	case 0:
	case EAGAIN:
	case ENOBUFS: /* no memory for an skb: descriptor not consumed */
	case EINTR:
		break;
	default:
		return -error;
	}
	return 0;
}

/*
 * Submits packets while the kernel accepts descriptors. Processes completions first to make room.
 */
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
		if (XSK_WAKEUP != 0 && !xsk_ring_prod__needs_wakeup(&tx->port.tx))
			return 0;
		ret = kick(tx);
		if (ret || tx->port.zero_copy)
			return ret;
	} while (tx->consumed != before && !stopped(tx));
	return 0;
}

/* Writes the next n packets into the ring, or as many as fit. */
static void submit(struct tx *tx, unsigned n)
{
	struct frame_pool *pool = &tx->port.umem.tx;
	struct xsk_ring_prod *ring = &tx->port.tx;
	const struct flow *flow = tx->cfg->sender->flow;
	const struct stream *stream = tx->cfg->stream;
	const unsigned payload = flow->payload;
	uint64_t tai_ns = flow->time ? pace_tai() : 0;
	uint32_t at;

	if (n > pool->free)
		n = pool->free;
	if (!n || !xsk_ring_prod__reserve(ring, n, &at))
		return;
	for (unsigned i = 0; i < n; i++, tx->next++) {
		const uint64_t word = STAMP_WORD(stream->id, tx->next);
		uint64_t frame = frame_pool_get(pool);
		uint8_t *bytes = umem_at(&tx->port.umem, frame);

		if (tx->frames)
			tx->frame_length = frames_write(tx->frames, bytes,
							tx->next - stream->base, word, tai_ns);
		else
			flow_stamp(bytes + tx->payload_offset, payload, word, tai_ns);
		*xsk_ring_prod__tx_desc(ring, at + i) =
			(struct xdp_desc){.addr = frame, .len = tx->frame_length};
	}
	xsk_ring_prod__submit(ring, n);
	tx->submitted += n;
}

/*
 * Pauses while there is no progress, longer each time. Does not use poll(): on a socket in copy
 * mode poll() itself sends, and does not report EBUSY (xsk_poll()).
 */
static void pause_a_while(struct tx *tx)
{
	nanosleep(&(struct timespec){0, tx->pause_ns}, NULL);
	if (tx->pause_ns < PAUSE_MAX_NS)
		tx->pause_ns *= 2;
}

static int device_error(const struct tx *tx, int ret, struct error *err)
{
	return error_set(err, STATUS_FAILED, ret, NULL, "sending on %s ended: %s",
			 tx->cfg->sender->ifname,
			 ret == -ENETDOWN ? "the interface is down"
			 : ret == -ENXIO  ? "the interface is gone"
					  : strerror(-ret));
}

static void tx_xsk_close(struct tx *tx)
{
	frames_close(tx->frames);
	xsk_port_close(&tx->port);
}

/*
 * Fills a template into each frame, with flows in round robin. With a shape, writes only the
 * constant parts.
 */
static int fill_frames(struct tx *tx, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	const struct flow *flow = cfg->sender->flow;
	struct umem *umem = &tx->port.umem;
	int ret = 0;

	if (cfg->shape)
		ret = frames_open(&tx->frames, flow, cfg->shape, cfg->stream->slot,
				  umem->frame_size, err);
	for (unsigned i = 0; i < umem->tx.size && !ret; i++) {
		uint64_t frame = frame_pool_get(&umem->tx);
		void *at = umem_at(umem, frame);

		frame_pool_put(&umem->tx, frame);
		if (cfg->shape)
			frames_prepare(tx->frames, at);
		else
			proto_build(at, umem->frame_size, flow, cfg->first_flow + i % cfg->flows);
	}
	return ret;
}

/*
 * In older kernels veth drops frames and reports them as sent. The option fails because there is no
 * ring.
 */
bool tx_xsk_knows_losses(void)
{
	uint32_t budget = XSK_TX_RING;
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	bool known = fd >= 0 &&
		     (!setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget)) ||
		      errno == EACCES);

	if (fd >= 0)
		close(fd);
	return known;
}

static void set_options(struct tx *tx)
{
	int fd = tx->port.fd, sndbuf = tx->cfg->sender->sndbuf;
	uint32_t budget = XSK_TX_RING;

	/* without the privilege net.core.wmem_max is the limit: packets wait but are not lost */
	if (sndbuf && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));

	tx->batch = tx->cfg->sender->flow->time ? BATCH_TIMED : BATCH;
	if (tx->port.zero_copy)
		return;
	tx->exact = !setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget));
	/*
	 * If one call can finish a whole batch, the consumer index is exact even in older kernels.
	 */
	if (!tx->exact)
		tx->batch = BATCH_OLD_KERNEL;
}

static int tx_xsk_open(struct tx *tx, struct tx_config *cfg, struct error *err)
{
	const struct flow *flow = cfg->sender->flow;
	struct xsk_port_config port = {
		.ifname = cfg->sender->ifname,
		.queue = cfg->stream->slot,
		.packet_bytes = frames_longest(flow, cfg->shape),
		/*
		 * a multiple of the number of flows, so that each flow has the same number of
		 * frames
		 */
		.tx_frames = (XSK_TX_RING + cfg->flows - 1) / cfg->flows * cfg->flows,
		.stop = cfg->stop,
	};
	int ret;

	if (cfg->flows > FLOWS_MAX)
		return error_usage(err, "use more threads: -P",
				   "the engine xsk sends 1 to %d flows a thread, not %u", FLOWS_MAX,
				   cfg->flows);
	ret = frame_fits_mtu(port.ifname, port.packet_bytes, flow->vlan, "xsk", err);
	if (ret)
		return ret;
	tx->cfg = cfg;
	tx->frame_length = port.packet_bytes;
	tx->payload_offset = proto_payload_offset(flow->family);
	tx->next = cfg->stream->next;
	tx->pause_ns = PAUSE_FIRST_NS;
	ret = xsk_port_open(&tx->port, &port, err);
	if (!ret)
		ret = fill_frames(tx, err);
	if (ret)
		return ret;
	set_options(tx);
	/*
	 * In copy mode there is a single transmit path. It builds skbs whatever the interface's XDP
	 * mode.
	 */
	cfg->mode = tx->port.zero_copy ? "native zero-copy" : "skb";
	return 0;
}

/*
 * Advances the stream past descriptors consumed since the last call. Returns how many there were.
 */
static unsigned close_numbers(struct tx *tx)
{
	struct stream *stream = tx->cfg->stream;
	unsigned n = (unsigned)(tx->consumed - tx->closed);

	tx->closed = tx->consumed;
	__atomic_store_n(&stream->next, stream->next + n, __ATOMIC_RELEASE);
	if (n)
		tx->pause_ns = PAUSE_FIRST_NS;
	return n;
}

static int tx_xsk_send(struct tx *tx, unsigned n, struct error *err)
{
	uint64_t backlog = tx->next - tx->cfg->stream->next, start;
	unsigned closed;
	int ret;

	if (n > tx->batch)
		n = tx->batch;
	recycle(tx);
	if (n > backlog && !stopped(tx))
		submit(tx, n - (unsigned)backlog);
	ret = hand_over(tx);
	closed = close_numbers(tx);
	if (closed)
		return (int)closed; /* a persistent error will recur */
	if (ret)
		return device_error(tx, ret, err);
	if (!stopped(tx)) {
		start = clock_now();
		pause_a_while(tx);
		tx->stats.waits++;
		tx->stats.wait_ns += clock_now() - start;
	}
	return 0;
}

/* Waits until *count equals *wanted. Gives up after a fixed time, or when there is no progress. */
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
	struct stream *stream = tx->cfg->stream;
	int ret = await(tx, &tx->consumed, &tx->submitted);

	close_numbers(tx);
	/*
	 * If consumption is exact, the kernel reads the ring only during our own calls, and no call
	 * follows.
	 */
	for (; !tx->exact && stream->next < tx->next; stream->next++)
		tx_fail(tx->cfg, stream->next, EAGAIN);
	tx->submitted = tx->consumed;
	if (!ret)
		ret = await(tx, &tx->completed, &tx->consumed);
	return ret ? device_error(tx, ret, err) : 0;
}

static void tx_xsk_stats(const struct tx *tx, struct tx_stats *st)
{
	*st = tx->stats;
	st->uncompleted = tx->consumed - tx->completed;
	st->tx_invalid_descs = xsk_port_statistics(&tx->port).tx_invalid_descs;
}

const struct tx_ops tx_xsk = {
	.name = "xsk",
	.size = sizeof(struct tx),
	.place = "AF_XDP completion",
	.shapes = true,
	.fastest_pps = 15e6,
	.open = tx_xsk_open,
	.send = tx_xsk_send,
	.finish = tx_xsk_finish,
	.stats = tx_xsk_stats,
	.close = tx_xsk_close,
};
