/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the walk over open files (bpf/files.bpf.c) writes. */
#ifndef PKTLEDGER_FILES_ABI_H
#define PKTLEDGER_FILES_ABI_H

#include <linux/types.h>

#define FILES_WANTED 4096 /* sockets looked for at a time */

/* A process that has a wanted socket. */
struct files_holder {
	__u64 inode;
	__u32 pid; /* as the host's first PID namespace numbers it */
	__u32 fd;
};

_Static_assert(sizeof(struct files_holder) == 16, "no holes");

#endif
