/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What kfree_skb does not show, as a source of the collector: XDP's own losses, counters of devices
 * and of sockets and, where all drops are looked at, of network namespaces (SNMP) and of the host
 * (softnet, neighbour tables). A counter that repeats packets which have an event too counts less
 * those events; since it is read before them, it is a lower bound while packets are under way.
 */
#ifndef PKTLEDGER_MONITOR_SOURCES_H
#define PKTLEDGER_MONITOR_SOURCES_H

#include "base/list.h"
#include "host/counters.h"
#include "monitor/live.h"

/*
 * The counters of the path, sample by sample: every device and queue, what drivers lost, AF_XDP
 * sockets, queueing disciplines, SNMP and softnet. What `sar -n DEV`, `nstat`, `ethtool -S`, `tc
 * -s` and softnet_stat show, from one moment. What this host does not have is left out.
 *
 * All results are of the time between the last two samples, and live until the next one. A counter
 * that began anew (a device reset, queues changed) gives a lower bound.
 */
struct rates {
	const char *netns;   /* the name of the namespace as people call it; "" the own one */
	uint64_t interval;   /* between the last two samples; 0: there is but one, nothing moved */
	struct list devices; /* struct rates_device */
	struct list queues;  /* struct rates_queue */
	struct list losses;  /* struct rates_loss */
	struct list xsks;    /* struct rates_xsk */
	/* What moved of SNMP, softnet, neighbour tables; scope "host": of all namespaces. */
	struct counters deltas;

	/* Private, as of the last sample */
	const struct netns *ns; /* borrowed; NULL: the calling thread's */
	uint32_t inum;
	bool devices_only, gone; /* gone: there is no such namespace any more, so there are no rows */
	uint64_t time;
	struct counters counters;
	struct xsk_info *xsk;
	int xsk_n;
	struct files *walk; /* where sock_diag is not there */
	bool no_walk;
};

struct rates_device {
	uint32_t netns;		 /* inode number */
	struct link_info link;	 /* its statistics are what moved, as the device counts: merged
				    packets once (LRO, GSO) */
	struct link_qdisc qdisc; /* its drops are what moved; what waits is of now */
	char driver[32];	 /* "" unknown */
	bool up;
	bool moved; /* anything above, but levels */
};

struct rates_queue {
	unsigned device; /* in the list of devices */
	int queue;
	struct rtnl_link_stats64 stats; /* packets and bytes only */
	bool has_rx, has_tx;		/* the driver counts this side */
	bool moved;
};

/* A counter of a driver that is of a loss, or of what leads to one. */
struct rates_loss {
	unsigned device;
	struct nic_loss loss;
};

/* What an AF_XDP socket lost; its counters are what moved. */
struct rates_xsk {
	struct xsk_info moved;
	const char *ifname; /* "" unknown */
};

/* Reads everything; `now_ns`: a clock that goes forward. */
void rates_sample(struct rates *r, uint64_t now_ns);
void rates_close(struct rates *r);

struct sources;

/*
 * Opens them for what `spec` looks at, in the namespace that it names, else the own one, and adds
 * them to `l` before it starts. Where only sockets or reasons are looked at there are none, for
 * neither knows any. What this host does not allow is left out: see sources_gaps(). `counters`:
 * sources_rates() is wanted, with all counters, not only those that the rows need.
 */
int sources_open(struct sources **s, const struct live_spec *spec, bool counters, struct live *l,
		 struct error *err);

/* When the collector is closed. NULL is allowed. */
void sources_close(struct sources *s);

/* The counters, sampled at the end of each interval; NULL: none. */
const struct rates *sources_rates(const struct sources *s);

/* What is not seen here, and why, one line for people; "": nothing. */
const char *sources_gaps(const struct sources *s);

#endif
