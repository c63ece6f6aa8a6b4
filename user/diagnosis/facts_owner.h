/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who has the sockets, and how much CPU time these processes were refused. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_OWNER_H
#define PKTLEDGER_DIAGNOSIS_FACTS_OWNER_H

#include <stdint.h>
#include <sys/types.h>

#include "diagnosis/facts_group.h"
#include "diagnosis/facts_sock.h"
#include "drops/owners.h"

struct facts_owner {
	uint64_t inode;	  /* asked for */
	pid_t pid;	  /* 0: none found */
	char process[16]; /* its name, /proc/PID/comm */
};

/*
 * Fills in the owners of `n` sockets, as owners_socket() has them. `pid` 0: looks at all processes,
 * else at this one. `o` NULL: none is found. 0; -EACCES if descriptors of some processes may not be
 * read (CAP_SYS_PTRACE); -errno.
 */
int facts_owners_find(struct owners *o, struct facts_owner *owner, unsigned n, pid_t pid);

/* Names the owner of each socket. `pid` and the result as those of facts_owners_find(). */
int facts_holders_find(struct owners *o, struct facts_socks *socks, pid_t pid);

/* Adds the control groups of all owners, with their first sample. */
void facts_holders_groups(struct facts_groups *groups, const struct facts_socks *socks);

/* Takes their second sample, and gives each socket how long its owner was stopped. */
void facts_holders_throttled(struct facts_groups *groups, struct facts_socks *socks);

#endif
