// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * UDP sockets for shaped traffic: packets differ in size and flow, and may be left out, doubled or
 * out of order. One connected socket per 5-tuple, as in tx_socket.c; a call carries the packets of
 * one flow that follow each other, so many flows that take turns cost a call per packet.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "traffic/pace.h"
#include "traffic/shape.h"
#include "traffic/tx_socket_calls.h"
#include "stamp.h"

#define BATCH	    64
#define MAX_SOCKETS 16384

struct message {
	uint64_t number; /* absolute */
	uint64_t behind; /* position behind it */
	bool copy, displaced;
};

struct tx {
	const struct tx_config *cfg;
	struct tx_stats stats;
	struct stream *stream;
	uint64_t position; /* of the schedule; stream->next is base + position */
	unsigned longest;
	int *fd;
	unsigned sockets;
	int sndbuf;
	struct failures failures;
	uint8_t *payload; /* BATCH x longest */
	struct message what[BATCH];
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
};

static int open_flow(const struct tx_config *cfg, uint64_t index, struct error *err)
{
	struct flow f;

	shape_tuple(cfg->shape, cfg->flow, index, &f);
	return sender_socket(cfg, &f,
			     &(struct sender_socket){.connected = true,
						     .shared = true,
						     .foreign = cfg->shape->src_addr.n},
			     err);
}

static void tx_close(struct tx *tx)
{
	for (unsigned i = 0; i < tx->sockets; i++)
		close(tx->fd[i]);
	free(tx->fd);
	free(tx->payload);
	free(tx);
}

static void allow_files(uint64_t n)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= n + 4096)
		return;
	limit.rlim_cur = limit.rlim_max < n + 4096 ? limit.rlim_max : n + 4096;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_flows(struct tx *tx, uint64_t first, uint64_t flows, struct error *err)
{
	for (uint64_t i = 0; i < flows; i++) {
		int fd = open_flow(tx->cfg, first + i, err);

		if (fd < 0)
			return fd;
		tx->fd[tx->sockets++] = fd;
	}
	return 0;
}

static int tx_open(struct tx **out, const struct tx_config *cfg, struct error *err)
{
	uint64_t first, flows = shape_flows_of(cfg->shape, cfg->stream->slot, &first);
	struct shape_sizes sizes;
	struct tx *tx;
	int rc;

	if (cfg->shape->capture || cfg->flow->vlan)
		return error_set(err, STATUS_USAGE, -EINVAL, "use --tx xsk",
				 "--tx socket cannot send %s: the kernel makes its frames",
				 cfg->flow->vlan ? "VLAN tags" : "captured frames");
	if (cfg->socket.gso || cfg->socket.unconnected)
		return error_set(err, STATUS_USAGE, -EINVAL, "leave one of them out",
				 "%s is for packets that are all alike, and a shape was asked for",
				 cfg->socket.gso ? "--gso" : "--unconnected");
	if (flows > MAX_SOCKETS)
		return error_set(err, STATUS_USAGE, -EINVAL, "use --tx xsk for more",
				 "%llu flows a thread are too many for --tx socket (at most %u)",
				 (unsigned long long)flows, MAX_SOCKETS);
	allow_files(cfg->shape->flows);
	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	shape_sizes(cfg->shape, cfg->flow, &sizes);
	tx->cfg = cfg;
	tx->stream = cfg->stream;
	tx->longest = sizes.largest;
	tx->fd = calloc(flows, sizeof(*tx->fd));
	tx->payload = malloc((size_t)BATCH * tx->longest);
	rc = tx->fd && tx->payload ? open_flows(tx, first, flows, err)
				   : error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	if (rc) {
		tx_close(tx);
		return rc;
	}
	tx->sndbuf = sender_socket_room(tx->fd[0]);
	for (unsigned i = 0; i < BATCH; i++) {
		tx->iov[i].iov_base = tx->payload + (size_t)i * tx->longest;
		tx->msg[i].msg_hdr = (struct msghdr){.msg_iov = &tx->iov[i], .msg_iovlen = 1};
		flow_fill(tx->iov[i].iov_base, tx->longest);
	}
	*out = tx;
	return 0;
}

static void put(struct tx *tx, unsigned i, uint64_t number, uint64_t tai)
{
	uint64_t k = number - tx->stream->base;
	unsigned len = shape_payload(tx->cfg->shape, tx->cfg->flow, tx->stream->slot, k);

	if (len < STAMP_TIME_LEN) /* a longer one left its time there */
		flow_fill(tx->iov[i].iov_base, len);
	flow_stamp(tx->iov[i].iov_base, len, STAMP_WORD(tx->stream->id, number), tai);
	tx->iov[i].iov_len = len;
}

/*
 * Prepares what follows at most `n` positions and belongs to one flow. Returns how many messages,
 * their socket in *fd. Gaps in front and between are closed as such.
 */
static unsigned gather(struct tx *tx, unsigned n, uint64_t tai, int *fd)
{
	const struct shape *s = tx->cfg->shape;
	const struct stream *stream = tx->stream;
	uint64_t flow = UINT64_MAX;
	unsigned messages = 0;

	for (uint64_t end = tx->position + n; tx->position < end && messages + 2 <= BATCH;) {
		struct shape_step step;
		uint64_t its, number;

		shape_step(s, stream->slot, tx->position, stream->limit, &step);
		number = stream->base + step.number;
		if (!step.copies) {
			tx->cfg->fail(tx->cfg->fail_arg, number, TX_ERRNO_GAP);
			tx->position++;
			continue;
		}
		its = shape_flow(s, stream->slot, step.number);
		if (messages && its != flow)
			break;
		flow = its;
		tx->position++;
		for (unsigned c = 0; c < step.copies; c++) {
			put(tx, messages, number, tai);
			tx->what[messages++] =
				(struct message){number, tx->position, c > 0, step.displaced && !c};
		}
	}
	if (messages)
		*fd = tx->fd[flow];
	return messages;
}

/* The call stopped at this message. Returns 0, or -errno if going on makes no sense. */
static int failed(struct tx *tx, const struct message *m, int error, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;

	/* a second packet that was not sent takes nothing from the first */
	if (!m->copy)
		cfg->fail(cfg->fail_arg, m->number, error);
	tx->position = m->behind;
	return note_failure(&tx->failures, error, err);
}

static void note_sent(struct tx *tx, unsigned sent)
{
	for (unsigned i = 0; i < sent; i++) {
		tx->stats.duplicates += tx->what[i].copy;
		tx->stats.displaced += tx->what[i].displaced;
	}
}

/* All positions up to tx->position are done. Returns how many numbers that closed. */
static int close_numbers(struct tx *tx)
{
	uint64_t next = tx->stream->base + tx->position;
	int n = (int)(next - tx->stream->next);

	__atomic_store_n(&tx->stream->next, next, __ATOMIC_RELEASE);
	return n;
}

static int tx_send(struct tx *tx, unsigned n, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	uint64_t from = tx->position;
	unsigned messages;
	int fd = -1, sent, error, rc = 0;

	messages = gather(tx, n, pace_tai(), &fd);
	if (!messages)
		return close_numbers(tx);
	if (!cfg->socket.no_wait)
		wait_for_room(fd, tx->sndbuf, &tx->stats);
	sent = sendmmsg(fd, tx->msg, messages, cfg->socket.no_wait ? MSG_DONTWAIT : 0);
	error = errno;
	tx->stats.calls++;
	if (sent == (int)messages) {
		note_sent(tx, messages);
		tx->failures.n = 0;
	} else if (sent < 0 && error == EINTR) {
		tx->position = from; /* nothing was sent: gaps are found again */
	} else if (sent < 0) {
		rc = failed(tx, &tx->what[0], error, err);
	} else {
		note_sent(tx, (unsigned)sent);
		rc = failed(tx, &tx->what[sent], TX_ERRNO_LOST, err);
	}
	n = (unsigned)close_numbers(tx);
	return rc ? rc : (int)n;
}

static int tx_finish(struct tx *tx, struct error *err)
{
	(void)tx;
	(void)err;
	return 0; /* a datagram accepted is a datagram sent */
}

static void tx_stats(const struct tx *tx, struct tx_stats *st)
{
	*st = tx->stats;
}

static const char *tx_mode(const struct tx *tx)
{
	(void)tx;
	return "";
}

const struct tx_ops tx_socket_shaped = {
	.name = "socket",
	.title = "UDP sockets, sendmmsg(), shaped traffic",
	.fragments = true,
	.fastest_pps = 3e6,
	.shapes = true,
	.open = tx_open,
	.send = tx_send,
	.finish = tx_finish,
	.stats = tx_stats,
	.mode = tx_mode,
	.close = tx_close,
};
