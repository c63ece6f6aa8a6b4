/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks over the open files of all processes inside the kernel (bpf/survey.bpf.c): some 50 times
 * faster than /proc/PID/fd, and they see those of processes with more privileges than ours, too.
 */
#ifndef PKTLEDGER_DROPS_FILES_H
#define PKTLEDGER_DROPS_FILES_H

#include <stdint.h>

#include "base/err.h"
#include "host/sockdiag.h"
#include "survey_abi.h"

struct files;

/*
 * Loads. What it needs may be given up then, but for CAP_BPF. -errno: the kernel or a capability
 * does not allow it, or we are in a PID namespace, where numbers of processes would differ.
 */
int files_open(struct files **f);
void files_close(struct files *f); /* NULL is allowed */

/*
 * Calls `each` for every process that has one of the `n` sockets open, as often as it has it; at
 * most FILES_WANTED of them are looked for. 0 or -errno.
 */
int files_walk(struct files *f, const uint64_t *inodes, unsigned n,
	       void (*each)(void *arg, const struct files_holder *h), void *arg);

/*
 * The AF_XDP sockets of all namespaces: where xsk_diag_read() is not possible. Costs about 0.1 us
 * an open file.
 */
struct xsk_walk;

/* STATUS_UNABLE where the kernel or a capability does not allow it. */
int xsk_walk_open(struct xsk_walk **w, struct error *err);

/* Bound sockets, each once. *list is to be freed. Returns how many, or -errno. */
int xsk_walk_read(const struct xsk_walk *w, struct xsk_info **list);

void xsk_walk_close(struct xsk_walk *w);

#endif
