/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that the kernel writes, and our own files, which appear complete or not at all. */
#ifndef PKTLEDGER_BASE_FILE_H
#define PKTLEDGER_BASE_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Files in /proc and /sys have no size, and some must be read with a single call. */

/*
 * Opens a file for reading. Refuses pipes and sockets with -EOPNOTSUPP, because a writer that never
 * opens them or never finishes would block the program. Returns a descriptor or -errno.
 */
int file_open_to_read(const char *path);

#define FILE_MOST (128 << 20) /* bytes, approximate limit for files that are read as a whole */

/*
 * Reads the whole file and appends a NUL. The caller frees *text. Stores the length in *len (may be
 * NULL). Returns 0 or -errno, either an error of file_open_to_read() or -EFBIG. Endless devices and
 * sparse files also give -EFBIG.
 */
int file_read(const char *path, char **text, size_t *len);

/*
 * Opens a file for writing, or creates it with mode 0600. Returns -EPERM if the existing file, link
 * or pipe belongs to another user, because the owner could choose or read the contents. A link is
 * therefore followed only if this user or root owns it, as with /dev/stdout. Opening never
 * truncates. A named pipe is opened with O_NONBLOCK, and -ENXIO means that it has no reader.
 * Returns a descriptor or -errno.
 */
int file_open_ours(const char *path, int flags);

/* Returns the hint for -EPERM and -EOPNOTSUPP, otherwise `hint`. */
const char *file_hint(int rc, const char *hint);

#define FILE_OF_OTHERS "it belongs to another user: name a file that does not exist yet"

/* Closes a descriptor unless it is negative, and sets it to -1. */
void fd_close(int *fd);

/*
 * Writes `n` bytes. Returns the number of bytes written. If that is less than `n`, errno has the
 * reason.
 */
size_t file_write(int fd, const void *from, size_t n);

/* A file that is replaced atomically. The old contents stay until the new file is complete. */
struct replace {
	FILE *out; /* the new contents */
	const char *path;
	char temporary[PATH_MAX]; /* path of the temporary file in the same directory, "": write to
				   * the file directly */
};

/*
 * Begins a new file with this mode to replace `path`, which is borrowed. To protect against typing
 * errors, an existing file must be empty or begin with `begin`, otherwise -EEXIST is returned.
 * Named pipes are refused with -EOPNOTSUPP. Devices, and links such as /dev/stdout, are written
 * directly. Returns 0 or -errno.
 */
int replace_begin(struct replace *r, const char *path, const char *begin, mode_t mode);

/*
 * If `rc` is 0 and everything was written, moves the new file to its path. Otherwise removes it.
 * Returns 0, `rc` or -errno.
 */
int replace_end(struct replace *r, int rc);

#endif
