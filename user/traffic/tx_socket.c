// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends through ordinary UDP sockets, one per 5-tuple, using sendmmsg(). If all packets are alike,
 * the sockets take turns, and each turn is a separate call. With GSO, a message contains many
 * datagrams, each with its own sequence header. It is sent or fails as a whole, so its numbers are
 * closed together. With a shape, packets differ in size and flow. A call carries consecutive
 * packets of the same flow, so if flows alternate, each packet takes a separate call.
 *
 * When sendmmsg() ends early, it does not report why. The datagram at which it stopped may or may
 * not have become a packet (a netfilter drop in the output hook returns EPERM and frees an skb).
 * Its number is closed as failed and never reused, and an observer decides what happened. The
 * socket blocks, so a full send buffer never ends a call early.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/netdev.h"
#include "traffic/tx.h"

#define BATCH	    64	      /* messages per call */
#define BATCH_GSO   4	      /* per call, messages of up to 64 datagrams each */
#define BATCH_BYTES (1 << 18) /* payload bytes per call: more would not stay in the cache */
#define BATCH_FLOWS 16	      /* with several flows, runs of a flow are shorter */
#define MAX_SOCKETS 4096      /* if all packets are alike */
#define MAX_SHAPED  16384     /* with a shape */
#define GIVE_UP_NS  2000000000ULL /* ns, give up if the same error persists for this long */
#define GIVE_UP	    16		      /* and occurs this often */
#define WAIT_MS	    100

struct tx {
	const struct tx_config *cfg;
	struct tx_stats stats;
	uint64_t next; /* the number after the last one in the current call */
	int *fd;
	unsigned sockets, at; /* the current call uses fd[at] */
	unsigned batch;	      /* datagrams per call */
	unsigned segments;    /* datagrams per message */
	unsigned longest;     /* bytes, longest payload */
	int sndbuf;
	unsigned failures;    /* number of failures in a row */
	uint64_t failing_ns;  /* time of the first of them */
	int failure;	      /* errno that they have in common */
	uint8_t *payload;  /* batch x longest bytes */
	struct sockaddr_storage to;
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
};

unsigned socket_segments(int family, unsigned payload)
{
	unsigned room = UINT16_MAX - 8 - (family == AF_INET6 ? 0 : 20);
	unsigned n = payload ? room / payload : 1;

	return n < 1 ? 1 : n < SOCKET_SEGMENTS ? n : SOCKET_SEGMENTS;
}

int socket_bind_device(int fd, const char *device, struct error *err)
{
	if (!device || !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device) + 1))
		return 0;
	return error_errno(err, STATUS_FAILED, -errno,
			   errno == ENODEV ? "`ip link` lists them" : NULL,
			   errno == ENODEV ? "no interface '%s'" : "cannot bind to %s", device);
}

int socket_set(int fd, const struct socket_option *options, unsigned n, struct error *err)
{
	for (const struct socket_option *o = options; o < options + n; o++) {
		if (o->value && setsockopt(fd, o->level, o->name, &o->value, sizeof(o->value)) &&
		    o->what)
			return error_errno(err, o->status, -errno, o->hint, "%s", o->what);
	}
	return 0;
}

/* Converts a flow's source or destination. Returns the length of the address. */
static socklen_t address_of(const struct flow *f, bool source, struct sockaddr_storage *a)
{
	const struct endpoint ep = {f->family, source ? f->src4 : f->dst4,
				    source ? f->src6 : f->dst6, source ? f->src_port : f->dst_port};

	return socket_address(&ep, a);
}

static int bind_and_connect(int fd, const struct flow *f, bool connected, struct error *err)
{
	struct sockaddr_storage a;
	socklen_t len = address_of(f, true, &a);

	if (bind(fd, (void *)&a, len))
		return error_errno(err, STATUS_FAILED, -errno,
				   errno == EADDRINUSE ? "free the port, or choose other ports"
						       : "choose another: --src-port, --src-addr",
				   "cannot use source port %u", f->src_port);
	len = address_of(f, false, &a);
	if (connected && connect(fd, (void *)&a, len))
		return error_errno(err, STATUS_FAILED, -errno,
				   "check the address and the route to it",
				   "cannot send to port %u of the target", f->dst_port);
	return 0;
}

/*
 * Opens a socket for the 5-tuple of `f`: sets buffer size, TTL, TOS and GSO. Returns it or -errno.
 */
static int open_socket(const struct tx *tx, const struct flow *f, bool connected, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	const struct socket_send *how = &cfg->sender->tuning->send;
	bool six = f->family == AF_INET6;
	int ip = six ? SOL_IPV6 : SOL_IP, sndbuf = cfg->sender->sndbuf, rc;
	const struct socket_option options[] = {
		{ip, six ? IPV6_UNICAST_HOPS : IP_TTL, (int)f->ttl, STATUS_FAILED, NULL,
		 "cannot set TTL or TOS"},
		{ip, six ? IPV6_TCLASS : IP_TOS, f->tos, STATUS_FAILED, NULL,
		 "cannot set TTL or TOS"},
		{SOL_UDP, UDP_SEGMENT, how->gso ? (int)f->payload : 0, STATUS_UNABLE,
		 "leave --gso out", "this kernel has no UDP segmentation"},
		/* several sockets may share the source port and differ only in the destination */
		{SOL_SOCKET, SO_REUSEADDR, cfg->shape != NULL, .what = NULL},
		{ip, six ? IPV6_TRANSPARENT : IP_TRANSPARENT,
		 cfg->shape && cfg->shape->src_addr.n > 0, STATUS_UNABLE,
		 "run as root, or give the host these addresses",
		 "cannot send from addresses that this host does not have"},
	};
	int fd = socket(f->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return error_errno(err, STATUS_FAILED, -errno, NULL, "socket");
	if (sndbuf && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)) &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf)))
		rc = error_errno(err, STATUS_FAILED, -errno, NULL,
				 "cannot set a send buffer of %d bytes", sndbuf);
	else
		rc = socket_set(fd, options, LENGTH(options), err);
	if (!rc)
		rc = socket_bind_device(fd, how->device, err);
	if (!rc)
		rc = bind_and_connect(fd, f, connected, err);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static void tx_socket_close(struct tx *tx)
{
	for (unsigned i = 0; i < tx->sockets; i++)
		close(tx->fd[i]);
	free(tx->fd);
	free(tx->payload);
}

/* Plans for as many datagrams as fit the cache, in whole messages. */
static void plan_batch(struct tx *tx)
{
	const struct flow *flow = tx->cfg->sender->flow;
	bool gso = tx->cfg->sender->tuning->send.gso;
	struct shape_sizes sizes;
	unsigned fit;

	shape_sizes(tx->cfg->shape, flow, &sizes);
	tx->longest = sizes.largest;
	tx->segments = gso ? socket_segments(flow->family, flow->payload) : 1;
	tx->batch = gso					    ? BATCH_GSO * tx->segments
		    : !tx->cfg->shape && tx->cfg->flows > 1 ? BATCH_FLOWS
							    : BATCH;
	fit = BATCH_BYTES / tx->longest;
	if (tx->batch > fit && !tx->cfg->shape)
		tx->batch = fit < tx->segments ? tx->segments : fit / tx->segments * tx->segments;
}

static void prepare_batch(struct tx *tx, bool connected)
{
	socklen_t to = address_of(tx->cfg->sender->flow, false, &tx->to);

	for (unsigned i = 0; i < tx->batch; i++)
		flow_fill(tx->payload + (size_t)i * tx->longest, tx->longest);
	for (unsigned i = 0; i * tx->segments < tx->batch; i++) {
		tx->iov[i].iov_base = tx->payload + (size_t)i * tx->segments * tx->longest;
		tx->msg[i].msg_hdr = (struct msghdr){.msg_iov = &tx->iov[i], .msg_iovlen = 1};
		if (connected)
			continue;
		tx->msg[i].msg_hdr.msg_name = &tx->to;
		tx->msg[i].msg_hdr.msg_namelen = to;
	}
}

/*
 * Connected sockets choose IPv4 IDs individually. Unconnected sockets share one host counter per
 * address pair (ip_select_ident_segs()), and only shared IDs distinguish the fragments of different
 * datagrams.
 */
static bool is_to_connect(const struct tx_config *cfg)
{
	const struct flow *f = cfg->sender->flow;
	struct endpoint to = {.family = f->family, .ip4 = f->dst4, .ip6 = f->dst6};

	if (cfg->sender->tuning->send.unconnected)
		return false;
	return cfg->shape || f->family != AF_INET || !reassembly_fragments(&to, f->payload);
}

static void allow_files(uint64_t n)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= n + 4096)
		return;
	limit.rlim_cur = limit.rlim_max < n + 4096 ? limit.rlim_max : n + 4096;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* If the flow has no source port, the kernel chooses one. */
static int open_flows(struct tx *tx, uint64_t first, uint64_t flows, bool connected,
		      struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	socklen_t size = sizeof(tx->sndbuf);

	for (uint64_t i = first; i < first + flows; i++) {
		struct flow f = *cfg->sender->flow;
		int fd;

		if (cfg->shape)
			shape_tuple(cfg->shape, cfg->sender->flow, i, &f);
		else if (f.src_port)
			f.src_port = (uint16_t)(f.src_port + i);
		fd = open_socket(tx, &f, connected, err);
		if (fd < 0)
			return fd;
		tx->fd[tx->sockets++] = fd;
	}
	getsockopt(tx->fd[0], SOL_SOCKET, SO_SNDBUF, &tx->sndbuf, &size);
	return 0;
}

static int tx_socket_open(struct tx *tx, struct tx_config *cfg, struct error *err)
{
	const unsigned max = cfg->shape ? MAX_SHAPED : MAX_SOCKETS;
	uint64_t first = cfg->first_flow, flows = cfg->flows;
	bool connected = is_to_connect(cfg);
	int rc;

	if (cfg->shape) {
		allow_files(cfg->shape->flows);
		flows = shape_flows_of(cfg->shape, cfg->stream->slot, &first);
	}
	if (flows > max)
		return error_usage(err, "use --tx xsk for more",
				   "%llu flows a thread are too many for --tx socket (at most %u)",
				   (unsigned long long)flows, max);
	tx->cfg = cfg;
	plan_batch(tx);
	cfg->mode = tx->segments > 1 ? "UDP GSO" : "";
	tx->fd = mem_zero(flows, sizeof(*tx->fd));
	tx->payload = mem_zero(tx->batch, tx->longest);
	rc = open_flows(tx, first, flows, connected, err);
	if (!rc)
		prepare_batch(tx, connected);
	return rc;
}

/*
 * Waits while the send buffer is at least half full (until poll() reports "writable"). Returns
 * false on timeout.
 */
static bool wait_for_room(struct tx *tx)
{
	struct pollfd p = {.fd = tx->fd[tx->at], .events = POLLOUT};
	uint64_t from;
	int queued = 0;

	if (tx->cfg->sender->tuning->send.no_wait || ioctl(p.fd, SIOCOUTQ, &queued) ||
	    queued < tx->sndbuf / 2)
		return true;
	from = clock_now();
	tx->stats.waits++;
	poll(&p, 1, WAIT_MS);
	tx->stats.wait_ns += clock_now() - from;
	return p.revents & POLLOUT;
}

/*
 * Prepares up to `n` packets, which are alike, for the next socket. Returns the number of messages.
 */
static unsigned gather(struct tx *tx, unsigned n)
{
	const struct stream *stream = tx->cfg->stream;
	const struct flow *flow = tx->cfg->sender->flow;
	const unsigned len = flow->payload;
	uint64_t word = STAMP_WORD(stream->id, tx->next), tai;
	uint8_t *at = tx->payload;
	unsigned messages = 0;

	n = (unsigned)smaller(n, tx->batch);
	if (!n || !wait_for_room(tx))
		return 0;
	tai = flow->time ? pace_tai() : 0;
	for (unsigned i = 0; i < n; i++, at += len)
		flow_stamp(at, len, word + i, tai);
	for (unsigned left = n, one; left; left -= one) {
		one = (unsigned)smaller(left, tx->segments);
		tx->iov[messages++].iov_len = (size_t)one * len;
	}
	tx->next += n;
	return messages;
}

/* Prepares up to `n` consecutive packets of one flow of the shape. Returns their number. */
static unsigned gather_shaped(struct tx *tx, unsigned n)
{
	const struct shape *shape = tx->cfg->shape;
	const struct stream *stream = tx->cfg->stream;
	const struct flow *flow = tx->cfg->sender->flow;
	uint64_t tai = 0;
	unsigned i = 0;

	for (n = (unsigned)smaller(n, tx->batch); i < n; i++, tx->next++) {
		const uint64_t number = tx->next - stream->base;
		const uint64_t f = shape_flow(shape, stream->slot, number);
		const unsigned len = shape_payload(shape, flow, stream->slot, number);
		uint8_t *at = tx->iov[i].iov_base;

		if (i && f != tx->at)
			break;
		tx->at = (unsigned)f;
		if (!i && !wait_for_room(tx))
			break;
		if (!i)
			tai = pace_tai();
		if (len < STAMP_TIME_LEN) /* a longer packet may have left its time here */
			flow_fill(at, len);
		tx->iov[i].iov_len = len;
		flow_stamp(at, len, STAMP_WORD(stream->id, tx->next), tai);
	}
	return i;
}

/*
 * Closes the numbers of the message at which the call stopped. Returns 0, or -errno if it makes no
 * sense to continue.
 */
static int fail(struct tx *tx, uint64_t number, int error, struct error *err)
{
	tx->next = smaller(tx->next, number + tx->segments);
	for (; number < tx->next; number++)
		tx_fail(tx->cfg, number, error);
	if (error == ENODEV || error == ENXIO || error == ENETDOWN)
		return error_errno(err, STATUS_FAILED, -error,
				   "check the interface (ip link) and run again",
				   "sending stopped");
	if (error != tx->failure)
		tx->failures = 0;
	if (!tx->failures++)
		tx->failing_ns = clock_now();
	tx->failure = error;
	if (tx->failures < GIVE_UP || clock_now() - tx->failing_ns < GIVE_UP_NS ||
	    error == EPERM || error == EAGAIN || error == TX_ERRNO_LOST)
		return 0;
	return error_errno(err, STATUS_FAILED, -error, "check the route to the target",
			   "sending stopped: all sends failed for %s", fmt_ns(GIVE_UP_NS));
}

static int tx_socket_send(struct tx *tx, unsigned n, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	const uint64_t from = tx->next = cfg->stream->next;
	unsigned messages = cfg->shape ? gather_shaped(tx, n) : gather(tx, n), sent = 0;
	int rc, error = 0;

	if (messages) {
		rc = sendmmsg(tx->fd[tx->at], tx->msg, messages,
			      cfg->sender->tuning->send.no_wait ? MSG_DONTWAIT : 0);
		error = rc < 0 ? errno : TX_ERRNO_LOST;
		sent = rc < 0 ? 0 : (unsigned)rc;
		tx->stats.calls++;
		if (!cfg->shape)
			tx->at = (tx->at + 1) % tx->sockets;
	}
	rc = 0;
	if (sent)
		tx->failures = 0;
	if (sent < messages && error == EINTR)
		tx->next = from; /* nothing was sent */
	else if (sent < messages)
		rc = fail(tx, from + (uint64_t)sent * tx->segments, error, err);
	__atomic_store_n(&cfg->stream->next, tx->next, __ATOMIC_RELEASE);
	return rc ? rc : (int)(tx->next - from);
}

static void tx_socket_stats(const struct tx *tx, struct tx_stats *st)
{
	*st = tx->stats;
}

const struct tx_ops tx_socket = {
	.name = "socket",
	.size = sizeof(struct tx),
	.socket = true,
	.fastest_pps = 3e6,
	.shapes = true,
	.open = tx_socket_open,
	.send = tx_socket_send,
	.stats = tx_socket_stats,
	.close = tx_socket_close,
};
