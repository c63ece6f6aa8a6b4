/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of the journal that outlive their owner: changes that are meant to stay until they are
 * undone. They have no guard, and journal_repair() does not see them: they are together in a file
 * of their own, oldest first, each a record (host/journal_entry.h) with some lines more, and an
 * empty line. The file is replaced as a whole, so it is never half written.
 */
#ifndef PKTLEDGER_HOST_JOURNAL_KEPT_H
#define PKTLEDGER_HOST_JOURNAL_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "host/journal_entry.h"

struct journal_kept {
	struct journal_record rec;
	char time[32];	  /* of the change, RFC 3339 */
	char boot[40];	  /* /proc/sys/kernel/random/boot_id */
	uint64_t netns;	  /* netns_cookie(); never used twice between two boots */
	unsigned ifindex; /* of the interface; 0: the change is not of one */
};

struct journal_kept_file;

/*
 * Opens the file at `path`, locks it until journal_kept_close(), and reads it. `create`: makes it
 * if it is missing, and its directory if that is the program's own. -EBUSY if another program holds
 * the lock for long; -ENOENT, with nothing in `err`, if there is none.
 */
int journal_kept_open(struct journal_kept_file **file, const char *path, bool create,
		      struct error *err);

unsigned journal_kept_count(const struct journal_kept_file *file);
const struct journal_kept *journal_kept_at(const struct journal_kept_file *file, unsigned i);

/*
 * The line from which on the file could not be read; 0: all of it could. What is there stays in the
 * file, behind the entries.
 */
unsigned journal_kept_damaged(const struct journal_kept_file *file);

/* Alters the entries in memory. Adding fills in owner, time and boot. 0 or -errno. */
int journal_kept_add(struct journal_kept_file *file, const struct journal_kept *kept);
void journal_kept_remove(struct journal_kept_file *file, unsigned i);

/* Writes them to disk, or removes the file if nothing is left. 0, or -errno: it is as before. */
int journal_kept_save(struct journal_kept_file *file);

void journal_kept_close(struct journal_kept_file *file);

/* Whether the entry is of this boot: what the kernel had been told before is forgotten. */
bool journal_kept_this_boot(const struct journal_kept *kept);

#endif
