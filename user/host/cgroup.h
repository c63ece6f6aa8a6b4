/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a process is in the hierarchy of control groups that gives CPU time. */
#ifndef PKTLEDGER_HOST_CGROUP_H
#define PKTLEDGER_HOST_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup {
	char dir[512]; /* below CGROUP_ROOT, which it begins with; one that does not fit is cut */
	size_t root;   /* length of the hierarchy's own directory in it */
	bool v2;
};

/* The group of a process, 0: the caller's. `root`: proc_root(), -1: "/". False: not known. */
bool cgroup_of(int root, pid_t pid, struct cgroup *group);

/*
 * The caller's group in the unified hierarchy, wherever that is mounted: a descriptor of its
 * directory, or -errno. -ENOENT: it is mounted nowhere.
 */
int cgroup_open_v2(void);

/* Goes up by one; false: it was the hierarchy's root. */
bool cgroup_up(struct cgroup *group);

#endif
