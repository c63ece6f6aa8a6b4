/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The AF_XDP sockets of a namespace and what their rings lost, by sock_diag: module xsk_diag, which
 * some kernels do not have (CONFIG_XDP_SOCKETS_DIAG; Debian's 6.1). See drops/xsk_walk.h for those.
 *
 * Of the counters rx_dropped contains rx_fill_ring_empty (xsk_rcv(): no buffer) and frames that are
 * too long; with zero-copy rx_fill_ring_empty counts tries, not packets (STAGES 3.6).
 */
#ifndef PKTLEDGER_HOST_XSK_DIAG_H
#define PKTLEDGER_HOST_XSK_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"

struct xsk_info {
	uint64_t cookie; /* of the socket, else what tells it from others on this host */
	uint32_t inode;
	uint32_t netns; /* inode number; 0: not known */
	uint32_t ifindex, queue;
	bool zero_copy;
	char process[16]; /* "": not known */
	int pid;	  /* 0: not known */
	uint64_t rx_dropped, rx_invalid_descs, rx_ring_full, rx_fill_ring_empty;
	uint64_t tx_invalid_descs, tx_ring_empty;
};

/*
 * Bound sockets only. *list is to be freed. Returns how many, -EOPNOTSUPP if this kernel does not
 * tell, or -errno.
 */
int xsk_diag_read(const struct netns *ns, struct xsk_info **list);

/* How many AF_XDP sockets there are in `ns` (/proc/net/protocols), bound or not; or -errno. */
int xsk_count(const struct netns *ns);

#endif
