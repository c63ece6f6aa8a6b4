/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that the kernel writes, and files of ours that are there at once or not at all. */
#ifndef PKTLEDGER_BASE_FILE_H
#define PKTLEDGER_BASE_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Files of /proc and /sys have no size, and some must be read in one go. */

/*
 * Opens a file to read. Pipes and sockets are refused with -EOPNOTSUPP: a writer that never comes, or
 * never ends, would hold up the program. A descriptor or -errno.
 */
int file_open_to_read(const char *path);

#define FILE_MOST (128 << 20) /* bytes, about: none that is read as a whole has more */

/*
 * The whole file and a NUL, to be freed; its length in *len (may be NULL). 0 or -errno: those of
 * file_open_to_read(); -EFBIG also for a device without end, or a hole.
 */
int file_read(const char *path, char **text, size_t *len);

/*
 * Opens a file to write to, or makes it, mode 0600. Whoever else owns what is there, a link, file
 * or pipe, could choose what is written, or read it: -EPERM. So a link is followed only if it is
 * ours or root's, as /dev/stdout is, and nothing is emptied by opening it. A named pipe is opened
 * with O_NONBLOCK: -ENXIO without a reader. A descriptor or -errno.
 */
int file_open_ours(const char *path, int flags);

/* The hint for -EPERM and -EOPNOTSUPP; else `hint`. */
const char *file_hint(int rc, const char *hint);

#define FILE_OF_OTHERS "it belongs to another user: name a file that does not exist yet"

/* Closes a descriptor, unless it is negative, and sets it to -1. */
void fd_close(int *fd);

/* Writes `n` bytes. Returns how many went; fewer: errno says why. */
size_t file_write(int fd, const void *from, size_t n);

/* What was there before stays until all of the new file is written. */
struct replace {
	FILE *out; /* to be written to */
	const char *path;
	char temporary[PATH_MAX]; /* beside it; "": it is the file itself */
};

/*
 * Begins a new file of this mode in place of `path`, which is borrowed. So that nothing is lost to
 * a slip of the hand, a file that is there must be empty or begin with `begin`: -EEXIST. A named
 * pipe is refused: -EOPNOTSUPP. Devices, and links such as /dev/stdout, are written as they are. 0 or
 * -errno.
 */
int replace_begin(struct replace *r, const char *path, const char *begin, mode_t mode);

/* Puts it in place if `rc` is 0 and all was written, else takes it away. 0, `rc` or -errno. */
int replace_end(struct replace *r, int rc);

#endif
