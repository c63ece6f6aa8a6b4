// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Receives from an ordinary UDP socket using recvmmsg(), like any application. */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "traffic/rx.h"

#define BATCH	64
#define BUFFER	2048 /* bytes per datagram, unless larger datagrams are expected or arrive */
#define MAX_UDP 65536
#define BUFFERS (1 << 20) /* bytes in total: a larger buffer would not stay in the cache */
#define LINE	64	  /* between two buffers, which would otherwise share few cache sets */
#define SPIN_NS 50000
#define GAP_NS	50000 /* ns, time for one batch at 1 Mpps */
#define LOOK_NS 500   /* ns, if latency is measured, plus a sixteenth of the idle time */

struct rx {
	const struct receiver_config *cfg;
	struct sink *sink;
	uint64_t calls;
	int fd, rcvbuf;
	uint64_t spin_ns;
	uint64_t gap_ns; /* ns between calls while they find few packets */
	unsigned size, batch;
	unsigned longest; /* bytes, longest datagram received */
	uint8_t *buffer;
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
	struct sockaddr_in6 from[BATCH]; /* or sockaddr_in, if flows are distinguished */
	uint64_t tai_offset; /* ns, CLOCK_TAI - CLOCK_REALTIME, if kernel timestamps were
			      * requested */
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(3 * sizeof(struct timespec))];
	} control[BATCH]; /* segment size (GRO), or arrival time (latency breakdown) */
};

/* Joins the requested multicast group, if there is one. */
static int join(int fd, const struct receiver_config *cfg, struct error *err)
{
	const struct endpoint *group = &cfg->tuning->receive.group;
	int ifindex = cfg->ifname ? (int)if_nametoindex(cfg->ifname) : 0, rc = 0; /* 0: any */
	struct ipv6_mreq six = {.ipv6mr_multiaddr = group->ip6,
				.ipv6mr_interface = (unsigned)ifindex};
	struct ip_mreqn four = {.imr_multiaddr = group->ip4, .imr_ifindex = ifindex};

	if (group->family == AF_INET6)
		rc = setsockopt(fd, SOL_IPV6, IPV6_ADD_MEMBERSHIP, &six, sizeof(six));
	else if (group->family)
		rc = setsockopt(fd, SOL_IP, IP_ADD_MEMBERSHIP, &four, sizeof(four));
	return error_errno(err, STATUS_FAILED, rc ? -errno : 0, "name the interface with -i",
			   "cannot join the multicast group");
}

static int set_options(int fd, const struct receiver_config *cfg, struct error *err)
{
	const struct socket_receive *how = &cfg->tuning->receive;
	int usec = (int)how->busy_poll_us, rc;
	const struct socket_option options[] = {
		{SOL_IPV6, IPV6_V6ONLY, cfg->flow->family == AF_INET6, .what = NULL},
		{SOL_SOCKET, SO_REUSEPORT, cfg->threads > 1, .what = NULL},
		{SOL_UDP, UDP_GRO, how->gro, STATUS_UNABLE, "leave --gro out",
		 "this kernel has no UDP_GRO"},
		{SOL_SOCKET, SO_BUSY_POLL, usec, STATUS_UNABLE, "it takes CAP_NET_ADMIN",
		 "cannot set SO_BUSY_POLL"},
		/* only has an effect if the interface defers interrupts */
		{SOL_SOCKET, SO_PREFER_BUSY_POLL, usec > 0, .what = NULL},
	};

	rc = socket_set(fd, options, LENGTH(options), err);
	if (!rc)
		rc = socket_bind_device(fd, how->device, err);
	if (!rc && cfg->rcvbuf &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &cfg->rcvbuf, sizeof(cfg->rcvbuf)))
		rc = error_errno(err, STATUS_UNABLE, -errno,
				 "raise net.core.rmem_max, or run with CAP_NET_ADMIN",
				 "cannot set a receive buffer of %d bytes", cfg->rcvbuf);
	return rc ? rc : join(fd, cfg, err);
}

int rx_socket_bound(const struct receiver_config *cfg, struct error *err)
{
	const struct endpoint any = {.family = cfg->flow->family, .port = cfg->flow->dst_port};
	struct sockaddr_storage at;
	socklen_t len = socket_address(&any, &at);
	int fd = socket(cfg->flow->family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return error_errno(err, STATUS_FAILED, -errno, NULL, "socket");
	rc = set_options(fd, cfg, err);
	if (!rc && bind(fd, (void *)&at, len))
		rc = errno == EADDRINUSE
			     ? error_set(err, STATUS_FAILED, -errno,
					 "stop the program that has it (ss -ulpn), or use -p",
					 "UDP port %u is in use", cfg->flow->dst_port)
			     : error_errno(err, STATUS_FAILED, -errno, NULL,
					   "cannot bind to UDP port %u", cfg->flow->dst_port);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static void rx_socket_close(struct rx *rx)
{
	if (rx->fd >= 0)
		close(rx->fd);
	free(rx->buffer);
}

/* Prepares messages with buffers for datagrams of `size` bytes. */
static void prepare_batch(struct rx *rx, unsigned size)
{
	rx->size = size;
	rx->batch = BUFFERS / size < BATCH ? BUFFERS / size : BATCH;
	free(rx->buffer);
	rx->buffer = mem_zero(rx->batch, size + LINE);
	for (unsigned i = 0; i < rx->batch; i++) {
		struct msghdr *h = &rx->msg[i].msg_hdr;

		rx->iov[i] = (struct iovec){rx->buffer + (size_t)i * (size + LINE), size};
		*h = (struct msghdr){.msg_iov = &rx->iov[i], .msg_iovlen = 1};
		if (rx->cfg->tuning->per_flow) {
			h->msg_name = &rx->from[i];
			h->msg_namelen = sizeof(rx->from[i]);
		}
		if (rx->cfg->tuning->receive.gro || rx->sink->legs) {
			h->msg_control = &rx->control[i];
			h->msg_controllen = sizeof(rx->control[i]);
		}
	}
}

static int rx_socket_open(struct rx *rx, struct rx_config *thread, struct error *err)
{
	const struct receiver_config *cfg = thread->receiver;
	const int times = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	const uint64_t real_ns = clock_ns(CLOCK_REALTIME);
	socklen_t len = sizeof(rx->rcvbuf);

	rx->cfg = cfg;
	rx->sink = thread->sink;
	rx->spin_ns = rx_spin_ns();
	rx->fd = rx_socket_bound(cfg, err);
	if (rx->fd < 0)
		return rx->fd;
	prepare_batch(rx, cfg->tuning->receive.gro
				  ? MAX_UDP
				  : (unsigned)larger(cfg->flow->payload + 1, BUFFER));
	if (rx->sink->legs) /* failure is ignored, but every kernel supports timestamps */
		setsockopt(rx->fd, SOL_SOCKET, SO_TIMESTAMPING, &times, sizeof(times));
	rx->tai_offset = (pace_tai() - real_ns) / 1000000000 * 1000000000; /* whole seconds */
	getsockopt(rx->fd, SOL_SOCKET, SO_RCVBUF, &rx->rcvbuf, &len);
	/*
	 * A call that finds only one or two packets competes with the sender's CPU for the queue,
	 * and wakes the sender to return its buffers. A pause between calls lets a batch build up.
	 * There is no pause if latency is measured. Its length is limited such that at 1 Mpps, with
	 * 1280 bytes per queued packet (`truesize`), it would use at most a sixteenth of the
	 * buffer.
	 */
	if (rx->spin_ns && !rx->sink->timed)
		rx->gap_ns = smaller((uint64_t)rx->rcvbuf * 1000 / 1280 / 16, GAP_NS);
	thread->fd = rx->fd;
	thread->mode = cfg->tuning->receive.gro ? "UDP GRO" : "";
	return 0;
}

/* With MSG_TRUNC, msg_len is the datagram's real length even if the buffer is shorter. */
static int take(struct rx *rx)
{
	worker_add(&rx->calls, 1);
	return recvmmsg(rx->fd, rx->msg, rx->batch, MSG_DONTWAIT | MSG_TRUNC, NULL);
}

uint64_t rx_spin_ns(void)
{
	int policy = sched_getscheduler(0);

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		return 0;
	return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPIN_NS : 0;
}

static int take_or_wait(struct rx *rx, int timeout_ms)
{
	struct pollfd p = {.fd = rx->fd, .events = POLLIN};
	int n = take(rx);

	if (n >= 0 || errno != EAGAIN || !timeout_ms)
		return n;
	for (uint64_t start = clock_now(), now = start; now < start + rx->spin_ns;) {
		uint64_t gap = rx->sink->timed ? LOOK_NS + (now - start) / 16 : rx->gap_ns;
		uint64_t next = now + gap;

		do
			now = clock_now();
		while (now < next);
		n = take(rx);
		if (n >= 0 || errno != EAGAIN)
			return n;
	}
	return poll(&p, 1, timeout_ms) > 0 ? take(rx) : n;
}

/*
 * Reads the control messages. Returns the datagram size if GRO merged the message, or 0 for a
 * single datagram.
 */
static unsigned take_control(struct rx *rx, struct msghdr *h)
{
	struct timespec came[3]; /* the first is the software timestamp */
	int bytes = 0;

	rx->sink->came_ns = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
			memcpy(&bytes, CMSG_DATA(c), sizeof(bytes));
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING) {
			memcpy(came, CMSG_DATA(c), sizeof(came));
			if (came[0].tv_sec)
				rx->sink->came_ns = (uint64_t)came[0].tv_sec * 1000000000 +
						    (uint64_t)came[0].tv_nsec + rx->tai_offset;
		}
	}
	return bytes > 0 ? (unsigned)bytes : 0;
}

/* Passes a message's datagrams to the sink and prepares the message for reuse. */
static unsigned deliver(struct rx *rx, unsigned i, uint64_t tai)
{
	struct msghdr *h = &rx->msg[i].msg_hdr;
	struct sink *sink = rx->sink;
	const uint8_t *at = rx->iov[i].iov_base;
	unsigned len = rx->msg[i].msg_len, have = len < rx->size ? len : rx->size, segment = 0,
		 n = 0;

	rx->longest = len > rx->longest ? len : rx->longest;
	if (rx->cfg->tuning->per_flow) {
		sink->source = num_endpoint_from(h->msg_name);
		h->msg_namelen = sizeof(rx->from[i]);
	}
	if (h->msg_control) {
		segment = take_control(rx, h);
		h->msg_controllen = sizeof(rx->control[i]);
	}
	for (; segment && len > segment; n++) {
		sink_packet(sink, at, have < segment ? have : segment, segment, tai);
		at += segment;
		len -= segment;
		have -= have < segment ? have : segment;
	}
	sink_packet(sink, at, have, len, tai);
	return n + 1;
}

static int rx_socket_poll(struct rx *rx, int timeout_ms, struct error *err)
{
	int n = take_or_wait(rx, timeout_ms);
	unsigned packets = 0;
	uint64_t tai = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : error_errno(err, STATUS_FAILED, -errno, NULL, "recvmmsg");
	if (rx->sink->timed)
		tai = pace_tai();
	sink_begin(rx->sink);
	for (int i = 0; i < n; i++)
		packets += deliver(rx, (unsigned)i, tai);
	sink_end(rx->sink);
	/* an unknown sender's datagrams are read as a whole, except for the first long one */
	if (rx->longest > rx->size && !rx->cfg->flow->payload)
		prepare_batch(rx, rx->longest < MAX_UDP / 4 ? MAX_UDP / 4 : MAX_UDP);
	return (int)packets;
}

static bool read_memory(const struct rx *rx, uint32_t mem[SK_MEMINFO_VARS])
{
	socklen_t len = SK_MEMINFO_VARS * sizeof(*mem);

	return !getsockopt(rx->fd, SOL_SOCKET, SO_MEMINFO, mem, &len);
}

/* Socket options only report the queue length in bytes, not in packets. */
static uint64_t rx_socket_pending(const struct rx *rx)
{
	uint32_t mem[SK_MEMINFO_VARS];

	return read_memory(rx, mem) ? mem[SK_MEMINFO_RMEM_ALLOC] : 0;
}

static void rx_socket_stats(const struct rx *rx, struct rx_stats *st)
{
	uint32_t mem[SK_MEMINFO_VARS];

	st->calls += worker_read(&rx->calls);
	st->rcvbuf = rx->rcvbuf;
	if (!read_memory(rx, mem))
		st->socket_drops = -1;
	else if (st->socket_drops >= 0)
		st->socket_drops += mem[SK_MEMINFO_DROPS];
}

const struct rx_ops rx_socket = {
	.name = "socket",
	.size = sizeof(struct rx),
	.socket = true,
	.open = rx_socket_open,
	.poll = rx_socket_poll,
	.pending = rx_socket_pending,
	.stats = rx_socket_stats,
	.close = rx_socket_close,
};
