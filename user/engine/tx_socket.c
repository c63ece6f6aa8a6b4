// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sending through ordinary UDP sockets, one per 5-tuple, connected, with sendmmsg().
 *
 * sendmmsg() that ends early does not tell why: the datagram at which it stopped may have had a
 * packet (a netfilter drop in the output hook gives EPERM and an skb) or none. Its number is
 * closed as failed and never used again; an observer decides. The socket blocks, so that a full
 * send buffer is never such an early end.
 */
#include <endian.h>
#include <errno.h>
#include <linux/sockios.h>
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

#define BATCH	     64
#define BATCH_FLOWS  16	  /* shorter runs of one flow where there are several */
#define MAX_SOCKETS  4096
#define GIVE_UP	     1000 /* sends in a row that fail with the same error */
#define WAIT_MS	     100

struct tx {
	const struct tx_config *cfg;
	struct tx_stats stats;
	int *fd;
	unsigned sockets, at; /* the next batch goes to fd[at] */
	unsigned batch;
	int sndbuf;
	unsigned failures;    /* in a row */
	int last_error;
	uint8_t *payload;     /* batch x cfg->flow->payload */
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
};

static int set_sndbuf(int fd, int bytes)
{
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) ? -errno : 0;
}

static int bind_and_connect(int fd, const struct flow *f, uint16_t src_port)
{
	struct sockaddr_in6 s6 = {.sin6_family = AF_INET6, .sin6_port = htobe16(src_port),
				  .sin6_addr = f->src6};
	struct sockaddr_in6 d6 = {.sin6_family = AF_INET6, .sin6_port = htobe16(f->dst_port),
				  .sin6_addr = f->dst6};
	struct sockaddr_in s4 = {.sin_family = AF_INET, .sin_port = htobe16(src_port),
				 .sin_addr = f->src4};
	struct sockaddr_in d4 = {.sin_family = AF_INET, .sin_port = htobe16(f->dst_port),
				 .sin_addr = f->dst4};
	bool six = f->family == AF_INET6;
	socklen_t len = six ? sizeof(s6) : sizeof(s4);

	if (bind(fd, six ? (void *)&s6 : (void *)&s4, len))
		return -errno;
	return connect(fd, six ? (void *)&d6 : (void *)&d4, len) ? -errno : 0;
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
	if (ttl && setsockopt(fd, f->family == AF_INET6 ? SOL_IPV6 : SOL_IP,
			      f->family == AF_INET6 ? IPV6_UNICAST_HOPS : IP_TTL, &ttl, sizeof(ttl))) {
		rc = error_set(err, STATUS_FAILED, -errno, NULL, "cannot set a TTL of %d", ttl);
		goto fail;
	}
	rc = bind_and_connect(fd, f, port);
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

static void prepare_batch(struct tx *tx)
{
	unsigned len = tx->cfg->flow->payload;

	for (unsigned i = 0; i < tx->batch; i++) {
		tx->iov[i] = (struct iovec){tx->payload + (size_t)i * len, len};
		tx->msg[i].msg_hdr = (struct msghdr){.msg_iov = &tx->iov[i], .msg_iovlen = 1};
		flow_fill(tx->payload + (size_t)i * len, len);
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
	tx->batch = cfg->batch ? cfg->batch : flows > 1 ? BATCH_FLOWS : BATCH;
	if (tx->batch > BATCH)
		tx->batch = BATCH;
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

/* One number failed. Returns 1 (it is closed), or -errno if going on makes no sense. */
static int close_failed(struct tx *tx, int error, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;

	cfg->fail(cfg->fail_arg, cfg->stream->next++, error);
	if (is_device_gone(error))
		return error_set(err, STATUS_FAILED, -error,
				 "look at the interface (ip link) and run again",
				 "sending stopped: %s", strerror(error));
	if (error != tx->last_error)
		tx->failures = 0;
	tx->last_error = error;
	if (++tx->failures < GIVE_UP || error == EPERM || error == EAGAIN)
		return 1;
	return error_set(err, STATUS_FAILED, -error, "check the route to the target",
			 "sending stopped: %u sends in a row failed: %s", GIVE_UP, strerror(error));
}

static int tx_socket_send(struct tx *tx, unsigned n, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	struct stream *s = cfg->stream;
	int fd = tx->fd[tx->at], sent, error;
	struct timespec ts;
	uint64_t tai = 0;

	if (n > tx->batch)
		n = tx->batch;
	if (!cfg->no_wait && !wait_for_room(tx, fd))
		return 0;
	if (cfg->flow->time) {
		clock_gettime(CLOCK_TAI, &ts);
		tai = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
	for (unsigned i = 0; i < n; i++)
		flow_stamp(tx->iov[i].iov_base, cfg->flow->payload,
			   STAMP_WORD(s->id, s->next + i), tai);
	sent = sendmmsg(fd, tx->msg, n, cfg->no_wait ? MSG_DONTWAIT : 0);
	error = errno;
	tx->stats.calls++;
	tx->at = (tx->at + 1) % tx->sockets;
	if (sent == (int)n) {
		s->next += n;
		tx->failures = 0;
		return sent;
	}
	if (sent < 0)
		return error == EINTR ? 0 : close_failed(tx, error, err);
	s->next += (unsigned)sent;
	tx->failures = 0;
	error = close_failed(tx, TX_ERRNO_LOST, err);
	return error < 0 ? error : sent + 1;
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
	(void)tx;
	return "";
}

const struct tx_ops tx_socket = {
	.name = "socket",
	.title = "UDP sockets, sendmmsg()",
	.fragments = true,
	.shapes = true,
	.open = tx_socket_open,
	.send = tx_socket_send,
	.finish = tx_socket_finish,
	.stats = tx_socket_stats,
	.mode = tx_socket_mode,
	.close = tx_socket_close,
};
