/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control groups that ran out of CPU time. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_GROUP_H
#define PKTLEDGER_DIAGNOSIS_FACTS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "host/cgroup.h"

#define FACTS_GROUPS 256

/* cpu.stat, since the group was made. */
struct group_stat {
	bool known;
	uint64_t periods, throttled, throttled_ns;
};

/* cpu.stat of both versions: throttled_usec of 2, throttled_time (ns) of 1. Pure. */
struct group_stat group_stat_parse(const char *text);

struct facts_group {
	char dir[512];
	struct group_stat before, after;
};

struct facts_groups {
	unsigned n;
	struct facts_group at[FACTS_GROUPS];
};

/*
 * How long a process's group has been without CPU because its quota was used up, ns, over all CPUs:
 * one value for each level from it upwards, at most `max`. Returns the levels, 0: no quota, or
 * unknown. `root`: proc_root().
 */
unsigned group_throttled(int root, pid_t pid, uint64_t *ns, unsigned max);

/* Adds a process's group and all above it, with their first sample. */
void facts_groups_add(struct facts_groups *groups, const struct cgroup *group);

/* The second sample of all of them. */
void facts_groups_sample(struct facts_groups *groups);

/*
 * Of a process's group and those above it, the one that was stopped the longest between the
 * samples; NULL: none was.
 */
const struct facts_group *facts_groups_worst(const struct facts_groups *groups,
					     const struct cgroup *group);

#endif
