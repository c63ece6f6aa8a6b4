// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>

#define LEAST 8

static int refuse(const char *path, const char *why, const char *hint, struct error *err)
{
	return error_usage(err, hint, "--token-file %s: %s", path, why);
}

int auth_read_token(struct auth_token *token, const char *path, struct error *err)
{
	uint8_t bytes[AUTH_TOKEN + 2];
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
		return refuse(path, "others may read it", "chmod 600 the file", err);
	end = memchr(bytes, '\n', (size_t)n);
	token->len = end ? (size_t)(end - bytes) : (size_t)n;
	if (token->len < LEAST || token->len > AUTH_TOKEN) {
		token->len = 0;
		return refuse(path, "its first line is no token of 8 to 256 bytes",
			      "for example: openssl rand -hex 32", err);
	}
	memcpy(token->bytes, bytes, token->len);
	return 0;
}

static void to_hex(char hex[AUTH_HEX], const uint8_t *bytes)
{
	base16_encode_update(hex, SHA256_DIGEST_SIZE, bytes);
	hex[AUTH_HEX - 1] = '\0';
}

int auth_new_token(const char *path, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	char hex[AUTH_HEX] = "";
	int rc = fd < 0 ? -errno : auth_challenge(hex);

	if (fd < 0)
		return error_usage(err,
				   rc == -EEXIST ? "--token-file uses one that is there" : NULL,
				   "--new-token %s: %s", path, strerror(-rc));
	hex[AUTH_HEX - 1] = '\n';
	if (!rc && write(fd, hex, sizeof(hex)) != sizeof(hex))
		rc = -EIO;
	if (close(fd) && !rc)
		rc = -errno;
	if (rc)
		unlink(path);
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot write %s", path);
}

int auth_challenge(char hex[AUTH_HEX])
{
	uint8_t bytes[SHA256_DIGEST_SIZE];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -errno;
	to_hex(hex, bytes);
	return 0;
}

void auth_prove(const struct auth_token *token, enum auth_side side, const char *server_challenge,
		const char *client_challenge, char hex[AUTH_HEX])
{
	static const char *const names[] = {"pktledger client ", "pktledger server "};
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, token->len, token->bytes);
	hmac_sha256_update(&ctx, strlen(names[side]), (const uint8_t *)names[side]);
	hmac_sha256_update(&ctx, AUTH_HEX - 1, (const uint8_t *)server_challenge);
	hmac_sha256_update(&ctx, AUTH_HEX - 1, (const uint8_t *)client_challenge);
	hmac_sha256_digest(&ctx, sizeof(digest), digest);
	to_hex(hex, digest);
}

bool auth_equal(const char a[AUTH_HEX], const char b[AUTH_HEX])
{
	return memeql_sec(a, b, AUTH_HEX - 1);
}
