/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control connection: TCP or a pair of pipes, one JSON object per line. Line length and waiting
 * times are bounded.
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

#define CONN_LINE 65536 /* bytes of a line, with its LF */

struct conn {
	int in, out;	   /* -1: not open */
	struct tls *tls;   /* NULL: unencrypted */
	bool shaken;	   /* handshake complete */
	size_t have, line; /* bytes read, and the length of the last returned line */
	char bytes[CONN_LINE];
};

/* Initialises with a connected socket (passed twice), or two pipes, which may be blocking. */
void conn_init(struct conn *c, int in, int out);

/*
 * Sets the TCP user timeout: the connection fails if the peer's kernel acknowledges nothing for
 * `ms`. A slow or stopped peer program does not matter: its kernel still acknowledges.
 */
void conn_patience(struct conn *c, unsigned ms);
void conn_close(struct conn *c);

struct token;

/*
 * Enables encryption after the handshake. Returns 0, or -ENOSYS: this build lacks TLS.
 * conn_handshake() returns the same values as handshake() above, but -ETIMEDOUT for -EAGAIN.
 */
int conn_secure(struct conn *c, const struct token *token, bool is_server);
int conn_handshake(struct conn *c, int timeout_ms);

/* Connects within `timeout_ms`. Returns a descriptor or -errno (-ETIMEDOUT: no answer). */
int conn_connect(const struct endpoint *to, int timeout_ms);

/* Listens at an address. [::] includes IPv4. Returns a descriptor or -errno. */
int conn_listen(const struct endpoint *at);

/* Converts a sockaddr_in or _in6 (`addr`), which may contain an IPv4-mapped address. */
void conn_endpoint(const void *addr, struct endpoint *ep);

/* Returns the address of one side, converting IPv4-mapped IPv6 to IPv4. Returns 0 or -errno. */
int conn_name(int fd, bool peer, struct endpoint *ep);

/*
 * Writes `msg` as a line and releases it. NULL writes an empty line. Returns 0, -EMSGSIZE if it
 * exceeds the line length, -ETIMEDOUT, or the connection's error (-EPIPE, -ECONNRESET).
 */
int conn_send(struct conn *c, struct json_object *msg, int timeout_ms);

/*
 * Waits for a line. *msg: an object owned by the caller. Returns 0, -ETIMEDOUT without a line,
 * -EPIPE if the peer closed, -EBADMSG if the line is not a JSON object of moderate depth: it is the
 * first c->line of c->bytes until the next call, or too long if c->line is 0.
 */
int conn_receive(struct conn *c, struct json_object **msg, int timeout_ms);

/*
 * Authorises clients of a server: they must hold the token, a pre-shared key of TLS 1.3. Data
 * received before the end of the handshake is not trusted, and later data cannot be read, changed
 * or replayed by third parties.
 */

#define TOKEN_MIN 32
#define TOKEN_MAX 256

struct token {
	uint8_t bytes[TOKEN_MAX];
	size_t len; /* 0: no token, any client is allowed, without encryption */
};

/*
 * Reads the first line of a file readable only by its owner, 32 to 256 bytes, else STATUS_USAGE.
 * Short tokens are refused, because a recorded handshake allows an offline guess.
 */
int token_read(struct token *token, const char *path, struct error *err);

/* Compares a string with the token, in constant time. */
bool token_is(const struct token *token, const char *said);

/*
 * Creates a token file with 32 random bytes, in hex. Does not overwrite an existing file: -EINVAL.
 */
int token_new(const char *path, struct error *err);

struct tls;

/* Requires a non-blocking descriptor. */
struct tls_ops {
	/* Returns 0 or -ENOMEM. */
	int (*open)(struct tls **t, int fd, const struct token *token, bool is_server);
	void (*close)(struct tls *t);
	/*
	 * Returns 0 when done, -EAGAIN: call again when poll() reports *events, -EACCES: different
	 * tokens, -EPROTO: the peer does not speak TLS, -EPIPE: the peer closed.
	 */
	int (*handshake)(struct tls *t, short *events);
	/* Like read() and write(). After EAGAIN, write the same data again. */
	ssize_t (*read)(struct tls *t, void *to, size_t n);
	ssize_t (*write)(struct tls *t, const void *from, size_t n);
	bool (*holds_more)(struct tls *t); /* has data that poll() does not report */
};

extern const struct tls_ops *const tls; /* NULL: built without TLS */

#endif
