/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control connection, either TCP or a pair of pipes, carries one JSON object per line. Line
 * length and waiting times are bounded.
 */
#ifndef PKTLEDGER_EXPERIMENT_CONN_H
#define PKTLEDGER_EXPERIMENT_CONN_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/num.h"

#define CONN_LINE 65536 /* bytes in a line, including its LF */

struct conn {
	int in, out;	   /* -1: not open */
	struct tls *tls;   /* NULL: not encrypted */
	size_t have, line; /* bytes read, and the length of the last line returned */
	char bytes[CONN_LINE];
};

/*
 * Initialises the connection with a connected socket (passed twice) or two pipes, which may be
 * blocking.
 */
void conn_init(struct conn *c, int in, int out);

/*
 * Sets the TCP user timeout, so that the connection fails if the peer's kernel acknowledges nothing
 * for `ms`, neither data nor the probes that are sent while the connection is idle. A slow or
 * stopped peer program does not matter, because its kernel still acknowledges them.
 */
void conn_patience(struct conn *c, unsigned ms);
void conn_close(struct conn *c);

struct token;

/*
 * Enables encryption after the handshake. Returns 0, or -ENOSYS if this build lacks TLS.
 * conn_handshake() returns the same values as handshake() above, but -ETIMEDOUT instead of -EAGAIN.
 */
int conn_secure(struct conn *c, const struct token *token, bool is_server);
int conn_handshake(struct conn *c, int timeout_ms);

/*
 * Explains why a connection failed or ended (-errno). `hint` (may be NULL) is set to advice for the
 * user of a client, or to NULL.
 */
const char *conn_why(int rc, const char **hint);

/*
 * Connects within `timeout_ms`. Returns a descriptor or -errno (-ETIMEDOUT if there is no answer).
 */
int conn_connect(const struct endpoint *to, int timeout_ms);

/* Listens on an address. [::] includes IPv4. Returns a descriptor or -errno. */
int conn_listen(const struct endpoint *at);

/* Converts a sockaddr_in or sockaddr_in6 (`addr`), which may contain an IPv4-mapped address. */
void conn_endpoint(const void *addr, struct endpoint *ep);

/* Returns the address of one side and converts IPv4-mapped IPv6 to IPv4. Returns 0 or -errno. */
int conn_name(int fd, bool peer, struct endpoint *ep);

/*
 * Writes `msg` as a line and releases it. NULL writes an empty line. Returns 0, -EMSGSIZE if the
 * line would be too long, -ETIMEDOUT, or the connection's error (-EPIPE, -ECONNRESET).
 */
int conn_send(struct conn *c, struct json_object *msg, int timeout_ms);

/*
 * Waits for a line. The caller owns the object in *msg. Returns 0, -ETIMEDOUT if no line arrives,
 * -EPIPE if the peer closed the connection, or -EBADMSG if the line is not a JSON object of
 * moderate depth. A bad line stays in the first c->line bytes of c->bytes until the next call. If
 * c->line is 0, the line was too long.
 */
int conn_receive(struct conn *c, struct json_object **msg, int timeout_ms);

/*
 * Authorises a server's clients, which must hold the token, a pre-shared key for TLS 1.3. Data
 * received before the end of the handshake is not trusted. Third parties cannot read, change or
 * replay later data.
 */

#define TOKEN_MIN 32
#define TOKEN_MAX 256

struct token {
	uint8_t bytes[TOKEN_MAX];
	size_t len; /* 0: no token, any client is allowed, not encrypted */
};

/*
 * Reads the first line, of 32 to 256 bytes, from a file that only its owner can read. Otherwise
 * fails with STATUS_USAGE. Refuses short tokens, because they could be guessed offline from a
 * recorded handshake.
 */
int token_read(struct token *token, const char *path, struct error *err);

/* Compares a string with the token, in constant time. */
bool token_is(const struct token *token, const char *said);

/*
 * Creates a token file with 32 random bytes in hex. Returns -EINVAL instead of overwriting an
 * existing file.
 */
int token_new(const char *path, struct error *err);

struct tls;

/* Requires a non-blocking descriptor. */
struct tls_ops {
	/* Returns 0 or -ENOMEM. */
	int (*open)(struct tls **t, int fd, const struct token *token, bool is_server);
	void (*close)(struct tls *t);
	/*
	 * Returns 0 when done, -EAGAIN if it must be called again when poll() reports *events,
	 * -EACCES if the tokens differ, -EPROTO if the peer does not speak TLS, or -EPIPE if the
	 * peer closed the connection.
	 */
	int (*handshake)(struct tls *t, short *events);
	/* Work like read() and write(). After EAGAIN, write the same data again. */
	ssize_t (*read)(struct tls *t, void *to, size_t n);
	ssize_t (*write)(struct tls *t, const void *from, size_t n);
	bool (*holds_more)(struct tls *t); /* holds data that poll() does not report */
};

extern const struct tls_ops *const tls; /* NULL if built without TLS */

#endif
