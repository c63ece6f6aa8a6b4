/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What kfree_skb does not show, as a source of the collector: XDP's own losses, verdicts of XDP
 * programs where their driver does not count them, and counters of devices and AF_XDP sockets. A
 * counter that repeats packets which have an event too counts less those events; since it is read
 * before them, it is a lower bound while packets are under way.
 */
#ifndef PKTLEDGER_MONITOR_SOURCES_H
#define PKTLEDGER_MONITOR_SOURCES_H

#include "monitor/live.h"
#include "monitor/rates.h"

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
