// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"
#include <stdlib.h>
#include <string.h>

#include "traffic/xsk.h"

#define RX_FRAMES 24
#define TX_FRAMES 10

CASE(test_frame_size_leaves_headroom_to_receivers)
{
	assert_int_equal(umem_frame_size(60, false), 2048);
	assert_int_equal(umem_frame_size(2048, false), 2048);
	assert_int_equal(umem_frame_size(2049, false), 4096);
	assert_int_equal(umem_frame_size(4096, false), 4096);
	assert_int_equal(umem_frame_size(4097, false), 0);
	assert_int_equal(umem_frame_size(2048 - 256, true), 2048);
	assert_int_equal(umem_frame_size(2048 - 255, true), 4096);
	assert_int_equal(umem_frame_size(4096 - 256, true), 4096);
	assert_int_equal(umem_frame_size(4096 - 255, true), 0);
}

static int open_umem(void **state)
{
	static struct umem umem;
	struct error err = {0};

	*state = &umem;
	return umem_open(&umem, RX_FRAMES, TX_FRAMES, UMEM_FRAME_SMALL, &err);
}

static int close_umem(void **state)
{
	umem_close(*state);
	return 0;
}

/* Every frame of the area is in exactly one pool. */
CASE_WITH(test_pools_are_disjoint_and_complete, open_umem, close_umem)
{
	struct umem *umem = *state;
	uint8_t owner[RX_FRAMES + TX_FRAMES] = {0};

	assert_int_equal(umem->rx.free, RX_FRAMES);
	assert_int_equal(umem->tx.free, TX_FRAMES);
	assert_int_equal(umem->bytes, sizeof(owner) * UMEM_FRAME_SMALL);
	while (umem->rx.free)
		owner[frame_pool_get(&umem->rx) / UMEM_FRAME_SMALL] += 1;
	while (umem->tx.free)
		owner[frame_pool_get(&umem->tx) / UMEM_FRAME_SMALL] += 16;
	for (unsigned i = 0; i < sizeof(owner); i++)
		assert_int_equal(owner[i], i < RX_FRAMES ? 1 : 16);
}

/* Any interleaving, many times around: against a list that is kept the simple way. */
CASE_WITH(test_pool_like_a_list, open_umem, close_umem)
{
	struct umem *umem = *state;
	uint64_t list[TX_FRAMES], out[TX_FRAMES];
	unsigned listed = TX_FRAMES, taken = 0;

	for (unsigned i = 0; i < TX_FRAMES; i++)
		list[i] = (uint64_t)(RX_FRAMES + i) * UMEM_FRAME_SMALL;
	srand(1);
	for (int round = 0; round < 10000; round++) {
		if (listed && (!taken || rand() & 1)) {
			uint64_t frame = frame_pool_get(&umem->tx);

			assert_int_equal(frame, list[0]);
			memmove(list, list + 1, --listed * sizeof(*list));
			out[taken++] = frame;
		} else {
			unsigned which = rand() % taken;

			frame_pool_put(&umem->tx, out[which]);
			list[listed++] = out[which];
			out[which] = out[--taken];
		}
		assert_int_equal(umem->tx.free, listed);
	}
}

CASE(test_one_direction_only)
{
	struct umem umem;
	struct error err = {0};

	assert_int_equal(umem_open(&umem, 0, 4, UMEM_FRAME_LARGE, &err), 0);
	assert_int_equal(umem.rx.free, 0);
	assert_int_equal(frame_pool_get(&umem.tx), 0);
	assert_int_equal(frame_pool_get(&umem.tx), UMEM_FRAME_LARGE);
	umem_close(&umem);
	assert_null(umem.area);
}

CASE(test_no_memory_is_an_error)
{
	struct umem umem;
	struct error err = {0};

	assert_int_equal(umem_open(&umem, 1u << 31, (1u << 31) - 1, 1u << 31, &err), -12);
	assert_int_equal(err.status, STATUS_FAILED);
	assert_null(umem.area);
}
