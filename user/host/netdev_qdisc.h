/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of a qdisc as rtnetlink tells them. */
#ifndef PKTLEDGER_HOST_NETDEV_QDISC_H
#define PKTLEDGER_HOST_NETDEV_QDISC_H

#include <libmnl/libmnl.h>

#include "host/netdev.h"

/* Adds those in a TCA_STATS2 attribute. */
void netdev_qdisc_add(struct netdev_qdisc_stats *st, const struct nlattr *stats2);

#endif
