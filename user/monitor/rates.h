/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of the path, sample by sample: every device and queue, what drivers lost, AF_XDP
 * sockets, queueing disciplines, SNMP and softnet. What `sar -n DEV`, `nstat`, `ethtool -S`, `tc
 * -s` and softnet_stat show, from one moment. What this host does not have is left out.
 *
 * All results are of the time between the last two samples, and live until the next one. A counter
 * that began anew (a device reset, queues changed) gives a lower bound.
 */
#ifndef PKTLEDGER_MONITOR_RATES_H
#define PKTLEDGER_MONITOR_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "host/netns.h"
#include "host/nic.h"
#include "host/sockdiag.h"

struct rates;

/* In place of the namespace's index, 0: counters of the whole host. */
#define RATES_HOST (-1)

/*
 * Of a namespace, which is borrowed (NULL: the calling thread's), with its name as people call it
 * (NULL: the own one). `devices_only`: no SNMP and softnet, for those who look for losses of
 * devices and AF_XDP sockets.
 */
int rates_open(struct rates **r, const struct netns *ns, const char *name, bool devices_only,
	       struct error *err);
void rates_close(struct rates *r);

/*
 * Reads everything; `now_ns`: a clock that goes forward. A namespace that is gone has no rows. 0,
 * or -errno if memory is short.
 */
int rates_sample(struct rates *r, uint64_t now_ns, struct error *err);

/* Between the last two samples; 0: there is but one, and no row has moved. */
uint64_t rates_interval(const struct rates *r);

struct rates_traffic {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
};

struct rates_device {
	int space;
	uint32_t netns; /* inode number of the namespace; 0: not known */
	unsigned ifindex;
	char ifname[16];
	char driver[32]; /* "" unknown */
	bool up;
	struct rates_traffic traffic; /* as the device counts: merged packets once (LRO, GSO) */
	uint64_t rx_dropped, tx_dropped, rx_errors, tx_errors, rx_missed; /* IFLA_STATS64 */
	uint64_t qdisc_drops, clsact_drops;
	char qdisc[16];			     /* kind of the root; "" none */
	uint32_t qdisc_packets, qdisc_bytes; /* waiting now */
	uint32_t xdp_prog, xdp_skb_prog;     /* ids of programs; 0: none */
	bool moved;			     /* anything above, but levels */
};
const struct rates_device *rates_devices(const struct rates *r, unsigned *n);

struct rates_queue {
	unsigned device; /* in rates_devices() */
	int queue;
	struct rates_traffic traffic;
	bool has_rx, has_tx; /* the driver counts this side */
	bool moved;
};
const struct rates_queue *rates_queues(const struct rates *r, unsigned *n);

/* A counter of a driver that is of a loss, or of what leads to one. */
struct rates_loss {
	unsigned device;
	struct nic_loss loss;
};
const struct rates_loss *rates_losses(const struct rates *r, unsigned *n);

/* What an AF_XDP socket lost; levels and identity as of the last sample. */
struct rates_xsk {
	struct xsk_info now;
	struct xsk_info moved; /* its counters are differences */
	const char *ifname;    /* "" unknown */
};
const struct rates_xsk *rates_xsks(const struct rates *r, unsigned *n);

/* SNMP, softnet, neighbour tables: those that moved. */
struct rates_counter {
	int space;	  /* or RATES_HOST */
	const char *name; /* "Udp:RcvbufErrors", "softnet:cpu1:dropped" (host/counters.h) */
	uint64_t delta;
};
const struct rates_counter *rates_counters(const struct rates *r, unsigned *n);

const char *rates_space_name(const struct rates *r, int space); /* "" own, "host" */

#endif
