// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/settle.h"

#include "base/clock.h"
#include "base/watch.h"

static bool is_over(const struct settling *s, uint64_t quiet_ns)
{
	if (quiet_ns < s->quiet_ns || !s->idle(s->arg))
		return false;
	return quiet_ns >= s->silent_ns || s->complete(s->arg);
}

bool settle_wait(const struct settling *s)
{
	uint64_t start = clock_now(), next = start + s->interval_ns, quiet_since = start;
	uint64_t last = 0, fates;

	while (s->fates(s->arg, &fates)) {
		uint64_t now = clock_now();

		if (fates != last)
			quiet_since = now;
		last = fates;
		if (now - start >= s->most_ns || is_over(s, now - quiet_since))
			return false;
		if (s->interval_ns && now >= next) {
			s->show(s->arg, start, now);
			next += s->interval_ns;
		}
		if (watch_tick())
			return true;
	}
	return false;
}
