// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/tcp_trail.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

const char *const trail_names[TRAIL_WHATS] = {"resent",	 "hole",    "again",
					      "outside", "dropped", "twice"};

struct trail *trail_new(void)
{
	struct trail *t = mem_new(t);

	t->flows.size = sizeof(struct trail_flow);
	t->ranges.size = sizeof(struct trail_range);
	t->flows.key = offsetof(struct trail_flow, sends) + sizeof(bool);
	return t;
}

void trail_free(struct trail *t)
{
	if (!t)
		return;
	list_free(&t->flows);
	list_free(&t->ranges);
	free(t);
}

struct trail_flow *trail_flow(const struct trail *t, uint32_t flow)
{
	return (struct trail_flow *)t->flows.at + flow;
}

uint32_t trail_find(const struct trail *t, const struct watch_flow *key, bool sends)
{
	const struct trail_flow wanted = {.key = *key, .sends = sends};
	const struct trail_flow *f = list_get(&t->flows, &wanted);

	return f ? (uint32_t)(f - trail_flow(t, 0)) : TRAIL_NONE;
}

uint32_t trail_make(struct trail *t, const struct watch_flow *key, bool sends)
{
	const struct trail_flow wanted = {.key = *key, .sends = sends};
	const uint32_t known = trail_find(t, key, sends);

	if (known != TRAIL_NONE)
		return known;
	if (t->flows.n == TRAIL_FLOWS) {
		t->lost_flows++;
		return TRAIL_NONE;
	}
	list_row(&t->flows, &wanted);
	return t->flows.n - 1;
}

void trail_add(struct trail *t, const struct trail_range *r)
{
	if (r->flow != TRAIL_NONE && t->ranges.n < TRAIL_RANGES) {
		*(struct trail_range *)list_add(&t->ranges) = *r;
		return;
	}
	t->lost_ranges++;
	t->lost_resent += r->what == TRAIL_RESENT;
	if (r->flow != TRAIL_NONE)
		trail_flow(t, r->flow)->cut = true;
}
