/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The journal of what was changed on the host beyond namespaces of our own: for values that are
 * global to the host. An entry is a file in JOURNAL_DIR, locked for as long as the change is in
 * force: pid and start time of the owner, kind, target, old and new value.
 *
 * Each change has a guard: a process of its own session that puts the old value back when the owner
 * asks it to, and at once when the owner dies, by SIGKILL too. Owner and guard hold the lock
 * together, so a free lock means that nobody is left to do it; journal_repair() does it then.
 */
#ifndef PKTLEDGER_HOST_JOURNAL_H
#define PKTLEDGER_HOST_JOURNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define JOURNAL_HOME	   "/run/pktledger"
#define JOURNAL_DIR	   JOURNAL_HOME "/journal"
#define JOURNAL_VALUE_SIZE 512 /* longest value that can be changed, with its end */

struct journal_change;

/*
 * Sets /proc/sys/<path>, e.g. "net/ipv4/udp_mem", until journal_restore() or the end of the
 * process. The calling thread must see it: host-global ones below net/ exist only in the
 * initial network namespace. Waits some seconds for another run that has changed it: -EBUSY after
 * that, its pid is in `err`; -EINTR if a signal ended the wait. -ERANGE if the
 * value does not read back as it was given (numbers with one blank between them do). On failure the
 * old value is in force.
 */
int journal_change_sysctl(struct journal_change **change, const char *path, const char *value,
			  struct error *err);

/*
 * Puts the old value back, removes the entry and frees `change` (NULL: nothing to do). Works also
 * after the owner has dropped its capabilities. -ESTALE if somebody else has changed the value
 * since: it is left as it is.
 */
int journal_restore(struct journal_change *change, struct error *err);

/*
 * Keeps others from such a change of /proc/sys/<path> until journal_release(): for who changes it
 * to stay, and must not take another's temporary value for the old one. Waits as above.
 */
int journal_hold_sysctl(struct journal_change **hold, const char *path, struct error *err);
void journal_release(struct journal_change *hold);

struct journal_repaired {
	pid_t pid;		   /* of the owner that died */
	const char *kind;	   /* "sysctl" */
	const char *target;	   /* path below /proc/sys */
	const char *old, *current; /* values; `current` as it was found */
	bool restored;		   /* false: `current` was not what the owner had set, and stays */
};

/*
 * Restores what dead owners without a guard have left, and tells `cb` (may be NULL) of each.
 * Returns how many entries were settled, or -errno. 0 too where the journal may not be read.
 */
int journal_repair(void (*cb)(void *arg, const struct journal_repaired *entry), void *arg,
		   struct error *err);

#endif
