/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a device is set up, as far as its driver tells by ethtool. */
#ifndef PKTLEDGER_HOST_NETDEV_SETTINGS_H
#define PKTLEDGER_HOST_NETDEV_SETTINGS_H

#include <stdbool.h>

#include "host/netns.h"

/* Each part that is not `known` is all zero: the driver does not tell. */
struct netdev_settings {
	struct {
		bool known;
		unsigned rx, rx_max, tx, tx_max; /* descriptors */
	} ring;
	struct {
		bool known;
		unsigned rx, tx, combined; /* in use; a driver has combined ones or not */
		unsigned rx_max, tx_max, combined_max;
	} channels;
	struct {
		bool known;
		unsigned rx_usecs, rx_frames;
		bool adaptive_rx;
	} coalesce;
	struct {
		bool known;
		bool autoneg, rx, tx; /* tx: asks the link's partner to wait */
	} pause;
	struct {
		bool known;
		unsigned entries; /* of the indirection table */
		unsigned used;	  /* different queues in it */
	} rss;
};

/* 0 or -errno (-ENODEV). */
int netdev_settings_read(const struct netns *ns, const char *ifname, struct netdev_settings *out);

#endif
