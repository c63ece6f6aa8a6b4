/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who has the sockets, and how much CPU time these processes were refused. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_HOLDER_H
#define PKTLEDGER_DIAGNOSIS_FACTS_HOLDER_H

#include "diagnosis/facts_group.h"
#include "diagnosis/facts_sock.h"

/* Names the owner of each socket. `pid` and the result as those of facts_owners_find(). */
int facts_holders_find(struct facts_socks *socks, pid_t pid);

/* Adds the control groups of all owners, with their first sample. */
void facts_holders_groups(struct facts_groups *groups, const struct facts_socks *socks);

/* Takes their second sample, and tells each socket how long its owner was stopped. */
void facts_holders_throttled(struct facts_groups *groups, struct facts_socks *socks);

#endif
