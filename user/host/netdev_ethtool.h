/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of netdev_get() that ethtool knows, and its commands. */
#ifndef PKTLEDGER_HOST_NETDEV_ETHTOOL_H
#define PKTLEDGER_HOST_NETDEV_ETHTOOL_H

#include "host/netdev.h"

/*
 * Driver, speed, and the queues in use (ETHTOOL_GCHANNELS; rtnetlink tells those allocated). What
 * a driver does not tell stays as it is. 0 or -errno of the socket.
 */
int netdev_ethtool_fill(const struct netns *ns, struct netdev *dev);

/*
 * One command of the ethtool ioctl: a structure of <linux/ethtool.h> that begins with its number.
 * 0 or more as the command says, or -errno.
 */
int netdev_ethtool(const struct netns *ns, const char *ifname, void *command);

#endif
