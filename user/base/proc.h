/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of /proc and their like below a directory `root` (an fd; "/" opened, or a test's). Short
 * files only: what does not fit the buffer is cut.
 */
#ifndef PKTLEDGER_BASE_PROC_H
#define PKTLEDGER_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_NAME 16 /* TASK_COMM_LEN */

/* Opens `path` as a root; NULL: "/". The fd or -errno. */
int proc_root(const char *path);

/*
 * Reads the file into `buf`, without its last newline. `root` may be AT_FDCWD. Bytes, or -errno:
 * then `buf` is "".
 */
int proc_read(int root, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The decimal number behind `text` in the file of this path; 0: there is none. */
uint64_t proc_number(const char *path, const char *text);

/* The target of a symbolic link. Bytes, or -errno. */
int proc_link(int root, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The directory to read with readdir(); NULL with errno. */
void *proc_dir(int root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The next entry of such a directory that is a number; false: no more. */
bool proc_next_number(void *dir, uint64_t *number);

/* The number in "socket:[1]", "net:[2]"; 0: it is another kind of thing. */
uint64_t proc_inode(const char *link, const char *kind);

/* What we want of /proc/PID/stat, or of a thread's. */
struct proc_stat {
	char name[PROC_NAME]; /* unprintable bytes as '?' */
	char state;	      /* R, S, D, T ... */
	unsigned threads;
	uint64_t start; /* when it was born, clock ticks after boot: pid and start are unique */
};

/* `tid` 0: the process. 0 or -errno (-ESRCH: gone). */
int proc_stat(int root, pid_t pid, pid_t tid, struct proc_stat *st);

/* Whether the thread waits in a call that reads the descriptor. */
bool proc_receives(int root, pid_t pid, pid_t tid, int fd);

/* The inode of the network namespace; 0: gone, or not permitted. */
uint32_t proc_netns(int root, pid_t pid);

/* Where a process is in the hierarchy of control groups that gives CPU time. */

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
