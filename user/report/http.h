/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers scrapes, GET /metrics, and people, GET /, by libmicrohttpd, in the thread that calls. A
 * connection is for one request and ends after ten seconds, whatever its client does; of too many
 * the oldest. So a page that is live asks again for each state: /live is a stream of server-sent
 * events that ends after one, which has the time after which the browser comes again.
 *
 * Who listens on loopback only is not to be reached by a name of somebody else's (DNS rebinding):
 * then Host has to be an address, or localhost.
 */
#ifndef PKTLEDGER_REPORT_HTTP_H
#define PKTLEDGER_REPORT_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/num.h"
#include "experiment/conn.h"
#include "monitor/metrics.h"

#define HTTP_CONNECTIONS 64

struct http;

struct http_spec {
	struct endpoint listen;
	const char *cert, *key; /* files, PEM: by TLS; NULL: in the clear */
	/* Who is answered: whoever has it, as Bearer (RFC 6750) or as the password of Basic (RFC
	 * 7617), which browsers ask people for. len 0: everybody. */
	struct token token;
	/* Before an answer is made, of metrics also if it is taken from memory; it may call
	 * http_forget(). */
	void (*before)(void *arg);
	/* The metrics, to be freed; NULL: they cannot be read, and 503 is answered. */
	char *(*text)(void *arg, enum expose_format format, size_t *len);
	/* The page, or only what changes of it, to be freed; NULL as of text(). Once a second. */
	char *(*page)(void *arg, bool all, size_t *len);
	void *arg;
};

/*
 * Listens. STATUS_FAILED; STATUS_USAGE: no certificate and its key; STATUS_UNABLE: the port needs a
 * capability, or this build has no TLS.
 */
int http_open(struct http **h, const struct http_spec *spec, struct error *err);
void http_close(struct http *h); /* NULL is allowed */

/* Readable: there is something to be done by http_run(). */
int http_fd(const struct http *h);

/* Does what can be done without waiting; also to be called some times a second. */
void http_run(struct http *h);

/* The metrics are no longer those that were answered before. */
void http_forget(struct http *h);

/*
 * The format that a request asks for by its field Accept (RFC 9110, 12.5.1); NULL: it has none.
 * OpenMetrics if that is named with a q that is not 0, whatever other types are worth; else text.
 */
enum expose_format http_accept(const char *header);

#endif
