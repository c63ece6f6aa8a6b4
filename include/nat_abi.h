/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs that follow NAT (bpf/nat.bpf.h) and user space say to each other. */
#ifndef PKTLEDGER_NAT_ABI_H
#define PKTLEDGER_NAT_ABI_H

#include "watch_abi.h"

#define NAT_RENAMED	 16384 /* names; those that were not needed for longest give way */
#define NAT_TRANSLATIONS 256

/*
 * The packets of EXPR, by what was translated: from `src` and `src_port` to `dst` and `dst_port`.
 * In `pad`: which end of the connection that is, seen from its first packet. Sources are without
 * their ports, of which each connection has another.
 */
enum nat_kind {
	NAT_SOURCE = 1,
	NAT_DESTINATION,
};

#endif
