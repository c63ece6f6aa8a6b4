/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Losses that no event tells, from the counters of devices and AF_XDP sockets, as rows of the
 * model: a source of the collector. A counter that tells packets which have an event too counts
 * less those events; since it is read before them, it is a lower bound while packets are under way.
 */
#ifndef PKTLEDGER_MONITOR_COUNTERROWS_H
#define PKTLEDGER_MONITOR_COUNTERROWS_H

#include "monitor/live.h"
#include "monitor/rates.h"
#include "monitor/xdprows.h"

struct counterrows;

/*
 * Of the namespace that `spec` names, else the own one. `xdp`: tells what XDP events there were;
 * NULL: none are counted. Both are borrowed. `all`: counterrows_rates() is wanted with all
 * counters, not only those that the rows need.
 */
int counterrows_open(struct counterrows **c, const struct live_spec *spec,
		     const struct xdprows *xdp, bool all, struct error *err);
void counterrows_close(struct counterrows *c);

const struct live_source *counterrows_source(struct counterrows *c);

/* The samples, one an interval, for --counters. */
const struct rates *counterrows_rates(const struct counterrows *c);

#endif
