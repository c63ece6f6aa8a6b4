/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rows of one device. Private to rates.c. */
#ifndef PKTLEDGER_MONITOR_RATES_PARTS_H
#define PKTLEDGER_MONITOR_RATES_PARTS_H

#include "host/counters.h"
#include "monitor/rates.h"

/* A growing list of results. */
struct rates_list {
	void *at;
	size_t size; /* of a row */
	unsigned n, cap;
};

/* Another row, zeroed, or NULL. */
void *rates_list_add(struct rates_list *l);

struct rates_out {
	struct rates_list devices, queues, losses;
};

/* Adds how the device moved since `before` (NULL: it is new). -ENOMEM. */
int rates_device_add(struct counters_device *before, struct counters_device *after,
		     struct rates_out *out, int space, uint32_t netns);

#endif
