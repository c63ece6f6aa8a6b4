/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The worst rows of a table, so that what is kept of an interval has a bound. */
#ifndef PKTLEDGER_MONITOR_WORST_H
#define PKTLEDGER_MONITOR_WORST_H

#include "monitor/table.h"

/*
 * At most `max` rows of `from`, grouped by `by`, losses before suspects before benign ones, most
 * packets first. What finds no room is told as LIVE_OTHERS, some rows more, so that no packet is
 * left out. `classes` as of table_group(). 0 or -ENOMEM; to be freed by table_free().
 */
int worst_rows(struct live_table *t, const struct live_table *from, unsigned by, unsigned classes,
	       unsigned max);

#endif
