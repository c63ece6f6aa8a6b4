/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file that is there at once or not at all: what was there before stays until then. */
#ifndef PKTLEDGER_BASE_REPLACE_H
#define PKTLEDGER_BASE_REPLACE_H

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

struct replace {
	FILE *out; /* to be written to */
	const char *path;
	char temporary[PATH_MAX]; /* beside it; "": it is the file itself */
};

/*
 * Begins a new file of this mode in place of `path`, which is borrowed. So that nothing is lost to
 * a slip of the hand, a file that is there must be empty or begin with `begin`: -EEXIST. What is no
 * regular file is written as it is. 0 or -errno.
 */
int replace_begin(struct replace *r, const char *path, const char *begin, mode_t mode);

/* Puts it in place if `rc` is 0 and all was written, else takes it away. Returns 0, `rc`, -errno.
 */
int replace_end(struct replace *r, int rc);

#endif
