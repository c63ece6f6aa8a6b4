/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Control groups: path by id, and path of a process. On a host with both hierarchies (v1 and
 * `unified`) a container may be in version 1 alone: then only its processes tell, not the id of a
 * packet. `root`: proc_root().
 */
#ifndef PKTLEDGER_DROPS_CGROUP_H
#define PKTLEDGER_DROPS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The path of a cgroup of version 2 below its mount, "/" for the root: by file handle, whose
 * content is the id (kernfs_node_from_fh); where that is not permitted, or is not cgroupfs, by the
 * inode numbers of the directories, which are the ids too on a 64-bit kernel. 0; -ENOENT: no such
 * cgroup, or none is mounted; a walk ends with -E2BIG after 10,000 directories.
 */
int cgroup_path(int root, uint64_t id, char *buf, size_t size);

/*
 * The path of a process: of version 2, or, where that is the root, the longest of version 1. 0 or
 * -errno.
 */
int cgroup_of_process(int root, pid_t pid, char *buf, size_t size);

/*
 * There is such a path, of version 2 or in a hierarchy of version 1; true if none is mounted.
 * `root` NULL: "/".
 */
bool cgroup_exists(const char *root, const char *path);

#endif
