/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One entry of the journal: a file, its lock, and the value that it is about. */
#ifndef PKTLEDGER_HOST_JOURNAL_ENTRY_H
#define PKTLEDGER_HOST_JOURNAL_ENTRY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "host/journal.h"

#define JOURNAL_SYSCTL "sysctl"

/* What is written down of a change. No text has a newline in it. */
struct journal_record {
	pid_t pid;		  /* owner */
	unsigned long long start; /* its start time, field 22 of /proc/PID/stat, clock ticks */
	char kind[16];
	char target[256];
	char old[JOURNAL_VALUE_SIZE], new[JOURNAL_VALUE_SIZE];
};

struct journal_entry {
	struct journal_record rec;
	char path[PATH_MAX]; /* of the file */
	int file;	     /* holds the lock */
	int value;	     /* the value itself, O_RDWR */
};

#define JOURNAL_RECORD_SIZE (sizeof(struct journal_record) + 128) /* holds any as text */

/* pid and start time of the calling process. 0 or -errno. */
int journal_own(struct journal_record *rec);
bool journal_owner_alive(const struct journal_record *rec);

/*
 * A record as text, a line a field, and back. Printing returns the length, or -ENOSPC. Parsing
 * moves `text` behind what it has read; -ENODATA if that is no record, or a part of one.
 */
int journal_record_print(const struct journal_record *rec, char *buf, size_t size);
int journal_record_parse(struct journal_record *rec, const char **text);

/* One line "key value" of such a text. -ENODATA as above, also if the value does not fit `size`. */
int journal_line_parse(const char **text, const char *key, char *value, size_t size);

/*
 * Opens a file and locks it, until its descriptor is closed. The lock belongs to the name: a file
 * that was removed or replaced meanwhile does not count. Returns the descriptor; -EWOULDBLOCK:
 * another has the lock. journal_file_wait() waits for it some seconds; -EINTR if a signal ended
 * that.
 */
int journal_file_lock(const char *path, bool create);
int journal_file_wait(const char *path, bool create);

/* Makes the directories of the journal. 0 or -errno. */
int journal_make_directory(void);

/* Locks the file of the entry: one that is there, or, with `wait`, a new one. */
int journal_entry_lock(struct journal_entry *e, bool wait);

/* Writes and reads the file. Reading: -ENODATA if it was not completely written. */
int journal_entry_write(const struct journal_entry *e);
int journal_entry_read(struct journal_entry *e);

/* Opens /proc/sys/<rec.target> as e->value. */
int journal_value_open(struct journal_entry *e);

/* Copies `len` bytes of a value: blanks, tabs and newlines become one blank, none at the ends. */
void journal_value_normal(char *to, const char *raw, size_t len);

/* The value as it is now, in this form. Async-signal-safe, as are the next two. */
int journal_value_read(const struct journal_entry *e, char value[JOURNAL_VALUE_SIZE]);
int journal_value_write(const struct journal_entry *e, const char *value);

/*
 * Puts rec.old back if the value is still rec.new, and removes the file. -ESTALE: it was another,
 * and stays; the file is removed. Any other error: the file stays, for journal_repair().
 */
int journal_entry_settle(const struct journal_entry *e);

/* Closes the descriptors: with the last copy of them the lock is free. */
void journal_entry_close(struct journal_entry *e);

#endif
