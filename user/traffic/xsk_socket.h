/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One AF_XDP socket on one queue of a device, with its UMEM and four rings: what the sending and
 * the receiving engine have in common. Ring layout and memory order are libxdp's (xsk.h); it loads
 * no program and needs no bpffs here.
 */
#ifndef PKTLEDGER_TRAFFIC_XSK_SOCKET_H
#define PKTLEDGER_TRAFFIC_XSK_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "base/err.h"
#include "traffic/umem.h"

#define XSK_RX_RING 4096 /* descriptors: 20 ms of 200,000 packets/s while the reader is off CPU */
#define XSK_TX_RING 2048

/*
 * The least room that may be asked for. Newer kernels, and older ones that are cared for, want
 * skb_shared_info and the smallest frame to fit (xdp_umem_reg(), a315e022a72d).
 */
#define XSK_ROOM_MIN (320 + 128)

struct xsk_port_config {
	const char *ifname;
	unsigned queue;
	unsigned packet_bytes; /* longest packet that must fit a frame, without FCS */
	unsigned room; /* bytes that a frame takes, on purpose, at least XSK_ROOM_MIN; 0: all */
	unsigned rx_frames;	 /* 0: does not receive; the fill ring stays empty */
	unsigned tx_frames;	 /* 0: does not send; else >= XSK_TX_RING */
	bool copy_only;		 /* zero copy is impossible (generic XDP) or not wanted */
	const atomic_bool *stop; /* ends the wait for a queue that is being freed */
};

struct xsk_port {
	struct umem umem;
	struct xsk_umem *xsk_umem;
	struct xsk_socket *xsk;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons comp, rx;
	int fd;
	bool zero_copy; /* as granted: XDP_OPTIONS */
};

/*
 * Binds zero-copy if the driver can, with frames of 2048 and else 4096 bytes, and else by copying.
 * need_wakeup is always on. The kernel frees a queue some time after close(), from a work queue
 * (xp_release_deferred()), so EBUSY is retried for one second. It stays busy for longer if a packet
 * sent from it still stands in a queue somewhere: its skb holds the socket (xsk_destruct()).
 * -EMSGSIZE: the packet fits no frame.
 */
int xsk_port_open(struct xsk_port *port, const struct xsk_port_config *cfg, struct error *err);
void xsk_port_close(struct xsk_port *port);

/* XDP_STATISTICS since open; all zero if the kernel does not tell. */
struct xdp_statistics xsk_port_statistics(const struct xsk_port *port);

/* Kernel's side of the TX ring: descriptors consumed since open, modulo 2^32. */
static inline uint32_t xsk_port_tx_consumer(const struct xsk_port *port)
{
	return __atomic_load_n(port->tx.consumer, __ATOMIC_ACQUIRE);
}

/* Descriptors in the RX ring that the kernel wrote and we have not released. */
static inline uint32_t xsk_port_rx_pending(const struct xsk_port *port)
{
	return __atomic_load_n(port->rx.producer, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(port->rx.consumer, __ATOMIC_RELAXED);
}

/* Hands as many free RX frames to the kernel as the fill ring has room for. */
void xsk_port_refill(struct xsk_port *port);

/* Takes completed TX frames back into their pool. Returns how many. */
unsigned xsk_port_recycle(struct xsk_port *port);

#endif
