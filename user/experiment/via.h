/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A transport other than TCP, for which a program's stdin and stdout connect to `pktledger recv
 * --stdio` on the other host. The program authenticates its user there. It runs without a shell,
 * may ask for a password on the terminal, and inherits our stderr.
 */
#ifndef PKTLEDGER_EXPERIMENT_VIA_H
#define PKTLEDGER_EXPERIMENT_VIA_H

#include "base/child.h"
#include "experiment/conn.h"

#define VIA_TEXT  2048
#define VIA_WORDS 64

struct via_config {
	const char *command; /* space-separated words, NULL: ssh, to: */
	const char *login;   /* text that starts with USER@, NULL: this transport is not used */
	struct endpoint to;  /* port 0: ssh's default */
	const char *remote;  /* command that starts pktledger on the other host, NULL: found in
			      * PATH */
};

struct via {
	struct child child;
	char *argv[VIA_WORDS + 1];
	unsigned words;
	bool asks; /* a terminal is available for a password */
	char text[VIA_TEXT]; /* storage for these strings */
	size_t used;
};

/*
 * Starts the program, and makes `c` from its stdin and stdout. Returns 0 or -errno. After an error,
 * call conn_close() and via_close().
 */
int via_open(struct via *v, const struct via_config *cfg, struct conn *c, struct error *err);

/* Waits for the program to exit, or ends it, after `c` was closed. Returns an enum child_status. */
int via_close(struct via *v);

#endif
