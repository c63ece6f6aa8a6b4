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

enum border_side { BORDER_NONE, BORDER_LEAVE, BORDER_ENTER };

/*
 * Loads and attaches it for the numbers and the namespace in `cfg`; fragments become known to
 * `drops`. BORDER_ENTER: besides, a program of tc on the device `ifindex` (0: none) where the
 * kernel has links for those (Linux 6.6) and CAP_NET_ADMIN is there: tracing may be suppressed on
 * top of PID 1, tc is not.
 */
int border_open(struct border **b, const struct trace_config *cfg, const struct drops *drops,
		enum border_side side, unsigned ifindex, struct error *err);

/* The map of enum trace_seen bytes, to be mapped. */
int border_seen_fd(const struct border *b);

/* Which place in the kernel it is: "net_dev_start_xmit", "netif_receive_skb, tcx" .. Static. */
const char *border_place(const struct border *b);

void border_close(struct border *b);

#endif
