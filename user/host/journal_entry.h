/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One entry of the journal: a file, its lock, and the value that it is about. */
#ifndef PKTLEDGER_JOURNAL_ENTRY_H
#define PKTLEDGER_JOURNAL_ENTRY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "host/journal.h"

#define JOURNAL_SYSCTL "sysctl"

struct journal_entry {
	pid_t pid;		  /* owner */
	unsigned long long start; /* its start time, field 22 of /proc/PID/stat, clock ticks */
	char kind[16];
	char target[256];
	char old[JOURNAL_VALUE_SIZE], new[JOURNAL_VALUE_SIZE];

	char path[PATH_MAX]; /* of the file */
	int file;	     /* holds the lock */
	int value;	     /* the value itself, O_RDWR */
};

/* pid and start time of the calling process. 0 or -errno. */
int journal_entry_own(struct journal_entry *e);
bool journal_owner_alive(const struct journal_entry *e);

/* The file that stands for a target; made and locked. -EWOULDBLOCK: another has the lock. */
int journal_entry_lock(struct journal_entry *e, bool create);

/* Writes and reads the file. Reading: -ENODATA if it was not completely written. */
int journal_entry_write(const struct journal_entry *e);
int journal_entry_read(struct journal_entry *e);

/* Opens /proc/sys/<target> as e->value. */
int journal_value_open(struct journal_entry *e);

/* The value as it is now, blanks made one. Async-signal-safe, as are the next two. */
int journal_value_read(const struct journal_entry *e, char value[JOURNAL_VALUE_SIZE]);
int journal_value_write(const struct journal_entry *e, const char *value);

/*
 * Puts e->old back if the value is still e->new, and removes the file. -ESTALE: it was another, and
 * stays; the file is removed. Any other error: the file stays, for journal_repair().
 */
int journal_entry_settle(const struct journal_entry *e);

/* Closes the descriptors: with the last copy of them the lock is free. */
void journal_entry_close(struct journal_entry *e);

#endif
