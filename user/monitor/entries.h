/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was counted in an interval, as it was read: in parts, if it is read more than once. */
#ifndef PKTLEDGER_MONITOR_ENTRIES_H
#define PKTLEDGER_MONITOR_ENTRIES_H

#include "drops/watch.h"

/* Zero-initialise. */
struct entries {
	struct watch_entry *at;
	unsigned n, room;
	unsigned merged; /* private: as many there were after the last merge */
};

/* -ENOMEM. Those of one key, flow and CPU may be made one. */
int entries_add(struct entries *list, const struct watch_entry *e);

void entries_clear(struct entries *list);
void entries_free(struct entries *list);

#endif
