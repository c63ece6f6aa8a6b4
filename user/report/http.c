// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "report/print.h"

#define DEADLINE_NS 10000000000ULL /* ns, Prometheus's scrape timeout */
#define SPARE	    16		   /* connections accepted while old connections are being closed */
#define MEMORY	    16384	   /* bytes per connection, which limits the size of a request */
#define TURNS	    32 /* calls to MHD_run() at a time (the next call continues) */

#define BEARER	     "Bearer "
#define REALM	     "realm=\"pktledger\""
#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#define PAGE_NS 1000000000ULL	/* ns, how long a page is reused, however many viewers there are */

struct guest {
	int fd;
	uint64_t since_ns;
	bool here, ended; /* ended: shut down, but not yet closed by MHD */
};

/*
 * Responses built from the counts: the metrics in each format, the page, and the part of it that
 * changes.
 */
enum made { PAGE = EXPOSE_FORMATS, LIVE, ALL_MADE };

struct http {
	struct http_spec spec;
	struct MHD_Daemon *daemon;
	struct {
		struct MHD_Response *response; /* NULL: not made yet */
		uint64_t when_ns;
	} made[ALL_MADE];
	struct guest guest[HTTP_CONNECTIONS];
};

enum expose_format http_accept(const char *header)
{
	static const char type[] = "application/openmetrics-text";
	char *copy = mem_string(header ? header : ""), *rest = copy, *range;
	bool named = false;

	while (!named && (range = strsep(&rest, ","))) {
		const char *q = strcasestr(range, "q=");

		range += strspn(range, " \t");
		named = strcspn(range, " \t;") == strlen(type) &&
			!strncasecmp(range, type, strlen(type)) && (!q || strtod(q + 2, NULL) > 0);
	}
	free(copy);
	return named ? EXPOSE_OPENMETRICS : EXPOSE_TEXT;
}

/* Shuts the connection down. MHD notices this and closes it. */
static void end_guest(struct guest *g)
{
	shutdown(g->fd, SHUT_RDWR);
	g->ended = true;
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct http *h = arg;
	struct guest *g = *context, *oldest = NULL;
	unsigned open = 0;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (g)
			g->here = false;
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	g = NULL;
	for (unsigned i = 0; i < HTTP_CONNECTIONS; i++) {
		struct guest *old = &h->guest[i];

		if (!old->here)
			g = old;
		if (!old->here || old->ended)
			continue;
		open++;
		if (!oldest || old->since_ns < oldest->since_ns)
			oldest = old;
	}
	if (!info || !g)
		return; /* MHD accepts no more connections */
	*g = (struct guest){.fd = info->connect_fd, .since_ns = clock_now(), .here = true};
	*context = g;
	if (oldest && open >= HTTP_CONNECTIONS - SPARE)
		end_guest(oldest);
}

/* Returns a response, or NULL if out of memory. */
static struct MHD_Response *response_of(const char *text, size_t len, const char *type)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(len, (char *)text, MHD_RESPMEM_MUST_COPY);

	if (r) {
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	}
	return r;
}

static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	struct MHD_Response *r = response_of(text, strlen(text), "text/plain; charset=utf-8");
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_UNAUTHORIZED) {
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, BEARER REALM);
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Basic " REALM);
	}
	done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static void forget(struct http *h, unsigned made)
{
	if (h->made[made].response)
		MHD_destroy_response(h->made[made].response);
	h->made[made].response = NULL;
}

static struct MHD_Response *make(const struct http *h, enum made what)
{
	struct MHD_Response *r = NULL;
	size_t len;
	char *text = what < PAGE ? h->spec.text(h->spec.arg, (enum expose_format)what, &len)
				 : h->spec.page(h->spec.arg, what == PAGE, &len);

	if (text)
		r = response_of(text, len,
				what == PAGE   ? "text/html; charset=utf-8"
				: what == LIVE ? "application/json"
					       : expose_content_type((enum expose_format)what));
	free(text);
	if (r && what >= PAGE)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return r;
}

/* Answers with the cached page or the current metrics. */
static enum MHD_Result answer_made(struct http *h, struct MHD_Connection *c, enum made what)
{
	if (what >= PAGE && clock_now() - h->made[what].when_ns > PAGE_NS)
		forget(h, what);
	if (what < PAGE || !h->made[what].response)
		h->spec.before(h->spec.arg);
	if (!h->made[what].response) {
		h->made[what].when_ns = clock_now();
		h->made[what].response = make(h, what);
	}
	if (!h->made[what].response)
		return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, "the counts cannot be read\n");
	return MHD_queue_response(c, MHD_HTTP_OK, h->made[what].response);
}

/*
 * Returns true if `host`, a Host header or NULL, is an address or localhost, with or without a
 * port.
 */
static bool is_local(const char *host)
{
	static const char name[] = "localhost";
	const size_t n = strlen(name);
	struct endpoint ep;

	return !host /* HTTP/1.0: not a browser */ || !num_endpoint(host, &ep) ||
	       (!strncasecmp(host, name, n) && (!host[n] || host[n] == ':'));
}

static bool may_read(const struct http *h, struct MHD_Connection *c)
{
	const char *said =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	char *user, *password = NULL;
	bool may;

	if (!h->spec.token.len)
		return true;
	if (said && !strncasecmp(said, BEARER, strlen(BEARER)))
		return token_is(&h->spec.token, said + strlen(BEARER));
	user = MHD_basic_auth_get_username_password(c, &password);
	may = password && token_is(&h->spec.token, password);
	MHD_free(user);
	MHD_free(password);
	return may;
}

/*
 * Called when a request's header is complete. A request body is not read: the connection is closed.
 */
static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *size, void **state)
{
	struct http *h = arg;

	(void)version;
	(void)body;
	(void)size;
	(void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (num_is_loopback(&h->spec.listen) &&
	    !is_local(MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return answer_text(c, MHD_HTTP_MISDIRECTED_REQUEST,
				   "this is 127.0.0.1, localhost or [::1], and no other host\n");
	if (!may_read(h, c))
		return answer_text(
			c, MHD_HTTP_UNAUTHORIZED,
			"the token of --token-file is needed: as Authorization: Bearer, or "
			"as the password of Basic\n");
	if (!strcmp(url, "/metrics"))
		return answer_made(h, c,
				   (enum made)http_accept(MHD_lookup_connection_value(
					   c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT)));
	if (!strcmp(url, "/"))
		return answer_made(h, c, PAGE);
	if (!strcmp(url, "/live"))
		return answer_made(h, c, LIVE);
	return answer_text(c, MHD_HTTP_NOT_FOUND, "not found: use / or /metrics\n");
}

static void forget_secret(char *text, size_t len)
{
	if (text)
		explicit_bzero(text, len);
	free(text);
}

static int start_daemon(struct http *h, int fd, struct error *err)
{
	const char *const files[] = {h->spec.cert, h->spec.key};
	char *pem[2] = {NULL, NULL};
	size_t len[2] = {0, 0};
	int rc = 0;

	if (h->spec.cert && (!tls || MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES))
		return error_set(err, STATUS_UNABLE, -ENOSYS, "put a proxy with TLS before it",
				 "this build has no TLS");
	for (unsigned i = 0; h->spec.cert && i < 2 && !rc; i++) {
		rc = file_read(files[i], &pem[i], &len[i]);
		if (rc)
			error_errno(err, STATUS_USAGE, rc, file_hint(rc, NULL), "cannot read %s",
				    files[i]);
	}
	if (!rc) {
		const struct MHD_OptionItem encrypted[] = {
			{MHD_OPTION_HTTPS_MEM_CERT, 0, pem[0]},
			{MHD_OPTION_HTTPS_MEM_KEY, 0, pem[1]},
			{MHD_OPTION_HTTPS_PRIORITIES, 0, TLS_VERSIONS},
			{MHD_OPTION_END, 0, NULL},
		};

		h->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | (h->spec.cert ? MHD_USE_TLS : 0), 0, NULL, NULL, answer, h,
			MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
			(unsigned)HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			(size_t)MEMORY, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
			MHD_OPTION_ARRAY, h->spec.cert ? encrypted : encrypted + 3, MHD_OPTION_END);
		if (!h->daemon && h->spec.cert)
			rc = error_usage(err,
					 "PEM; `openssl x509 -noout -pubkey -in` and `openssl "
					 "pkey -pubout -in` show which belong together",
					 "%s and %s are not a certificate and its private key",
					 h->spec.cert,
					 h->spec.key);
		else if (!h->daemon)
			rc = error_set(err, STATUS_FAILED, -EIO, NULL,
				       "cannot start the HTTP server");
	}
	forget_secret(pem[0], len[0]);
	forget_secret(pem[1], len[1]);
	return rc;
}

int http_open(struct http **out, const struct http_spec *spec, struct error *err)
{
	struct http *h;
	int fd = conn_listen(&spec->listen), rc;

	if (fd < 0)
		return error_errno(
			err, fd == -EACCES ? STATUS_UNABLE : STATUS_FAILED, fd,
			fd == -EADDRINUSE      ? "another port with --listen, or end that program"
			: fd == -EADDRNOTAVAIL ? "this host does not have the address (list: ip "
						 "address)"
			: fd == -EACCES
				? "use a port of 1024 or more, or grant CAP_NET_BIND_SERVICE"
				: NULL,
			"cannot listen at %s", num_text_endpoint(&spec->listen));
	h = mem_new(h);
	h->spec = *spec;
	rc = start_daemon(h, fd, err);
	if (rc) {
		close(fd);
		free(h);
		return rc;
	}
	*out = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	MHD_stop_daemon(h->daemon);
	for (unsigned i = 0; i < ALL_MADE; i++)
		forget(h, i);
	free(h);
}

int http_fd(const struct http *h)
{
	return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void http_run(struct http *h)
{
	uint64_t now = clock_now();
	MHD_UNSIGNED_LONG_LONG timeout;

	for (unsigned i = 0; i < HTTP_CONNECTIONS; i++) {
		struct guest *g = &h->guest[i];

		if (g->here && !g->ended && now - g->since_ns > DEADLINE_NS)
			end_guest(g);
	}
	for (unsigned i = 0; i < TURNS; i++) {
		MHD_run(h->daemon);
		if (MHD_get_timeout(h->daemon, &timeout) != MHD_YES || timeout)
			break;
	}
}

void http_forget(struct http *h)
{
	for (unsigned i = 0; i < EXPOSE_FORMATS; i++)
		forget(h, i);
}
