// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/msg.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define MAGIC 0x7172b3c4d5e6f708ULL /* first bytes, differs from STAMP_MAGIC and END_MAGIC */
#define MANY  256		    /* other programs' datagrams skipped per call */

struct probe { /* network byte order */
	uint64_t magic;
	uint64_t salt; /* unique per probe, so that a loss that depends on content does not hit
			* all probes */
	uint64_t mark;
};

int probe_open(bool ipv6, unsigned port)
{
	const struct endpoint any = {.family = ipv6 ? AF_INET6 : AF_INET, .port = (uint16_t)port};
	struct sockaddr_storage addr;
	socklen_t len = socket_address(&any, &addr);
	int fd = socket(any.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, rc;

	if (fd < 0)
		return -errno;
	if (ipv6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (!bind(fd, (void *)&addr, len))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

void probe_send(int fd, const struct endpoint *to, uint64_t mark)
{
	struct probe datagram = {.magic = htobe64(MAGIC), .mark = htobe64(mark)};
	struct sockaddr_storage addr;
	socklen_t len = socket_address(to, &addr);

	(void)!getrandom(&datagram.salt, sizeof(datagram.salt), GRND_NONBLOCK);
	sendto(fd, &datagram, sizeof(datagram), 0, (void *)&addr, len);
}

bool probe_take(int fd, uint64_t mark, int timeout_ms, struct endpoint *from)
{
	const uint64_t end = clock_now() + (uint64_t)timeout_ms * 1000000;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (unsigned i = 0; i < MANY && poll(&p, 1, timeout_ms) > 0; i++) {
		const uint64_t now = clock_now();
		struct sockaddr_storage addr = {};
		socklen_t len = sizeof(addr);
		struct probe datagram;
		ssize_t n;

		timeout_ms = now < end ? (int)((end - now) / 1000000) : 0;
		n = recvfrom(fd, &datagram, sizeof(datagram), MSG_TRUNC, (void *)&addr, &len);

		if (n != sizeof(datagram) || be64toh(datagram.magic) != MAGIC ||
		    be64toh(datagram.mark) != mark)
			continue;
		conn_endpoint((void *)&addr, from);
		return true;
	}
	return false;
}
