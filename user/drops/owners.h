/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Owners of packets: maps the numbers of a drop (inode of the socket, inode of the network
 * namespace, ID of the cgroup) to names. Reads /proc, cgroupfs, /run/netns and the names below
 * /var/log, and asks no daemon. Of processes it reads the name only.
 *
 * Lookups are cheap: they return the last answers. Missing and old entries are searched by the next
 * owners_tick(). Until then a missing answer is -EAGAIN. For use by one thread.
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
 * Containers and pods, by the cgroup names that their runtimes use, with cgroupfs and with systemd.
 */
#define CONTAINER_ID	 65 /* 64 hexadecimal digits, or a name, which may be truncated */
#define CONTAINER_NAME	 64
#define CONTAINER_UID	 37 /* UID of a pod: 8-4-4-4-12, or 32 digits of a static pod */
#define CONTAINER_POD	 254
#define CONTAINER_K8S_NS 64

struct container {
	const char *runtime;	   /* static, e.g. "docker", "cri-o"; NULL: not in a container */
	char id[CONTAINER_ID];	   /* or the name, for runtimes with names in their paths */
	char uid[CONTAINER_UID];   /* of the pod, always with '-'; "": not in a pod */
	char name[CONTAINER_NAME]; /* container name in its pod, by container_find() */
	char pod[CONTAINER_POD];   /* pod name, by container_find(); "": unknown */
	char k8s_ns[CONTAINER_K8S_NS]; /* the pod's Kubernetes namespace */
};

/*
 * Reads the innermost container and pod from a cgroup path. Fills runtime, id and uid. Returns
 * false if no known form occurs. Processes of the runtime next to a container (conmon) are in no
 * container. Pure.
 */
bool container_of_cgroup(const char *path, struct container *out);

/*
 * Also reads the names of pod and container from the names of the logs that the kubelet keeps: pod
 * and k8s_ns (/var/log/pods/NAMESPACE_POD_UID) by uid, name
 * (/var/log/containers/POD_NAMESPACE_NAME-ID.log) by id. Missing names stay empty. Reads the two
 * directories again on each call. `root`: proc_root().
 */
bool container_find(int root, const char *path, struct container *out);

/*
 * Formats "namespace/pod/name", if known, else the name or the first 12 digits of the ID; ""
 * outside of a container. Returns `buf`.
 */
char *container_text(const struct container *c, char *buf, unsigned size);

/* Formats "namespace/pod", else "pod-" and the uid; "": not in a pod. Returns `buf`. */
char *container_pod_text(const struct container *c, char *buf, unsigned size);

/* Forms of names, for the test of the table. */
enum container_form {
	FORM_ID,     /* 64 hexadecimal digits */
	FORM_NAME,   /* anything; systemd's \x2d is a '-' */
	FORM_BESIDE, /* anything; a helper of the runtime, outside of the container */
};

/*
 * A component of a cgroup path: prefix, form, suffix. Components end at '/' and, for paths that
 * runc wrote because systemd did not accept them, at ':'.
 */
struct container_row {
	const char *runtime;
	const char *parent; /* previous component; NULL: any */
	const char *prefix, *suffix;
	enum container_form form;
};

/*
 * The first row that matches a component is taken. The last component that matches any row decides.
 */
extern const struct container_row container_rows[];
extern const unsigned container_rows_n;

#define OWNER_TEXT   40
#define OWNER_CGROUP 256 /* bytes of a path; a longer path loses its beginning, marked by "..." */
#define OWNER_NETNS  (CONTAINER_K8S_NS + CONTAINER_POD) /* hold any name of a namespace */

struct ports_key {
	uint32_t netns;	     /* inode number */
	int family;	     /* of the packet, AF_INET or AF_INET6 */
	uint16_t port;	     /* host order */
	uint8_t address[16]; /* IPv4: the first four bytes */
};

struct ports_row {
	uint64_t inode;	 /* of the socket */
	uint32_t rcvbuf; /* as returned by getsockopt(SO_RCVBUF); 0: unknown */
};

struct owners;

/* Known data of an owner. Self-contained; 0 or empty: unknown. */
struct owner {
	pid_t pid;		   /* PID of a process that has the socket */
	bool reads;		   /* it reads the socket, or is its only holder */
	unsigned holders;	   /* processes that have it open */
	int fd;			   /* its descriptor of the socket */
	char process[16];	   /* its name, from /proc/PID/comm */
	char cgroup[OWNER_CGROUP]; /* below the root of its hierarchy; "/": in the root */
	struct container container;
};

/*
 * `root`: directory containing /proc, /run, /sys/fs/cgroup and /var/log; NULL: "/". Sockets are
 * searched in its /proc. If files are missing there, it is not an error: only names are missing.
 * Returns -errno of `root`.
 */
int owners_open(struct owners **o, const char *root, struct error *err);
void owners_close(struct owners *o);
int owners_root(const struct owners *o); /* like proc_root() */

/* Searches sockets inside the kernel from now on, if `root` was NULL and that is permitted. */
void owners_iterate(struct owners *o);

/*
 * Searches for entries requested since the last call, in one walk. Call it after requesting rows,
 * then request them again. A process that has ended by then is not found. Uses less than 1 % of a
 * CPU in the long run: with very many descriptors the answer stays -EAGAIN for a while.
 */
void owners_tick(struct owners *o);

/*
 * Searches all requested sockets, without a time limit, in this process (0: in all). Returns 0;
 * -EACCES: descriptors of some processes may not be read (CAP_SYS_PTRACE); -errno.
 */
int owners_look(struct owners *o, pid_t pid);

/*
 * Finds the owner of a socket: `inode` of the socket (SOCK_INODE() in the kernel, "socket:[inode]"
 * in /proc/PID/fd), `netns` inode of its namespace, `cgroup` its ID; 0: unknown. Of several holders
 * the owner is the reader, which is known if it waits in a call for the socket, and after
 * owners_watch() always. Else, with `reads` false, the owner is the process started last, because
 * sockets are inherited across fork(). PID 1 only if there is no other holder. Returns 0; -EAGAIN:
 * not searched yet; -ESRCH: no process has it, as with sockets of the kernel. A later request
 * searches again, at once if its holders have changed: a process that is being started has all of
 * its parent's sockets for a moment. A process that has ended since is still returned. All other
 * known fields are filled.
 */
int owners_socket(struct owners *o, uint64_t inode, uint32_t netns, uint64_t cgroup,
		  struct owner *out);

/*
 * Requests the reader among the processes that have the socket open: the socket loses packets. With
 * several holders the reader is traced (files_watch()).
 */
void owners_watch(struct owners *o, uint64_t inode);

/* Formats "name[pid]", or "held by N processes" if the reader is unknown; "": no owner. */
char *owner_text(const struct owner *who, char buf[OWNER_TEXT]);

/*
 * Finds sockets that have lost packets without an event (bpf/survey.bpf.c): one struct
 * silent_record for every process that has such a socket open. Returns 0, -EOPNOTSUPP: not
 * available, or -errno.
 */
int owners_silent(struct owners *o, void (*each)(void *arg, const void *record), void *arg);

/*
 * Finds the UDP socket that receives packets for an address, for kernels that do not report the
 * socket that dropped a packet (before 6.11), only the destination: the socket bound to it, else a
 * socket bound to any address. An IPv6 socket may receive IPv4. Returns 0; -ENOENT: not found, or
 * several equally good ones (SO_REUSEPORT), or not permitted; -EAGAIN: owners_tick() looks it up.
 */
int owners_bound(struct owners *o, const struct ports_key *key, struct ports_row *out);

/*
 * Like owners_socket() without a socket: finds cgroup, container and pod of a packet. Returns 0 or
 * -ENOENT.
 */
int owners_cgroup(struct owners *o, uint64_t cgroup, struct owner *out);

/*
 * Formats the name of a namespace: as in `ip netns`, "host" for the namespace of PID 1, else the
 * pod, else the container, else "process[pid]" of its first process, else its number. Names
 * generated by a CNI (cni-...) come after the pod's. Returns `buf` of OWNER_NETNS bytes.
 */
char *owners_netns(struct owners *o, uint32_t netns, char *buf);

/* Returns true until owners_tick() has searched it for the first time. */
bool owners_netns_searching(struct owners *o, uint32_t netns);

bool owners_netns_is_own(const struct owners *o, uint32_t netns); /* namespace of this process */

/*
 * Formats the words that run a command in a namespace: "ip netns exec NAME" or "nsenter -t PID -n".
 * "": unknown namespace. Returns `buf`.
 */
#define OWNER_ENTER (OWNER_NETNS + 16)
char *owners_netns_enter(struct owners *o, uint32_t netns, char buf[OWNER_ENTER]);

/* Opens the namespace; close it with netns_close(). -EAGAIN, -ENOENT, or as netns_open(). */
int owners_netns_open(struct owners *o, uint32_t netns, struct netns *ns, struct error *err);

/*
 * Finds the network namespace of a pod, named as by container_pod_text(), as a path for
 * netns_open(). STATUS_FAILED: the pod has no separate namespace on this host; `err` lists pods
 * that have one.
 */
#define OWNER_POD_PATH 32
int owners_pod(struct owners *o, const char *pod, char path[OWNER_POD_PATH], struct error *err);

/*
 * Lists namespaces that have a name or a process, as of the last pass over /proc. The first is the
 * namespace of this thread. Returns the number written, at most `max`.
 */
unsigned owners_netns_list(struct owners *o, uint32_t *netns, unsigned max);

/*
 * Returns true if the path exists, in version 2 or in a hierarchy of version 1, or if no hierarchy
 * is mounted.
 */
bool cgroup_exists(const char *path);

/*
 * Adds the inodes of the sockets that a process has open now, for idmap_find(). STATUS_FAILED: no
 * such process; STATUS_UNABLE: no permission to see its descriptors.
 */
int owners_sockets(const struct owners *o, pid_t pid, struct idmap *inodes, struct error *err);

/*
 * Walks over the open files of all processes inside the kernel (bpf/survey.bpf.c): about 50 times
 * faster than /proc/PID/fd, and they also see processes with more privileges than ours.
 */
struct files;

/* Returns true if such a walk, and /proc, show the processes of the whole host. */
bool files_of_all(void);

/*
 * Loads the walk for holders of sockets. The required privileges may be dropped afterwards, except
 * CAP_BPF. -errno: the kernel or a capability does not allow it, or we are in a PID namespace.
 */
int files_open(struct files **f);

/*
 * Calls `each` with a struct files_holder for every process that has one of the `n` sockets open,
 * once per descriptor. At most FILES_WANTED sockets are searched. Returns 0 or -errno.
 */
int files_walk(struct files *f, const uint64_t *inodes, unsigned n,
	       void (*each)(void *arg, const void *record), void *arg);

/*
 * Records from now on which process receives from the socket: files_reader() is the last one; 0:
 * not read yet. Costs each recvmsg() a lookup. -EOPNOTSUPP before Linux 6.3, or -errno.
 */
int files_watch(struct files *f, uint64_t inode);
pid_t files_reader(const struct files *f, uint64_t inode);

/*
 * Loads the walk for AF_XDP sockets of all namespaces, for kernels where xsk_diag_read() is not
 * possible. Costs about 0.1 us per open file. STATUS_UNABLE if the kernel or a capability does not
 * allow it.
 */
int files_open_xsk(struct files **f, struct error *err);

/* Lists bound sockets, each once. The caller frees *list. Returns their number, or -errno. */
int files_read_xsk(const struct files *f, struct xsk_info **list);

/* As owners_silent(). */
int files_read_silent(const struct files *f, void (*each)(void *arg, const void *record),
		      void *arg);

void files_close(struct files *f); /* NULL is allowed */

#endif
