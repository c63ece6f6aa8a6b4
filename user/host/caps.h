/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities: which are missing, and giving up what is no longer needed. */
#ifndef PKTLEDGER_CAPS_H
#define PKTLEDGER_CAPS_H

#include <stddef.h>

#include "base/opt.h"

/*
 * Names of those of the `n` capabilities (CAP_* of <linux/capability.h>) that the calling thread
 * does not have in effect: "CAP_BPF, CAP_NET_ADMIN", cut to `size`. Returns their number, or
 * -errno.
 */
int caps_missing(const int *caps, size_t n, char *names, size_t size);

/*
 * 0 if those that the command cannot do without are there, else -EPERM, with the missing ones and
 * the way to them in `err`. `with`: a word of the `when` of rows that count beside those of NULL;
 * or NULL.
 */
int caps_require(const struct command *cmd, const char *with, struct error *err);

/* As caps_drop_all(), but for those of the `n` in `keep` that it has. */
int caps_drop_but(const int *keep, size_t n);

/*
 * Gives up all capabilities of the calling thread, and of the threads and programs that it
 * starts from now on: where it may, by an empty bounding set as well. 0 or -EPERM.
 */
int caps_drop_all(void);

#endif
