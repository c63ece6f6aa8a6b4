// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/ownlosses.h"

#include <string.h>

void live_own_losses(const struct live_own *own, struct live_own_loss out[LIVE_OWN_LOSSES])
{
	const struct watch_state *w = &own->watch;
	const struct live_own_loss all[LIVE_OWN_LOSSES] = {
		{"recursion_misses", w->recursion_misses},
		{"without_socket_or_flow", w->loss.merged},
		{"without_cause", w->loss.uncounted.events},
		{"without_netns", w->loss.unplaced},
		{"without_sample", w->loss.unsampled},
		{"without_window", w->loss.unwindowed},
		{"rows_merged", own->rows_merged},
		{"filter_unread", w->filter_unread},
	};

	memcpy(out, all, sizeof(all));
}
