// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/tx_xsk_shaped.h"

#include <errno.h>
#include <stdlib.h>

#include "traffic/frames.h"
#include "traffic/pace.h"

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

int xsk_shaped_open(struct xsk_shaped **out, const struct tx_config *cfg, struct xsk_port *port,
		    struct error *err)
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

void xsk_shaped_close(struct xsk_shaped *x)
{
	if (!x)
		return;
	frames_close(x->frames);
	free(x);
}

uint64_t xsk_shaped_backlog(const struct xsk_shaped *x)
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

unsigned xsk_shaped_submit(struct xsk_shaped *x, unsigned n)
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
static unsigned close_numbers(struct xsk_shaped *x, uint64_t positions)
{
	struct stream *stream = x->cfg->stream;
	uint64_t next = stream->base + (x->closed == x->submitted ? x->position : positions);
	unsigned n = (unsigned)(next - stream->next);

	__atomic_store_n(&stream->next, next, __ATOMIC_RELEASE);
	return n;
}

unsigned xsk_shaped_consume(struct xsk_shaped *x, uint64_t consumed)
{
	uint64_t positions = x->cfg->stream->next - x->cfg->stream->base;

	for (; x->closed < consumed; x->closed++) {
		const struct handed *h = &x->handed[x->closed % XSK_TX_RING];

		x->stats.duplicates += h->copy;
		x->stats.displaced += h->displaced;
		positions = h->behind;
	}
	return close_numbers(x, positions);
}

void xsk_shaped_fail_rest(struct xsk_shaped *x)
{
	const struct tx_config *cfg = x->cfg;

	for (; x->closed < x->submitted; x->closed++) {
		const struct handed *h = &x->handed[x->closed % XSK_TX_RING];

		if (!h->copy)
			cfg->fail(cfg->fail_arg, h->number, EAGAIN);
	}
	close_numbers(x, x->position);
}

void xsk_shaped_stats(const struct xsk_shaped *x, struct tx_stats *st)
{
	st->duplicates = x->stats.duplicates;
	st->displaced = x->stats.displaced;
}
