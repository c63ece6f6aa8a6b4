/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The journal of temporary changes to host-wide values, outside pktledger's own namespaces. An
 * entry is a file in JOURNAL_DIR that is locked while the change is in force. It contains the
 * owner's pid and start time, and the kind, target, old value and new value of the change.
 *
 * Each change has a guard: a process in a separate session that restores the old value when the
 * owner asks for it or dies, even from SIGKILL. The owner and the guard share the lock, so a free
 * lock means that both are dead. journal_repair() then restores the value.
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
#define JOURNAL_VALUE_SIZE 512 /* bytes, longest supported value including its NUL */

struct journal_change;

/*
 * Sets /proc/sys/<path>, for example "net/ipv4/udp_mem", until journal_restore() is called or the
 * process ends. The calling thread must be able to see the file: host-wide values under net/ exist
 * only in the initial network namespace. If another run has changed the value, waits a few seconds
 * for it to finish, then returns -EBUSY with its pid in `err`. Returns -EINTR if a signal ended the
 * wait, or -ERANGE if the value reads back differently (numbers must be separated by a single
 * blank). On failure the old value is in force.
 *
 * If `value` is NULL, only blocks such changes by other runs until journal_release(). This is for
 * permanent changes, which must not record a temporary value as the old value.
 */
int journal_change_sysctl(struct journal_change **change, const char *path, const char *value,
			  struct error *err);

/*
 * Restores the old value, removes the entry and frees `change` (NULL: does nothing). Also works
 * after the owner has dropped its capabilities. Returns -ESTALE, without restoring, if another
 * program has changed the value since.
 */
int journal_restore(struct journal_change *change, struct error *err);

void journal_release(struct journal_change *hold);

/* An entry's content, stored as one line of JSON. */
struct journal_record {
	pid_t pid;	  /* owner */
	uint64_t start;	  /* clock ticks, owner's start time (field 22 of /proc/PID/stat) */
	char kind[16];	  /* "sysctl" */
	char target[256]; /* path under /proc/sys */
	char old[JOURNAL_VALUE_SIZE], new[JOURNAL_VALUE_SIZE];
};

#define JOURNAL_RECORD_SIZE (6 * sizeof(struct journal_record)) /* bytes, enough for any record as
								 * text */

/*
 * `current` is the value found. If it was not the owner's value, it was kept and `restored` is
 * false.
 */
typedef void (*journal_repair_cb)(void *arg, const struct journal_record *rec, const char *current,
				  bool restored);

/*
 * Restores the changes of owners that died without a guard and calls `cb` (may be NULL) for each.
 * Returns the number of entries resolved, or -errno. An unreadable journal counts as empty.
 */
int journal_repair(journal_repair_cb cb, void *arg, struct error *err);

/*
 * Formats or parses a record. Formatting returns the length, or -ENOSPC. Parsing returns -ENODATA
 * for an incomplete record.
 */
int journal_record_print(const struct journal_record *rec, char *buf, size_t size);
int journal_record_parse(struct journal_record *rec, const char *text);

/*
 * Works like record_read() but never truncates or skips a value. Returns -ENODATA if the record is
 * incomplete.
 */
int journal_read(struct json_object *o, const struct record_field *rows, void *to);

/* Gets this process's identity for an entry. Returns 0 or -errno. */
int journal_own(pid_t *pid, uint64_t *start);

/* Returns whether the process that wrote the record is still running. */
bool journal_owner_alive(const struct journal_record *rec);

/* Copies `len` bytes of a value. Collapses blanks, tabs and newlines, and trims both ends. */
void journal_value_normal(char *to, const char *raw, size_t len);

/*
 * Opens a file and locks it until the descriptor is closed. The lock only counts while the file has
 * this name: if the file was removed or replaced before it could be locked, the lock is not
 * accepted. Returns the descriptor, or -EWOULDBLOCK if another process holds the lock.
 */
int journal_file_lock(const char *path, bool create);

/*
 * Permanent entries: changes that stay in force until they are undone. They have no guard, and
 * journal_repair() ignores them. They are stored in a separate file with mode 0600, as a JSON
 * array, oldest first. The file is always replaced as a whole.
 */
struct journal_kept {
	struct json_object *entries; /* modifiable list, saved by journal_kept_save() */
	const char *path;	     /* borrowed */
	int fd;			     /* holds the lock */
};

/*
 * Opens the file at `path`, locks it until journal_kept_close() and reads it. With `create`,
 * creates the file if it is missing, and its directory if that belongs to pktledger. Returns -EBUSY
 * if another program holds the lock too long, -EBADMSG if it is not an undo file, or -ENOENT with
 * an empty `err` if it does not exist.
 */
int journal_kept_open(struct journal_kept *file, const char *path, bool create, struct error *err);

/*
 * Writes the entries, or removes the file if the list is empty. Returns 0, or -errno with the file
 * unchanged.
 */
int journal_kept_save(struct journal_kept *file);

void journal_kept_close(struct journal_kept *file);

#endif
