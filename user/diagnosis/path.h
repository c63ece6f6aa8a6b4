/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the largest packet that reaches an address, and the hop after which larger packets are lost
 * although no ICMP message says so (a path MTU black hole). Nothing on this host records either, so
 * this sends pings of different sizes that must not be fragmented, at most about 200.
 */
#ifndef PKTLEDGER_DIAGNOSIS_PATH_H
#define PKTLEDGER_DIAGNOSIS_PATH_H

#include <net/if.h>

#include "base/num.h"
#include "host/netns.h"

/* Sizes are of whole IP packets. Texts are "" and numbers are 0 if unknown. */
struct path_mtu {
	char to[FMT_MAX];
	char ifname[IF_NAMESIZE], via[FMT_MAX]; /* outgoing interface, and the gateway */
	unsigned mtu;				/* MTU of that interface */
	unsigned fits;			      /* largest packet that arrives, 0: no answer at all */
	bool silent;			      /* larger packets are lost without a message */
	char told_by[FMT_MAX];		      /* hop that sent a message with its MTU */
	char before[FMT_MAX], after[FMT_MAX]; /* last hop that a packet above `fits` reached, and
					       * the next hop */
};

/*
 * Pings `address` from `ns` (CAP_NET_RAW). Returns 0, -EINVAL if `address` is not an IP address,
 * -ENETUNREACH without a route, or another -errno.
 */
int path_mtu_read(const struct netns *ns, const char *address, struct path_mtu *out);

#endif
