// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/inodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ROOM 64

/* Open addressing; an inode is never 0, which marks a free place. */
struct inodes {
	pid_t pid;
	uint64_t *at;
	unsigned n, room; /* room: a power of two above twice n */
};

static uint64_t *place(const struct inodes *s, uint64_t inode)
{
	unsigned i = (unsigned)(inode * 0x9e3779b97f4a7c15 >> 33) & (s->room - 1);

	while (s->at[i] && s->at[i] != inode)
		i = (i + 1) & (s->room - 1);
	return &s->at[i];
}

static bool grow(struct inodes *s)
{
	struct inodes more = {.room = s->room ? s->room * 2 : FIRST_ROOM};

	more.at = calloc(more.room, sizeof(*more.at));
	if (!more.at)
		return false;
	for (unsigned i = 0; i < s->room; i++) {
		if (s->at[i])
			*place(&more, s->at[i]) = s->at[i];
	}
	free(s->at);
	s->at = more.at;
	s->room = more.room;
	return true;
}

static void add(struct inodes *s, uint64_t inode)
{
	uint64_t *at;

	if (2 * (s->n + 1) > s->room && !grow(s))
		return;
	at = place(s, inode);
	s->n += !*at;
	*at = inode;
}

static DIR *open_fds(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return opendir(path);
}

void inodes_read(struct inodes *s)
{
	DIR *dir = open_fds(s->pid);
	unsigned long long inode;
	struct dirent *d;
	char link[64];
	ssize_t len;

	if (!dir)
		return;
	while ((d = readdir(dir))) {
		len = readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);
		if (len <= 0)
			continue;
		link[len] = '\0';
		if (sscanf(link, "socket:[%llu]", &inode) == 1)
			add(s, inode);
	}
	closedir(dir);
}

int inodes_open(struct inodes **out, pid_t pid, struct error *err)
{
	DIR *dir = open_fds(pid);
	struct inodes *s;

	if (!dir && errno == ENOENT)
		return error_set(err, STATUS_FAILED, -ESRCH, NULL, "there is no process %d",
				 (int)pid);
	if (!dir)
		return error_set(err, STATUS_UNABLE, -errno, "run as root, or with CAP_SYS_PTRACE",
				 "cannot see the sockets of process %d: %s", (int)pid,
				 strerror(errno));
	closedir(dir);
	s = calloc(1, sizeof(*s));
	if (!s || !grow(s)) {
		free(s);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	s->pid = pid;
	inodes_read(s);
	*out = s;
	return 0;
}

bool inodes_have(const struct inodes *s, uint64_t inode)
{
	return inode && *place(s, inode) == inode;
}

void inodes_close(struct inodes *s)
{
	if (!s)
		return;
	free(s->at);
	free(s);
}
