// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/conn.h"

#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/watch.h"

#define DEPTH	8
#define BACKLOG 128
#define LOOK_MS 50 /* ms between checks for a signal */

void conn_init(struct conn *c, int in, int out)
{
	int on = 1;

	c->in = in;
	c->out = out;
	c->tls = NULL;
	c->have = c->line = 0;
	setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void conn_patience(struct conn *c, unsigned ms)
{
	const int on = 1, second = 1;

	setsockopt(c->out, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	/* probes, while the connection waits for an answer and has sent nothing else */
	setsockopt(c->out, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(c->out, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof(second));
	setsockopt(c->out, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof(second));
}

void conn_close(struct conn *c)
{
	if (c->tls)
		tls->close(c->tls);
	c->tls = NULL;
	if (c->out != c->in)
		fd_close(&c->out);
	fd_close(&c->in);
	c->out = -1;
}

/*
 * Returns 0 when the connection is ready or has an error, -ETIMEDOUT, or -errno. Checks for signals
 * even if the peer never stops sending.
 */
static int await(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		uint64_t now = clock_now();
		uint64_t left = now < deadline_ns ? deadline_ns - now : 0;
		int ms = left < LOOK_MS * 1000000ULL ? (int)((left + 999999) / 1000000) : LOOK_MS;
		int n;

		watch_look();
		n = poll(&p, 1, ms);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n && !left)
			return -ETIMEDOUT;
	}
}

static uint64_t deadline(int timeout_ms)
{
	return clock_now() + (uint64_t)timeout_ms * 1000000;
}

const char *conn_why(int rc, const char **hint)
{
	static const struct {
		int rc;
		const char *why, *hint;
	} known[] = {
		{-ETIMEDOUT, "it does not answer", NULL},
		{-ECONNREFUSED, "nobody listens there", NULL},
		{-EBADMSG, "it does not speak the protocol of pktledger", NULL},
		{-EPIPE, "it closed the connection", "if it wants a token, give it: --token-file"},
		{-ECONNRESET, "it closed the connection", NULL},
		{-EACCES, "it has a different token", "give both the same --token-file"},
		{-EPROTO, "it speaks no TLS",
		 "start it with --token-file, or leave the token out here too"},
		{-EPROTONOSUPPORT, "a different protocol version", NULL},
		{-ENOSYS, "this build has no TLS", "go by ssh: --to USER@HOST"},
	};
	size_t i = 0;

	while (i < LENGTH(known) && known[i].rc != rc)
		i++;
	if (hint)
		*hint = i < LENGTH(known) ? known[i].hint : NULL;
	return i < LENGTH(known) ? known[i].why : strerror(-rc);
}

int conn_secure(struct conn *c, const struct token *token, bool is_server)
{
	return tls ? tls->open(&c->tls, c->in, token, is_server) : -ENOSYS;
}

int conn_handshake(struct conn *c, int timeout_ms)
{
	const uint64_t until = deadline(timeout_ms);
	short events;
	int rc;

	do {
		rc = tls->handshake(c->tls, &events);
		if (rc != -EAGAIN)
			return rc;
		rc = await(c->in, events, until);
	} while (!rc && clock_now() < until);
	return rc ? rc : -ETIMEDOUT;
}

int conn_connect(const struct endpoint *to, int timeout_ms)
{
	struct sockaddr_storage addr;
	socklen_t len = socket_address(to, &addr), size = sizeof(int);
	int fd = socket(to->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc, error = 0;

	if (fd < 0)
		return -errno;
	rc = connect(fd, (void *)&addr, len) ? -errno : 0;
	if (rc == -EINPROGRESS) {
		rc = await(fd, POLLOUT, deadline(timeout_ms));
		if (!rc && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
			rc = -errno;
		if (!rc)
			rc = -error;
	}
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int conn_listen(const struct endpoint *at)
{
	struct sockaddr_storage addr;
	socklen_t len = socket_address(at, &addr);
	int fd = socket(at->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0, rc = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (void *)&addr, len) || listen(fd, BACKLOG))
		rc = -errno;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

void conn_endpoint(const void *addr, struct endpoint *ep)
{
	*ep = num_endpoint_from(addr);
	if (ep->family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&ep->ip6))
		*ep = num_endpoint_of(AF_INET, &ep->ip6.s6_addr32[3], ep->port);
}

int conn_name(int fd, bool peer, struct endpoint *ep)
{
	struct sockaddr_in6 addr = {}; /* or another message type, which is shorter */
	socklen_t len = sizeof(addr);

	if (peer ? getpeername(fd, (void *)&addr, &len) : getsockname(fd, (void *)&addr, &len))
		return -errno;
	conn_endpoint(&addr, ep);
	return 0;
}

/*
 * Never blocks, whatever the flags of an inherited, shared descriptor. Writes no more than poll()
 * guarantees to fit in a pipe.
 */
static ssize_t put(struct conn *c, const char *bytes, size_t n)
{
	ssize_t done;

	if (c->tls)
		return tls->write(c->tls, bytes, n);
	done = send(c->out, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	return done < 0 && errno == ENOTSOCK ? write(c->out, bytes, n < PIPE_BUF ? n : PIPE_BUF)
					     : done;
}

static int write_all(struct conn *c, const char *bytes, size_t n, uint64_t until)
{
	while (n) {
		int rc = await(c->out, POLLOUT, until);
		ssize_t done = rc ? -1 : put(c, bytes, n);

		if (rc)
			return rc;
		if (done < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

int conn_send(struct conn *c, struct json_object *msg, int timeout_ms)
{
	char line[CONN_LINE];
	size_t len = 0;
	const char *text =
		msg ? json_object_to_json_string_length(msg, JSON_C_TO_STRING_PLAIN, &len) : "";
	int rc = len < sizeof(line) ? 0 : -EMSGSIZE;

	if (!rc) {
		memcpy(line, text, len);
		line[len] = '\n';
		rc = write_all(c, line, len + 1, deadline(timeout_ms));
	}
	json_object_put(msg);
	return rc;
}

int conn_receive(struct conn *c, struct json_object **msg, int timeout_ms)
{
	uint64_t until = deadline(timeout_ms);

	memmove(c->bytes, c->bytes + c->line, c->have - c->line);
	c->have -= c->line;
	c->line = 0;
	for (;;) {
		const char *end = memchr(c->bytes, '\n', c->have);
		ssize_t n;
		int rc;

		if (end) {
			c->line = (size_t)(end - c->bytes) + 1;
			*msg = json_parse(c->bytes, c->line, DEPTH);
			return *msg ? 0 : -EBADMSG;
		}
		if (c->have == sizeof(c->bytes))
			return -EBADMSG;
		rc = c->tls && tls->holds_more(c->tls) ? 0 : await(c->in, POLLIN, until);
		if (rc)
			return rc;
		n = c->tls ? tls->read(c->tls, c->bytes + c->have, sizeof(c->bytes) - c->have)
			   : read(c->in, c->bytes + c->have, sizeof(c->bytes) - c->have);
		if (n > 0)
			c->have += (size_t)n;
		else if (!n)
			return -EPIPE;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}
