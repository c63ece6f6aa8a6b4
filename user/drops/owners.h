/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose packets these were: from the numbers that a drop carries (inode of the socket, of the
 * network namespace, id of the cgroup) to names that people know. Read from /proc, cgroupfs,
 * /run/netns and the names below /var/log; no daemon is asked. Of processes the name only.
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
#include "base/list.h"
#include "host/netns.h"
#include "host/sockdiag.h"
#include "survey_abi.h"

/*
 * Containers and pods by the names that their runtimes give to cgroups, by cgroupfs as by systemd.
 */
#define CONTAINER_ID	 65 /* 64 hexadecimal digits, or a name, which may be cut */
#define CONTAINER_NAME	 64
#define CONTAINER_UID	 37 /* of a pod: 8-4-4-4-12, or 32 digits of a static pod */
#define CONTAINER_POD	 254
#define CONTAINER_K8S_NS 64

struct container {
	const char *runtime;	   /* static, e.g. "docker", "cri-o"; NULL: not in a container */
	char id[CONTAINER_ID];	   /* or the name, where the runtime has names in its paths */
	char uid[CONTAINER_UID];   /* of the pod, with '-' in any case; "": in no pod */
	char name[CONTAINER_NAME]; /* of the container in its pod; by container_find() */
	char pod[CONTAINER_POD];   /* the same; "": not known */
	char k8s_ns[CONTAINER_K8S_NS]; /* the pod's Kubernetes namespace */
};

/*
 * Reads the innermost container and pod from a cgroup path. Fills runtime, id and uid; false: none
 * of the forms occurs. Processes of the runtime beside a container (conmon) are in none. Pure.
 */
bool container_of_cgroup(const char *path, struct container *out);

/*
 * The same, with the names of pod and container from those of the logs that the kubelet keeps:
 * pod and k8s_ns (/var/log/pods/NAMESPACE_POD_UID) by uid, name
 * (/var/log/containers/POD_NAMESPACE_NAME-ID.log) by id. What is not there stays empty. Reads the
 * two directories anew each time. `root`: proc_root().
 */
bool container_find(int root, const char *path, struct container *out);

/*
 * For people: "namespace/pod/name", as far as known, else the name or the first 12 digits of the
 * id; "" in none. Returns `buf`.
 */
char *container_text(const struct container *c, char *buf, unsigned size);

/* "namespace/pod", else "pod-" and the uid; "": in none. Returns `buf`. */
char *container_pod_text(const struct container *c, char *buf, unsigned size);

/* The forms of names: for the test of the table. */
enum container_form {
	FORM_ID,     /* 64 hexadecimal digits */
	FORM_NAME,   /* anything; systemd's \x2d is a '-' */
	FORM_BESIDE, /* anything; a helper of the runtime, outside of the container */
};

/*
 * A component of a cgroup path: prefix, what the form says, suffix. Components end at '/' and, for
 * paths that runc wrote where systemd did not take them, at ':'.
 */
struct container_row {
	const char *runtime;
	const char *parent; /* the component before; NULL: any */
	const char *prefix, *suffix;
	enum container_form form;
};

/* The first row that fits a component is taken, the last component that fits any decides. */
extern const struct container_row container_rows[];
extern const unsigned container_rows_n;

#define OWNER_TEXT   40
#define OWNER_CGROUP 256 /* bytes of a path; a longer one loses its beginning, marked by "..." */
#define OWNER_NETNS  (CONTAINER_K8S_NS + CONTAINER_POD) /* hold any name of a namespace */

struct ports_key {
	uint32_t netns;	     /* inode number */
	int family;	     /* of the packet, AF_INET or AF_INET6 */
	uint16_t port;	     /* host order */
	uint8_t address[16]; /* IPv4: the first four bytes */
};

struct ports_row {
	uint64_t inode;	 /* of the socket */
	uint32_t rcvbuf; /* as getsockopt(SO_RCVBUF) has it; 0: unknown */
};

struct owners;

/* What is known of an owner. Self-contained; 0 or empty: not known. */
struct owner {
	pid_t pid;		   /* of a process that has the socket */
	bool reads;		   /* it reads it, or is the only one that has it */
	unsigned holders;	   /* processes that have it open */
	int fd;			   /* its descriptor of the socket */
	char process[16];	   /* its name, /proc/PID/comm */
	char cgroup[OWNER_CGROUP]; /* below the root of its hierarchy; "/": in the root */
	struct container container;
};

/*
 * `root`: directory in front of /proc, /run, /sys/fs/cgroup and /var/log; NULL: "/". Sockets are
 * looked for in its /proc.
 * What is absent there is no error: names are then missing. -errno of `root`.
 */
int owners_open(struct owners **o, const char *root, struct error *err);
void owners_close(struct owners *o);
int owners_root(const struct owners *o); /* as proc_root() */

/* From here on they are looked for inside the kernel, if `root` was NULL and that is allowed. */
void owners_iterate(struct owners *o);

/*
 * Looks for what was asked since the last call. To be called after rows were asked for, and these
 * asked for again; a process that has ended by then is not found. In the long run it uses 1 % of a
 * CPU, at once 50 ms: then -EAGAIN stays the answer for a while, where descriptors are very many.
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
 * have it the owner is the one that reads it, which is known of one that waits in a call for it,
 * and after owners_watch() of any; else, with `reads` false, the one that was started last, because
 * a socket is handed down; PID 1 only if there is no other. 0, or -EAGAIN: not looked for yet;
 * -ESRCH: no process has it, as with sockets of the kernel. Asked again some time after, it is
 * looked for again, at once if it had other holders than before: a process that is being started
 * has all of its parent's for a moment. Who has ended meanwhile is still the answer. What else is
 * known is filled.
 */
int owners_socket(struct owners *o, uint64_t inode, uint32_t netns, uint64_t cgroup,
		  struct owner *out);

/*
 * Of the processes that have the socket open, the one that reads it matters from here on: it loses
 * packets. Where there are several that one is traced (files_watch()).
 */
void owners_watch(struct owners *o, uint64_t inode);

/* "name[pid]", or "held by N processes" where which of them reads is not known; "": nobody. */
char *owner_text(const struct owner *who, char buf[OWNER_TEXT]);

/*
 * Sockets that have lost packets without an event (bpf/survey.bpf.c), a struct silent_record for
 * every process that has one open. 0, -EOPNOTSUPP: not here, or -errno.
 */
int owners_silent(struct owners *o, void (*each)(void *arg, const void *record), void *arg);

/*
 * The UDP socket that packets to an address come to, for kernels that do not show the socket that
 * dropped a packet (before 6.11), only where the packet went: the one bound to it, else one bound
 * to any address; an IPv6 socket may take IPv4. 0; -ENOENT: none, or several that are equally good
 * (SO_REUSEPORT), or nobody can look there; -EAGAIN: owners_tick() looks it up.
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

/* True until owners_tick() has looked for it the first time. */
bool owners_netns_searching(struct owners *o, uint32_t netns);

bool owners_netns_is_own(const struct owners *o, uint32_t netns); /* this process's */

/*
 * The words that run a command in a namespace: "ip netns exec NAME" or "nsenter -t PID -n". "":
 * nothing is known of it. Returns `buf`.
 */
#define OWNER_ENTER (OWNER_NETNS + 16)
char *owners_netns_enter(struct owners *o, uint32_t netns, char buf[OWNER_ENTER]);

/* Opens the namespace; to be closed with netns_close(). -EAGAIN, -ENOENT, or as netns_open(). */
int owners_netns_open(struct owners *o, uint32_t netns, struct netns *ns, struct error *err);

/*
 * The network namespace of a pod, as container_pod_text() has its name, as a path for netns_open().
 * STATUS_FAILED: it has none of its own on this host; `err` names those that have.
 */
#define OWNER_POD_PATH 32
int owners_pod(struct owners *o, const char *pod, char path[OWNER_POD_PATH], struct error *err);

/*
 * Namespaces that have a name or a process, as of the last pass over /proc; the first is the one of
 * this thread. Returns how many were written, at most `max`.
 */
unsigned owners_netns_list(struct owners *o, uint32_t *netns, unsigned max);

/* There is such a path, of version 2 or in a hierarchy of version 1; true if none is mounted. */
bool cgroup_exists(const char *path);

/*
 * Adds the sockets that a process has now, their inodes, for idmap_find(). STATUS_FAILED: there is
 * no such process; STATUS_UNABLE: its descriptors may not be seen.
 */
int owners_sockets(const struct owners *o, pid_t pid, struct idmap *inodes, struct error *err);

/*
 * Walks over the open files of all processes inside the kernel (bpf/survey.bpf.c): some 50 times
 * faster than /proc/PID/fd, and they see those of processes with more privileges than ours, too.
 */
struct files;

/* Whether such a walk, and /proc, show the processes of the whole host. */
bool files_of_all(void);

/*
 * Loads the walk for who has sockets. What it needs may be given up then, but for CAP_BPF. -errno:
 * the kernel or a capability does not allow it, or we are in a PID namespace.
 */
int files_open(struct files **f);

/*
 * Calls `each` with a struct files_holder for every process that has one of the `n` sockets open,
 * as often as it has it; at most FILES_WANTED of them are looked for. 0 or -errno.
 */
int files_walk(struct files *f, const uint64_t *inodes, unsigned n,
	       void (*each)(void *arg, const void *record), void *arg);

/*
 * From here on it is noted who receives from the socket: files_reader() is the process that did so
 * last; 0: nobody yet. Costs each recvmsg() a look-up. -EOPNOTSUPP before Linux 6.3, or -errno.
 */
int files_watch(struct files *f, uint64_t inode);
pid_t files_reader(const struct files *f, uint64_t inode);

/*
 * The walk for AF_XDP sockets of all namespaces: where xsk_diag_read() is not possible. Costs about
 * 0.1 us an open file. STATUS_UNABLE where the kernel or a capability does not allow it.
 */
int files_open_xsk(struct files **f, struct error *err);

/* Bound sockets, each once. *list is to be freed. Returns how many, or -errno. */
int files_read_xsk(const struct files *f, struct xsk_info **list);

/* As owners_silent(). */
int files_read_silent(const struct files *f, void (*each)(void *arg, const void *record),
		      void *arg);

void files_close(struct files *f); /* NULL is allowed */

#endif
