/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities: lists missing capabilities, and drops capabilities that are no longer needed. */
#ifndef PKTLEDGER_HOST_CAPS_H
#define PKTLEDGER_HOST_CAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

/*
 * Lists the capabilities among `n` (CAP_* of <linux/capability.h>) that this thread lacks:
 * "CAP_BPF, CAP_NET_ADMIN", truncated to `size`. Returns their number, or -errno.
 */
int caps_missing(const int *caps, size_t n, char *names, size_t size);

/*
 * Returns 0 if all capabilities required by the command are present, else -EPERM, with the missing
 * ones and how to get them in `err`. `with`: `when` words of rows that apply in addition to rows
 * with NULL, separated by ", ", or NULL.
 */
int caps_require(const struct command *cmd, const char *with, struct error *err);

/* How often an operation that needs capabilities is repeated. */
enum caps_again {
	CAPS_ONCE,  /* all is attached: keep only rows with `keeps`, subject to `with` */
	CAPS_AGAIN, /* another trial or client follows and needs all rows */
};

/*
 * Drops, permanently, all capabilities that `needs` (NULL: empty) does not keep. All commands call
 * it after attaching, in each thread, or use caps_drop_but(). Returns 0 or -errno.
 */
int caps_give_up(const struct opt_need *needs, const char *with, enum caps_again again);

/* Returns the present capabilities that caps_give_up() keeps, as bits of CAPS_BIT(). */
uint64_t caps_kept(const struct opt_need *needs, const char *with, enum caps_again again);

/*
 * Blocks system calls that a long-running command does not need once everything is attached: they
 * fail with EPERM, in all threads and permanently (seccomp(2), with libseccomp). Blocks starting
 * programs unless `programs`, loading, running and attaching BPF programs, tracing processes and
 * taking their descriptors, mounts, modules, keys, the clock, reboot. With `attach`, loaded tracing
 * programs may still be attached with BPF_RAW_TRACEPOINT_OPEN, which has no target but the one they
 * were loaded for. Call it after caps_give_up(), which sets no_new_privs. Returns 0 or -errno,
 * -ENOSYS in a build without libseccomp.
 */
int caps_bar_calls(bool programs, bool attach);

#define CAPS_BIT(cap) (1ULL << (cap))
#define CAPS_NONE     0ULL

/*
 * Drops all capabilities except `keep` from the calling thread, and from threads and programs that
 * it starts later. Programs it starts cannot regain any: cuts the bounding set if permitted, and
 * disables file capabilities (no_new_privs). Async-signal-safe. Returns 0 or -errno.
 */
int caps_drop_but(uint64_t keep);

/*
 * Gives the thread's own capabilities in `lent` to programs that it starts, even if they are not
 * run as root, until called with `lend` false.
 */
void caps_lend(uint64_t lent, bool lend);

#endif
