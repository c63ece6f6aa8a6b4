// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receiving engine in XDP, behind rx.h: the program of sink_prog.h does all the work, on
 * whatever CPUs the packets come; the one thread only looks at its sums.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/rx.h"
#include "engine/sink_prog.h"

#define LOOK_MS 10

struct rx {
	struct rx_config cfg;
	uint64_t calls;
};

static int rx_xdp_open(struct rx **out, const struct rx_config *cfg, struct error *err)
{
	struct rx *rx = calloc(1, sizeof(*rx));

	if (!rx)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	rx->cfg = *cfg;
	*out = rx;
	return 0;
}

/*
 * The program counts order for all streams together and keeps no delay: a line a stream, the first
 * of them with the sum.
 */
static void collect_lines(struct sink *sink, const struct sink_count *c)
{
	const struct line_source any = {};

	while (sink->lines < atomic_load(&sink->streams->n)) {
		unsigned i = sink->lines;

		sink->line[i] = line_new((uint16_t)i, &any, sink->streams->at[i].base);
		if (!sink->line[i])
			return;
		sink->lines++;
	}
	for (unsigned i = 0; i < sink->lines; i++) {
		if (c->next[i])
			sink->line[i]->next = c->next[i];
		__atomic_store_n(&sink->next[i], c->next[i], __ATOMIC_RELAXED);
	}
	if (sink->lines)
		sink->line[0]->order.packets = c->reordered;
}

/* The program's clock is behind by less than SINK_CLOCK_EVERY packets. */
static void rx_xdp_collect(struct rx *rx)
{
	struct sink *sink = rx->cfg.sink;
	struct sink_count c;

	if (sink_prog_read(rx->cfg.sink_prog, &c))
		return;
	sink->bytes = c.bytes;
	sink->duplicated = c.duplicated;
	sink->damaged = c.damaged;
	sink->invalid = c.invalid;
	sink->foreign = c.foreign;
	sink->first_ns = c.first_ns;
	sink->last_ns = c.last_ns;
	collect_lines(sink, &c);
	__atomic_store_n(&sink->delivered, c.delivered, __ATOMIC_RELAXED);
}

static int rx_xdp_poll(struct rx *rx, int timeout_ms, struct error *err)
{
	const struct timespec pause = {.tv_nsec = (timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS) *
						  1000000L};

	(void)err;
	nanosleep(&pause, NULL);
	rx->calls++;
	rx_xdp_collect(rx);
	return 0;
}

static uint64_t rx_xdp_pending(const struct rx *rx)
{
	(void)rx;
	return 0;
}

static void rx_xdp_stats(const struct rx *rx, struct rx_stats *st)
{
	struct sink_count c = {};

	sink_prog_read(rx->cfg.sink_prog, &c);
	*st = (struct rx_stats){
		.packets = c.taken,
		.calls = rx->calls,
		.socket_drops = -1,
		.xdp_drops = c.taken,
	};
}

static const char *rx_xdp_mode(const struct rx *rx)
{
	return rx->cfg.xdp_skb_mode ? "skb" : "native";
}

static int rx_xdp_fd(const struct rx *rx)
{
	(void)rx;
	return -1;
}

static void rx_xdp_close(struct rx *rx)
{
	free(rx);
}

const struct rx_ops rx_xdp = {
	.name = "xdp",
	.title = "XDP program",
	.open = rx_xdp_open,
	.poll = rx_xdp_poll,
	.collect = rx_xdp_collect,
	.pending = rx_xdp_pending,
	.stats = rx_xdp_stats,
	.mode = rx_xdp_mode,
	.fd = rx_xdp_fd,
	.close = rx_xdp_close,
};
