/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What kfree_skb does not tell: XDP's own losses, and counters of devices and AF_XDP sockets. */
#ifndef PKTLEDGER_MONITOR_SOURCES_H
#define PKTLEDGER_MONITOR_SOURCES_H

#include "monitor/live.h"
#include "monitor/rates.h"

struct sources;

/*
 * Opens them for what `spec` looks at, and adds them to `l` before it starts. Where only sockets or
 * reasons are looked at there are none, for neither knows any. What this host does not allow is
 * left out: see sources_gaps(). `counters`: sources_rates() is wanted, with all counters.
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
