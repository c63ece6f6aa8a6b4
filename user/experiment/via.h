/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A transport other than TCP: a program whose stdin and stdout connect to `pktledger recv --stdio`
 * on the other host, and which authenticates its user there. It runs without a shell. It may ask
 * for a password at the terminal, and inherits our stderr.
 */
#ifndef PKTLEDGER_EXPERIMENT_VIA_H
#define PKTLEDGER_EXPERIMENT_VIA_H

#include "base/child.h"
#include "experiment/conn.h"

#define VIA_TEXT  2048
#define VIA_WORDS 64

struct via_config {
	const char *command; /* words, space-separated, NULL: ssh, to: */
	const char *login;   /* text that starts with USER@, NULL: not this transport */
	struct endpoint to;  /* port 0: ssh's default */
	const char *remote;  /* command that starts pktledger there, NULL: found in PATH */
};

struct via {
	struct child child;
	char *argv[VIA_WORDS + 1];
	unsigned words;
	bool asks; /* a terminal is available for a password */
	char text[VIA_TEXT]; /* storage for these texts */
	size_t used;
};

/*
 * Starts the program, and makes `c` of its stdin and stdout. Returns 0, or -errno: then call
 * conn_close(), via_close().
 */
int via_open(struct via *v, const struct via_config *cfg, struct conn *c, struct error *err);

/* Waits for the program to end, or ends it, after `c` was closed. Returns an enum child_status. */
int via_close(struct via *v);

#endif
