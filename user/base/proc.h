/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads files in /proc and similar trees under a directory `root` (an fd for "/", or for a test's
 * directory). Only for short files: contents that do not fit the buffer are truncated.
 */
#ifndef PKTLEDGER_BASE_PROC_H
#define PKTLEDGER_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_NAME 16 /* TASK_COMM_LEN */

/* Opens `path` (NULL: "/") as a root. Returns the fd or -errno. */
int proc_root(const char *path);

/*
 * Reads the file into `buf`, without its last newline. `root` may be AT_FDCWD. Returns the number
 * of bytes, or -errno with `buf` set to "".
 */
int proc_read(int root, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns the decimal number that follows `text` in the file at this path, or 0 if not found. */
uint64_t proc_number(const char *path, const char *text);

/* Reads the target of a symbolic link. Returns the number of bytes, or -errno. */
int proc_link(int root, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Opens a directory for readdir(). Returns NULL with errno on error. */
void *proc_dir(int root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads the next entry in such a directory that is a number. Returns false at the end. */
bool proc_next_number(void *dir, uint64_t *number);

/* Returns the number in "socket:[1]" or "net:[2]", or 0 for any other kind of link. */
uint64_t proc_inode(const char *link, const char *kind);

/* Fields of /proc/PID/stat or of a thread's stat file. */
struct proc_stat {
	char name[PROC_NAME]; /* unprintable bytes are replaced by '?' */
	char state;	      /* R, S, D, T ... */
	unsigned threads;
	uint64_t start; /* clock ticks from boot to process start, unique together with the pid */
};

/*
 * Reads a thread's stat file (`tid` 0: the process's). Returns 0 or -errno (-ESRCH: it has ended).
 */
int proc_stat(int root, pid_t pid, pid_t tid, struct proc_stat *st);

/* Returns whether the thread is waiting in a system call that reads from the descriptor. */
bool proc_receives(int root, pid_t pid, pid_t tid, int fd);

/*
 * Returns the inode of the network namespace, or 0 if the process has ended or permission is
 * missing.
 */
uint32_t proc_netns(int root, pid_t pid);

/* A process's position in the control group hierarchy that limits CPU time. */

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup {
	char dir[512]; /* starts with CGROUP_ROOT, truncated if it does not fit */
	size_t root;   /* length of the path of the hierarchy's root in `dir` */
	bool v2;
};

/*
 * Reads the next line of /proc/PID/cgroup from a text, which it changes: "4:cpu,cpuacct:/a/b", or
 * "0::/a/b" for version 2. Returns false at the end.
 */
bool cgroup_next(char **rest, const char **controllers, const char **path);

/*
 * Finds a process's group (0: the caller's). `root` is from proc_root(), or -1 for "/". Returns
 * false if unknown.
 */
bool cgroup_of(int root, pid_t pid, struct cgroup *group);

/*
 * Open the root of the unified hierarchy where systemd mounts it, or the caller's group in it. Both
 * return a descriptor for the directory or -errno, with -ENOENT if the hierarchy is not mounted.
 * `root` is from proc_root().
 */
int cgroup_mount_v2(int root);
int cgroup_open_v2(void);

/* Moves up to the parent group. Returns false at the root of the hierarchy. */
bool cgroup_up(struct cgroup *group);

#endif
