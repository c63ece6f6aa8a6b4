// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/tcp_trail.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

const char *const trail_names[TRAIL_WHATS] = {"resent",	 "hole",    "again",
					      "outside", "dropped", "twice"};

uint32_t tcp_flow_hash(const struct watch_flow *key)
{
	const uint8_t *p = (const void *)key;
	uint64_t h = 0;

	for (unsigned i = 0; i < sizeof(*key); i += 8) {
		uint64_t word;

		memcpy(&word, p + i, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

struct trail *trail_new(void)
{
	struct trail *t = mem_new(t);

	t->flows.size = sizeof(struct trail_flow);
	t->ranges.size = sizeof(struct trail_range);
	memset(t->heads, 0xff, sizeof(t->heads));
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

static uint32_t head_of(const struct watch_flow *key)
{
	return tcp_flow_hash(key) % LENGTH(((struct trail *)0)->heads);
}

uint32_t trail_find(const struct trail *t, const struct watch_flow *key, bool sends)
{
	uint32_t i = t->heads[head_of(key)];

	while (i != TRAIL_NONE && (trail_flow(t, i)->sends != sends ||
				   memcmp(&trail_flow(t, i)->key, key, sizeof(*key)) != 0))
		i = trail_flow(t, i)->same;
	return i;
}

uint32_t trail_make(struct trail *t, const struct watch_flow *key, bool sends)
{
	uint32_t *head = &t->heads[head_of(key)], known = trail_find(t, key, sends);
	struct trail_flow *f;

	if (known != TRAIL_NONE)
		return known;
	if (t->flows.n == TRAIL_FLOWS) {
		t->lost_flows++;
		return TRAIL_NONE;
	}
	f = list_add(&t->flows);
	f->key = *key;
	f->sends = sends;
	f->same = *head;
	*head = t->flows.n - 1;
	return *head;
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
