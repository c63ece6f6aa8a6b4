/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All devices of a namespace with their counters, in one request each: for many of them. */
#ifndef PKTLEDGER_HOST_LINKS_H
#define PKTLEDGER_HOST_LINKS_H

#include <linux/if_link.h>
#include <net/if.h>
#include <stdint.h>

#include "host/netns.h"

struct link_info {
	unsigned ifindex;
	unsigned flags; /* IFF_* */
	char ifname[IFNAMSIZ];
	char kind[16];	       /* IFLA_INFO_KIND: "veth", "bridge" ...; "" of hardware */
	uint32_t xdp_prog;     /* native or offloaded, id; 0: none */
	uint32_t xdp_skb_prog; /* generic */
	struct rtnl_link_stats64 stats;
};

/* By index. *list is to be freed. Returns how many, or -errno. */
int links_read(const struct netns *ns, struct link_info **list);

/* Drops of the queueing disciplines of a device. */
struct link_qdisc {
	unsigned ifindex;
	char kind[16];	/* of the root: "pfifo_fast", "mq" ... */
	uint64_t drops; /* at the root; in skbs, not segments */
	uint64_t requeues;
	uint32_t qlen;	       /* packets waiting now */
	uint32_t backlog;      /* bytes waiting now */
	uint64_t clsact_drops; /* by tc filters at ingress and egress */
};

/* Of the devices that have a qdisc, by index. *list is to be freed. As above. */
int links_read_qdiscs(const struct netns *ns, struct link_qdisc **list);

#endif
