/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities: which are missing, and giving up what is no longer needed. */
#ifndef PKTLEDGER_HOST_CAPS_H
#define PKTLEDGER_HOST_CAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

/*
 * Names of those of the `n` capabilities (CAP_* of <linux/capability.h>) that this thread has not
 * in effect: "CAP_BPF, CAP_NET_ADMIN", cut to `size`. Their number, or -errno.
 */
int caps_missing(const int *caps, size_t n, char *names, size_t size);

/*
 * 0 if those that the command cannot do without are there, else -EPERM, with the missing ones and
 * the way to them in `err`. `with`: words of the `when` of rows that count beside those of NULL,
 * by ", "; or NULL.
 */
int caps_require(const struct command *cmd, const char *with, struct error *err);

/* When something that needs capabilities is to be done again. */
enum caps_again {
	CAPS_ONCE,  /* all is attached: only rows with `keeps` are left, as far as `with` says */
	CAPS_AGAIN, /* another trial or client follows, which needs all rows */
};

/*
 * The step that follows attaching, for all commands: gives up, for good, what `needs` (NULL: none)
 * does not keep. In each thread, or caps_drop_but(). 0 or -errno.
 */
int caps_give_up(const struct opt_need *needs, const char *with, enum caps_again again);

/* What caps_give_up() keeps of those that are there: bits of CAPS_BIT(). */
uint64_t caps_kept(const struct opt_need *needs, const char *with, enum caps_again again);

/*
 * For a command that stays for days, once all is attached: system calls that nothing of it makes
 * from then on end with EPERM, in all threads and for good (seccomp(2), by libseccomp): starting
 * programs unless `programs`, loading, running and attaching BPF programs, tracing processes and
 * taking their descriptors, mounts, modules, keys, the clock, reboot. With `attach` tracing
 * programs that are loaded may still be attached by BPF_RAW_TRACEPOINT_OPEN, which knows no other
 * target than the one they were loaded for. After caps_give_up(), which sets no_new_privs. 0, or
 * -errno: a build without libseccomp has -ENOSYS.
 */
int caps_bar_calls(bool programs, bool attach);

#define CAPS_BIT(cap) (1ULL << (cap))
#define CAPS_NONE     0ULL

/*
 * Gives up all capabilities of the calling thread, and of the threads and programs that it starts
 * from now on, but for those of `keep` that it has. No program that it starts gains any: where it
 * may the bounding set is cut, and files give none (no_new_privs). Async-signal-safe. 0, -errno.
 */
int caps_drop_but(uint64_t keep);

/*
 * Programs that the calling thread starts have those of `lent` that it has itself, although they
 * are not root's: until it is called with `lend` false.
 */
void caps_lend(uint64_t lent, bool lend);

#endif
