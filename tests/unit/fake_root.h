/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A directory in place of "/": files and links, such as /proc, for a test. */
#ifndef PKTLEDGER_FAKE_ROOT_H
#define PKTLEDGER_FAKE_ROOT_H

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fake_root[64];

/* In memory rather than on a disk, which may be a network's: there inode numbers differ by who
 * asks.
 */
static inline int fake_begin(void **state)
{
	(void)state;
	strcpy(fake_root, "/dev/shm/pktledger-test-XXXXXX");
	if (mkdtemp(fake_root))
		return 0;
	strcpy(fake_root, "/tmp/pktledger-test-XXXXXX");
	return mkdtemp(fake_root) ? 0 : -1;
}

static inline int fake_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static inline int fake_end(void **state)
{
	(void)state;
	return nftw(fake_root, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path below the root, with the directories above it. One at a time. */
static inline const char *fake_path(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", fake_root, name);
	for (char *p = path + strlen(fake_root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	return path;
}

static inline void fake_file(const char *name, const char *content)
{
	FILE *f = fopen(fake_path(name), "w");

	assert_non_null(f);
	fputs(content, f);
	fclose(f);
}

static inline void fake_link(const char *name, const char *target)
{
	const char *path = fake_path(name);

	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

/*
 * Returns the inode number if stat() and readdir() agree on it (as for cgroups and namespaces),
 * otherwise skips the case.
 */
static inline uint64_t fake_inode(const char *name)
{
	const char *path = fake_path(name), *last = strrchr(path, '/') + 1;
	char parent[1024];
	struct dirent *e;
	struct stat st;
	DIR *dir;

	assert_int_equal(stat(path, &st), 0);
	snprintf(parent, sizeof(parent), "%.*s", (int)(last - path), path);
	dir = opendir(parent);
	assert_non_null(dir);
	do
		e = readdir(dir);
	while (e && strcmp(e->d_name, last));
	if (!e || e->d_ino != st.st_ino || st.st_ino > UINT32_MAX) {
		closedir(dir);
		skip();
	}
	closedir(dir);
	return st.st_ino;
}

#define FAKE_NETNS_HOST 4026531833u

/* A process: its name, when it began, its namespace and its cgroup. */
static inline void fake_process(int pid, const char *name, unsigned start, unsigned netns,
				const char *cgroup)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (%s) S 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 %u 123 45\n", pid, name,
		 start);
	fake_file(path, text);
	snprintf(path, sizeof(path), "proc/%d/ns/net", pid);
	snprintf(text, sizeof(text), "net:[%u]", netns);
	fake_link(path, text);
	snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
	fake_file(path, cgroup);
	snprintf(path, sizeof(path), "proc/%d/task/%d/syscall", pid, pid);
	fake_file(path, "232 0x5 0x7ffd 0x1 0x2 0x3 0x4 0x5\n"); /* epoll_wait() */
	snprintf(path, sizeof(path), "proc/%d/fd/0", pid);
	fake_link(path, "/dev/null");
}

static inline void fake_fd(int pid, int fd, unsigned inode)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "proc/%d/fd/%d", pid, fd);
	snprintf(text, sizeof(text), "socket:[%u]", inode);
	fake_link(path, text);
}

#endif
