/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose packets these were: from the numbers that a drop carries (inode of the socket, of the
 * network namespace, id of the cgroup) to names that people know. Read from /proc, cgroupfs,
 * /run/netns and the names below /var/log; no daemon is asked. Processes by name, never by their
 * arguments.
 *
 * Questions are cheap: they look into a cache. What is not there is looked for by the next
 * owners_tick(), whose work is bounded; until then the answer is -EAGAIN. To be used by one thread.
 */
#ifndef PKTLEDGER_DROPS_OWNERS_H
#define PKTLEDGER_DROPS_OWNERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "drops/container.h"
#include "drops/ports.h"
#include "host/netns.h"

#define OWNER_CGROUP 256 /* bytes of a path; a longer one loses its beginning, marked by "..." */
#define OWNER_NETNS  (CONTAINER_K8S_NS + CONTAINER_POD) /* hold any name of a namespace */

struct owners;

/* What is known of an owner. Self-contained; 0 or empty: not known. */
struct owner {
	pid_t pid;	  /* the process that reads the socket, or the only one that has it */
	unsigned holders; /* processes that have it open */
	int fd;		  /* its descriptor of the socket */
	char process[16]; /* its name, /proc/PID/comm */
	char cgroup[OWNER_CGROUP]; /* below the root of its hierarchy; "/": in the root */
	struct container container;
};

/* What all this cost. */
struct owners_cost {
	uint64_t scans;	 /* passes over /proc, whole or not */
	uint64_t links;	 /* descriptors looked at */
	uint64_t cpu_ns; /* of the thread, in all functions of this file that look */
};

/*
 * `root`: directory in front of /proc, /run, /sys/fs/cgroup and /var/log, whose sockets are looked
 * for in its /proc; NULL: "/", by a walk inside the kernel where that is allowed (drops/files.h).
 * What is absent there is no error: names are then missing. -ENOMEM, or -errno of `root`.
 */
int owners_open(struct owners **o, const char *root, struct error *err);
void owners_close(struct owners *o);

/*
 * Looks for what was asked since the last call. To be called after rows were asked for, and these
 * asked for again; a process that has ended by then is not found. In the long run it uses 1 % of a
 * CPU, at once 50 ms: then -EAGAIN stays the answer for a while, on a host with very many
 * descriptors.
 */
void owners_tick(struct owners *o);

/*
 * Looks for all sockets that were asked for, however long that takes, in this process (0: in all).
 * 0; -EACCES: descriptors of some processes may not be read (CAP_SYS_PTRACE); -errno.
 */
int owners_look(struct owners *o, pid_t pid);

/*
 * The owner of a socket: `inode` of the socket (SOCK_INODE() in the kernel, "socket:[inode]" in
 * /proc/PID/fd), `netns` inode of its namespace, `cgroup` its id; 0: not known. Of several that
 * have it the owner is the one that waits in a call that reads it, else the one that was started
 * last, because a socket is handed down; PID 1 only if there is no other. 0, or -EAGAIN: not
 * looked for yet; -ESRCH: no process has it, as with sockets of the kernel. Asked again some time
 * after, it is looked for again; who has ended meanwhile is still the answer. What is known without
 * the process is filled in each case.
 */
int owners_socket(struct owners *o, uint64_t inode, uint32_t netns, uint64_t cgroup,
		  struct owner *out);

/*
 * The UDP socket that packets to an address come to, where the kernel has not shown it. 0, -ENOENT
 * or -EAGAIN as ports_find(); owners_tick() looks it up.
 */
int owners_bound(struct owners *o, const struct ports_key *key, struct ports_row *out);

/* As owners_socket() without a socket: cgroup, container and pod of a packet. 0 or -ENOENT. */
int owners_cgroup(struct owners *o, uint64_t cgroup, struct owner *out);

/*
 * The name of a namespace: as `ip netns` has it, "host" for the one of PID 1, else the pod, else
 * the container, else "process[pid]" of its first process, else its number. Names that a CNI has
 * made up (cni-...) come after the pod's. Returns `buf` of OWNER_NETNS bytes.
 */
char *owners_netns(struct owners *o, uint32_t netns, char *buf);

/* Opens the namespace; to be closed with netns_close(). -EAGAIN, -ENOENT, or as netns_open(). */
int owners_netns_open(struct owners *o, uint32_t netns, struct netns *ns, struct error *err);

/*
 * Namespaces that have a name or a process, as of the last pass over /proc; the first is the one of
 * this thread. Returns how many were written, at most `max`.
 */
unsigned owners_netns_list(struct owners *o, uint32_t *netns, unsigned max);

/*
 * There is such a path, of version 2 or in a hierarchy of version 1; true if none is mounted.
 * `root` NULL: "/".
 */
bool cgroup_exists(const char *root, const char *path);

void owners_cost(const struct owners *o, struct owners_cost *cost);

/* The sockets that one process has, or had since it is looked at: inodes, from /proc/PID/fd. */
struct inodes;

/* STATUS_FAILED: there is no such process; STATUS_UNABLE: its descriptors may not be seen. */
int inodes_open(struct inodes **s, pid_t pid, struct error *err);
void inodes_close(struct inodes *s); /* NULL is allowed */
void inodes_read(struct inodes *s);  /* adds what the process has now; it may have ended */
bool inodes_have(const struct inodes *s, uint64_t inode);

#endif
