/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queues of the UDP sockets of a namespace, by sock_diag (udp_diag_dump(), SK_MEMINFO). It needs
 * CONFIG_INET_UDP_DIAG, in Debian a module that is loaded when it is asked for.
 */
#ifndef PKTLEDGER_HOST_SOCKMEM_H
#define PKTLEDGER_HOST_SOCKMEM_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"

struct sockmem;

struct sockmem_row {
	uint64_t inode;	     /* 0: closed */
	int family;	     /* AF_INET or AF_INET6 */
	uint8_t address[16]; /* local; IPv4: the first four bytes */
	uint16_t port;	     /* local, host order */
	bool connected;	     /* to one peer */
	uint32_t rmem;	     /* truesize waiting */
	uint32_t rcvbuf;     /* as getsockopt(SO_RCVBUF) tells it */
	uint32_t drops;	     /* sk_drops, modulo 2^32 */
};

/* A socket to ask with, in the namespace. 0 or -errno. */
int sockmem_open(struct sockmem **s, const struct netns *ns);
void sockmem_close(struct sockmem *s); /* NULL is allowed */

/*
 * Calls `each` for the sockets of a family; `port` 0: on all ports. 0 or -errno (-ENOENT: the
 * kernel has no udp_diag).
 */
int sockmem_udp(struct sockmem *s, int family, uint16_t port,
		void (*each)(void *arg, const struct sockmem_row *row), void *arg);

#endif
