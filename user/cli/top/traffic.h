/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What passes, beside what is lost: from the counters of devices and sockets. */
#ifndef PKTLEDGER_CLI_TOP_TRAFFIC_H
#define PKTLEDGER_CLI_TOP_TRAFFIC_H

#include "monitor/rates.h"
#include "cli/top/view.h"

#define TRAFFIC_DEVICES 256 /* shown at most */

/* Of the last interval of `r`. Returns how many devices were written to `devices`. */
unsigned traffic_read(const struct rates *r, struct view_traffic *sum,
		      struct view_device devices[TRAFFIC_DEVICES]);

#endif
