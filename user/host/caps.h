/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists missing capabilities and drops capabilities that are no longer needed. */
#ifndef PKTLEDGER_HOST_CAPS_H
#define PKTLEDGER_HOST_CAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

/*
 * Lists which of the `n` capabilities (CAP_* from <linux/capability.h>) this thread lacks, for
 * example "CAP_BPF, CAP_NET_ADMIN", truncated to `size`. Returns how many are missing, or -errno.
 */
int caps_missing(const int *caps, size_t n, char *names, size_t size);

/*
 * Returns 0 if the command has all the capabilities it requires. Otherwise returns -EPERM and sets
 * `err` to the missing ones and how to get them. `with` selects rows by their `when` words
 * (separated by ", ") in addition to the rows without a condition. It may be NULL.
 */
int caps_require(const struct command *cmd, const char *with, struct error *err);

/* How often an operation that needs capabilities runs. */
enum caps_again {
	CAPS_ONCE,  /* everything is attached: keep only rows with `keeps`, subject to `with` */
	CAPS_AGAIN, /* another trial or client follows: keep all rows */
};

/*
 * Permanently drops all capabilities except those that `needs` (NULL: empty) keeps. Every command
 * calls this function or caps_drop_but() in each thread after attaching. Returns 0 or -errno.
 */
int caps_give_up(const struct opt_need *needs, const char *with, enum caps_again again);

/* Returns the capabilities present that caps_give_up() would keep, as a mask of CAPS_BIT(). */
uint64_t caps_kept(const struct opt_need *needs, const char *with, enum caps_again again);

/*
 * Blocks system calls that a long-running command no longer needs once everything is attached. In
 * all threads, they permanently fail with EPERM (seccomp(2), using libseccomp). Blocked are
 * loading, running and attaching BPF programs, tracing processes and taking their descriptors,
 * mounts, modules, keys, setting the clock, reboot and, unless `programs` is set, starting
 * programs. With `attach`, loaded tracing programs may still be attached using
 * BPF_RAW_TRACEPOINT_OPEN, which can only attach them to the target they were loaded for. Call this
 * function after caps_give_up(), which sets no_new_privs. Returns 0 or -errno, -ENOSYS if built
 * without libseccomp.
 */
int caps_bar_calls(bool programs, bool attach);

#define CAPS_BIT(cap) (1ULL << (cap))
#define CAPS_NONE     0ULL

/*
 * Drops all capabilities except `keep` from the calling thread and from any thread or program it
 * starts later. Programs it starts cannot regain any: the bounding set is reduced if permitted, and
 * file capabilities are disabled (no_new_privs). Async-signal-safe. Returns 0 or -errno.
 */
int caps_drop_but(uint64_t keep);

/*
 * Passes the thread's capabilities in `lent` on to the programs it starts, even if they do not run
 * as root, until called again with `lend` set to false.
 */
void caps_lend(uint64_t lent, bool lend);

#endif
