/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that an AF_XDP socket shares with the kernel: frames of equal size in one mapping,
 * split into two pools that never exchange frames. If a frame could be on the fill ring and the TX
 * ring at the same time, a received packet would overwrite it while it is being sent.
 *
 * A frame is identified by its offset in the area, as in the rings. Each pool belongs to a single
 * thread.
 */
#ifndef PKTLEDGER_TRAFFIC_XSK_H
#define PKTLEDGER_TRAFFIC_XSK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "base/err.h"

/* xdp_umem_reg() accepts chunks from 2048 bytes to a page (XDP_UMEM_MIN_CHUNK_SIZE). */
#define UMEM_FRAME_SMALL 2048
#define UMEM_FRAME_LARGE 4096

/*
 * Free frames, first in, first out. Frames that are prefilled for different flows return roughly in
 * the order in which they were sent, so flows keep alternating.
 */
struct frame_pool {
	uint64_t *frame; /* ring buffer with `size` entries */
	uint32_t size;
	uint32_t head; /* next frame to take */
	uint32_t free;
};

struct umem {
	void *area;
	size_t bytes, mapped; /* bytes in frames, and bytes mapped */
	unsigned frame_size;
	struct frame_pool rx, tx; /* in the first part of the area, and in the second */
};

/*
 * Returns the smallest frame size that fits a packet of `length` bytes, or 0. The kernel reserves
 * XDP_PACKET_HEADROOM bytes in front of a received packet (xsk_pool_get_headroom()).
 */
unsigned umem_frame_size(unsigned length, bool receive);

/*
 * Maps and touches the area, using huge pages if available. All frames start out free. Raises
 * RLIMIT_MEMLOCK if permitted, because without CAP_IPC_LOCK it limits the area. Returns -ENOMEM if
 * there is not enough memory.
 */
int umem_open(struct umem *umem, unsigned rx_frames, unsigned tx_frames, unsigned frame_size,
	      struct error *err);
void umem_close(struct umem *umem); /* close the socket first */

static inline void *umem_at(const struct umem *umem, uint64_t frame)
{
	return (char *)umem->area + frame;
}

/* Takes the frame that has been free the longest. The pool must not be empty. */
static inline uint64_t frame_pool_get(struct frame_pool *pool)
{
	uint64_t frame = pool->frame[pool->head];

	pool->head = pool->head + 1 == pool->size ? 0 : pool->head + 1;
	pool->free--;
	return frame;
}

/* Returns a frame to its pool. */
static inline void frame_pool_put(struct frame_pool *pool, uint64_t frame)
{
	uint32_t at = pool->head + pool->free;

	pool->frame[at < pool->size ? at : at - pool->size] = frame;
	pool->free++;
}

/*
 * An AF_XDP socket on one queue of an interface, with its UMEM and four rings. This is the code
 * that the sending and receiving engines share. Ring layout and memory order come from libxdp
 * (xsk.h), but its program loading and bpffs are not used.
 */

#define XSK_RX_RING 4096 /* descriptors, enough for 20 ms at 200 kpps while the reader is off CPU */
#define XSK_TX_RING 2048

/* Frames in copy mode. A driver's ring holds none, and fewer frames need fewer TLB entries. */
#define XSK_RX_COPIED (XSK_RX_RING + 512)

/*
 * A test compiles this as 0: then every send calls the kernel, and drivers check the rings on their
 * own.
 */
#ifndef XSK_WAKEUP
#define XSK_WAKEUP XDP_USE_NEED_WAKEUP
#endif

/*
 * The smallest permitted room. Newer kernels, and maintained older ones, require room for
 * skb_shared_info and the smallest frame (xdp_umem_reg(), a315e022a72d).
 */
#define XSK_ROOM_MIN (320 + 128)

struct xsk_port_config {
	const char *ifname;
	unsigned queue;
	unsigned packet_bytes; /* bytes, longest packet that must fit into a frame, without FCS */
	unsigned room; /* bytes used per frame if limited, at least XSK_ROOM_MIN, 0: all */
	unsigned rx_frames;	 /* 0: receives nothing, the fill ring stays empty */
	unsigned tx_frames;	 /* 0: sends nothing, otherwise >= XSK_TX_RING */
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
	bool zero_copy; /* as granted (XDP_OPTIONS) */
};

/*
 * Binds in zero-copy mode if the driver supports it, with frames of 2048 or, failing that, 4096
 * bytes. Otherwise binds in copy mode. need_wakeup is on (XSK_WAKEUP). The kernel frees a queue
 * some time after close(), from a work queue (xp_release_deferred()), so EBUSY is retried for one
 * second. The queue stays busy for longer if a packet sent from it is still queued somewhere,
 * because the packet's skb holds the socket (xsk_destruct()). Returns -EMSGSIZE if the packet does
 * not fit into a frame.
 */
int xsk_port_open(struct xsk_port *port, const struct xsk_port_config *cfg, struct error *err);
void xsk_port_close(struct xsk_port *port);

/* Returns XDP_STATISTICS since open, or all zero if the kernel does not report them. */
struct xdp_statistics xsk_port_statistics(const struct xsk_port *port);

/* Hands free RX frames to the kernel, as many as the fill ring has room for. */
void xsk_port_refill(struct xsk_port *port);

/* Returns completed TX frames to their pool. Returns how many there were. */
unsigned xsk_port_recycle(struct xsk_port *port);

#endif
