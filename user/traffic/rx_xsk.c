// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The AF_XDP receiving engine. A program (struct rx_prog) redirects packets to it. open() adds the
 * socket to the program's XSKMAP, and close() removes it.
 *
 * There are more frames than RX ring descriptors (twice as many, unless the kernel copies), all of
 * them either on the fill ring or in the RX ring. If the reader is slow, the RX ring therefore
 * fills up (rx_ring_full) before the fill ring can run empty. rx_dropped includes
 * rx_fill_ring_empty, so never add the two.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <linux/if_ether.h>

#include "base/clock.h"
#include "host/netdev.h"
#include "traffic/frames.h"
#include "traffic/rx.h"
#include "traffic/xsk.h"

#define FRAMES	    (2 * XSK_RX_RING)
#define BATCH	    64
#define AHEAD	    8 /* packets whose headers are fetched early, because another CPU wrote them */
#define LINK_HEADER (ETH_HLEN + 2 * 4) /* bytes, including two VLAN tags */

struct rx {
	const struct receiver_config *cfg;
	struct sink *sink;
	struct xsk_port port;
	uint64_t spin_ns;
	uint64_t calls;
};

static void rx_xsk_close(struct rx *rx)
{
	xsk_port_close(&rx->port);
}

static int rx_xsk_open(struct rx *rx, struct rx_config *thread, struct error *err)
{
	const struct receiver_config *cfg = thread->receiver;
	struct xsk_port_config port = {
		.ifname = cfg->ifname,
		.queue = thread->queue,
		.rx_frames = cfg->xsk_frames ? cfg->xsk_frames : FRAMES,
		.room = cfg->xsk_room,
		.copy_only = cfg->xdp_skb_mode,
		.stop = thread->stop,
	};
	struct netdev dev;
	int ret = netdev_get(NULL, cfg->ifname, &dev);

	if (ret)
		return error_errno(err, STATUS_FAILED, ret, NULL, "cannot read the MTU of %s",
				   cfg->ifname);
	/*
	 * the kernel drops packets that are longer than a frame and counts them (rx_dropped,
	 * ENOSPC)
	 */
	port.packet_bytes = dev.link.mtu + LINK_HEADER;
	if (!umem_frame_size(port.packet_bytes, true))
		port.packet_bytes = UMEM_FRAME_LARGE - XDP_PACKET_HEADROOM;
	rx->cfg = cfg;
	rx->sink = thread->sink;
	rx->spin_ns = rx_spin_ns();
	ret = xsk_port_open(&rx->port, &port, err);
	if (ret)
		return ret;
	thread->mode = rx->port.zero_copy  ? "native zero-copy"
		       : cfg->xdp_skb_mode ? "skb"
					   : "native copy";
	return error_errno(err, STATUS_FAILED,
			   xsk_socket__update_xskmap(rx->port.xsk, cfg->prog->map_fd), NULL,
			   "cannot add queue %u of %s to the XSKMAP", port.queue, port.ifname);
}

/*
 * Pauses between two polls, which relieves the CPU and leaves the polled cache line to its writer.
 */
static void spin_rest(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * Waits for a packet, up to the timeout. When its interface is removed, the socket is unbound and
 * gets ENETDOWN, which poll() does not report (xsk_notifier(), xsk_poll()).
 */
static int wait_for_packet(struct rx *rx, int timeout_ms, struct error *err)
{
	struct pollfd pfd = {.fd = rx->port.fd, .events = POLLIN};
	socklen_t len = sizeof(int);
	int ret, code = 0;

	if (xsk_ring_prod__needs_wakeup(&rx->port.fill)) {
		worker_add(&rx->calls, 1);
		recvfrom(rx->port.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	}
	if (!timeout_ms)
		return 0;
	for (uint64_t end = clock_now() + rx->spin_ns; clock_now() < end; spin_rest()) {
		if (xsk_cons_nb_avail(&rx->port.rx, 1))
			return 0;
	}
	worker_add(&rx->calls, 1);
	ret = poll(&pfd, 1, timeout_ms);
	if (ret > 0 && pfd.revents & POLLIN)
		return 0;
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	if (!getsockopt(rx->port.fd, SOL_SOCKET, SO_ERROR, &code, &len) && code)
		return error_errno(err, STATUS_FAILED, -code, NULL, "receiving on %s ended",
				   rx->cfg->ifname);
	return 0;
}

static void take(struct rx *rx, uint32_t at, unsigned n)
{
	struct xsk_port *port = &rx->port;
	struct xsk_ring_cons *ring = &port->rx;
	const struct flow *flow = rx->cfg->flow;
	const uint64_t frame_mask = ~(uint64_t)(port->umem.frame_size - 1);
	uint64_t tai_ns = rx->sink->timed ? pace_tai() : 0;

	sink_begin(rx->sink);
	for (unsigned i = 0; i < n; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(ring, at + i), *later;
		unsigned length = 0;
		const void *payload;

		later = xsk_ring_cons__rx_desc(ring, at + (i + AHEAD < n ? i + AHEAD : i));
		__builtin_prefetch(umem_at(&port->umem, later->addr));
		payload = proto_udp_payload(umem_at(&port->umem, desc->addr), desc->len,
					    flow->family, flow->dst_port, &length);
		sink_packet(rx->sink, payload ? payload : "", payload ? length : 0, length, tai_ns);
		frame_pool_put(&port->umem.rx, desc->addr & frame_mask);
	}
	sink_end(rx->sink);
}

static int rx_xsk_poll(struct rx *rx, int timeout_ms, struct error *err)
{
	struct xsk_port *port = &rx->port;
	uint32_t at = 0;
	unsigned n;
	int ret;

	n = xsk_ring_cons__peek(&port->rx, BATCH, &at);
	if (!n) {
		ret = wait_for_packet(rx, timeout_ms, err);
		if (ret)
			return ret;
		n = xsk_ring_cons__peek(&port->rx, BATCH, &at);
	}
	if (n) {
		take(rx, at, n);
		xsk_ring_cons__release(&port->rx, n);
	}
	/*
	 * Do this even without packets: the kernel publishes descriptors before it frees their room
	 * in the fill ring (xsk_flush()), so the last frames may still be waiting here.
	 */
	xsk_port_refill(port);
	return n;
}

static uint64_t rx_xsk_pending(const struct rx *rx)
{
	const struct xsk_ring_cons *ring = &rx->port.rx;

	/* descriptors that the kernel has written and that are not released yet */
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(ring->consumer, __ATOMIC_RELAXED);
}

static void rx_xsk_stats(const struct rx *rx, struct rx_stats *st)
{
	struct xdp_statistics xdp = xsk_port_statistics(&rx->port);

	st->calls += worker_read(&rx->calls);
	st->socket_drops = -1;
	st->rx_ring_full += xdp.rx_ring_full;
	st->rx_fill_ring_empty += xdp.rx_fill_ring_empty_descs;
	st->rx_dropped += xdp.rx_dropped;
	st->rx_invalid += xdp.rx_invalid_descs;
	st->zero_copy |= rx->port.zero_copy;
}

const struct rx_ops rx_xsk = {
	.name = "xsk",
	.size = sizeof(struct rx),
	.open = rx_xsk_open,
	.poll = rx_xsk_poll,
	.pending = rx_xsk_pending,
	.stats = rx_xsk_stats,
	.close = rx_xsk_close,
};
