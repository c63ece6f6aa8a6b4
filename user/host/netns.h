/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network namespaces held by file descriptors. An anonymous namespace has no name in the file
 * system: it dies with its last descriptor and thread, also when the program is killed.
 */
#ifndef PKTLEDGER_HOST_NETNS_H
#define PKTLEDGER_HOST_NETNS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define NETNS_DIR "/run/netns" /* where `ip netns` keeps the named ones */

struct netns {
	int fd;	   /* of the namespace; -1: the one that the calling thread is in */
	int sysfs; /* detached mount of sysfs as this namespace sees it, a directory fd; -1: none */
	uint32_t inum; /* inode number, as BPF reads it in net->ns.inum */
};

#define NETNS_NONE ((struct netns){.fd = -1, .sysfs = -1})

/* Makes an anonymous namespace with loopback up. The caller's own namespace is unchanged. */
int netns_create(struct netns *ns, struct error *err);

/* The namespace that the calling thread is in. */
int netns_current(struct netns *ns, struct error *err);

/* A named one (/run/netns/NAME, as `ip netns` makes them), or a path. */
int netns_open(struct netns *ns, const char *name, struct error *err);

/* For netns_sysfs(), of one that netns_open() has opened: a mount that some 0.3 ms buy. */
void netns_open_sysfs(struct netns *ns);

/*
 * The number by which the kernel distinguishes namespaces, never used twice between two boots
 * (SO_NETNS_COOKIE, Linux 5.14).
 */
int netns_cookie(const struct netns *ns, uint64_t *cookie);

/*
 * Calls visit() for each namespace that has a name in NETNS_DIR, or that a process is in, until it
 * returns 1; 0 or -errno: go on. One with a name may come twice. `ns`, without sysfs, is closed
 * afterwards. Returns that 1; 0; or -EACCES: of processes not all could be read.
 */
typedef int netns_visit(void *arg, const struct netns *ns);
int netns_each(netns_visit *visit, void *arg);

/*
 * Opens the namespace with this cookie, if it is the thread's own, has a name in NETNS_DIR, or a
 * process is in it. -ENOENT: there is none such; -EACCES: there may be, but not all could be read.
 */
int netns_find(struct netns *ns, uint64_t cookie);

/*
 * Moves the calling thread into `ns` for good; for threads that work in one namespace. Here and
 * below NULL and NETNS_NONE are the namespace that the thread is in; no privilege is needed then.
 */
int netns_enter(const struct netns *ns);

/*
 * Moves the calling thread into `ns` for a while. Returns a descriptor of the namespace left, to
 * be given to netns_pop(), which closes it, or -errno: then the thread is where it was, and there
 * is nothing to be undone.
 */
int netns_push(const struct netns *ns);
void netns_pop(int saved);

/* Whether iptables-legacy has a table there, "nat" for example; "": any. */
bool netns_has_xtable(const struct netns *ns, const char *table);

/* Closes the descriptors; an anonymous namespace that nobody else holds goes away. */
void netns_close(struct netns *ns);

/*
 * Writes `value` to a file below /sys as the namespace sees it, e.g. "class/net/v0/threaded"; NULL:
 * reads it into `buf`, without the last newline. -EOPNOTSUPP if the namespace has no sysfs mount;
 * -ENOSPC if the value with its newline does not fit `size`.
 */
int netns_sysfs(const struct netns *ns, const char *path, const char *value, char *buf,
		unsigned size);

/* The same below /proc/sys in the namespace, e.g. "net/ipv4/ip_forward". */
int netns_sysctl(const struct netns *ns, const char *path, const char *value, char *buf,
		 unsigned size);
int netns_sysctl_read(const struct netns *ns, const char *path, char *buf, unsigned size);

/* The same; 0 also for a setting of IPv6, or of bridges' netfilter, that the kernel has not. */
int netns_sysctl_write(const struct netns *ns, const char *path, const char *value);

/* Its first `n` numbers. False, and all are 0: it cannot be read, or has not so many. */
bool netns_sysctl_numbers(const struct netns *ns, const char *path, uint64_t *number, unsigned n);

/*
 * Runs argv[0] (as netns_exec_finds() does) in the namespace and waits for it, `input` on its stdin
 * (may be NULL), stdout discarded. -EIO if it fails: the first line of its stderr is in `err`. May
 * be called with other threads running. `lock`: a descriptor that it holds as well, for a program
 * that works on when we are killed; or -1.
 */
int netns_exec(const struct netns *ns, char *const argv[], const char *input, int lock,
	       struct error *err);

/* Whether there is such a program in PATH, or where administrators' tools are; `path`: its file. */
bool netns_exec_finds(const char *program, char path[PATH_MAX]);

/*
 * The same with the program's stdout as text, to be freed; at lower priority (nice 10). -ETIMEDOUT:
 * it took longer than `timeout_ms` and was killed; -EFBIG: it wrote more than `most` bytes.
 */
int netns_exec_read(const struct netns *ns, char *const argv[], int timeout_ms, size_t most,
		    char **text, struct error *err);

#endif
