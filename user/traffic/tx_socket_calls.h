/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the two senders by UDP sockets have in common: tx_socket.c and tx_socket_shaped.c. */
#ifndef PKTLEDGER_TRAFFIC_TX_SOCKET_CALLS_H
#define PKTLEDGER_TRAFFIC_TX_SOCKET_CALLS_H

#include <netinet/in.h>

#include "traffic/tx.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Of a flow's source or destination. Returns its length. */
socklen_t address_of(const struct flow *f, bool source, union address *a);

struct sender_socket {
	bool connected;
	bool shared;  /* several have the source port, and differ in the destination only */
	bool foreign; /* the source address need not be this host's */
};

/*
 * A socket for the 5-tuple of `f` as `cfg` asks for it: buffer, TTL, TOS, GSO. Returns it or
 * -errno.
 */
int sender_socket(const struct tx_config *cfg, const struct flow *f,
		  const struct sender_socket *kind, struct error *err);

/* SO_SNDBUF as it is. */
int sender_socket_room(int fd);

/*
 * Waits while the send buffer of `room` bytes is half full or more, as poll() means "writable".
 * False: it still is, after a while.
 */
bool wait_for_room(int fd, int room, struct tx_stats *stats);

/* Sends that failed in a row. */
struct failures {
	unsigned n;
	int error;
};

/* A send failed so. Returns 0, or -errno if going on makes no sense. */
int note_failure(struct failures *f, int error, struct error *err);

#endif
