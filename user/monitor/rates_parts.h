/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices of one namespace, from sample to sample. Private to rates.c. */
#ifndef PKTLEDGER_MONITOR_RATES_PARTS_H
#define PKTLEDGER_MONITOR_RATES_PARTS_H

#include "base/list.h"
#include "host/links.h"
#include "monitor/rates.h"

struct rates_state { /* of a device, at the last sample */
	struct link_info link;
	struct link_qdisc qdisc;
	char driver[32];
	struct nic_sample now;
	struct nic_plan *plan;
};

struct rates_devices {
	struct rates_state *at; /* by index */
	unsigned n;
};

struct rates_out {
	struct list devices, queues, losses;
};

/*
 * Reads the devices of the thread's namespace, adds how they moved since `before` to `out`, and
 * puts the new state into `now`. -ENOMEM; what could not be read is left out.
 */
int rates_devices_sample(const struct rates_devices *before, struct rates_devices *now,
			 struct rates_out *out, int space, uint32_t netns);
void rates_devices_free(struct rates_devices *d);

/* How much a counter of 64 bits moved; that which went backwards began anew. */
static inline uint64_t rates_moved(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

#endif
