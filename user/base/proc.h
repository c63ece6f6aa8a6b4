/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads files of /proc and similar trees below a directory `root` (an fd of "/", or of a test's
 * directory). For short files only: contents larger than the buffer are cut.
 */
#ifndef PKTLEDGER_BASE_PROC_H
#define PKTLEDGER_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_NAME 16 /* TASK_COMM_LEN */

/* Opens `path` as a root (NULL: "/"). Returns the fd or -errno. */
int proc_root(const char *path);

/*
 * Reads the file into `buf`, without its last newline. `root` may be AT_FDCWD. Returns bytes, or
 * -errno with `buf` set to "".
 */
int proc_read(int root, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns the decimal number after `text` in the file of this path, 0 if not found. */
uint64_t proc_number(const char *path, const char *text);

/* Reads the target of a symbolic link. Returns bytes, or -errno. */
int proc_link(int root, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Opens a directory for readdir(). Returns NULL with errno on error. */
void *proc_dir(int root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads the next entry of such a directory that is a number. Returns false at the end. */
bool proc_next_number(void *dir, uint64_t *number);

/* Returns the number in "socket:[1]" or "net:[2]", 0 for a link of another kind. */
uint64_t proc_inode(const char *link, const char *kind);

/* Fields of /proc/PID/stat, or of a thread's stat. */
struct proc_stat {
	char name[PROC_NAME]; /* unprintable bytes are '?' */
	char state;	      /* R, S, D, T ... */
	unsigned threads;
	uint64_t start; /* clock ticks from boot to birth: pid and start together are unique */
};

/* Reads the stat of a thread (`tid` 0: of the process). Returns 0 or -errno (-ESRCH: ended). */
int proc_stat(int root, pid_t pid, pid_t tid, struct proc_stat *st);

/* Returns whether the thread waits in a call that reads the descriptor. */
bool proc_receives(int root, pid_t pid, pid_t tid, int fd);

/* Returns the inode of the network namespace, 0 if the process ended or on missing permission. */
uint32_t proc_netns(int root, pid_t pid);

/* A process's place in the control group hierarchy that limits CPU time. */

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup {
	char dir[512]; /* starts with CGROUP_ROOT, cut if it does not fit */
	size_t root;   /* length of the hierarchy's root directory in `dir` */
	bool v2;
};

/*
 * Finds the group of a process (0: the caller). `root`: proc_root(), -1 for "/". Returns false if
 * unknown.
 */
bool cgroup_of(int root, pid_t pid, struct cgroup *group);

/*
 * Opens the root of the unified hierarchy where systemd mounts it, or the caller's group in it.
 * Return a descriptor of the directory or -errno, -ENOENT if the hierarchy is not mounted. `root`:
 * proc_root().
 */
int cgroup_mount_v2(int root);
int cgroup_open_v2(void);

/* Moves to the parent group. Returns false at the root of the hierarchy. */
bool cgroup_up(struct cgroup *group);

#endif
