/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A lab of two namespaces for a group of tests, and sockets in it. */
#ifndef PKTLEDGER_TESTS_BPF_PAIR_H
#define PKTLEDGER_TESTS_BPF_PAIR_H

#include <arpa/inet.h>
#include <sys/socket.h>

#include "host/lab.h"

static struct lab lab;

static inline int open_lab(void **state)
{
	const struct lab_spec spec = {.topology = LAB_PAIR};
	struct error err = {};

	(void)state;
	if (!lab_open(&lab, &spec, &err))
		return 0;
	print_error("%s\n", err.message);
	return -1;
}

static inline int close_lab(void **state)
{
	(void)state;
	lab_close(&lab);
	return 0;
}

static inline int socket_in(const struct netns *ns, int domain, int type, int protocol)
{
	int saved = netns_push(ns), fd;

	assert_true(saved >= 0);
	fd = socket(domain, type | SOCK_CLOEXEC, protocol);
	netns_pop(saved);
	assert_true(fd >= 0);
	return fd;
}

static inline int bound_in(const struct netns *ns, uint16_t port)
{
	const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket_in(ns, AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (const void *)&at, sizeof(at)), 0);
	return fd;
}

#endif
