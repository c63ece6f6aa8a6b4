/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that an AF_XDP socket shares with the kernel: equal frames in one mapping, split
 * into two pools that never exchange frames. A frame that could be on the fill ring and on the TX
 * ring at once would be overwritten by a received packet while it is being sent.
 *
 * A frame is named by its offset in the area, as the rings name it. One thread uses a pool.
 */
#ifndef PKTLEDGER_TRAFFIC_UMEM_H
#define PKTLEDGER_TRAFFIC_UMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* xdp_umem_reg() takes chunks from 2048 bytes to a page (XDP_UMEM_MIN_CHUNK_SIZE). */
#define UMEM_FRAME_SMALL 2048
#define UMEM_FRAME_LARGE 4096

/*
 * Free frames, first in, first out: frames prefilled for different flows come back in about the
 * order in which they were sent, so that flows keep taking turns.
 */
struct frame_pool {
	uint64_t *frame; /* a ring of `size` */
	uint32_t size;
	uint32_t head; /* the next to be taken */
	uint32_t free;
};

struct umem {
	void *area;
	size_t bytes, mapped; /* of the frames; of the mapping */
	unsigned frame_size;
	struct frame_pool rx, tx; /* frames of the first part of the area, and of the second */
};

/*
 * Smallest frame size that holds a packet of `length` bytes; 0: none does. In front of a received
 * packet the kernel leaves XDP_PACKET_HEADROOM bytes (xsk_pool_get_headroom()).
 */
unsigned umem_frame_size(unsigned length, bool receive);

/*
 * Maps and touches the area, in huge pages if there are any; all frames are free. Raises
 * RLIMIT_MEMLOCK if it may, because the
 * kernel accounts the area to it unless CAP_IPC_LOCK is held. -ENOMEM.
 */
int umem_open(struct umem *umem, unsigned rx_frames, unsigned tx_frames, unsigned frame_size,
	      struct error *err);
void umem_close(struct umem *umem); /* the socket must be closed already */

static inline void *umem_at(const struct umem *umem, uint64_t frame)
{
	return (char *)umem->area + frame;
}

/* Takes the frame that has been free for longest. The pool must not be empty. */
static inline uint64_t frame_pool_get(struct frame_pool *pool)
{
	uint64_t frame = pool->frame[pool->head];

	pool->head = pool->head + 1 == pool->size ? 0 : pool->head + 1;
	pool->free--;
	return frame;
}

/* Gives a frame of this pool back. */
static inline void frame_pool_put(struct frame_pool *pool, uint64_t frame)
{
	uint32_t at = pool->head + pool->free;

	pool->frame[at < pool->size ? at : at - pool->size] = frame;
	pool->free++;
}

#endif
