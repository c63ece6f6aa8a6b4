/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers scrapes: GET /metrics, by libmicrohttpd, in the thread that calls. A connection is for
 * one request and ends after ten seconds, whatever its client does; of too many the oldest.
 */
#ifndef PKTLEDGER_REPORT_HTTP_H
#define PKTLEDGER_REPORT_HTTP_H

#include <stddef.h>

#include "base/err.h"
#include "base/num.h"
#include "monitor/metrics.h"

#define HTTP_CONNECTIONS 64

struct http;

struct http_spec {
	struct endpoint listen;
	/* Before an answer is made or taken from memory; it may call http_forget(). */
	void (*before)(void *arg);
	/* The metrics, to be freed; NULL: they cannot be read, and 503 is answered. */
	char *(*text)(void *arg, enum expose_format format, size_t *len);
	void *arg;
};

/* Listens. STATUS_FAILED; STATUS_UNABLE: the port needs a capability. */
int http_open(struct http **h, const struct http_spec *spec, struct error *err);
void http_close(struct http *h); /* NULL is allowed */

/* Readable: there is something to be done by http_run(). */
int http_fd(const struct http *h);

/* Does what can be done without waiting; also to be called some times a second. */
void http_run(struct http *h);

/* The answers are no longer those that were made before. */
void http_forget(struct http *h);

/*
 * The format that a request asks for by its field Accept (RFC 9110, 12.5.1); NULL: it has none. Of
 * those with the same weight OpenMetrics is taken if it is named; who accepts neither gets text.
 */
enum expose_format http_accept(const char *header);

#endif
