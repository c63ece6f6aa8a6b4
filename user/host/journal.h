/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The journal of temporary changes to host-global values, outside pktledger's namespaces. An entry
 * is a file in JOURNAL_DIR, locked while the change is in force: pid and start time of the owner,
 * kind, target, old and new value.
 *
 * Each change has a guard: a process in a separate session that restores the old value when the
 * owner asks, and immediately when the owner dies, even by SIGKILL. Owner and guard share the lock,
 * so a free lock means that both are dead. Then journal_repair() restores the value.
 */
#ifndef PKTLEDGER_HOST_JOURNAL_H
#define PKTLEDGER_HOST_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/record.h"

#define JOURNAL_HOME	   "/run/pktledger"
#define JOURNAL_DIR	   JOURNAL_HOME "/journal"
#define JOURNAL_VALUE_SIZE 512 /* bytes, longest supported value with its NUL */

struct journal_change;

/*
 * Sets /proc/sys/<path>, e.g. "net/ipv4/udp_mem", until journal_restore() or the end of the
 * process. The calling thread must be able to see it: host-global values below net/ exist only in
 * the initial network namespace. Waits some seconds for another run that has changed it, then
 * returns -EBUSY with its pid in `err`. -EINTR if a signal ended the wait. -ERANGE if the value
 * reads back differently (numbers must be separated by a single blank). On failure the old value is
 * in force.
 *
 * `value` NULL: blocks such changes by other runs until journal_release(), for a permanent change
 * that must not mistake a temporary value for the old value.
 */
int journal_change_sysctl(struct journal_change **change, const char *path, const char *value,
			  struct error *err);

/*
 * Restores the old value, removes the entry and frees `change` (NULL: does nothing). Also works
 * after the owner dropped its capabilities. -ESTALE: another program has changed the value since,
 * and it is kept.
 */
int journal_restore(struct journal_change *change, struct error *err);

void journal_release(struct journal_change *hold);

/* The content of an entry, as one line of JSON. */
struct journal_record {
	pid_t pid;	  /* owner */
	uint64_t start;	  /* owner's start time, field 22 of /proc/PID/stat, clock ticks */
	char kind[16];	  /* "sysctl" */
	char target[256]; /* path below /proc/sys */
	char old[JOURNAL_VALUE_SIZE], new[JOURNAL_VALUE_SIZE];
};

#define JOURNAL_RECORD_SIZE (6 * sizeof(struct journal_record)) /* bytes, enough for any record
								 * as text */

/* `current`: the value found. `restored` false: it was not the owner's value, and was kept. */
typedef void (*journal_repair_cb)(void *arg, const struct journal_record *rec, const char *current,
				  bool restored);

/*
 * Restores the changes of dead owners without a guard, and calls `cb` (may be NULL) for each.
 * Returns the number of resolved entries, or -errno. Also returns 0 if the journal is unreadable.
 */
int journal_repair(journal_repair_cb cb, void *arg, struct error *err);

/*
 * Format and parse a record as text. Formatting returns the length, or -ENOSPC. Parsing returns
 * -ENODATA for an incomplete record.
 */
int journal_record_print(const struct journal_record *rec, char *buf, size_t size);
int journal_record_parse(struct journal_record *rec, const char *text);

/*
 * Acts like record_read(), but nothing is truncated or skipped: -ENODATA if the record is
 * incomplete.
 */
int journal_read(struct json_object *o, const struct record_field *rows, void *to);

/* Identifies this process for an entry. Returns 0 or -errno. */
int journal_own(pid_t *pid, uint64_t *start);

/* Returns whether the process that wrote the record is still running. */
bool journal_owner_alive(const struct journal_record *rec);

/* Copies `len` bytes of a value: collapses blanks, tabs and newlines, and trims both ends. */
void journal_value_normal(char *to, const char *raw, size_t len);

/*
 * Opens and locks a file until its descriptor is closed. The lock belongs to the name: a file
 * removed or replaced before the lock was taken is not accepted. Returns the descriptor, or
 * -EWOULDBLOCK if another process holds the lock.
 */
int journal_file_lock(const char *path, bool create);

/*
 * Permanent entries: changes that stay until they are undone. They have no guard, and
 * journal_repair() ignores them: they are in a separate file, mode 0600, a JSON array, oldest
 * first. The file is always replaced as a whole.
 */
struct journal_kept {
	struct json_object *entries; /* modifiable list, written by journal_kept_save() */
	const char *path;	     /* borrowed */
	int fd;			     /* holds the lock */
};

/*
 * Opens the file at `path`, locks it until journal_kept_close(), and reads it. `create`: creates a
 * missing file, and its directory if it is the program's. -EBUSY if another program holds the lock
 * for long. -EBADMSG: not such a file. -ENOENT, with `err` empty, if it does not exist.
 */
int journal_kept_open(struct journal_kept *file, const char *path, bool create, struct error *err);

/*
 * Writes the entries, or removes an empty file. Returns 0, or -errno with the file
 * unchanged.
 */
int journal_kept_save(struct journal_kept *file);

void journal_kept_close(struct journal_kept *file);

#endif
