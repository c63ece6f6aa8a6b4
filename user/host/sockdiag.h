/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A namespace's UDP and AF_XDP sockets and TCP listeners, with their queues and losses, from
 * sock_diag. Requires CONFIG_INET_UDP_DIAG, _TCP_DIAG and CONFIG_XDP_SOCKETS_DIAG. In Debian these
 * are modules that are loaded on demand (except for the second on 6.1, see files_open_xsk() in
 * drops/owners.h).
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
	uint64_t cookie;     /* 0: unknown */
	int family;	     /* AF_INET or AF_INET6 */
	uint8_t address[16]; /* local, IPv4 in the first four bytes, not set by sockmem_files() */
	uint16_t port;	     /* local port, host order */
	bool connected;	     /* to a single peer */
	uint8_t peer[16];    /* peer address, same format as `address` */
	uint16_t peer_port;  /* peer port, host order */
	uint32_t rmem;	     /* bytes, truesize of queued packets */
	uint32_t rcvbuf;     /* bytes, as getsockopt(SO_RCVBUF) returns it, 0: unknown, as for
			      * sndbuf */
	uint32_t sndbuf;
	uint32_t drops; /* sk_drops, modulo 2^32 */
	/* Of a listener: connections in its accept queue, and the maximum (it holds one more). */
	uint32_t waiting, room;
	bool md5; /* it has keys for TCP MD5 (RFC 2385), always false without CAP_NET_ADMIN */
};

typedef void (*sockmem_cb)(void *arg, const struct sockmem_row *row);

/*
 * Calls `each` for the UDP sockets of one family (AF_UNSPEC: both) in the namespace. `port` 0 means
 * all ports. Returns 0 or -errno (-ENOENT: the kernel lacks udp_diag).
 */
int sockmem_udp(const struct netns *ns, int family, uint16_t port, sockmem_cb each, void *arg);

/*
 * Calls `each` for the TCP sockets in these states (bits, 1 << TCP_LISTEN). Of half-open connections
 * (TCP_SYN_RECV) only addresses and ports are set. Returns 0 or -errno, as sockmem_udp().
 */
int sockmem_tcp(const struct netns *ns, uint32_t states, sockmem_cb each, void *arg);

/*
 * Reads both families from /proc/net/udp and udp6, for kernels that lack udp_diag. Returns 0 or
 * -errno.
 */
int sockmem_files(const struct netns *ns, sockmem_cb each, void *arg);

/*
 * Parses the text of /proc/net/udp or udp6. A pure function, like the parsers in host/counters.h.
 */
void sockmem_parse(const char *text, size_t len, int family, sockmem_cb each, void *arg);

/*
 * Lists the namespace's bound AF_XDP sockets. The caller frees *list. Returns the number of
 * sockets, -EOPNOTSUPP if this kernel has no xsk_diag, or -errno.
 */
int xsk_diag_read(const struct netns *ns, struct xsk_info **list);

/*
 * Counts the AF_XDP sockets in `ns`, bound or not (from /proc/net/protocols). Returns -errno on
 * failure.
 */
int xsk_count(const struct netns *ns);

#endif
