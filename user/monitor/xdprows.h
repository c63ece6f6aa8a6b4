/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What XDP loses without an skb, as rows of the model: a source of the collector. */
#ifndef PKTLEDGER_MONITOR_XDPROWS_H
#define PKTLEDGER_MONITOR_XDPROWS_H

#include "monitor/live.h"

struct xdprows;

/* `l` is borrowed, for names. STATUS_UNABLE: kernel or capability. */
int xdprows_open(struct xdprows **x, const struct live_spec *spec, const struct live *l,
		 struct error *err);
void xdprows_close(struct xdprows *x);

/* To be given to live_add_source(); lives as long as `x`. */
const struct live_source *xdprows_source(struct xdprows *x);

/* Since the start, told by the events (enum nic_events) at a device: for counters that repeat it.
 */
uint64_t xdprows_told(const struct xdprows *x, uint32_t netns, uint32_t ifindex, unsigned events);

/* The same: frames that an AF_XDP socket at the device did not take. */
uint64_t xdprows_told_xsk(const struct xdprows *x, uint32_t netns, uint32_t ifindex);

/* What of XDP is not observed here, for people; "": nothing. */
const char *xdprows_gaps(const struct xdprows *x);

#endif
