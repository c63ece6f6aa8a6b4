/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control connection: TCP, or a pair of pipes; a JSON object a line. A line has a bounded
 * length, and whoever waits for one does so for a bounded time.
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

#define CONN_LINE 65536 /* bytes of a line, its LF included */

struct conn {
	int in, out;	   /* -1: none */
	struct tls *tls;   /* NULL: in the clear */
	bool shaken;	   /* its handshake is done */
	size_t have, line; /* bytes read; of them those of the line given last */
	char bytes[CONN_LINE];
};

/*
 * Takes the descriptor of a connected socket, twice, or those of two pipes, which may be blocking.
 */
void conn_init(struct conn *c, int in, int out);

/*
 * Over TCP: the connection is lost when the kernel of the other host has confirmed nothing for so
 * long. A program there that is slow or stopped does not count: its kernel still confirms.
 */
void conn_patience(struct conn *c, unsigned ms);
void conn_close(struct conn *c);

struct token;

/*
 * What follows is encrypted, after the handshake: 0; -ENOSYS: this build has no TLS.
 * conn_handshake() returns as handshake() above does, but for -EAGAIN -ETIMEDOUT.
 */
int conn_secure(struct conn *c, const struct token *token, bool is_server);
int conn_handshake(struct conn *c, int timeout_ms);

/* Connects within `timeout_ms`. Returns a descriptor or -errno (-ETIMEDOUT: nobody answers). */
int conn_connect(const struct endpoint *to, int timeout_ms);

/* Listens at an address; [::] is all, of IPv4 too. Returns a descriptor or -errno. */
int conn_listen(const struct endpoint *at);

/* Of a sockaddr_in or _in6 (`addr`), which may be an IPv4 address as IPv6 has it. */
void conn_endpoint(const void *addr, struct endpoint *ep);

/* The address of a side, IPv4 also where it came as an IPv6 address. 0 or -errno. */
int conn_name(int fd, bool peer, struct endpoint *ep);

/*
 * Writes `msg`, which is taken, as a line; NULL: an empty one. 0; -EMSGSIZE: it is longer than a
 * line may be; -ETIMEDOUT, or what the connection died of (-EPIPE, -ECONNRESET).
 */
int conn_send(struct conn *c, struct json_object *msg, int timeout_ms);

/*
 * Waits for a line. *msg: an object, the caller's. 0; -ETIMEDOUT: none has come; -EPIPE: the other
 * side has closed; -EBADMSG: the line is no JSON object of moderate depth, and is the first
 * c->line of c->bytes until the next call; or it is too long, and c->line is 0.
 */
int conn_receive(struct conn *c, struct json_object **msg, int timeout_ms);

/*
 * Who may use a server: whoever knows the token, a pre-shared key of TLS 1.3. Nothing before the
 * handshake's end is taken for what it says, and nothing that follows can be read, changed or sent
 * again by others.
 */

#define TOKEN_MIN 32
#define TOKEN_MAX 256

struct token {
	uint8_t bytes[TOKEN_MAX];
	size_t len; /* 0: none, everybody may, and nothing is encrypted */
};

/*
 * The first line of a file that only its owner may read, 32 to 256 bytes; else STATUS_USAGE. Short
 * ones are refused: whoever has seen a handshake can try them at home.
 */
int token_read(struct token *token, const char *path, struct error *err);

/* Whether what was said is the token. It takes as long whatever byte of it is wrong. */
bool token_is(const struct token *token, const char *said);

/* Makes such a file with 32 random bytes, in hex; one that is there is left as it is: -EINVAL. */
int token_new(const char *path, struct error *err);

struct tls;

/* On a descriptor that does not block. */
struct tls_ops {
	/* 0 or -ENOMEM. */
	int (*open)(struct tls **t, int fd, const struct token *token, bool is_server);
	void (*close)(struct tls *t);
	/*
	 * 0: done; -EAGAIN: when poll() reports *events; -EACCES: they have not the same token;
	 * -EPROTO: the other side speaks no TLS; -EPIPE: it is gone.
	 */
	int (*handshake)(struct tls *t, short *events);
	/* As those of POSIX are; what is written again after EAGAIN has to be the same. */
	ssize_t (*read)(struct tls *t, void *to, size_t n);
	ssize_t (*write)(struct tls *t, const void *from, size_t n);
	bool (*holds_more)(struct tls *t); /* that poll() does not know of */
};

extern const struct tls_ops *const tls; /* NULL: built without */

#endif
