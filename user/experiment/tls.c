// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * TLS 1.3 with an external pre-shared key (RFC 8446, section 2.2, with (EC)DHE), using GnuTLS. Also
 * handles the key files, which is all that a build without GnuTLS (make TLS=) contains.
 */
#include "experiment/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define RANDOM 32 /* bytes in a new token, which is written as hexadecimal text */

static int refuse(const char *path, const char *why, const char *hint, struct error *err)
{
	return error_usage(err, hint, "--token-file %s: %s", path, why);
}

int token_read(struct token *token, const char *path, struct error *err)
{
	uint8_t bytes[TOKEN_MAX + 2];
	const uint8_t *end;
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st)) {
		int rc = -errno;

		if (fd >= 0)
			close(fd);
		return refuse(path, strerror(-rc), "", err);
	}
	n = read(fd, bytes, sizeof(bytes));
	close(fd);
	if (n < 0)
		return refuse(path, "cannot be read", "", err);
	if (S_ISREG(st.st_mode) && st.st_mode & (S_IRWXG | S_IRWXO))
		return refuse(path, "other users may read it", "chmod 600 the file", err);
	end = memchr(bytes, '\n', (size_t)n);
	token->len = end ? (size_t)(end - bytes) : (size_t)n;
	if (token->len < TOKEN_MIN || token->len > TOKEN_MAX) {
		token->len = 0;
		return refuse(path, "its first line is no token of 32 to 256 bytes",
			      "create a token with `recv --serve --new-token FILE` or openssl rand "
			      "-hex 32",
			      err);
	}
	memcpy(token->bytes, bytes, token->len);
	return 0;
}

bool token_is(const struct token *token, const char *said)
{
	size_t len = strlen(said);
	uint8_t wrong = len != token->len;

	for (size_t i = 0; i < token->len; i++)
		wrong |= token->bytes[i] ^ (uint8_t)said[i < len ? i : len];
	return !wrong;
}

int token_new(const char *path, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	int rc = fd < 0 ? -errno : 0;
	char text[2 * RANDOM + 2];
	uint8_t bytes[RANDOM];

	if (rc)
		return error_usage(err,
				   rc == -EEXIST ? "use an existing token with --token-file" : NULL,
				   "--new-token %s: %s", path, strerror(-rc));
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		rc = -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, sizeof(text) - 2 * i, "%02x\n", bytes[i]);
	if (!rc && file_write(fd, text, sizeof(text) - 1) < sizeof(text) - 1)
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	if (rc)
		unlink(path);
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot write %s", path);
}

#ifdef HAVE_TLS

#include <gnutls/gnutls.h>

/* There is only one key, so the identity that the client sends in clear text has no meaning. */
#define IDENTITY "pktledger"
#define CIPHERS	 "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:+DHE-PSK"

struct tls {
	gnutls_session_t session;
	gnutls_psk_client_credentials_t client; /* either the client or the server */
	gnutls_psk_server_credentials_t server;
	struct token token;
};

/* Accepts any identity. */
static int find_key(gnutls_session_t session, const char *identity, gnutls_datum_t *key)
{
	const struct tls *t = gnutls_session_get_ptr(session);

	(void)identity;
	key->data = gnutls_malloc(t->token.len);
	if (!key->data)
		return -1;
	memcpy(key->data, t->token.bytes, t->token.len);
	key->size = (unsigned)t->token.len;
	return 0;
}

static int set_key(struct tls *t, bool is_server)
{
	const gnutls_datum_t key = {t->token.bytes, (unsigned)t->token.len};
	int rc;

	if (is_server) {
		rc = gnutls_psk_allocate_server_credentials(&t->server);
		if (rc)
			return rc;
		gnutls_psk_set_server_credentials_function(t->server, find_key);
		return gnutls_credentials_set(t->session, GNUTLS_CRD_PSK, t->server);
	}
	rc = gnutls_psk_allocate_client_credentials(&t->client);
	if (!rc)
		rc = gnutls_psk_set_client_credentials(t->client, IDENTITY, &key,
						       GNUTLS_PSK_KEY_RAW);
	return rc ? rc : gnutls_credentials_set(t->session, GNUTLS_CRD_PSK, t->client);
}

static void tls_close(struct tls *t)
{
	if (!t)
		return;
	if (t->session)
		gnutls_deinit(t->session);
	if (t->client)
		gnutls_psk_free_client_credentials(t->client);
	if (t->server)
		gnutls_psk_free_server_credentials(t->server);
	gnutls_memset(t, 0, sizeof(*t));
	free(t);
}

static int tls_open(struct tls **out, int fd, const struct token *token, bool is_server)
{
	/*
	 * no tickets, because clients do not resume sessions and stored tickets could be replayed
	 */
	const unsigned flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS;
	struct tls *t = mem_new(t);

	t->token = *token;
	if (gnutls_init(&t->session, flags | (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT)) ||
	    gnutls_priority_set_direct(t->session, CIPHERS, NULL) || set_key(t, is_server)) {
		tls_close(t);
		return -ENOMEM;
	}
	gnutls_session_set_ptr(t->session, t);
	gnutls_transport_set_int(t->session, fd);
	*out = t;
	return 0;
}

/* Converts a GnuTLS error to -errno. */
static int failed(int rc)
{
	switch (rc) {
	case GNUTLS_E_AGAIN:
	case GNUTLS_E_INTERRUPTED:
		return -EAGAIN;
	case GNUTLS_E_PREMATURE_TERMINATION:
	case GNUTLS_E_PUSH_ERROR:
	case GNUTLS_E_PULL_ERROR:
		return -EPIPE;
	case GNUTLS_E_UNEXPECTED_PACKET_LENGTH:
	case GNUTLS_E_UNSUPPORTED_VERSION_PACKET:
	case GNUTLS_E_UNEXPECTED_PACKET:
	case GNUTLS_E_RECORD_OVERFLOW:
		return -EPROTO;
	case GNUTLS_E_MEMORY_ERROR:
		return -ENOMEM;
	}
	return -EACCES;
}

static int tls_handshake(struct tls *t, short *events)
{
	int rc = gnutls_handshake(t->session);

	if (!rc)
		return 0;
	if (gnutls_error_is_fatal(rc))
		gnutls_alert_send_appropriate(t->session, rc);
	*events = gnutls_record_get_direction(t->session) ? POLLOUT : POLLIN;
	return gnutls_error_is_fatal(rc) ? failed(rc) : -EAGAIN;
}

/* Return like read() and write(). */
static ssize_t as_posix(ssize_t n)
{
	if (n >= 0)
		return n;
	errno = gnutls_error_is_fatal((int)n) ? -failed((int)n) : EAGAIN;
	return -1;
}

static ssize_t tls_read(struct tls *t, void *to, size_t n)
{
	return as_posix(gnutls_record_recv(t->session, to, n));
}

static ssize_t tls_write(struct tls *t, const void *from, size_t n)
{
	return as_posix(gnutls_record_send(t->session, from, n));
}

static bool tls_holds_more(struct tls *t)
{
	return gnutls_record_check_pending(t->session) > 0;
}

static const struct tls_ops gnutls = {
	.open = tls_open,
	.close = tls_close,
	.handshake = tls_handshake,
	.read = tls_read,
	.write = tls_write,
	.holds_more = tls_holds_more,
};

const struct tls_ops *const tls = &gnutls;

#else

const struct tls_ops *const tls = NULL;

#endif
