// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "diagnosis/way.h"
#include "host/netdev.h"

#define HOPS	 30
#define TRIES	 3
#define FIRST_NS 500000000 /* until the first answer shows the round-trip time */
#define LEAST_NS 30000000
#define ROUTE_MS 2000

/* ICMP or ICMPv6, and the socket options that go with it. */
struct family {
	int family, protocol, level, discover, messages, hops;
	uint8_t request, reply, expired;
	uint8_t header; /* bytes of the IP header */
	unsigned least; /* size that each link carries */
};

static const struct family families[] = {
	{AF_INET, IPPROTO_ICMP, IPPROTO_IP, IP_MTU_DISCOVER, IP_RECVERR, IP_TTL, ICMP_ECHO,
	 ICMP_ECHOREPLY, ICMP_TIME_EXCEEDED, 20, 68},
	{AF_INET6, IPPROTO_ICMPV6, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_RECVERR, IPV6_UNICAST_HOPS,
	 ICMP6_ECHO_REQUEST, ICMP6_ECHO_REPLY, ICMP6_TIME_EXCEEDED, 40, 1280},
};

struct pinger {
	const struct family *of;
	int fd;
	uint16_t id, seq;
	uint64_t wait_ns; /* for the first try */
	/* what the last ping led to */
	unsigned mtu;	  /* in HEARD_TOO_BIG */
	char by[FMT_MAX]; /* sender of the ICMP message */
};

enum heard { HEARD_NOTHING, HEARD_REPLY, HEARD_EXPIRED, HEARD_TOO_BIG };

/* An echo header. It has the same form in both families. */
struct echo {
	uint8_t type, code;
	uint16_t checksum, id, seq;
};

static int open_socket(struct pinger *p, const struct netns *ns, const struct endpoint *to)
{
	const struct family *of = p->of;
	const int saved = netns_push(ns), on = 1, probe = IP_PMTUDISC_PROBE; /* as of IPv6 */
	struct sockaddr_storage address;
	const socklen_t size = socket_address(to, &address);
	int ret;

	if (saved < 0)
		return saved;
	p->fd = socket(of->family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, of->protocol);
	ret = p->fd < 0 || setsockopt(p->fd, of->level, of->discover, &probe, sizeof(probe)) ||
			      setsockopt(p->fd, of->level, of->messages, &on, sizeof(on)) ||
			      connect(p->fd, (const struct sockaddr *)&address, size)
		      ? -errno
		      : 0;
	netns_pop(saved);
	return ret;
}

/* Sends a ping as an IP packet of `size` bytes, with zeros as payload. */
static void send_ping(struct pinger *p, unsigned size)
{
	static const uint8_t zeros[UINT16_MAX];
	struct echo echo = {p->of->request, 0, 0, p->id, ++p->seq};
	struct iovec parts[] = {{&echo, sizeof(echo)},
				{(void *)zeros, size - p->of->header - sizeof(echo)}};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
	uint32_t sum = htons((uint16_t)(echo.type << 8)) + echo.id + echo.seq;

	sum = (sum & 0xffff) + (sum >> 16);
	echo.checksum = (uint16_t) ~(sum + (sum >> 16)); /* of IPv6 the kernel computes it */
	if (sendmsg(p->fd, &msg, 0) < 0) /* an earlier ping's error is reported first */
		sendmsg(p->fd, &msg, 0);
}

static bool is_ours(const struct pinger *p, const struct echo *echo, uint8_t type)
{
	return echo->type == type && echo->id == p->id && echo->seq == p->seq;
}

/* Reads an ICMP message about a ping. */
static enum heard read_error(struct pinger *p)
{
	struct {
		struct sock_extended_err error;
		struct sockaddr_in6 from;
	} about;
	char control[CMSG_SPACE(sizeof(about)) + 64];
	struct echo echo;
	struct iovec data = {&echo, sizeof(echo)};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;
	struct endpoint from;

	if (recvmsg(p->fd, &msg, MSG_ERRQUEUE) < (ssize_t)sizeof(echo) ||
	    !is_ours(p, &echo, p->of->request))
		return HEARD_NOTHING;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_len < CMSG_LEN(sizeof(about.error) + sizeof(struct sockaddr_in)))
		return HEARD_NOTHING;
	memset(&about, 0, sizeof(about));
	memcpy(&about, CMSG_DATA(c), smaller(c->cmsg_len - CMSG_LEN(0), sizeof(about)));
	from = num_endpoint_from(&about.from);
	from.port = 0;
	snprintf(p->by, sizeof(p->by), "%s", num_text_endpoint(&from));
	p->mtu = about.error.ee_info;
	if (about.error.ee_type == p->of->expired)
		return HEARD_EXPIRED;
	return about.error.ee_errno == EMSGSIZE ? HEARD_TOO_BIG : HEARD_NOTHING;
}

static enum heard read_reply(struct pinger *p)
{
	uint8_t packet[128];
	const ssize_t n = recv(p->fd, packet, sizeof(packet), 0);
	/* only IPv4 delivers the IP header */
	const ssize_t at = p->of->family == AF_INET && n > 0 ? (packet[0] & 15) * 4 : 0;
	struct echo echo;

	if (n < at + (ssize_t)sizeof(echo))
		return HEARD_NOTHING;
	memcpy(&echo, packet + at, sizeof(echo));
	return is_ours(p, &echo, p->of->reply) ? HEARD_REPLY : HEARD_NOTHING;
}

/* Pings until there is an answer. A size that is lost costs several tries, each longer. */
static enum heard ping(struct pinger *p, unsigned size, int hops)
{
	enum heard heard = HEARD_NOTHING;

	setsockopt(p->fd, p->of->level, p->of->hops, &hops, sizeof(hops));
	for (unsigned i = 0; i < TRIES && heard == HEARD_NOTHING; i++) {
		const uint64_t start = clock_now(), end = start + (p->wait_ns << i);
		uint64_t now = start;

		for (send_ping(p, size); heard == HEARD_NOTHING && now < end; now = clock_now()) {
			struct pollfd ready = {.fd = p->fd, .events = POLLIN};

			poll(&ready, 1, (int)((end - now) / 1000000 + 1));
			if (ready.revents & POLLERR)
				heard = read_error(p);
			else if (ready.revents & POLLIN)
				heard = read_reply(p);
		}
		if (heard != HEARD_NOTHING)
			p->wait_ns = larger(LEAST_NS, smaller(2 * (now - start), FIRST_NS));
	}
	return heard;
}

/* Finds the hop after which packets of `size` bytes are lost, by pings that expire on the way. */
static void find_hop(struct pinger *p, unsigned size, unsigned small, struct path_mtu *out)
{
	for (int hops = 1; hops <= HOPS && !*out->after; hops++) {
		enum heard heard = ping(p, size, hops);

		if (heard == HEARD_EXPIRED) {
			memcpy(out->before, p->by, sizeof(p->by));
			continue;
		}
		heard = ping(p, small, hops); /* not all routers answer */
		if (heard == HEARD_EXPIRED)
			memcpy(out->after, p->by, sizeof(p->by));
		else if (heard == HEARD_REPLY)
			memcpy(out->after, out->to, sizeof(out->to));
	}
}

static void measure(struct pinger *p, struct path_mtu *out)
{
	const unsigned least = p->of->least;
	unsigned low = least, high = out->mtu + 1;

	if (out->mtu < least || ping(p, least, HOPS) != HEARD_REPLY)
		return;
	/* `low` arrives, `high` does not */
	for (unsigned size = out->mtu; high - low > 1; size = low + (high - low) / 2) {
		const enum heard heard = ping(p, size, HOPS);

		if (heard == HEARD_REPLY) {
			low = size;
			continue;
		}
		high = size;
		if (heard == HEARD_TOO_BIG) {
			memcpy(out->told_by, p->by, sizeof(p->by));
			high = p->mtu >= low && p->mtu < size ? p->mtu + 1 : size;
			if (high - low > 1 && ping(p, high - 1, HOPS) == HEARD_REPLY)
				low = high - 1;
		} else if (!out->silent) {
			out->silent = true;
			find_hop(p, size, least, out);
		}
	}
	out->fits = low;
}

/*
 * Finds the interface, the gateway and the MTU of the route, which `ip` prints as "198.18.1.2 via
 * 198.18.0.254 dev eth0 .. mtu 1400".
 */
static int find_route(const struct netns *ns, const struct endpoint *to, struct path_mtu *out)
{
	char *const argv[] = {"ip", "route", "get", out->to, NULL};
	struct netdev dev;
	const char *via, *mtu;
	unsigned value;
	char *text;

	device_name(ns, netdev_way(ns, to), out->ifname);
	if (netdev_get(ns, out->ifname, &dev))
		return -ENETUNREACH;
	out->mtu = (unsigned)smaller(dev.link.mtu, UINT16_MAX);
	if (!netns_exec_read(ns, argv, ROUTE_MS, UINT16_MAX, &text, NULL)) {
		via = strstr(text, " via ");
		if (via)
			sscanf(via, " via %63s", out->via);
		mtu = strstr(text, " mtu ");
		if (mtu && (sscanf(mtu, " mtu %u", &value) == 1 ||
			    sscanf(mtu, " mtu lock %u", &value) == 1))
			out->mtu = value;
		free(text);
	}
	return 0;
}

int path_mtu_read(const struct netns *ns, const char *address, struct path_mtu *out)
{
	struct pinger p = {.fd = -1, .id = (uint16_t)getpid(), .wait_ns = FIRST_NS};
	struct endpoint to;
	int ret;

	*out = (struct path_mtu){};
	if (num_endpoint(address, &to) || to.port)
		return -EINVAL;
	p.of = &families[to.family == AF_INET6];
	snprintf(out->to, sizeof(out->to), "%s", num_text_endpoint(&to));
	ret = find_route(ns, &to, out);
	if (!ret)
		ret = open_socket(&p, ns, &to);
	if (!ret)
		measure(&p, out);
	fd_close(&p.fd);
	return ret;
}
