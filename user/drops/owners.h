/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Owners of packets: maps the numbers in a drop (socket inode, network namespace inode, cgroup ID)
 * to names. Reads /proc, cgroupfs, /run/netns and the names below /var/log, and does not contact
 * any daemon. Of a process it only reads the name.
 *
 * Lookups are cheap, because they return the most recent answers. The next owners_tick() searches
 * for missing and old entries. Until then a missing answer is -EAGAIN. For use by one thread.
 */
#ifndef PKTLEDGER_DROPS_OWNERS_H
#define PKTLEDGER_DROPS_OWNERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"
#include "host/netns.h"
#include "host/sockdiag.h"
#include "survey_abi.h"

/*
 * Containers and pods, recognized by the cgroup names that their runtimes use, both with cgroupfs
 * and with systemd.
 */
#define CONTAINER_ID	 65 /* 64 hexadecimal digits, or a name, which may be truncated */
#define CONTAINER_NAME	 64
#define CONTAINER_UID	 37 /* UID of a pod: 8-4-4-4-12, or 32 digits of a static pod */
#define CONTAINER_POD	 254
#define CONTAINER_K8S_NS 64

struct container {
	const char *runtime;	   /* static, e.g. "docker", "cri-o"; NULL: not in a container */
	char id[CONTAINER_ID];	   /* or the name, if the runtime uses names in its paths */
	char uid[CONTAINER_UID];   /* UID of the pod, always with '-'; "": not in a pod */
	char name[CONTAINER_NAME]; /* container name in its pod, by container_find() */
	char pod[CONTAINER_POD];   /* pod name, by container_find(); "": unknown */
	char k8s_ns[CONTAINER_K8S_NS]; /* the pod's Kubernetes namespace */
};

/*
 * Finds the innermost container and pod in a cgroup path. Fills in runtime, id and uid. Returns
 * false if the path has no known form. Runtime processes next to a container (conmon) are not in a
 * container. Pure.
 */
bool container_of_cgroup(const char *path, struct container *out);

/*
 * Also finds the pod and container names, using the names of the kubelet's log files: pod and
 * k8s_ns (/var/log/pods/NAMESPACE_POD_UID) by uid, and name
 * (/var/log/containers/POD_NAMESPACE_NAME-ID.log) by id. Names that are missing stay empty. Reads
 * both directories again on each call. `root`: proc_root().
 */
bool container_find(int root, const char *path, struct container *out);

/*
 * Formats "namespace/pod/name" if known, otherwise the name or the first 12 digits of the ID, or ""
 * if not in a container. Returns `buf`.
 */
char *container_text(const struct container *c, char *buf, unsigned size);

/*
 * Formats "namespace/pod", or otherwise "pod-" and the uid, or "" if not in a pod. Returns `buf`.
 */
char *container_pod_text(const struct container *c, char *buf, unsigned size);

/* How a name is written. Public for testing the table. */
enum container_form {
	FORM_ID,     /* 64 hexadecimal digits */
	FORM_NAME,   /* anything; systemd's \x2d is a '-' */
	FORM_BESIDE, /* anything; a runtime helper that is not in the container */
};

/*
 * A component of a cgroup path: prefix, form, suffix. Components end at '/' or, in paths that runc
 * wrote because systemd did not accept them, at ':'.
 */
struct container_row {
	const char *runtime;
	const char *parent; /* previous component; NULL: any */
	const char *prefix, *suffix;
	enum container_form form;
};

/*
 * For each component the first matching row wins. The last component that matches any row decides.
 */
extern const struct container_row container_rows[];
extern const unsigned container_rows_n;

#define OWNER_TEXT   40
#define OWNER_CGROUP 256 /* maximum bytes; a longer path loses its beginning, replaced by "..." */
#define OWNER_NETNS  (CONTAINER_K8S_NS + CONTAINER_POD) /* large enough for any namespace name */

struct ports_key {
	uint32_t netns;	     /* inode number */
	int family;	     /* of the packet, AF_INET or AF_INET6 */
	uint16_t port;	     /* host order */
	uint8_t address[16]; /* IPv4: the first four bytes */
};

struct ports_row {
	uint64_t inode;	 /* inode of the socket */
	uint32_t rcvbuf; /* as returned by getsockopt(SO_RCVBUF); 0: unknown */
};

struct owners;

/* What is known about an owner. Self-contained; 0 or empty: unknown. */
struct owner {
	pid_t pid;		   /* PID of a process that has the socket open */
	bool reads;		   /* it reads the socket, or is its only holder */
	unsigned holders;	   /* number of processes that have it open */
	int fd;			   /* the process's descriptor for the socket */
	char process[16];	   /* name of the process, from /proc/PID/comm */
	char cgroup[OWNER_CGROUP]; /* path below the root of its hierarchy; "/": in the root */
	struct container container;
};

/*
 * Opens an instance. `root`: directory that contains /proc, /run, /sys/fs/cgroup and /var/log;
 * NULL: "/". Sockets are searched for in its /proc. Files missing there are not an error and only
 * mean that names are missing. Returns -errno for `root`.
 */
int owners_open(struct owners **o, const char *root, struct error *err);
void owners_close(struct owners *o);
int owners_root(const struct owners *o); /* like proc_root() */

/* From now on searches for sockets inside the kernel, if `root` was NULL and that is permitted. */
void owners_iterate(struct owners *o);

/* Starts to load what owners_iterate() needs in a thread, and owners_iterate() waits for it. */
void owners_prepare(struct owners *o);

/*
 * Searches for all entries requested since the last call in one walk. Call it after requesting
 * rows, then request them again. Does not find processes that have ended by then. Uses less than 1
 * % of a CPU in the long run, so with very many descriptors the answer stays -EAGAIN for a while.
 */
void owners_tick(struct owners *o);

/*
 * Searches for all requested sockets without a time limit, in this process (0: in all processes).
 * Returns 0; -EACCES: not permitted to read some processes' descriptors (CAP_SYS_PTRACE); -errno.
 */
int owners_look(struct owners *o, pid_t pid);

/*
 * Finds the owner of a socket. `inode`: inode of the socket (SOCK_INODE() in the kernel,
 * "socket:[inode]" in /proc/PID/fd); `netns`: inode of its namespace; `cgroup`: cgroup ID; 0:
 * unknown. If several processes hold the socket, the owner is the one that reads it. The reader is
 * known if it is waiting in a call for the socket, and always after owners_reads(). Otherwise, with
 * `reads` false, the owner is the process that was started last, because sockets are inherited
 * across fork(). PID 1 is only the owner if there is no other holder. Returns 0; -EAGAIN: not
 * searched yet; -ESRCH: no process has it open, as for kernel sockets. A later request searches
 * again, immediately if its holders have changed, because a process that is starting briefly has
 * all of its parent's sockets. A process that has ended since then is still returned. All other
 * known fields are filled in.
 */
int owners_socket(struct owners *o, uint64_t inode, uint32_t netns, uint64_t cgroup,
		  struct owner *out);

/* Returns true if the socket has been searched for before. */
bool owners_searched(const struct owners *o, uint64_t inode);

/* Tells which process was seen to read the socket last (bpf/survey.bpf.c). */
void owners_reads(struct owners *o, uint64_t inode, pid_t pid);

/* Formats "name[pid]", "held by N processes" if the reader is unknown, or "" without an owner. */
char *owner_text(const struct owner *who, char buf[OWNER_TEXT]);

/*
 * Finds sockets that have lost packets without an event (bpf/survey.bpf.c), with one struct
 * silent_record for each process that has such a socket open. Returns 0, -EOPNOTSUPP if that is not
 * available, or -errno.
 */
int owners_silent(struct owners *o, void (*each)(void *arg, const void *record), void *arg);

/*
 * Finds the UDP socket that receives packets for an address. Used on kernels that do not report
 * which socket dropped a packet (before 6.11), only the destination. Returns the socket bound to
 * that address, or otherwise one bound to any address. An IPv6 socket may receive IPv4. Returns 0;
 * -ENOENT: not found, several equally good ones (SO_REUSEPORT), or not permitted; -EAGAIN:
 * owners_tick() will look it up.
 */
int owners_bound(struct owners *o, const struct ports_key *key, struct ports_row *out);

/* Like owners_socket() without a socket: a packet's cgroup, container and pod. 0 or -ENOENT. */
int owners_cgroup(struct owners *o, uint64_t cgroup, struct owner *out);

/*
 * Formats the name of a namespace. This is the name shown by `ip netns`, or "host" for PID 1's
 * namespace, otherwise the pod, the container, "process[pid]" for its first process, or the number,
 * also while `ip netns add` is about to name it.
 * A pod's name is preferred to names that a CNI generates (cni-...). Returns `buf`, which has
 * OWNER_NETNS bytes.
 */
char *owners_netns(struct owners *o, uint32_t netns, char *buf);

/*
 * Returns true if the next owners_tick() searches for the namespace: it is new, or what had its
 * number before is gone.
 */
bool owners_netns_searching(struct owners *o, uint32_t netns);

bool owners_netns_is_own(const struct owners *o, uint32_t netns); /* namespace of this process */

/*
 * Formats the command prefix that runs a command in a namespace: "ip netns exec NAME" or "nsenter
 * -t PID -n". "": unknown namespace. Returns `buf`.
 */
#define OWNER_ENTER (OWNER_NETNS + 16)
char *owners_netns_enter(struct owners *o, uint32_t netns, char buf[OWNER_ENTER]);

/* Opens the namespace; close it with netns_close(). -EAGAIN, -ENOENT, or as netns_open(). */
int owners_netns_open(struct owners *o, uint32_t netns, struct netns *ns, struct error *err);

/*
 * Finds the network namespace of a pod, whose name is as from container_pod_text(), as a path for
 * netns_open(). STATUS_FAILED: the pod has no separate namespace on this host; `err` lists the pods
 * that do.
 */
#define OWNER_POD_PATH 32
int owners_pod(struct owners *o, const char *pod, char path[OWNER_POD_PATH], struct error *err);

/*
 * Lists namespaces that have a name or a process, as of the last pass over /proc. This thread's
 * namespace comes first. Returns the number written, at most `max`.
 */
unsigned owners_netns_list(struct owners *o, uint32_t *netns, unsigned max);

/* Returns true if the path exists in version 2 or version 1, or if no hierarchy is mounted. */
bool cgroup_exists(const char *path);

/*
 * Adds the inodes of the sockets that a process currently has open to a list of uint64_t, by key.
 * STATUS_FAILED: the process does not exist; STATUS_UNABLE: not permitted to see its descriptors.
 */
int owners_sockets(const struct owners *o, pid_t pid, struct list *inodes, struct error *err);

/*
 * Walks over the open files of all processes inside the kernel (bpf/survey.bpf.c). They are about
 * 50 times faster than /proc/PID/fd, and also see processes with more privileges than ours.
 */
struct files;

/* Returns true if such a walk, and /proc, show the whole host's processes. */
bool files_of_all(void);

/*
 * Loads the walk that finds the holders of sockets. The required privileges may be dropped
 * afterwards, except CAP_BPF. -errno: the kernel or missing capabilities do not allow it, or we are
 * in a PID namespace.
 */
int files_open(struct files **f);

/*
 * Calls `each` with a struct files_holder for every process that has one of the `n` sockets open,
 * once per descriptor. Searches for at most FILES_WANTED sockets. Returns 0 or -errno.
 */
int files_walk(struct files *f, const uint64_t *inodes, unsigned n,
	       void (*each)(void *arg, const void *record), void *arg);

/*
 * Loads the walk over the AF_XDP sockets in all namespaces, for kernels where xsk_diag_read() does
 * not work. Costs about 0.1 us per open file. STATUS_UNABLE if the kernel or missing capabilities
 * do not allow it.
 */
int files_open_xsk(struct files **f, struct error *err);

/* Lists each bound socket once. The caller frees *list. Returns how many there are, or -errno. */
int files_read_xsk(const struct files *f, struct xsk_info **list);

/* As owners_silent(). */
int files_read_silent(const struct files *f, void (*each)(void *arg, const void *record),
		      void *arg);

void files_close(struct files *f); /* NULL is allowed */

#endif
