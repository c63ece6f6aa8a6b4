/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control connection of two hosts: TCP, a JSON object a line. A line has a bounded length, and
 * whoever waits for one does so for a bounded time.
 */
#ifndef PKTLEDGER_EXPERIMENT_CONN_H
#define PKTLEDGER_EXPERIMENT_CONN_H

#include <json-c/json.h>
#include <stddef.h>

#include "base/num.h"

#define CONN_LINE 65536 /* bytes of a line, its LF included */

struct conn {
	int fd;		   /* -1: none */
	size_t have, line; /* bytes read; of them those of the line given last */
	char bytes[CONN_LINE];
};

/* Takes the descriptor of a connected socket. */
void conn_init(struct conn *c, int fd);
void conn_close(struct conn *c);

/*
 * Connects within `timeout_ms`. Returns a descriptor or -errno (-ETIMEDOUT: nobody answers).
 */
int conn_connect(const struct endpoint *to, int timeout_ms);

/* Listens at a port on all addresses, IPv4 and IPv6. Returns a descriptor or -errno. */
int conn_listen(uint16_t port);
/* The same at an address; [::] is all of both. */
int conn_listen_at(const struct endpoint *at);

/* The address of the other side, IPv4 also where it came as an IPv6 address. 0 or -errno. */
int conn_peer(int fd, struct endpoint *ep);
/* The same of this side. */
int conn_self(int fd, struct endpoint *ep);

/*
 * Writes `msg`, which is taken, as a line. 0; -EMSGSIZE: it is longer than a line may be;
 * -ETIMEDOUT, or what the connection died of (-EPIPE, -ECONNRESET).
 */
int conn_send(struct conn *c, struct json_object *msg, int timeout_ms);

/*
 * Waits for a line. *msg: an object, the caller's. 0; -ETIMEDOUT: none has come; -EPIPE: the other
 * side has closed; -EBADMSG: the line is too long, or is no JSON object of moderate depth.
 */
int conn_receive(struct conn *c, struct json_object **msg, int timeout_ms);

#endif
