// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "drops/owners.h"

static struct owners *owners;
static uint32_t own;  /* the namespace of this test */
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

static void ignore(void *arg, const struct sockmem_row *row)
{
}

static bool has_diag(void)
{
	int ret = sockmem_udp(NULL, AF_INET, 9, ignore, NULL);

	return ret != -ENOENT && ret != -EPROTONOSUPPORT;
}

/* The inode of the socket that packets to the address come to; 0: not known. */
static uint64_t found(int family, const char *address)
{
	struct ports_key key = {.netns = own, .family = family, .port = port};
	struct ports_row row;
	struct error err = {};
	int ret;

	if (!has_diag())
		skip();
	inet_pton(family, address, key.address);
	owners_close(owners); /* earlier results are discarded */
	assert_int_equal(owners_open(&owners, "/", &err), 0);
	assert_int_equal(owners_bound(owners, &key, &row), -EAGAIN);
	owners_tick(owners);
	ret = owners_bound(owners, &key, &row);
	assert_int_equal(ret, row.inode ? 0 : -ENOENT);
	if (row.inode)
		assert_true(row.rcvbuf > 0);
	return row.inode;
}

static int begin(void **state)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	own = (uint32_t)st.st_ino;
	port = 0;
	n = 0;
	return 0;
}

static int end(void **state)
{
	while (n)
		close(fd[--n]);
	owners_close(owners);
	owners = NULL;
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
	struct ports_key key = {.netns = own, .family = AF_INET};
	struct ports_row row;
	int s = bound(AF_INET, "127.0.0.1", SO_REUSEADDR);
	uint64_t at = inode(s);

	assert_int_equal(found(AF_INET, "127.0.0.1"), at);
	key.port = port;
	inet_pton(AF_INET, "127.0.0.1", key.address);
	close(s);
	n = 0;
	assert_int_equal(owners_bound(owners, &key, &row), 0);
	assert_int_equal(row.inode, at);
	while (!owners_bound(owners, &key, &row)) /* old entries are looked up again */
		usleep(50000);
	assert_int_equal(owners_bound(owners, &key, &row), -ENOENT);

	/* nothing is found in a namespace that cannot be read */
	key.netns = 2;
	assert_int_equal(owners_bound(owners, &key, &row), -EAGAIN);
	owners_tick(owners);
	assert_int_equal(owners_bound(owners, &key, &row), -ENOENT);
}
