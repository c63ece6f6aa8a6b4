/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files written by the kernel, and own files that appear complete or not at all. */
#ifndef PKTLEDGER_BASE_FILE_H
#define PKTLEDGER_BASE_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Files of /proc and /sys have no size, and some must be read with a single call. */

/*
 * Opens a file for reading. Refuses pipes and sockets with -EOPNOTSUPP: a writer that never comes,
 * or never ends, would block the program. Returns a descriptor or -errno.
 */
int file_open_to_read(const char *path);

#define FILE_MOST (128 << 20) /* bytes, approximate: no file read as a whole is larger */

/*
 * Reads the whole file and appends a NUL. The caller frees *text. Stores the length in *len (may be
 * NULL). Returns 0 or -errno: errors of file_open_to_read(), or -EFBIG, also for a device without
 * end and for a sparse file.
 */
int file_read(const char *path, char **text, size_t *len);

/*
 * Opens a file for writing, or creates it with mode 0600. Returns -EPERM if another user owns the
 * existing file, link or pipe, because the owner could choose or read the contents. A link is
 * therefore followed only if this user or root owns it, such as /dev/stdout. Opening never
 * truncates. A named pipe is opened with O_NONBLOCK: -ENXIO without a reader. Returns a descriptor
 * or -errno.
 */
int file_open_ours(const char *path, int flags);

/* Returns the hint for -EPERM and -EOPNOTSUPP, else `hint`. */
const char *file_hint(int rc, const char *hint);

#define FILE_OF_OTHERS "it belongs to another user: name a file that does not exist yet"

/* Closes a descriptor, unless it is negative, and sets it to -1. */
void fd_close(int *fd);

/*
 * Writes `n` bytes. Returns the number of bytes written. If fewer than `n`, errno has the reason.
 */
size_t file_write(int fd, const void *from, size_t n);

/* A file replaced at once: the old contents stay until the new file is complete. */
struct replace {
	FILE *out; /* the new contents */
	const char *path;
	char temporary[PATH_MAX]; /* path of the temporary file in the same directory, "" to
				   * write to the file itself */
};

/*
 * Begins a new file with this mode in place of `path`, which is borrowed. To protect against typing
 * errors, an existing file must be empty or begin with `begin`: -EEXIST. A named pipe is refused:
 * -EOPNOTSUPP. Devices, and links such as /dev/stdout, are written directly. Returns 0 or -errno.
 */
int replace_begin(struct replace *r, const char *path, const char *begin, mode_t mode);

/*
 * Moves the new file to its path if `rc` is 0 and everything was written, else removes it. Returns
 * 0, `rc` or -errno.
 */
int replace_end(struct replace *r, int rc);

#endif
