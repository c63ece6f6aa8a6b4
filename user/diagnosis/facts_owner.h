/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which process has a socket: by one pass over /proc. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_OWNER_H
#define PKTLEDGER_DIAGNOSIS_FACTS_OWNER_H

#include <stdint.h>
#include <sys/types.h>

struct facts_owner {
	uint64_t inode;	  /* asked for */
	pid_t pid;	  /* 0: none found */
	char process[16]; /* its name, /proc/PID/comm */
};

/*
 * Fills in the owners of `n` sockets, whose order it changes: by inode. `pid` 0: looks at all
 * processes, else at this one. Of several that have a socket the one with the lowest number is
 * taken. 0; -EACCES if descriptors of some processes may not be read (CAP_SYS_PTRACE); -errno.
 */
int facts_owners_find(struct facts_owner *owner, unsigned n, pid_t pid);

/* The entry of an inode in a list that facts_owners_find() has filled; NULL: it is not in it. */
struct facts_owner *facts_owner_of(struct facts_owner *owner, unsigned n, uint64_t inode);

#endif
