/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A checkpoint at the border of a host, for experiments between two: which numbers left this
 * namespace by a device, or came in by one. It is held by links, so it ends with this process in
 * whatever way, and no setting of the host is changed for it.
 */
#ifndef PKTLEDGER_DROPS_BORDER_H
#define PKTLEDGER_DROPS_BORDER_H

#include "base/err.h"
#include "drops/drops.h"
#include "trace_abi.h"

struct border;

/* Inode numbers of the namespaces that packets leave and enter; the other one is 0. */
struct border_netns {
	uint32_t leave, enter;
};

/*
 * Loads and attaches it for the numbers in `cfg`; fragments become known to `drops`. Where they
 * enter: besides, a program of tc on the device `ifindex` (0: none) where the kernel has links for
 * those (Linux 6.6) and CAP_NET_ADMIN is there: tracing may be suppressed on top of PID 1, tc is
 * not.
 */
int border_open(struct border **b, const struct trace_config *cfg, const struct drops *drops,
		const struct border_netns *netns, unsigned ifindex, struct error *err);

/* The map of enum trace_seen bytes, to be mapped. */
int border_seen_fd(const struct border *b);

/* Which place in the kernel it is: "net_dev_start_xmit", "netif_receive_skb, tcx" .. Static. */
const char *border_place(const struct border *b);

void border_close(struct border *b);

#endif
