/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network namespaces held by file descriptors. An anonymous namespace has no name in the file
 * system: it is deleted with its last descriptor and thread, even if the program is killed.
 */
#ifndef PKTLEDGER_HOST_NETNS_H
#define PKTLEDGER_HOST_NETNS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define NETNS_DIR "/run/netns" /* where `ip netns` keeps named namespaces */

struct netns {
	int fd;	   /* of the namespace, -1: the calling thread's namespace */
	int sysfs; /* directory fd of a detached sysfs mount in this namespace, or -1 */
	uint32_t inum; /* inode number, as BPF reads it in net->ns.inum */
};

#define NETNS_NONE ((struct netns){.fd = -1, .sysfs = -1})

/* Creates an anonymous namespace with loopback up. The caller's namespace is unchanged. */
int netns_create(struct netns *ns, struct error *err);

/* Opens the calling thread's namespace. */
int netns_current(struct netns *ns, struct error *err);

/* Opens a named namespace (/run/netns/NAME, as made by `ip netns`), or a path. */
int netns_open(struct netns *ns, const char *name, struct error *err);

/* Mounts sysfs in a namespace from netns_open(), for netns_sysf(). Takes about 0.3 ms. */
void netns_open_sysfs(struct netns *ns);

/*
 * Returns the kernel's namespace cookie, unique until the next boot (SO_NETNS_COOKIE, Linux 5.14).
 */
int netns_cookie(const struct netns *ns, uint64_t *cookie);

/*
 * Calls visit() for each namespace with a name in NETNS_DIR or a process in it, until it returns 1
 * (0 or -errno: continue). Named namespaces may be visited twice. `ns`, without sysfs, is closed
 * afterwards. Returns 1, 0, or -EACCES if some processes are unreadable.
 */
typedef int netns_visit(void *arg, const struct netns *ns);
int netns_each(netns_visit *visit, void *arg);

/*
 * Opens the namespace with this cookie, if it is the thread's own, has a name in NETNS_DIR, or has
 * a process in it. -ENOENT if not found. -EACCES: not found, but some processes are unreadable.
 */
int netns_find(struct netns *ns, uint64_t cookie);

/*
 * Moves the calling thread into `ns` permanently, for threads that work in a single namespace. Here
 * and below NULL and NETNS_NONE mean the thread's namespace, which requires no privilege.
 */
int netns_enter(const struct netns *ns);

/*
 * Moves the calling thread into `ns` temporarily. Returns a descriptor of the previous namespace
 * for netns_pop(), which closes it, or -errno: then the thread has not moved, and nothing needs
 * undoing.
 */
int netns_push(const struct netns *ns);
void netns_pop(int saved);

/* Returns whether iptables-legacy has a table there, such as "nat". "": any table. */
bool netns_has_xtable(const struct netns *ns, const char *table);

/* Closes the descriptors. An anonymous namespace without other users is deleted. */
void netns_close(struct netns *ns);

/*
 * Writes `value` to a file below the namespace's /sys, e.g. "class/net/v0/threaded". NULL: reads it
 * into `buf`, without the final newline. -EOPNOTSUPP if the namespace has no sysfs mount, -ENOSPC
 * if the value with its newline does not fit `size`.
 */
int netns_sysfs(const struct netns *ns, const char *path, const char *value, char *buf,
		unsigned size);

/* Reads or writes a sysctl below the namespace's /proc/sys, e.g. "net/ipv4/ip_forward". */
int netns_sysctl(const struct netns *ns, const char *path, const char *value, char *buf,
		 unsigned size);
int netns_sysctl_read(const struct netns *ns, const char *path, char *buf, unsigned size);

/*
 * Writes a sysctl. Returns 0 also for a setting of IPv6, or of bridge netfilter, that the kernel
 * lacks.
 */
int netns_sysctl_write(const struct netns *ns, const char *path, const char *value);

/* Reads or writes a file given by its path: below /sys as netns_sysfs(), or below /proc. */
int netns_file(const struct netns *ns, const char *path, const char *value, char *buf,
	       unsigned size);

/* Reads the first `n` numbers. Returns false, with all zero, if unreadable or fewer than `n`. */
bool netns_sysctl_numbers(const struct netns *ns, const char *path, uint64_t *number, unsigned n);

/*
 * Runs argv[0] (found by netns_exec_finds()) in the namespace and waits for it, with `input` on its
 * stdin (may be NULL) and stdout discarded. -EIO if it fails: the first line of its stderr is the
 * message in `err`, the next ones the hint. Safe with other threads running. `lock`: a descriptor
 * that it inherits as its descriptor 3: a lock, or another namespace, or -1.
 */
int netns_exec(const struct netns *ns, char *const argv[], const char *input, int lock,
	       struct error *err);

/* Finds a program in PATH or the administrators' directories. `path`: its file. */
bool netns_exec_finds(const char *program, char path[PATH_MAX]);

/*
 * Runs argv[0] as netns_exec() does and returns its stdout as text, which the caller frees. Runs at
 * lower priority (nice 10). -ETIMEDOUT: killed after `timeout_ms`. -EFBIG: wrote more than `most`
 * bytes.
 */
int netns_exec_read(const struct netns *ns, char *const argv[], int timeout_ms, size_t most,
		    char **text, struct error *err);

#endif
