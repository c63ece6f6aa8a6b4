/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network namespaces held open by file descriptors. An anonymous namespace has no name in the file
 * system. It disappears with its last descriptor and thread, even if the program is killed.
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
	int fd;	   /* namespace fd, -1: the calling thread's namespace */
	int sysfs; /* directory fd of a detached sysfs mount in this namespace, or -1 */
	uint32_t inum; /* inode number, which BPF reads as net->ns.inum */
};

#define NETNS_NONE ((struct netns){.fd = -1, .sysfs = -1})

/* Creates an anonymous namespace and brings its loopback up. The caller stays in its namespace. */
int netns_create(struct netns *ns, struct error *err);

/* Opens the calling thread's namespace. */
int netns_current(struct netns *ns, struct error *err);

/* Opens a named namespace (/run/netns/NAME, as created by `ip netns`) or a path. */
int netns_open(struct netns *ns, const char *name, struct error *err);

/*
 * Mounts sysfs for a namespace from netns_open(), so that netns_sysfs() works. Takes about 0.3 ms.
 */
void netns_open_sysfs(struct netns *ns);

/*
 * Gets the kernel's namespace cookie, which is unique until reboot (SO_NETNS_COOKIE, Linux 5.14).
 */
int netns_cookie(const struct netns *ns, uint64_t *cookie);

/*
 * Returns the cookie, 0 if the kernel has none. The inode number does not identify a namespace for
 * long, because the kernel gives the number of a namespace that is gone to the next one.
 */
uint64_t netns_identity(const struct netns *ns);

/*
 * Calls visit() for each namespace that has a name in NETNS_DIR or a process in it, until visit()
 * returns 1 (0 or -errno: continue). Named namespaces may be visited twice. `ns` has no sysfs mount
 * and is closed afterwards. Returns 1, or 0, or -N if N namespaces have no readable process (they
 * may have been visited by name).
 */
typedef int netns_visit(void *arg, const struct netns *ns);
int netns_each(netns_visit *visit, void *arg);

/*
 * Opens the namespace with this cookie, if it is the thread's own, has a name in NETNS_DIR or has a
 * process in it. Returns -ENOENT if not found, -EACCES if not found but some processes could not be
 * read.
 */
int netns_find(struct netns *ns, uint64_t cookie);

/*
 * Moves the calling thread into `ns` permanently. For threads that work in a single namespace. Here
 * and below, NULL and NETNS_NONE mean the thread's own namespace, which requires no privilege.
 */
int netns_enter(const struct netns *ns);

/*
 * Moves the calling thread into `ns` temporarily. Returns a descriptor for the previous namespace,
 * to be passed to netns_pop(), which closes it. Returns -errno if the thread has not moved and
 * nothing needs to be undone.
 */
int netns_push(const struct netns *ns);
void netns_pop(int saved);

/*
 * Returns whether the namespace has this iptables-legacy table, such as "nat". "" means any table.
 */
bool netns_has_xtable(const struct netns *ns, const char *table);

/* Closes the descriptors. The kernel deletes an anonymous namespace that has no other users. */
void netns_close(struct netns *ns);

/*
 * Writes `value` to a file under the namespace's /sys, such as "class/net/v0/threaded". If `value`
 * is NULL, reads the file into `buf`, without the final newline. Returns -EOPNOTSUPP if the
 * namespace has no sysfs mount, -ENOSPC if the value with its newline does not fit into `size`
 * bytes.
 */
int netns_sysfs(const struct netns *ns, const char *path, const char *value, char *buf,
		unsigned size);

/* Reads or writes a sysctl under the namespace's /proc/sys, such as "net/ipv4/ip_forward". */
int netns_sysctl(const struct netns *ns, const char *path, const char *value, char *buf,
		 unsigned size);

/*
 * Writes a sysctl. Also returns 0 if the kernel lacks the setting because it has no IPv6 or no
 * bridge netfilter.
 */
int netns_sysctl_write(const struct netns *ns, const char *path, const char *value);

/* Reads or writes a file given by its full path: under /sys like netns_sysfs(), or under /proc. */
int netns_file(const struct netns *ns, const char *path, const char *value, char *buf,
	       unsigned size);

/*
 * Reads the first `n` numbers. If the file is unreadable or has fewer, returns false and sets all
 * to zero.
 */
bool netns_sysctl_numbers(const struct netns *ns, const char *path, uint64_t *number, unsigned n);

/*
 * Runs argv[0] (looked up by netns_exec_finds()) in the namespace and waits for it. Its stdin is
 * `input` (may be NULL), and its stdout is discarded. Returns -EIO if it fails, with the first line
 * of its stderr as the message in `err` and the following lines as the hint. Safe while other
 * threads are running. `lock` is a descriptor that the program inherits as descriptor 3 (a lock or
 * another namespace), or -1.
 */
int netns_exec(const struct netns *ns, char *const argv[], const char *input, int lock,
	       struct error *err);

/* Finds a program in PATH or the administrators' directories. Sets `path` to its file. */
bool netns_exec_finds(const char *program, char path[PATH_MAX]);

/*
 * Runs argv[0] like netns_exec(), but at lower priority (nice 10), and returns its stdout as text.
 * The caller frees the text. Returns -ETIMEDOUT if the program was killed after `timeout_ms`,
 * -EFBIG if it wrote more than `most` bytes.
 */
int netns_exec_read(const struct netns *ns, char *const argv[], int timeout_ms, size_t most,
		    char **text, struct error *err);

#endif
