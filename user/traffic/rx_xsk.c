// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/rx_xsk.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <bpf/bpf.h>
#include <linux/if_ether.h>

#include "base/clock.h"
#include "traffic/pace.h"
#include "traffic/frames.h"
#include "traffic/xsk.h"
#include "host/netdev.h"

_Static_assert(RX_XSK_FRAMES == 2 * XSK_RX_RING, "see rx_xsk.h");

#define LINK_HEADER (ETH_HLEN + 2 * 4) /* with two VLAN tags */

struct rx {
	struct rx_config cfg;
	struct xsk_port port;
	uint64_t spin_ns;
	uint64_t packets, calls;
};

/* A packet longer than a frame is dropped by the kernel and counted (rx_dropped, ENOSPC). */
static unsigned longest_packet(unsigned mtu)
{
	return umem_frame_size(mtu + LINK_HEADER, true) ? mtu + LINK_HEADER
							: UMEM_FRAME_LARGE - XDP_PACKET_HEADROOM;
}

static void rx_xsk_close(struct rx *rx)
{
	if (!rx)
		return;
	xsk_port_close(&rx->port);
	free(rx);
}

static int rx_xsk_open(struct rx **out, const struct rx_config *cfg, struct error *err)
{
	struct xsk_port_config port = {
		.ifname = cfg->ifname,
		.queue = cfg->queue,
		.rx_frames = cfg->xsk_frames ? cfg->xsk_frames : RX_XSK_FRAMES,
		.room = cfg->xsk_room,
		.copy_only = cfg->xdp_skb_mode,
		.stop = cfg->stop,
	};
	struct netdev dev;
	struct rx *rx;
	int ret = netdev_get(NULL, cfg->ifname, &dev);

	if (ret)
		return error_set(err, STATUS_FAILED, ret, NULL, "cannot read the MTU of %s: %s",
				 cfg->ifname, strerror(-ret));
	port.packet_bytes = longest_packet(dev.mtu);

	rx = calloc(1, sizeof(*rx));
	if (!rx)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	rx->cfg = *cfg;
	rx->spin_ns = rx_spin_ns();
	ret = xsk_port_open(&rx->port, &port, err);
	if (ret) {
		free(rx);
		return ret;
	}
	ret = xsk_socket__update_xskmap(rx->port.xsk, cfg->xsk_map_fd);
	if (ret) {
		rx_xsk_close(rx);
		return error_set(err, STATUS_FAILED, ret, NULL,
				 "cannot enter queue %u of %s in the XSKMAP: %s", cfg->queue,
				 cfg->ifname, strerror(-ret));
	}
	*out = rx;
	return 0;
}

/*
 * Waits for a packet, or a moment. A device that goes away unbinds the socket and leaves ENETDOWN
 * in it, of which poll() says nothing (xsk_notifier(), xsk_poll()).
 */
static int wait_for_packet(struct rx *rx, int timeout_ms, struct error *err)
{
	struct pollfd pfd = {.fd = rx->port.fd, .events = POLLIN};
	socklen_t len = sizeof(int);
	int ret, code = 0;

	if (xsk_ring_prod__needs_wakeup(&rx->port.fill)) {
		rx->calls++;
		recvfrom(rx->port.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	}
	if (!timeout_ms)
		return 0;
	for (uint64_t end = clock_now() + rx->spin_ns; clock_now() < end; rx_spin_rest()) {
		if (xsk_cons_nb_avail(&rx->port.rx, 1))
			return 0;
	}
	rx->calls++;
	ret = poll(&pfd, 1, timeout_ms);
	if (ret > 0 && pfd.revents & POLLIN)
		return 0;
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	if (!getsockopt(rx->port.fd, SOL_SOCKET, SO_ERROR, &code, &len) && code)
		return error_set(err, STATUS_FAILED, -code, NULL, "receiving on %s ended: %s",
				 rx->cfg.ifname, strerror(code));
	return 0;
}

static void take(struct rx *rx, uint32_t at, unsigned n)
{
	struct xsk_port *port = &rx->port;
	const struct flow *flow = rx->cfg.flow;
	const uint64_t frame_mask = ~(uint64_t)(port->umem.frame_size - 1);
	uint64_t tai_ns = rx->cfg.sink->timed ? pace_tai() : 0;

	for (unsigned i = 0; i < n; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&port->rx, at + i);
		unsigned length = 0;
		const void *payload;

		payload = proto_udp_payload(umem_at(&port->umem, desc->addr), desc->len,
					    flow->family, flow->dst_port, &length);
		sink_packet(rx->cfg.sink, payload ? payload : "", payload ? length : 0, length,
			    tai_ns);
		frame_pool_put(&port->umem.rx, desc->addr & frame_mask);
	}
}

static int rx_xsk_poll(struct rx *rx, int timeout_ms, struct error *err)
{
	struct xsk_port *port = &rx->port;
	uint32_t at = 0;
	unsigned n;
	int ret;

	n = xsk_ring_cons__peek(&port->rx, RX_XSK_BATCH, &at);
	if (!n) {
		ret = wait_for_packet(rx, timeout_ms, err);
		if (ret)
			return ret;
		n = xsk_ring_cons__peek(&port->rx, RX_XSK_BATCH, &at);
	}
	if (n) {
		take(rx, at, n);
		xsk_ring_cons__release(&port->rx, n);
		rx->packets += n;
	}
	/*
	 * Also without packets: the kernel publishes descriptors before the room that they left in
	 * the fill ring (xsk_flush()), so the last frames may still wait here.
	 */
	xsk_port_refill(port);
	return n;
}

static uint64_t rx_xsk_pending(const struct rx *rx)
{
	return xsk_port_rx_pending(&rx->port);
}

static void rx_xsk_stats(const struct rx *rx, struct rx_stats *st)
{
	struct xdp_statistics xdp = xsk_port_statistics(&rx->port);

	*st = (struct rx_stats){
		.packets = rx->packets,
		.calls = rx->calls,
		.socket_drops = -1,
		.rx_ring_full = xdp.rx_ring_full,
		.rx_fill_ring_empty = xdp.rx_fill_ring_empty_descs,
		.rx_dropped = xdp.rx_dropped,
		.rx_invalid = xdp.rx_invalid_descs,
		.zero_copy = rx->port.zero_copy,
	};
}

static const char *rx_xsk_mode(const struct rx *rx)
{
	if (rx->port.zero_copy)
		return "native zero-copy";
	return rx->cfg.xdp_skb_mode ? "skb" : "native copy";
}

static int rx_xsk_fd(const struct rx *rx)
{
	return rx->port.fd;
}

const struct rx_ops rx_xsk = {
	.name = "xsk",
	.title = "AF_XDP",
	.open = rx_xsk_open,
	.poll = rx_xsk_poll,
	.pending = rx_xsk_pending,
	.stats = rx_xsk_stats,
	.mode = rx_xsk_mode,
	.fd = rx_xsk_fd,
	.close = rx_xsk_close,
};
