/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sockets that a process has, or had since it is looked at: inodes, from /proc/PID/fd. */
#ifndef PKTLEDGER_DROPS_INODES_H
#define PKTLEDGER_DROPS_INODES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct inodes;

/* STATUS_FAILED: there is no such process; STATUS_UNABLE: its descriptors may not be seen. */
int inodes_open(struct inodes **s, pid_t pid, struct error *err);
void inodes_close(struct inodes *s);

/* Adds what the process has now. It may have ended. */
void inodes_read(struct inodes *s);

bool inodes_have(const struct inodes *s, uint64_t inode);

#endif
