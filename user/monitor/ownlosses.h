/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the collector missed or could not tell apart, by the names that JSON and metrics have. */
#ifndef PKTLEDGER_MONITOR_OWNLOSSES_H
#define PKTLEDGER_MONITOR_OWNLOSSES_H

#include "monitor/live.h"

#define LIVE_OWN_LOSSES 8

struct live_own_loss {
	const char *name;
	uint64_t n;
};

void live_own_losses(const struct live_own *own, struct live_own_loss out[LIVE_OWN_LOSSES]);

#endif
