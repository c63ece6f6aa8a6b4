/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* IPsec policies of a namespace (NETLINK_XFRM). No keys, no states. */
#ifndef PKTLEDGER_HOST_XFRM_H
#define PKTLEDGER_HOST_XFRM_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"

/* For UDP to a port, whoever sends it. */
struct xfrm_policy {
	int family;    /* AF_INET, AF_INET6 */
	uint16_t port; /* destination, host order; 0: any */
	bool out;      /* for what leaves; else for what is to be delivered */
	bool esp;      /* wants it in ESP, transport mode; else forbids it */
	uint32_t mark; /* only packets with all these bits in their mark; 0: any */
};

/*
 * 0 or -errno: -EPROTONOSUPPORT without CONFIG_XFRM_USER, -EEXIST if the namespace has one like it.
 * It goes with the namespace.
 */
int xfrm_add_policy(const struct netns *ns, const struct xfrm_policy *policy);

#endif
