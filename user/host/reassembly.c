// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/reassembly.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define UDP_HEADER	8
#define UDP_PAYLOAD_MAX 65507 /* what IPv4's length field leaves; here of IPv6 too */

static uint64_t read_inuse(const char *path, const char *format)
{
	unsigned long long inuse, found = 0;
	FILE *f = fopen(path, "re");
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, format, &inuse) == 1)
			found = inuse;
	}
	fclose(f);
	return found;
}

uint64_t reassembly_queues(const struct netns *ns)
{
	int saved = netns_push(ns);
	uint64_t queues;

	if (saved < 0)
		return 0;
	/* /proc/net is that of the process's first thread */
	queues = read_inuse("/proc/thread-self/net/sockstat", "FRAG: inuse %llu") +
		 read_inuse("/proc/thread-self/net/sockstat6", "FRAG6: inuse %llu");
	netns_pop(saved);
	return queues;
}

int reassembly_set_time(const struct netns *ns, unsigned seconds)
{
	char text[16];
	int rc;

	snprintf(text, sizeof(text), "%u", seconds);
	rc = netns_sysctl_write(ns, "net/ipv4/ipfrag_time", text);
	if (rc)
		return rc;
	rc = netns_sysctl_write(ns, "net/ipv6/ip6frag_time", text);
	return rc == -ENOENT ? 0 : rc;
}

unsigned reassembly_best_payload(bool ipv6, unsigned mtu)
{
	unsigned header = ipv6 ? 40 : 20, whole, fragment, n;

	if (mtu <= header + UDP_HEADER + 8)
		return 0;
	whole = mtu - header - UDP_HEADER;
	fragment = (mtu - header - (ipv6 ? 8 : 0)) & ~7u; /* IPv6: a fragment header of 8 bytes */
	if (!fragment)
		return whole;
	n = (UDP_PAYLOAD_MAX + UDP_HEADER) / fragment;
	if (n * fragment - UDP_HEADER > whole && n > 1)
		return n * fragment - UDP_HEADER;
	return whole < UDP_PAYLOAD_MAX ? whole : UDP_PAYLOAD_MAX;
}

unsigned reassembly_path_mtu(const struct endpoint *to)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htobe16(9), .sin6_addr = to->ip6};
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = htobe16(9), .sin_addr = to->ip4};
	bool ipv6 = to->family == AF_INET6;
	int fd = socket(to->family, SOCK_DGRAM | SOCK_CLOEXEC, 0), mtu = 0;
	socklen_t len = sizeof(mtu);

	if (fd < 0)
		return 0;
	if (connect(fd, ipv6 ? (void *)&six : (void *)&four, ipv6 ? sizeof(six) : sizeof(four)) ||
	    getsockopt(fd, ipv6 ? SOL_IPV6 : SOL_IP, ipv6 ? IPV6_MTU : IP_MTU, &mtu, &len))
		mtu = 0;
	close(fd);
	return (unsigned)mtu;
}

bool reassembly_fragments(const struct endpoint *to, unsigned payload)
{
	unsigned mtu = reassembly_path_mtu(to);

	return mtu && payload + UDP_HEADER + (to->family == AF_INET6 ? 40 : 20) > mtu;
}
