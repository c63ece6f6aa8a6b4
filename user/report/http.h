/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HTTP server for scrapes (GET /metrics) and browsers (GET /), based on libmicrohttpd, run in the
 * caller's thread. A connection serves one request and is closed after ten seconds at the latest.
 * If there are too many connections, the oldest is closed. The script of the page asks for each state
 * separately: /live is JSON.
 *
 * A server that listens on loopback must not be reachable under a foreign name (DNS rebinding), so
 * Host must be an address or localhost.
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
	const char *cert, *key; /* PEM files for TLS, NULL: no TLS */
	/* Token that clients must send, as Bearer (RFC 6750) or as the password of Basic (RFC
	 * 7617), which browsers ask the user for. len 0: no authentication. */
	struct token token;
	/* Called before each response, even if the metrics are cached. May call http_forget(). */
	void (*before)(void *arg);
	/* Returns the metrics, freed by the server. NULL: not readable, answered with 503. */
	char *(*text)(void *arg, enum expose_format format, size_t *len);
	/* Returns the page (`all`) or its state as JSON, freed by the server. NULL as in text().
	 * Called at most once per second. */
	char *(*page)(void *arg, bool all, size_t *len);
	void *arg;
};

/*
 * Starts listening. STATUS_FAILED: cannot listen. STATUS_USAGE: certificate and key do not match or
 * are invalid. STATUS_UNABLE: the port requires a capability, or this build has no TLS.
 */
int http_open(struct http **h, const struct http_spec *spec, struct error *err);
void http_close(struct http *h); /* NULL is allowed */

/* Returns a descriptor for poll(). Readable: call http_run(). */
int http_fd(const struct http *h);

/* Serves pending requests without waiting. Also call it several times per second. */
void http_run(struct http *h);

/* Discards the cached metrics. */
void http_forget(struct http *h);

/*
 * Returns the response format selected by an Accept header (RFC 9110, 12.5.1), which may be NULL.
 * OpenMetrics if it is listed with a q other than 0, whatever the q of other types, else text.
 */
enum expose_format http_accept(const char *header);

#endif
