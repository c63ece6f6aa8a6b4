// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "drops/owners.h"

#define NETNS 1 /* stands for the one of this test */
#define STEP  2000000000ULL

static struct idmap ports;
static uint64_t now = 1;
static uint16_t port; /* the same for all sockets */
static int fd[8];
static unsigned n;

/* Opens a socket on the port; the first one chooses it. */
static int bound(int family, const char *address, int reuse)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr *a = family == AF_INET ? (struct sockaddr *)&in : (struct sockaddr *)&in6;
	socklen_t len = family == AF_INET ? sizeof(in) : sizeof(in6);
	int s = socket(family, SOCK_DGRAM, 0), one = 1;

	if (s < 0)
		return -1;
	inet_pton(family, address, family == AF_INET ? (void *)&in.sin_addr : &in6.sin6_addr);
	setsockopt(s, SOL_SOCKET, reuse, &one, sizeof(one));
	if (bind(s, a, len)) {
		close(s);
		return -1;
	}
	if (!port) {
		assert_int_equal(getsockname(s, (struct sockaddr *)&in, &len), 0);
		port = ntohs(in.sin_port);
	}
	return fd[n++] = s;
}

static uint64_t inode(int s)
{
	struct stat st;

	assert_int_equal(fstat(s, &st), 0);
	return st.st_ino;
}

/* The inode of the socket that packets to the address come to; 0: not known. */
static uint64_t found(int family, const char *address)
{
	struct ports_key key = {.netns = NETNS, .family = family, .port = port};
	struct ports_row row;
	int ret;

	inet_pton(family, address, key.address);
	now += STEP;
	ports_find(&ports, &key, now, &row); /* what is old is looked up again */
	if (ports_wanted(&ports)) {
		assert_int_equal(ports_wanted(&ports), NETNS);
		ret = ports_look_up(&ports, NETNS, NULL, now);
		if (ret == -ENOENT || ret == -EPROTONOSUPPORT)
			skip(); /* no udp_diag */
		assert_int_equal(ret, 0);
	}
	assert_int_equal(ports_wanted(&ports), 0);
	ret = ports_find(&ports, &key, now, &row);
	assert_int_equal(ret, row.inode ? 0 : -ENOENT);
	if (row.inode)
		assert_true(row.rcvbuf > 0);
	return row.inode;
}

static int begin(void **state)
{
	port = 0;
	n = 0;
	return 0;
}

static int end(void **state)
{
	while (n)
		close(fd[--n]);
	idmap_free(&ports, free);
	return 0;
}

CASE_WITH(an_address_is_better_than_any, begin, end)
{
	int any = bound(AF_INET, "0.0.0.0", SO_REUSEADDR), one;

	assert_true(any >= 0);
	assert_int_equal(found(AF_INET, "127.0.0.1"), inode(any));
	one = bound(AF_INET, "127.0.0.1", SO_REUSEADDR);
	assert_true(one >= 0);
	assert_int_equal(found(AF_INET, "127.0.0.1"), inode(one));
	assert_int_equal(found(AF_INET, "127.0.0.2"), inode(any));
	assert_int_equal(found(AF_INET6, "::1"), 0);
}

CASE_WITH(ipv6_takes_ipv4, begin, end)
{
	int any6, any4;

	any4 = bound(AF_INET, "0.0.0.0", SO_REUSEADDR); /* to choose a port */
	assert_true(any4 >= 0);
	any6 = bound(AF_INET6, "::", SO_REUSEADDR);
	if (any6 < 0)
		skip(); /* no IPv6 */
	assert_int_equal(found(AF_INET, "127.0.0.1"), inode(any4));
	assert_int_equal(found(AF_INET6, "::1"), inode(any6));
	close(fd[0]);
	fd[0] = any6;
	n = 1;
	assert_int_equal(found(AF_INET, "127.0.0.1"), inode(any6));
}

CASE_WITH(of_several_nobody_knows, begin, end)
{
	assert_true(bound(AF_INET, "0.0.0.0", SO_REUSEPORT) >= 0);
	assert_true(bound(AF_INET, "0.0.0.0", SO_REUSEPORT) >= 0);
	assert_int_equal(found(AF_INET, "127.0.0.1"), 0);
	close(fd[--n]);
	assert_int_equal(found(AF_INET, "127.0.0.1"), inode(fd[0]));
}

CASE_WITH(one_without_a_peer_is_better, begin, end)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(9)};
	int open, connected;

	open = bound(AF_INET, "127.0.0.1", SO_REUSEADDR);
	connected = bound(AF_INET, "127.0.0.1", SO_REUSEADDR);
	assert_true(open >= 0 && connected >= 0);
	if (connect(connected, (struct sockaddr *)&to, sizeof(to)))
		skip(); /* loopback is down */
	assert_int_equal(found(AF_INET, "127.0.0.1"), inode(open));
}

CASE_WITH(an_answer_is_kept_for_a_while, begin, end)
{
	struct ports_key key = {.netns = NETNS, .family = AF_INET};
	struct ports_row row;
	int s = bound(AF_INET, "127.0.0.1", SO_REUSEADDR);
	uint64_t at = inode(s);

	assert_int_equal(found(AF_INET, "127.0.0.1"), at);
	key.port = port;
	inet_pton(AF_INET, "127.0.0.1", key.address);
	close(s);
	n = 0;
	assert_int_equal(ports_find(&ports, &key, now + 1, &row), 0);
	assert_int_equal(ports_wanted(&ports), 0);
	assert_int_equal(row.inode, at);
	assert_int_equal(found(AF_INET, "127.0.0.1"), 0);

	/* nothing is found where nobody can look */
	key.netns = 2;
	assert_int_equal(ports_find(&ports, &key, now, &row), -EAGAIN);
	assert_int_equal(ports_wanted(&ports), 2);
	ports_give_up(&ports, 2, now);
	assert_int_equal(ports_wanted(&ports), 0);
	assert_int_equal(ports_find(&ports, &key, now, &row), -ENOENT);
}
