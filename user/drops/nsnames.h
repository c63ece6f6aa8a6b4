/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Network namespaces of this host by their inode number: names, and a way in. */
#ifndef PKTLEDGER_DROPS_NSNAMES_H
#define PKTLEDGER_DROPS_NSNAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "drops/container.h"
#include "base/proc.h"

struct nsnames;

struct nsname {
	char name[64]; /* in /run/netns; "": none */
	bool host;     /* the one of PID 1, which is seen from the host */
	pid_t pid;     /* its first process that is not ours; 0: none */
	char process[PROC_NAME];
	struct container container; /* of that process */
};

/* `root` is borrowed, proc_root(). NULL: no memory. */
struct nsnames *nsnames_new(int root);
void nsnames_free(struct nsnames *n);

/* 0; -EAGAIN: wanted from now on; -ENOENT: the last pass did not find it. */
int nsnames_find(struct nsnames *n, uint32_t inum, uint64_t now_ns, struct nsname *out);

/* Whether a pass would have something to look for. */
bool nsnames_waiting(const struct nsnames *n);

/* Looks through /run/netns and all processes. 0 or -errno. */
int nsnames_pass(struct nsnames *n, uint64_t now_ns);

/* All that the last pass found but for `except`. Returns how many were written, at most `max`. */
unsigned nsnames_list(const struct nsnames *n, uint32_t except, uint32_t *inums, unsigned max);

/* Path of a file that is the namespace: in /run/netns, else of the process. -ENOENT. */
int nsnames_path(struct nsnames *n, uint32_t inum, char *buf, size_t size);

#endif
