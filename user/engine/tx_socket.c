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
#include <endian.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/pace.h"
#include "engine/tx.h"
#include "stamp.h"

#define BATCH	    64	      /* messages a call */
#define BATCH_GSO   4	      /* of up to 64 datagrams each */
#define BATCH_BYTES (1 << 18) /* of payload a call: more does not stay in the cache */
#define BATCH_FLOWS 16	      /* shorter runs of one flow where there are several */
#define MAX_SOCKETS 4096
#define GIVE_UP	    1000 /* sends in a row that fail with the same error */
#define WAIT_MS	    100

struct tx {
	const struct tx_config *cfg;
	struct tx_stats stats;
	int *fd;
	unsigned sockets, at; /* the next batch goes to fd[at] */
	unsigned batch;	      /* datagrams a call */
	unsigned segments;    /* datagrams a message */
	int sndbuf;
	unsigned failures; /* in a row */
	int last_error;
	uint8_t *payload; /* batch x cfg->flow->payload */
	struct sockaddr_storage to;
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
};

static int set_sndbuf(int fd, int bytes)
{
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) ? -errno : 0;
}

unsigned socket_segments(int family, unsigned payload)
{
	unsigned room = UINT16_MAX - 8 - (family == AF_INET6 ? 0 : 20);
	unsigned n = payload ? room / payload : 1;

	return n < 1 ? 1 : n < SOCKET_SEGMENTS ? n : SOCKET_SEGMENTS;
}

static socklen_t address_of(struct sockaddr_storage *out, const struct flow *f, bool source,
			    uint16_t port)
{
	struct sockaddr_in6 *six = (void *)out;
	struct sockaddr_in *four = (void *)out;

	memset(out, 0, sizeof(*out));
	if (f->family == AF_INET6) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htobe16(port);
		six->sin6_addr = source ? f->src6 : f->dst6;
		return sizeof(*six);
	}
	four->sin_family = AF_INET;
	four->sin_port = htobe16(port);
	four->sin_addr = source ? f->src4 : f->dst4;
	return sizeof(*four);
}

static int bind_and_connect(int fd, const struct tx_config *cfg, uint16_t src_port)
{
	struct sockaddr_storage a;
	socklen_t len = address_of(&a, cfg->flow, true, src_port);

	if (bind(fd, (void *)&a, len))
		return -errno;
	if (cfg->socket.unconnected)
		return 0;
	len = address_of(&a, cfg->flow, false, cfg->flow->dst_port);
	return connect(fd, (void *)&a, len) ? -errno : 0;
}

static int set_segment(int fd, const struct tx_config *cfg, struct error *err)
{
	int bytes = (int)cfg->flow->payload;

	if (!cfg->socket.gso || !setsockopt(fd, SOL_UDP, UDP_SEGMENT, &bytes, sizeof(bytes)))
		return 0;
	return error_set(err, STATUS_UNABLE, -errno, "leave --gso out",
			 "this kernel has no UDP segmentation: %s", strerror(errno));
}

static int open_socket(const struct tx_config *cfg, unsigned flow, struct error *err)
{
	const struct flow *f = cfg->flow;
	uint16_t port = f->src_port ? (uint16_t)(f->src_port + flow) : 0;
	int fd = socket(f->family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc, ttl = (int)f->ttl;

	if (fd < 0)
		return error_set(err, STATUS_FAILED, -errno, NULL, "socket: %s", strerror(errno));
	if (cfg->sndbuf && (rc = set_sndbuf(fd, cfg->sndbuf))) {
		error_set(err, STATUS_FAILED, rc, NULL, "cannot set a send buffer of %d bytes: %s",
			  cfg->sndbuf, strerror(-rc));
		goto fail;
	}
	if (ttl &&
	    setsockopt(fd, f->family == AF_INET6 ? SOL_IPV6 : SOL_IP,
		       f->family == AF_INET6 ? IPV6_UNICAST_HOPS : IP_TTL, &ttl, sizeof(ttl))) {
		rc = error_set(err, STATUS_FAILED, -errno, NULL, "cannot set a TTL of %d", ttl);
		goto fail;
	}
	rc = set_segment(fd, cfg, err);
	if (rc)
		goto fail;
	rc = bind_and_connect(fd, cfg, port);
	if (rc == -EADDRINUSE) {
		error_set(err, STATUS_FAILED, rc, "free the port, or choose others",
			  "source port %u is in use", port);
	} else if (rc) {
		error_set(err, STATUS_FAILED, rc, "check the address and the route to it",
			  "cannot send to port %u of the target: %s", f->dst_port, strerror(-rc));
	} else {
		return fd;
	}
fail:
	close(fd);
	return rc;
}

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
	socklen_t to = address_of(&tx->to, cfg->flow, false, cfg->flow->dst_port);

	for (unsigned i = 0; i < tx->batch; i++)
		flow_fill(tx->payload + (size_t)i * len, len);
	for (unsigned i = 0; i * tx->segments < tx->batch; i++) {
		size_t bytes = (size_t)tx->segments * len;

		tx->iov[i] = (struct iovec){tx->payload + i * bytes, bytes};
		tx->msg[i].msg_hdr = (struct msghdr){.msg_iov = &tx->iov[i], .msg_iovlen = 1};
		if (!cfg->socket.unconnected)
			continue;
		tx->msg[i].msg_hdr.msg_name = &tx->to;
		tx->msg[i].msg_hdr.msg_namelen = to;
	}
}

static int tx_socket_open(struct tx **out, const struct tx_config *cfg, struct error *err)
{
	unsigned flows = cfg->flows ? cfg->flows : 1;
	socklen_t size = sizeof(int);
	struct tx *tx;

	if (flows > MAX_SOCKETS)
		return error_set(err, STATUS_USAGE, -EINVAL, "use --tx xsk for more",
				 "%u flows a thread are too many for --tx socket (at most %u)",
				 flows, MAX_SOCKETS);
	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	tx->cfg = cfg;
	plan_batch(tx);
	tx->fd = calloc(flows, sizeof(*tx->fd));
	tx->payload = malloc((size_t)tx->batch * cfg->flow->payload);
	if (!tx->fd || !tx->payload) {
		tx_socket_close(tx);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	for (unsigned i = 0; i < flows; i++) {
		int fd = open_socket(cfg, cfg->first_flow + i, err);

		if (fd < 0) {
			tx_socket_close(tx);
			return fd;
		}
		tx->fd[tx->sockets++] = fd;
	}
	getsockopt(tx->fd[0], SOL_SOCKET, SO_SNDBUF, &tx->sndbuf, &size);
	prepare_batch(tx);
	*out = tx;
	return 0;
}

/* Waits while the send buffer is half full or more, as poll() means "writable". */
static bool wait_for_room(struct tx *tx, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	uint64_t from;
	int queued = 0;

	if (ioctl(fd, SIOCOUTQ, &queued) || queued < tx->sndbuf / 2)
		return true;
	from = pace_now();
	tx->stats.waits++;
	poll(&p, 1, WAIT_MS);
	tx->stats.wait_ns += pace_now() - from;
	return p.revents & POLLOUT;
}

static bool is_device_gone(int error)
{
	return error == ENODEV || error == ENXIO || error == ENETDOWN;
}

/*
 * A message of `n` datagrams failed: all its numbers are closed. Returns n, or -errno if going on
 * makes no sense.
 */
static int close_failed(struct tx *tx, unsigned n, int error, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;

	for (unsigned i = 0; i < n; i++)
		cfg->fail(cfg->fail_arg, cfg->stream->next++, error);
	if (is_device_gone(error))
		return error_set(err, STATUS_FAILED, -error,
				 "look at the interface (ip link) and run again",
				 "sending stopped: %s", strerror(error));
	if (error != tx->last_error)
		tx->failures = 0;
	tx->last_error = error;
	if (++tx->failures < GIVE_UP || error == EPERM || error == EAGAIN)
		return (int)n;
	return error_set(err, STATUS_FAILED, -error, "check the route to the target",
			 "sending stopped: %u sends in a row failed: %s", GIVE_UP, strerror(error));
}

static void stamp_batch(struct tx *tx, unsigned n)
{
	const struct flow *f = tx->cfg->flow;
	const struct stream *s = tx->cfg->stream;
	uint8_t *at = tx->payload;
	struct timespec ts;
	uint64_t tai = 0;

	if (f->time) {
		clock_gettime(CLOCK_TAI, &ts);
		tai = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
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
	if (!cfg->no_wait && !wait_for_room(tx, fd))
		return 0;
	stamp_batch(tx, n);
	messages = (n + tx->segments - 1) / tx->segments;
	tail = n - (messages - 1) * tx->segments;
	tx->iov[messages - 1].iov_len = (size_t)tail * cfg->flow->payload;
	sent = sendmmsg(fd, tx->msg, messages, cfg->no_wait ? MSG_DONTWAIT : 0);
	error = errno;
	tx->iov[messages - 1].iov_len = (size_t)tx->segments * cfg->flow->payload;
	tx->stats.calls++;
	tx->at = (tx->at + 1) % tx->sockets;
	if (sent == (int)messages) {
		s->next += n;
		tx->failures = 0;
		return (int)n;
	}
	if (sent < 0)
		return error == EINTR ? 0 : close_failed(tx, datagrams_in(tx, 1, n), error, err);
	done = datagrams_in(tx, (unsigned)sent, n);
	s->next += done;
	tx->failures = 0;
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
