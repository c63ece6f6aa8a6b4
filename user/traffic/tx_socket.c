// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sending through ordinary UDP sockets, one per 5-tuple, with sendmmsg(). With GSO a message holds
 * many datagrams, each with its own stamp: it is sent or fails as a whole, so its numbers are
 * closed together.
 *
 * sendmmsg() that ends early does not tell why: the datagram at which it stopped may have had a
 * packet (a netfilter drop in the output hook gives EPERM and an skb) or none. Its number is
 * closed as failed and never used again; an observer decides. The socket blocks, so that a full
 * send buffer is never such an early end.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "traffic/pace.h"
#include "traffic/tx_socket_calls.h"
#include "host/netdev.h"
#include "stamp.h"

#define BATCH	    64	      /* messages a call */
#define BATCH_GSO   4	      /* of up to 64 datagrams each */
#define BATCH_BYTES (1 << 18) /* of payload a call: more does not stay in the cache */
#define BATCH_FLOWS 16	      /* shorter runs of one flow where there are several */
#define MAX_SOCKETS 4096

struct tx {
	const struct tx_config *cfg;
	struct tx_stats stats;
	int *fd;
	unsigned sockets, at; /* the next batch goes to fd[at] */
	unsigned batch;	      /* datagrams a call */
	unsigned segments;    /* datagrams a message */
	int sndbuf;
	bool connected;
	struct failures failures;
	uint8_t *payload; /* batch x cfg->flow->payload */
	union address to;
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
};

static void tx_socket_close(struct tx *tx)
{
	for (unsigned i = 0; i < tx->sockets; i++)
		close(tx->fd[i]);
	free(tx->fd);
	free(tx->payload);
	free(tx);
}

/* As many datagrams as fit the cache, a whole number of messages. */
static void plan_batch(struct tx *tx)
{
	const struct tx_config *cfg = tx->cfg;
	unsigned fit = BATCH_BYTES / cfg->flow->payload;

	tx->segments = cfg->socket.gso ? socket_segments(cfg->flow->family, cfg->flow->payload) : 1;
	tx->batch = cfg->socket.gso  ? BATCH_GSO * tx->segments
		    : cfg->flows > 1 ? BATCH_FLOWS
				     : BATCH;
	if (cfg->batch && tx->batch > cfg->batch)
		tx->batch = cfg->batch;
	if (tx->batch > fit)
		tx->batch = fit < tx->segments ? tx->segments : fit / tx->segments * tx->segments;
}

static void prepare_batch(struct tx *tx)
{
	const struct tx_config *cfg = tx->cfg;
	unsigned len = cfg->flow->payload;
	socklen_t to = address_of(cfg->flow, false, &tx->to);

	for (unsigned i = 0; i < tx->batch; i++)
		flow_fill(tx->payload + (size_t)i * len, len);
	for (unsigned i = 0; i * tx->segments < tx->batch; i++) {
		size_t bytes = (size_t)tx->segments * len;

		tx->iov[i] = (struct iovec){tx->payload + i * bytes, bytes};
		tx->msg[i].msg_hdr = (struct msghdr){.msg_iov = &tx->iov[i], .msg_iovlen = 1};
		if (tx->connected)
			continue;
		tx->msg[i].msg_hdr.msg_name = &tx->to;
		tx->msg[i].msg_hdr.msg_namelen = to;
	}
}

/*
 * Connected sockets choose IPv4 IDs each on its own, others of one count of the host's for the pair
 * of addresses (ip_select_ident_segs()): only these tell the fragments of datagrams apart.
 */
static bool is_to_connect(const struct tx_config *cfg)
{
	const struct flow *f = cfg->flow;
	struct endpoint to = {.family = f->family, .ip4 = f->dst4, .ip6 = f->dst6};

	if (cfg->socket.unconnected)
		return false;
	return f->family != AF_INET || !reassembly_fragments(&to, f->payload);
}

/* The kernel chooses the source port if the flow has none. */
static int open_flow(const struct tx *tx, unsigned index, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	struct flow f = *cfg->flow;

	if (f.src_port)
		f.src_port = (uint16_t)(f.src_port + index);
	return sender_socket(cfg, &f, &(struct sender_socket){.connected = tx->connected}, err);
}

static int tx_socket_open(struct tx **out, const struct tx_config *cfg, struct error *err)
{
	unsigned flows = cfg->flows ? cfg->flows : 1;
	struct tx *tx;

	if (flows > MAX_SOCKETS)
		return error_set(err, STATUS_USAGE, -EINVAL, "use --tx xsk for more",
				 "%u flows a thread are too many for --tx socket (at most %u)",
				 flows, MAX_SOCKETS);
	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	tx->cfg = cfg;
	tx->connected = is_to_connect(cfg);
	plan_batch(tx);
	tx->fd = calloc(flows, sizeof(*tx->fd));
	tx->payload = malloc((size_t)tx->batch * cfg->flow->payload);
	if (!tx->fd || !tx->payload) {
		tx_socket_close(tx);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	for (unsigned i = 0; i < flows; i++) {
		int fd = open_flow(tx, cfg->first_flow + i, err);

		if (fd < 0) {
			tx_socket_close(tx);
			return fd;
		}
		tx->fd[tx->sockets++] = fd;
	}
	tx->sndbuf = sender_socket_room(tx->fd[0]);
	prepare_batch(tx);
	*out = tx;
	return 0;
}

/*
 * A message of `n` datagrams failed: all its numbers are closed. Returns n, or -errno if going on
 * makes no sense.
 */
static int close_failed(struct tx *tx, unsigned n, int error, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	int rc;

	for (unsigned i = 0; i < n; i++)
		cfg->fail(cfg->fail_arg, cfg->stream->next++, error);
	rc = note_failure(&tx->failures, error, err);
	return rc ? rc : (int)n;
}

static void stamp_batch(struct tx *tx, unsigned n)
{
	const struct flow *f = tx->cfg->flow;
	const struct stream *s = tx->cfg->stream;
	uint8_t *at = tx->payload;
	uint64_t tai = f->time ? pace_tai() : 0;

	for (unsigned i = 0; i < n; i++, at += f->payload)
		flow_stamp(at, f->payload, STAMP_WORD(s->id, s->next + i), tai);
}

/* Datagrams of the first `messages` messages of a call with n. */
static unsigned datagrams_in(const struct tx *tx, unsigned messages, unsigned n)
{
	return messages * tx->segments < n ? messages * tx->segments : n;
}

static int tx_socket_send(struct tx *tx, unsigned n, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	struct stream *s = cfg->stream;
	int fd = tx->fd[tx->at], sent, error;
	unsigned messages, tail, done;

	if (n > tx->batch)
		n = tx->batch;
	if (!cfg->socket.no_wait && !wait_for_room(fd, tx->sndbuf, &tx->stats))
		return 0;
	stamp_batch(tx, n);
	messages = (n + tx->segments - 1) / tx->segments;
	tail = n - (messages - 1) * tx->segments;
	tx->iov[messages - 1].iov_len = (size_t)tail * cfg->flow->payload;
	sent = sendmmsg(fd, tx->msg, messages, cfg->socket.no_wait ? MSG_DONTWAIT : 0);
	error = errno;
	tx->iov[messages - 1].iov_len = (size_t)tx->segments * cfg->flow->payload;
	tx->stats.calls++;
	tx->at = (tx->at + 1) % tx->sockets;
	if (sent == (int)messages) {
		s->next += n;
		tx->failures.n = 0;
		return (int)n;
	}
	if (sent < 0)
		return error == EINTR ? 0 : close_failed(tx, datagrams_in(tx, 1, n), error, err);
	done = datagrams_in(tx, (unsigned)sent, n);
	s->next += done;
	tx->failures.n = 0;
	error = close_failed(tx, datagrams_in(tx, (unsigned)sent + 1, n) - done, TX_ERRNO_LOST,
			     err);
	return error < 0 ? error : (int)done + error;
}

static int tx_socket_finish(struct tx *tx, struct error *err)
{
	(void)tx;
	(void)err;
	return 0; /* a datagram accepted is a datagram sent */
}

static void tx_socket_stats(const struct tx *tx, struct tx_stats *st)
{
	*st = tx->stats;
}

static const char *tx_socket_mode(const struct tx *tx)
{
	return tx->segments > 1 ? "UDP GSO" : "";
}

const struct tx_ops tx_socket = {
	.name = "socket",
	.title = "UDP sockets, sendmmsg()",
	.fragments = true,
	.fastest_pps = 3e6,
	.shapes = true,
	.open = tx_socket_open,
	.send = tx_socket_send,
	.finish = tx_socket_finish,
	.stats = tx_socket_stats,
	.mode = tx_socket_mode,
	.close = tx_socket_close,
};
