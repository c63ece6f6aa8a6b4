/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the socket engine works, beyond what every engine is told. All 0: as a plain program does. */
#ifndef PKTLEDGER_TRAFFIC_SOCKET_H
#define PKTLEDGER_TRAFFIC_SOCKET_H

#include <stdbool.h>

#include "base/err.h"
#include "base/num.h"

#define SOCKET_SEGMENTS 64 /* UDP_MAX_SEGMENTS before Linux 6.9 */

struct socket_send {
	bool gso;     /* UDP_SEGMENT: many datagrams in one message, one skb down to the device */
	bool no_wait; /* a full send buffer refuses instead of being waited for */
	bool unconnected;   /* every message carries its address, and is routed on its own */
	const char *device; /* to leave by, whatever the routes say; NULL: as routed */
};

struct socket_receive {
	bool gro;	       /* UDP_GRO: merged datagrams come up as one message */
	unsigned busy_poll_us; /* SO_BUSY_POLL; 0: off */
	struct endpoint group; /* multicast group to join; family 0: none */
	const char *device;    /* to take packets from; NULL: any */
};

/*
 * How many datagrams of `payload` bytes one UDP_SEGMENT message holds, 1 .. SOCKET_SEGMENTS: all of
 * them together are one IP packet until they are cut.
 */
unsigned socket_segments(int family, unsigned payload);

/* Binds a socket to a device (SO_BINDTODEVICE); NULL: leaves it as it is. Returns 0 or -errno. */
int socket_bind_device(int fd, const char *device, struct error *err);

#endif
