// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/tx_socket_calls.h"

#include <endian.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define GIVE_UP 1000 /* sends in a row that fail with the same error */
#define WAIT_MS 100

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
	return error_set(err, STATUS_FAILED, -errno,
			 errno == ENODEV ? "ip link tells which there are" : NULL,
			 errno == ENODEV ? "no interface '%s': %s" : "cannot bind to %s: %s",
			 device, strerror(errno));
}

socklen_t address_of(const struct flow *f, bool source, union address *a)
{
	uint16_t port = htobe16(source ? f->src_port : f->dst_port);

	memset(a, 0, sizeof(*a));
	if (f->family == AF_INET6) {
		a->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					      .sin6_port = port,
					      .sin6_addr = source ? f->src6 : f->dst6};
		return sizeof(a->v6);
	}
	a->v4 = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = port, .sin_addr = source ? f->src4 : f->dst4};
	return sizeof(a->v4);
}

static int set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

static int set_sndbuf(int fd, int bytes, struct error *err)
{
	int rc = 0;

	if (bytes && set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, bytes))
		rc = set_int(fd, SOL_SOCKET, SO_SNDBUF, bytes);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL,
			      "cannot set a send buffer of %d bytes: %s", bytes, strerror(-rc))
		  : 0;
}

static int set_headers(int fd, const struct flow *f, struct error *err)
{
	bool six = f->family == AF_INET6;
	int rc = 0;

	if (f->ttl)
		rc = set_int(fd, six ? SOL_IPV6 : SOL_IP, six ? IPV6_UNICAST_HOPS : IP_TTL,
			     (int)f->ttl);
	if (!rc && f->tos)
		rc = set_int(fd, six ? SOL_IPV6 : SOL_IP, six ? IPV6_TCLASS : IP_TOS, f->tos);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "cannot set TTL or TOS: %s",
			      strerror(-rc))
		  : 0;
}

static int set_segment(int fd, const struct tx_config *cfg, struct error *err)
{
	int rc = cfg->socket.gso ? set_int(fd, SOL_UDP, UDP_SEGMENT, (int)cfg->flow->payload) : 0;

	return rc ? error_set(err, STATUS_UNABLE, rc, "leave --gso out",
			      "this kernel has no UDP segmentation: %s", strerror(-rc))
		  : 0;
}

static int set_source(int fd, const struct flow *f, bool shared, bool foreign, struct error *err)
{
	bool six = f->family == AF_INET6;
	int rc = 0;

	if (shared)
		set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (foreign)
		rc = set_int(fd, six ? SOL_IPV6 : SOL_IP, six ? IPV6_TRANSPARENT : IP_TRANSPARENT,
			     1);
	return rc ? error_set(err, STATUS_UNABLE, rc,
			      "run as root, or give the host these addresses",
			      "cannot send from addresses that are not this host's: %s",
			      strerror(-rc))
		  : 0;
}

static int bind_and_connect(int fd, const struct flow *f, bool connected, struct error *err)
{
	union address a;
	socklen_t len = address_of(f, true, &a);

	if (bind(fd, &a.any, len))
		return error_set(err, STATUS_FAILED, -errno,
				 errno == EADDRINUSE ? "free the port, or choose others"
						     : "choose others: --src-port, --src-addr",
				 "cannot use source port %u: %s", f->src_port, strerror(errno));
	len = address_of(f, false, &a);
	if (connected && connect(fd, &a.any, len))
		return error_set(
			err, STATUS_FAILED, -errno, "check the address and the route to it",
			"cannot send to port %u of the target: %s", f->dst_port, strerror(errno));
	return 0;
}

int sender_socket(const struct tx_config *cfg, const struct flow *f,
		  const struct sender_socket *kind, struct error *err)
{
	int fd = socket(f->family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return error_set(err, STATUS_FAILED, -errno, errno == EMFILE ? "ulimit -n" : NULL,
				 "socket: %s", strerror(errno));
	rc = set_sndbuf(fd, cfg->sndbuf, err);
	if (!rc)
		rc = set_headers(fd, f, err);
	if (!rc)
		rc = set_segment(fd, cfg, err);
	if (!rc)
		rc = set_source(fd, f, kind->shared, kind->foreign, err);
	if (!rc)
		rc = socket_bind_device(fd, cfg->socket.device, err);
	if (!rc)
		rc = bind_and_connect(fd, f, kind->connected, err);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int sender_socket_room(int fd)
{
	socklen_t size = sizeof(int);
	int room = 0;

	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &size);
	return room;
}

bool wait_for_room(int fd, int room, struct tx_stats *stats)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	uint64_t from;
	int queued = 0;

	if (ioctl(fd, SIOCOUTQ, &queued) || queued < room / 2)
		return true;
	from = clock_now();
	stats->waits++;
	poll(&p, 1, WAIT_MS);
	stats->wait_ns += clock_now() - from;
	return p.revents & POLLOUT;
}

static bool is_device_gone(int error)
{
	return error == ENODEV || error == ENXIO || error == ENETDOWN;
}

int note_failure(struct failures *f, int error, struct error *err)
{
	if (is_device_gone(error))
		return error_set(err, STATUS_FAILED, -error,
				 "look at the interface (ip link) and run again",
				 "sending stopped: %s", strerror(error));
	if (error != f->error)
		f->n = 0;
	f->error = error;
	if (++f->n < GIVE_UP || error == EPERM || error == EAGAIN || error == TX_ERRNO_LOST)
		return 0;
	return error_set(err, STATUS_FAILED, -error, "check the route to the target",
			 "sending stopped: %u sends in a row failed: %s", GIVE_UP, strerror(error));
}
