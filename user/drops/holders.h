/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which processes have a socket open: all open files are looked through for the sockets that are
 * wanted, by a walk inside the kernel, else by /proc/PID/fd. That takes a while: a pass is done in
 * pieces, so that a host of many processes costs no more at once than a small one.
 */
#ifndef PKTLEDGER_DROPS_HOLDERS_H
#define PKTLEDGER_DROPS_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"

struct files;
struct holders;

struct holder {
	pid_t pid;
	uint64_t start; /* of the process, as in struct proc_stat */
	int fd;		/* its descriptor of the socket */
	char name[PROC_NAME];
	unsigned holders; /* processes that have the socket */
};

/* `root` (proc_root()) and `files` are borrowed; files NULL: by /proc. NULL: no memory. */
struct holders *holders_new(int root, struct files *files);
void holders_free(struct holders *h);

/*
 * The holder of a socket: of several the one that waits in a call that reads it, else the one that
 * was started last, because a socket is handed down; PID 1 only if there is no other. 0; -EAGAIN:
 * wanted from now on; -ESRCH: a whole pass has not found it. Asked again some time after, it is
 * looked for again; who has ended meanwhile is still told.
 */
int holders_find(struct holders *h, uint64_t inode, uint32_t netns, uint64_t now_ns,
		 struct holder *out);

/* Whether a pass would have something to look for. */
bool holders_waiting(const struct holders *h);

/*
 * Goes on with the pass, or begins one, until it is through or for `budget_ns` of CPU time.
 * Processes in the namespaces of the sockets come first. A walk in the kernel is through at once.
 * Returns the descriptors looked at (0 with a walk), or -errno.
 */
int64_t holders_pass(struct holders *h, uint64_t budget_ns, uint64_t now_ns);

#endif
