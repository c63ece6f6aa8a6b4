/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The UDP and AF_XDP sockets of a namespace: their queues and what they lost, by sock_diag, which
 * needs CONFIG_INET_UDP_DIAG and CONFIG_XDP_SOCKETS_DIAG: in Debian modules that are loaded when
 * they are asked for (not the second one of 6.1; see files_open_xsk() in drops/owners.h).
 */
#ifndef PKTLEDGER_HOST_SOCKDIAG_H
#define PKTLEDGER_HOST_SOCKDIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/netns.h"
#include "survey_abi.h"

struct sockmem_row {
	uint64_t inode;	     /* 0: closed */
	uint64_t cookie;     /* 0: not known */
	int family;	     /* AF_INET or AF_INET6 */
	uint8_t address[16]; /* local; IPv4: the first four bytes; not from the files */
	uint16_t port;	     /* local, host order */
	bool connected;	     /* to one peer, */
	uint8_t peer[16];    /* which is this, as `address`, */
	uint16_t peer_port;  /* in host order */
	uint32_t rmem;	     /* truesize waiting */
	uint32_t rcvbuf;     /* as getsockopt(SO_RCVBUF) has it; 0: not known, as is the next */
	uint32_t sndbuf;
	uint32_t drops; /* sk_drops, modulo 2^32 */
};

typedef void (*sockmem_cb)(void *arg, const struct sockmem_row *row);

/*
 * Calls `each` for the UDP sockets of a family (AF_UNSPEC: of both) in the namespace; `port` 0: on
 * all ports. 0 or -errno (-ENOENT: the kernel has no udp_diag).
 */
int sockmem_udp(const struct netns *ns, int family, uint16_t port, sockmem_cb each, void *arg);

/* The same of both families by /proc/net/udp and udp6, for kernels without it. 0 or -errno. */
int sockmem_files(const struct netns *ns, sockmem_cb each, void *arg);

/* The text of such a file. Pure; as the parsers of host/counters.h. */
void sockmem_parse(const char *text, size_t len, int family, sockmem_cb each, void *arg);

/*
 * The AF_XDP sockets of the namespace, bound ones only. *list is to be freed. Returns how many,
 * -EOPNOTSUPP if this kernel does not have it, or -errno.
 */
int xsk_diag_read(const struct netns *ns, struct xsk_info **list);

/* How many AF_XDP sockets there are in `ns` (/proc/net/protocols), bound or not; or -errno. */
int xsk_count(const struct netns *ns);

#endif
