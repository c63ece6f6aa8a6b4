// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/umem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <linux/bpf.h>
#include <linux/mman.h>

#define HUGE_PAGE (2UL << 20)

unsigned umem_frame_size(unsigned length, bool receive)
{
	if (receive)
		length += XDP_PACKET_HEADROOM;
	if (length <= UMEM_FRAME_SMALL)
		return UMEM_FRAME_SMALL;
	return length <= UMEM_FRAME_LARGE ? UMEM_FRAME_LARGE : 0;
}

static int frame_pool_open(struct frame_pool *pool, uint64_t first, unsigned frames,
			   unsigned frame_size)
{
	*pool = (struct frame_pool){.size = frames};
	if (!frames)
		return 0;
	pool->frame = calloc(frames, sizeof(*pool->frame));
	if (!pool->frame)
		return -ENOMEM;
	for (unsigned i = 0; i < frames; i++)
		frame_pool_put(pool, first + (uint64_t)i * frame_size);
	return 0;
}

/*
 * In huge pages where the host has kept some (vm.nr_hugepages): fewer entries of the TLB. What is
 * not there is no error, for 4 KiB pages do the same.
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
	/* Without the privilege the limit that is there decides, when the area is registered. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);

	umem->area = map_area(&umem->mapped);
	if (!umem->area)
		goto no_memory;
	if (frame_pool_open(&umem->rx, 0, rx_frames, frame_size) ||
	    frame_pool_open(&umem->tx, (uint64_t)rx_frames * frame_size, tx_frames, frame_size))
		goto no_memory;
	return 0;

no_memory:
	umem_close(umem);
	return error_set(err, STATUS_FAILED, -ENOMEM, NULL,
			 "no memory for %zu KiB of AF_XDP frames", bytes / 1024);
}

void umem_close(struct umem *umem)
{
	if (umem->area)
		munmap(umem->area, umem->mapped);
	free(umem->rx.frame);
	free(umem->tx.frame);
	*umem = (struct umem){0};
}
