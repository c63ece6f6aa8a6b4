// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/xsk.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/mman.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "base/mem.h"
#include "host/netdev.h"

#define HUGE_PAGE (2UL << 20)

unsigned umem_frame_size(unsigned length, bool receive)
{
	if (receive)
		length += XDP_PACKET_HEADROOM;
	if (length <= UMEM_FRAME_SMALL)
		return UMEM_FRAME_SMALL;
	return length <= UMEM_FRAME_LARGE ? UMEM_FRAME_LARGE : 0;
}

static void frame_pool_open(struct frame_pool *pool, uint64_t first, unsigned frames,
			    unsigned frame_size)
{
	*pool = (struct frame_pool){.frame = mem_zero(frames, sizeof(*pool->frame)),
				    .size = frames};
	for (unsigned i = 0; i < frames; i++)
		frame_pool_put(pool, first + (uint64_t)i * frame_size);
}

/*
 * Uses huge pages if the host has reserved any (vm.nr_hugepages), to save TLB entries. Otherwise
 * uses 4 KiB pages.
 */
static void *map_area(size_t *bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, prot = PROT_READ | PROT_WRITE;
	size_t huge = (*bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *area = mmap(NULL, huge, prot, flags | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);

	if (area != MAP_FAILED)
		*bytes = huge;
	else
		area = mmap(NULL, *bytes, prot, flags, -1, 0);
	return area == MAP_FAILED ? NULL : area;
}

int umem_open(struct umem *umem, unsigned rx_frames, unsigned tx_frames, unsigned frame_size,
	      struct error *err)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	size_t bytes = ((size_t)rx_frames + tx_frames) * frame_size;

	*umem = (struct umem){.frame_size = frame_size, .bytes = bytes, .mapped = bytes};
	/*
	 * Without the privilege the current limit stays, and is enforced when the area is
	 * registered.
	 */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);

	umem->area = map_area(&umem->mapped);
	if (!umem->area)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL,
				 "no memory for %zu KiB of AF_XDP frames", bytes / 1024);
	frame_pool_open(&umem->rx, 0, rx_frames, frame_size);
	frame_pool_open(&umem->tx, (uint64_t)rx_frames * frame_size, tx_frames, frame_size);
	return 0;
}

void umem_close(struct umem *umem)
{
	if (umem->area)
		munmap(umem->area, umem->mapped);
	free(umem->rx.frame);
	free(umem->tx.frame);
	*umem = (struct umem){0};
}

#define REBIND_NS	1000000000L
#define REBIND_FIRST_NS 1000000L

/* Ordered from the best mode to the mode that always works. */
static const struct rung {
	uint16_t bind_flags;
	unsigned frame_size; /* minimum */
	int after;	     /* try only after this error on the previous rung, 0: always */
} ladder[] = {
	{XDP_ZEROCOPY, UMEM_FRAME_SMALL, 0},
	{XDP_ZEROCOPY, UMEM_FRAME_LARGE, -EINVAL}, /* for drivers that only accept whole pages */
	{XDP_COPY, UMEM_FRAME_SMALL, 0},
};

#define RUNGS (LENGTH(ladder))

static uint32_t ring_size(unsigned frames)
{
	uint32_t size = 64;

	while (size < frames)
		size *= 2;
	return size;
}

/* If xsk_socket__create() fails, it leaves the UMEM unchanged, so it can be called again. */
static int bind_queue(struct xsk_port *port, const struct xsk_port_config *cfg,
		      const struct xsk_socket_config *xsk_cfg)
{
	struct timespec pause = {0, REBIND_FIRST_NS};
	long waited = 0;
	int ret;

	for (;;) {
		ret = xsk_socket__create(&port->xsk, cfg->ifname, cfg->queue, port->xsk_umem,
					 cfg->rx_frames ? &port->rx : NULL,
					 cfg->tx_frames ? &port->tx : NULL, xsk_cfg);
		if (ret != -EBUSY || waited >= REBIND_NS || (cfg->stop && *cfg->stop))
			return ret;
		nanosleep(&pause, NULL);
		waited += pause.tv_nsec;
		if (pause.tv_nsec < REBIND_NS / 16)
			pause.tv_nsec *= 2;
	}
}

static int try_rung(struct xsk_port *port, const struct xsk_port_config *cfg,
		    const struct rung *rung, unsigned frame_size, struct error *err)
{
	const bool copies = rung->bind_flags == XDP_COPY;
	const unsigned rx_frames =
		copies && cfg->rx_frames > XSK_RX_COPIED ? XSK_RX_COPIED : cfg->rx_frames;
	const uint32_t size = frame_size > rung->frame_size ? frame_size : rung->frame_size;
	const uint32_t most = size - XDP_PACKET_HEADROOM;
	const struct xsk_umem_config umem_cfg = {
		.fill_size = ring_size(rx_frames),
		.comp_size = ring_size(cfg->tx_frames),
		.frame_size = size,
		/* the headroom leaves `room` bytes of each frame */
		.frame_headroom = cfg->room && cfg->room < most ? most - cfg->room : 0,
	};
	const struct xsk_socket_config xsk_cfg = {
		.rx_size = XSK_RX_RING,
		.tx_size = XSK_TX_RING,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = rung->bind_flags | XSK_WAKEUP,
	};
	struct xdp_options opts = {0};
	socklen_t len = sizeof(opts);
	int ret;

	ret = umem_open(&port->umem, rx_frames, cfg->tx_frames, umem_cfg.frame_size, err);
	if (ret)
		return ret;
	ret = xsk_umem__create(&port->xsk_umem, port->umem.area, port->umem.bytes, &port->fill,
			       &port->comp, &umem_cfg);
	if (!ret)
		ret = bind_queue(port, cfg, &xsk_cfg);
	if (ret) {
		xsk_port_close(port);
		return ret;
	}
	port->fd = xsk_socket__fd(port->xsk);
	if (!getsockopt(port->fd, SOL_XDP, XDP_OPTIONS, &opts, &len))
		port->zero_copy = opts.flags & XDP_OPTIONS_ZEROCOPY;
	/*
	 * Some drivers bind a zero-copy queue that cannot send until a native program is attached,
	 * and only report that at the first wake-up (ENXIO for i40e and ixgbe, EINVAL for others).
	 */
	if (port->zero_copy && cfg->tx_frames &&
	    sendto(port->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
	    (errno == ENXIO || errno == EINVAL || errno == EOPNOTSUPP)) {
		xsk_port_close(port);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int open_error(const struct xsk_port_config *cfg, int ret, struct error *err)
{
	struct netdev dev;
	unsigned queues;

	/* a missing queue gives -EINVAL, like many other errors */
	if (ret == -EINVAL && !netdev_get(NULL, cfg->ifname, &dev)) {
		queues = cfg->tx_frames ? dev.link.tx_queues : dev.link.rx_queues;
		if (cfg->queue >= queues)
			return error_set(
				err, STATUS_UNABLE, ret,
				"use fewer threads (-P), or give it more (ethtool -L)",
				"%s has no queue %u: %u of them to %s by, and each thread needs "
				"its own",
				cfg->ifname, cfg->queue, queues,
				cfg->tx_frames ? "send" : "receive");
	}
	switch (ret) {
	case -EPERM:
		return error_set(err, STATUS_UNABLE, ret, "run as root or with CAP_NET_RAW",
				 "no permission to open an AF_XDP socket");
	case -EAFNOSUPPORT:
		return error_set(err, STATUS_UNABLE, ret, "use the engine socket",
				 "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)");
	case -ENOBUFS: /* xdp_umem_account_pages() */
		return error_set(err, STATUS_UNABLE, ret,
				 "raise it (ulimit -l) or run with CAP_IPC_LOCK",
				 "the memory of an AF_XDP socket exceeds RLIMIT_MEMLOCK");
	case -EBUSY:
		return error_set(
			err, STATUS_UNABLE, ret,
			"stop the other program, use another queue, or wait until earlier packets "
			"have left its queues",
			"queue %u of %s is in use by another AF_XDP socket", cfg->queue,
			cfg->ifname);
	case -ENODEV:
		return error_set(err, STATUS_FAILED, ret, NULL, "no interface %s here",
				 cfg->ifname);
	default:
		return error_errno(err, STATUS_UNABLE, ret, "use the engine socket",
				   "no AF_XDP socket on queue %u of %s", cfg->queue, cfg->ifname);
	}
}

int xsk_port_open(struct xsk_port *port, const struct xsk_port_config *cfg, struct error *err)
{
	unsigned frame_size = umem_frame_size(cfg->packet_bytes, cfg->rx_frames > 0);
	int ret = 0;

	*port = (struct xsk_port){.fd = -1};
	if (!frame_size)
		return error_set(err, STATUS_USAGE, -EMSGSIZE, "use the engine socket",
				 "a packet of %u bytes does not fit an AF_XDP frame of %u",
				 cfg->packet_bytes, UMEM_FRAME_LARGE);
	for (const struct rung *rung = ladder; rung < ladder + RUNGS; rung++) {
		if (cfg->copy_only && rung->bind_flags == XDP_ZEROCOPY)
			continue;
		if (rung->after && rung->after != ret)
			continue;
		ret = try_rung(port, cfg, rung, frame_size, err);
		if (!ret) {
			xsk_port_refill(port);
			return 0;
		}
		if (ret == -EBUSY || ret == -ENOMEM)
			break; /* copy mode would fail the same way */
	}
	return open_error(cfg, ret, err);
}

void xsk_port_close(struct xsk_port *port)
{
	if (port->xsk)
		xsk_socket__delete(port->xsk);
	if (port->xsk_umem)
		xsk_umem__delete(port->xsk_umem);
	umem_close(&port->umem);
	*port = (struct xsk_port){.fd = -1};
}

struct xdp_statistics xsk_port_statistics(const struct xsk_port *port)
{
	struct xdp_statistics st = {0};
	socklen_t len = sizeof(st);

	getsockopt(port->fd, SOL_XDP, XDP_STATISTICS, &st, &len);
	return st;
}

void xsk_port_refill(struct xsk_port *port)
{
	struct frame_pool *pool = &port->umem.rx;
	uint32_t at, n = pool->free, room = n ? xsk_prod_nb_free(&port->fill, n) : 0;

	if (n > room)
		n = room;
	if (!n || !xsk_ring_prod__reserve(&port->fill, n, &at))
		return;
	for (uint32_t i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&port->fill, at + i) = frame_pool_get(pool);
	xsk_ring_prod__submit(&port->fill, n);
}

unsigned xsk_port_recycle(struct xsk_port *port)
{
	struct frame_pool *pool = &port->umem.tx;
	uint32_t at, n;

	n = xsk_ring_cons__peek(&port->comp, pool->size - pool->free, &at);
	for (uint32_t i = 0; i < n; i++)
		frame_pool_put(pool, *xsk_ring_cons__comp_addr(&port->comp, at + i));
	if (n)
		xsk_ring_cons__release(&port->comp, n);
	return n;
}
