// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"

static int compare(const void *a, const void *b)
{
	const struct facts_owner *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

struct facts_owner *facts_owner_of(struct facts_owner *owner, unsigned n, uint64_t inode)
{
	struct facts_owner key = {.inode = inode};

	return bsearch(&key, owner, n, sizeof(*owner), compare);
}

static void found(struct facts_owner *owner, unsigned n, uint64_t inode, pid_t pid)
{
	struct facts_owner *o = facts_owner_of(owner, n, inode);
	char path[48];

	if (!o || (o->pid && o->pid <= pid))
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (file_line(path, o->process, sizeof(o->process)))
		o->pid = pid;
}

/* -EACCES: not for us; a process that is gone by now is no error. */
static int look_at(struct facts_owner *owner, unsigned n, pid_t pid)
{
	const struct dirent *e;
	char path[48];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == EACCES ? -EACCES : 0;
	while ((e = readdir(dir))) {
		char link[48];
		ssize_t len = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		uint64_t inode;

		if (len < 0)
			continue;
		link[len] = '\0';
		if (sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1)
			found(owner, n, inode, pid);
	}
	closedir(dir);
	return 0;
}

int facts_owners_find(struct facts_owner *owner, unsigned n, pid_t pid)
{
	const struct dirent *e;
	int ret = 0;
	DIR *proc;

	qsort(owner, n, sizeof(*owner), compare);
	if (pid)
		return look_at(owner, n, pid);
	proc = opendir("/proc");
	if (!proc)
		return -errno;
	while (n && (e = readdir(proc))) {
		uint64_t number;

		if (!num_u64(e->d_name, 1, INT32_MAX, &number) && look_at(owner, n, (pid_t)number))
			ret = -EACCES;
	}
	closedir(proc);
	return ret;
}
