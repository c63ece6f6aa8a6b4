/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UDP sockets by the address they are bound to: for kernels that do not show the socket that
 * dropped a packet (before 6.11), only where the packet went.
 */
#ifndef PKTLEDGER_DROPS_PORTS_H
#define PKTLEDGER_DROPS_PORTS_H

#include <stdint.h>

#include "host/netns.h"

struct ports;

struct ports_key {
	uint32_t netns;	     /* inode number */
	int family;	     /* of the packet, AF_INET or AF_INET6 */
	uint16_t port;	     /* host order */
	uint8_t address[16]; /* IPv4: the first four bytes */
};

struct ports_row {
	uint64_t inode;	 /* of the socket */
	uint32_t rcvbuf; /* as getsockopt(SO_RCVBUF) has it; 0: unknown */
};

/* NULL: no memory. */
struct ports *ports_new(void);
void ports_free(struct ports *p); /* NULL is allowed */

/*
 * The socket that packets to this address come to: the one bound to it, else one bound to any
 * address; an IPv6 socket may take IPv4. 0; -ENOENT: none, or several that are equally good
 * (SO_REUSEPORT); -EAGAIN: to be looked up with ports_look_up().
 */
int ports_find(struct ports *p, const struct ports_key *key, uint64_t now_ns,
	       struct ports_row *out);

/*
 * Looks up in the namespace what was asked since. `ns` NULL: the thread's. What cannot be looked up
 * is not found. 0 or -errno.
 */
int ports_look_up(struct ports *p, uint32_t netns, const struct netns *ns, uint64_t now_ns);

/* The namespace cannot be entered: nothing is found in it. */
void ports_give_up(struct ports *p, uint32_t netns, uint64_t now_ns);

/* A namespace in which something is to be looked up; 0: none. */
uint32_t ports_wanted(const struct ports *p);

#endif
