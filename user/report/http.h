/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HTTP server for scrapes (GET /metrics) and browsers (GET /). It uses libmicrohttpd and runs in
 * the caller's thread. Each connection serves one request and is closed within ten seconds. If
 * there are too many connections, the oldest is closed. The page's script polls /live, which
 * returns the current state as JSON.
 *
 * To prevent DNS rebinding, a server that listens on loopback accepts only an address or localhost
 * in the Host header.
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
	const char *cert, *key; /* PEM files for TLS, or NULL */
	/*
	 * Token that clients must send, either as Bearer (RFC 6750) or as the Basic password (RFC
	 * 7617), which browsers prompt for. len 0: no authentication.
	 */
	struct token token;
	/* Called before every response, even if the metrics are cached. May call http_forget(). */
	void (*before)(void *arg);
	/*
	 * Returns the metrics, which the server frees. Returning NULL makes the server answer 503.
	 */
	char *(*text)(void *arg, enum expose_format format, size_t *len);
	/*
	 * Returns the page (`all`) or its state as JSON, which the server frees. NULL is handled as
	 * for text(). Called at most once per second.
	 */
	char *(*page)(void *arg, bool all, size_t *len);
	void *arg;
};

/*
 * Starts listening. STATUS_FAILED: cannot listen. STATUS_USAGE: the certificate and key are invalid
 * or do not match. STATUS_UNABLE: the port requires a capability, or this build lacks TLS.
 */
int http_open(struct http **h, const struct http_spec *spec, struct error *err);
void http_close(struct http *h); /* `h` may be NULL */

/* Returns a descriptor to poll(). When it is readable, call http_run(). */
int http_fd(const struct http *h);

/* Serves pending requests without blocking. Must also be called several times per second. */
void http_run(struct http *h);

/* Discards the cached metrics. */
void http_forget(struct http *h);

/*
 * Returns the response format selected by an Accept header (RFC 9110, 12.5.1), which may be NULL:
 * OpenMetrics if the header lists it with a nonzero q, regardless of other types. Otherwise it is
 * text.
 */
enum expose_format http_accept(const char *header);

#endif
