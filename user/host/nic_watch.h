/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a NIC had no room for since some time: losses that leave no event in the kernel and that
 * only a counter of its driver tells (nic_data.h). Where an event tells them too they are left out.
 */
#ifndef PKTLEDGER_HOST_NIC_WATCH_H
#define PKTLEDGER_HOST_NIC_WATCH_H

#include "host/counters.h"
#include "host/nic.h"

/* Zero-initialise; free with nic_watch_end(). `ns` is borrowed. */
struct nic_watch {
	const struct netns *ns;
	char ifname[16], driver[32];
	struct nic_sample before;
};

struct nic_ring_loss {
	uint64_t packets;
	char counter[COUNTER_NAME_LEN]; /* as counters.h calls it; of several the largest; "" none
					 */
	bool restarted;			/* a counter began anew: `packets` is a lower bound */
};

/* From now on. 0 or -errno (-ENODEV). */
int nic_watch_begin(struct nic_watch *w, const struct netns *ns, const char *ifname);

/* What was lost until now. 0 or -errno; *out is all zero then. */
int nic_watch_read(const struct nic_watch *w, struct nic_ring_loss *out);

/* The same of two samples. -ENOMEM. */
int nic_ring_loss(const struct nic_watch *w, const struct nic_sample *after,
		  struct nic_ring_loss *out);

void nic_watch_end(struct nic_watch *w);

#endif
