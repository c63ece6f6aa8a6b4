/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Containers and pods by the names that their runtimes give to cgroups, with the cgroupfs driver
 * as with systemd's. Pure: a path in, what it says out. The forms are a table, container_data.c.
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
	char name[CONTAINER_NAME]; /* of the container in its pod; by pods_name() */
	char pod[CONTAINER_POD];   /* the same; "": not known */
	char k8s_ns[CONTAINER_K8S_NS]; /* the pod's Kubernetes namespace */
};

/*
 * Reads the innermost container and pod from a cgroup path. Fills runtime, id and uid; false: none
 * of the forms occurs. The processes that a runtime keeps beside a container (conmon) are in none.
 */
bool container_of_cgroup(const char *path, struct container *out);

/*
 * For people: "namespace/pod/name", as far as known, else the name or the first 12 digits of the
 * id; "" in none. Returns `buf`.
 */
char *container_text(const struct container *c, char *buf, unsigned size);

/* "namespace/pod", else "pod-" and the uid; "": in none. Returns `buf`. */
char *container_pod_text(const struct container *c, char *buf, unsigned size);

#endif
