/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may use a server: whoever knows the token. Each side draws a challenge, and proves with
 * HMAC-SHA256 over both that it knows the token, which itself never travels. Client and server
 * answer differently, so that an answer cannot be sent back to whoever gave it.
 *
 * The HMAC is nettle's: a small library without state that every Debian has already, because apt
 * needs it. The kernel's AF_ALG would need the module algif_hash, which many hosts do not load.
 */
#ifndef PKTLEDGER_EXPERIMENT_AUTH_H
#define PKTLEDGER_EXPERIMENT_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define AUTH_HEX   65 /* 32 bytes in hex, and a NUL */
#define AUTH_TOKEN 256

struct auth_token {
	uint8_t bytes[AUTH_TOKEN];
	size_t len; /* 0: none, everybody may */
};

enum auth_side { AUTH_CLIENT, AUTH_SERVER };

/*
 * The first line of a file that nobody but its owner may read, 8 to 256 bytes. STATUS_USAGE
 * otherwise.
 */
int auth_read_token(struct auth_token *token, const char *path, struct error *err);

/* 32 random bytes in hex. -errno. */
int auth_challenge(char hex[AUTH_HEX]);

/* The answer of a side to both challenges, in hex. */
void auth_prove(const struct auth_token *token, enum auth_side side, const char *server_challenge,
		const char *client_challenge, char hex[AUTH_HEX]);

/* In a time that tells nothing of where they differ. */
bool auth_equal(const char a[AUTH_HEX], const char b[AUTH_HEX]);

#endif
