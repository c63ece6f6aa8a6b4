/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --limit of a collector that goes on: when one is crossed. */
#ifndef PKTLEDGER_MONITOR_LIMITS_H
#define PKTLEDGER_MONITOR_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "base/opt.h"
#include "monitor/table.h"

struct limits {
	struct {
		struct limit limit;
		double measured; /* when it was asked last: packets in all, or packets/s */
		bool above;	 /* it was broken then */
		uint64_t crossings;
	} at[OPT_LIST_MAX];
	unsigned n;
};

/* STATUS_USAGE: a share, because nobody knows what was sent. */
int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err);

/*
 * Whether limit `i` was not broken before this interval, and is now. Per second: in this interval;
 * packets: since the start.
 */
bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns);

/* Any of them was. */
bool limits_broken(const struct limits *l);

#endif
