/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that the kernel writes: they have no size, and some must be read in one go. */
#ifndef PKTLEDGER_BASE_FILE_H
#define PKTLEDGER_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole file with a NUL behind it, to be freed; its length in *len (may be NULL). 0 or -errno.
 */
int file_read(const char *path, char **text, size_t *len);

/* Its first line without the LF; cut to `size`. False: it cannot be read, or is empty. */
bool file_line(const char *path, char *buf, size_t size);

#endif
