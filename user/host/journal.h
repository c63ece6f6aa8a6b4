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
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/record.h"

#define JOURNAL_HOME	   "/run/pktledger"
#define JOURNAL_DIR	   JOURNAL_HOME "/journal"
#define JOURNAL_VALUE_SIZE 512 /* longest value that can be changed, with its end */

struct journal_change;

/*
 * Sets /proc/sys/<path>, e.g. "net/ipv4/udp_mem", until journal_restore() or the end of the
 * process. The calling thread must see it: host-global ones below net/ exist only in the initial
 * network namespace. Waits some seconds for another run that has changed it: -EBUSY after that, its
 * pid is in `err`; -EINTR if a signal ended the wait. -ERANGE if the value does not read back as it
 * was given (numbers with one blank between them do). On failure the old value is in force.
 *
 * `value` NULL: keeps others from such a change until journal_release(): for who changes it to
 * stay, and must not take another's temporary value for the old one.
 */
int journal_change_sysctl(struct journal_change **change, const char *path, const char *value,
			  struct error *err);

/*
 * Puts the old value back, removes the entry and frees `change` (NULL: nothing to do). Works also
 * after the owner has dropped its capabilities. -ESTALE: somebody else has changed it since; it is
 * left.
 */
int journal_restore(struct journal_change *change, struct error *err);

void journal_release(struct journal_change *hold);

/* What is written down of a change, as one line of JSON. */
struct journal_record {
	pid_t pid;	  /* owner */
	uint64_t start;	  /* its start time, field 22 of /proc/PID/stat, clock ticks */
	char kind[16];	  /* "sysctl" */
	char target[256]; /* path below /proc/sys */
	char old[JOURNAL_VALUE_SIZE], new[JOURNAL_VALUE_SIZE];
};

#define JOURNAL_RECORD_SIZE (6 * sizeof(struct journal_record)) /* holds any as text */

/* `current`: the value that was found. `restored` false: it was not what the owner had set, and
 * stays. */
typedef void (*journal_repair_cb)(void *arg, const struct journal_record *rec, const char *current,
				  bool restored);

/*
 * Restores what dead owners without a guard have left, and calls `cb` (may be NULL) for each.
 * Returns how many entries were settled, or -errno. 0 too where the journal may not be read.
 */
int journal_repair(journal_repair_cb cb, void *arg, struct error *err);

/* A record as text, and back. Printing: the length, or -ENOSPC. -ENODATA: no whole record. */
int journal_record_print(const struct journal_record *rec, char *buf, size_t size);
int journal_record_parse(struct journal_record *rec, const char *text);

/* As record_read(), but nothing is cut or passed over: -ENODATA if it is not all that is there. */
int journal_read(struct json_object *o, const struct record_field *rows, void *to);

/* What this process writes down of itself. 0 or -errno. */
int journal_own(pid_t *pid, uint64_t *start);

/* The process that wrote the record still runs. */
bool journal_owner_alive(const struct journal_record *rec);

/* Copies `len` bytes of a value: blanks, tabs and newlines become one blank, none at the ends. */
void journal_value_normal(char *to, const char *raw, size_t len);

/*
 * Opens a file and locks it, until its descriptor is closed. The lock belongs to the name: a file
 * that was removed or replaced meanwhile does not count. The descriptor; -EWOULDBLOCK: another has
 * it.
 */
int journal_file_lock(const char *path, bool create);

/*
 * Entries that outlive their owner: changes that are meant to stay until they are undone. They have
 * no guard, and journal_repair() does not see them: they are together in a file of their own, mode
 * 0600, oldest first, an object a line. The file is replaced as a whole, never half written.
 */
struct journal_kept {
	struct json_object *entries; /* a list, to be altered; on disk by journal_kept_save() */
	unsigned
		damaged; /* the line from which on the file could not be read; 0: all of it could */
	char *rest;	 /* what is there, which stays in the file behind the entries */
	const char *path; /* borrowed */
	int fd;		  /* holds the lock */
};

/*
 * Opens the file at `path`, locks it until journal_kept_close(), and reads it. `create`: makes it
 * if it is missing, and its directory if that is the program's own. -EBUSY if another program holds
 * the lock for long; -ENOENT, with nothing in `err`, if there is none.
 */
int journal_kept_open(struct journal_kept *file, const char *path, bool create, struct error *err);

/* Writes them to disk, or removes the file if nothing is left. 0, or -errno: it is as before. */
int journal_kept_save(struct journal_kept *file);

void journal_kept_close(struct journal_kept *file);

#endif
