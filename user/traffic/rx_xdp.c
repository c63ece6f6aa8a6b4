// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The XDP receiving engine. The program (struct rx_prog) does all the work, on the CPUs where
 * packets arrive. The engine's single thread only reads the program's sums.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "traffic/rx.h"

#define LOOK_MS 10

struct rx {
	const struct receiver_config *cfg;
	struct sink *sink;
	int end_fd; /* socket for end records that the program passed on, or -1 */
	uint64_t calls;
};

#define END_ROOM 64

static int rx_xdp_open(struct rx *rx, struct rx_config *thread, struct error *err)
{
	const struct receiver_config *cfg = thread->receiver;

	*rx = (struct rx){.cfg = cfg, .sink = thread->sink, .end_fd = -1};
	thread->mode = cfg->xdp_skb_mode ? "skb" : "native";
	if (thread->sink->streams->table) {
		rx->end_fd = rx_socket_bound(cfg, err);
		if (rx->end_fd < 0)
			return rx->end_fd;
	}
	return 0;
}

/*
 * The program counts packet order for all streams together and does not measure latency, so the
 * first line gets the sum. The program's clock lags by fewer than SINK_CLOCK_EVERY packets.
 */
static void rx_xdp_collect(struct rx *rx)
{
	struct sink *sink = rx->sink;
	struct sink_count c;

	sink_streams_sync(sink->streams);
	if (rx_prog_read(rx->cfg->prog, &c))
		return;
	for (unsigned i = 0; i < atomic_load(&sink->streams->n); i++) {
		struct line *l = sink_line(sink, (uint16_t)i);

		if (c.next[i])
			l->next = c.next[i];
		if (!i)
			l->order.packets = c.reordered;
		__atomic_store_n(&sink->next[i], c.next[i], __ATOMIC_RELAXED);
	}
	sink->sums = c.sums;
}

static int rx_xdp_poll(struct rx *rx, int timeout_ms, struct error *err)
{
	struct pollfd p = {.fd = rx->end_fd, .events = POLLIN}; /* ignored if the fd is -1 */
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	int link = rx->cfg->prog->link;
	uint8_t data[END_ROOM];
	ssize_t n;

	poll(&p, 1, timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS);
	worker_add(&rx->calls, 1);
	rx_xdp_collect(rx);
	/* only count packets that came through the stack: the program has counted all others */
	while (rx->end_fd >= 0 && (n = recv(rx->end_fd, data, sizeof(data), MSG_DONTWAIT)) >= 0) {
		if (sink_is_end(data, (unsigned)n))
			sink_packet(rx->sink, data, (unsigned)n, (unsigned)n, 0);
	}
	if (link < 0 || bpf_obj_get_info_by_fd(link, &info, &len) || info.xdp.ifindex)
		return 0; /* if it is gone, see xdp_dev_bpf_prog_uninstall() */
	return error_set(err, STATUS_FAILED, -ENODEV, NULL,
			 "receiving on %s ended: the interface is gone", rx->cfg->ifname);
}

static void rx_xdp_stats(const struct rx *rx, struct rx_stats *st)
{
	struct sink_count c = {};

	rx_prog_read(rx->cfg->prog, &c);
	st->calls += worker_read(&rx->calls);
	st->socket_drops = -1;
	st->xdp_drops += c.taken;
}

static void rx_xdp_close(struct rx *rx)
{
	if (rx->end_fd >= 0)
		close(rx->end_fd);
}

const struct rx_ops rx_xdp = {
	.name = "xdp",
	.size = sizeof(struct rx),
	.open = rx_xdp_open,
	.poll = rx_xdp_poll,
	.collect = rx_xdp_collect,
	.stats = rx_xdp_stats,
	.close = rx_xdp_close,
};
