/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Containers and pods by the names that their runtimes give to cgroups, with the cgroupfs driver
 * as with systemd's.
 */
#ifndef PKTLEDGER_DROPS_CONTAINER_H
#define PKTLEDGER_DROPS_CONTAINER_H

#include <stdbool.h>

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
 * of the forms occurs. The processes that a runtime keeps beside a container (conmon) are in none.
 * Pure.
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

#endif
