/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets in the namespaces of a lab. */
#ifndef PKTLEDGER_TESTS_BPF_SOCKETS_H
#define PKTLEDGER_TESTS_BPF_SOCKETS_H

#include <sys/socket.h>

#include "host/netns.h"

static inline int socket_in(const struct netns *ns, int domain, int type, int protocol)
{
	int saved = netns_push(ns), fd;

	assert_true(saved >= 0);
	fd = socket(domain, type | SOCK_CLOEXEC, protocol);
	netns_pop(saved);
	assert_true(fd >= 0);
	return fd;
}

#endif
