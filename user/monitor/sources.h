/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Losses without a kfree_skb event, as a source of the collector: drops by XDP itself, counters of
 * interfaces and sockets and, if all drops are observed, counters of network namespaces (SNMP) and
 * of the host (softnet, neighbour tables). If a counter also counts packets that have an event,
 * these events are subtracted. Counters are read before events, so the result is a lower bound
 * while packets are in transit.
 */
#ifndef PKTLEDGER_MONITOR_SOURCES_H
#define PKTLEDGER_MONITOR_SOURCES_H

#include "base/list.h"
#include "drops/owners.h"
#include "host/counters.h"
#include "monitor/live.h"
#include "survey_abi.h"

/*
 * Rates of the counters along the path, from one sample to the next, for every interface and queue,
 * driver losses, AF_XDP sockets, queueing disciplines, SNMP and softnet. They are the numbers that
 * `sar -n DEV`, `nstat`, `ethtool -S`, `tc -s` and softnet_stat show, taken at the same moment.
 * Counters that this host does not have are left out.
 *
 * All results cover the time between the last two samples and are valid until the next sample.
 * After a counter was reset (device reset, changed queues), the result is a lower bound.
 */
struct rates {
	char netns[OWNER_NETNS]; /* the namespace's name, "" for the caller's namespace */
	uint64_t interval;   /* ns between the last two samples, 0: first sample, so there are no
			      * rates yet */
	struct list devices; /* struct rates_device */
	struct list queues;  /* struct rates_queue */
	struct list losses;  /* struct rates_loss */
	struct list xsks;    /* struct rates_xsk */
	/* Increments of SNMP, softnet and neighbour table counters. Scope "host": all
	 * namespaces. */
	struct counters deltas;

	/* Private state of the last sample */
	const struct netns *ns; /* borrowed, NULL: the calling thread's namespace */
	uint32_t inum;
	bool devices_only, gone; /* gone: the namespace no longer exists, so there are no rows */
	uint64_t time;
	struct counters counters;
	struct xsk_info *xsk;
	int xsk_n;
	struct files *walk; /* used without sock_diag */
	bool no_walk;
};

struct rates_device {
	uint32_t netns;		 /* inode number */
	struct link_info link;	 /* the statistics are increments, as the interface counts them:
				  * a merged packet (LRO, GSO) counts once */
	struct link_qdisc qdisc; /* the drops are increments, the backlog is the current value */
	char driver[32];	 /* "" unknown */
	bool up;
	bool moved; /* any increment, but not levels */
};

struct rates_queue {
	unsigned device; /* index in `devices` */
	int queue;
	struct rtnl_link_stats64 stats; /* only packets and bytes are filled in */
	bool has_rx, has_tx;		/* the driver has a counter for this direction */
	bool moved;
};

/* A driver counter for losses, or for something that causes losses. */
struct rates_loss {
	unsigned device;
	struct nic_loss loss;
};

/* An AF_XDP socket's losses, as increments. */
struct rates_xsk {
	struct xsk_info moved;
	const char *ifname; /* "" unknown */
};

/* Reads all counters. `now_ns`: a monotonic clock. */
void rates_sample(struct rates *r, uint64_t now_ns);
void rates_close(struct rates *r);

struct sources;

/* Counters to collect. */
enum sources_counters {
	COUNTERS_FOR_ROWS, /* only what rows need */
	COUNTERS_OF_ONE,   /* all counters, for sources_rates() */
	COUNTERS_OF_ALL,   /* the same, and also of other namespaces unless the spec names one */
};

/*
 * Opens the sources for the filters in `spec`, in its namespace or in the caller's namespace, and
 * adds them to `l` before `l` starts. Sources add no rows if the spec filters by process, cgroup or
 * reason, because counters have no information about sockets or reasons. Sources that this host
 * does not allow are left out, see sources_gaps().
 */
int sources_open(struct sources **s, const struct live_spec *spec, enum sources_counters counters,
		 struct live *l, struct error *err);

/* Frees the sources. Call this after closing the collector. NULL is allowed. */
void sources_close(struct sources *s);

/* Returns the counters sampled at the end of each interval, or NULL. */
const struct rates *sources_rates(const struct sources *s);

/*
 * With COUNTERS_OF_ALL, returns the counters of another namespace, or NULL after the last one. Set
 * *at to 0 for the first one. They are sampled as often as the CPU time for counters allows, except
 * that sources_select() samples one namespace at the end of each interval (0: none).
 */
const struct rates *sources_others(const struct sources *s, unsigned *at);
void sources_select(struct sources *s, uint32_t netns);

/* A socket that drops packets without an event. The drops are only in its own counter. */
struct silent {
	uint64_t cookie;
	uint64_t base;	 /* counter when the collector started, 0 for sockets opened later */
	uint64_t drops;	 /* counter at the last reading, without resets */
	uint64_t shown;	 /* packets that rows already include */
	uint64_t events; /* this socket's packets that had an event */
	bool perhaps;	 /* only its port matches EXPR */
	bool half_open;	 /* a listener whose accept queue was not full: there were too many
			  * half-open connections, or memory ran out */
	struct silent_record last;
};

/*
 * Returns the next TCP listener that EXPR selects and that refused connections, or NULL after the
 * last one. Set *at to 0 for the first one. `s` may be NULL.
 */
const struct silent *sources_listener(const struct sources *s, unsigned *at);

/* Returns a line that tells users which losses cannot be observed on this host and why, or "". */
const char *sources_gaps(const struct sources *s);

#endif
