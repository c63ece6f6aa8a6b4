/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The AF_XDP sockets of all namespaces, by a walk over the open files of all processes
 * (bpf/xskwalk.bpf.c): where xsk_diag_read() is not possible. Costs about 0.1 us an open file.
 */
#ifndef PKTLEDGER_DROPS_XSK_WALK_H
#define PKTLEDGER_DROPS_XSK_WALK_H

#include "base/err.h"
#include "host/sockdiag.h"

struct xsk_walk;

/* STATUS_UNABLE where the kernel or a capability does not allow it. */
int xsk_walk_open(struct xsk_walk **w, struct error *err);

/* Bound sockets, each once. *list is to be freed. Returns how many, or -errno. */
int xsk_walk_read(const struct xsk_walk *w, struct xsk_info **list);

void xsk_walk_close(struct xsk_walk *w);

#endif
