// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/endflows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "monitor/describe.h"

#define FIRST 64
#define SHOWN 16

/* FNV-1a */
static uint32_t hash(const struct watch_flow *flow)
{
	const uint8_t *p = (const uint8_t *)flow;
	uint32_t h = 2166136261u;

	for (unsigned i = 0; i < sizeof(*flow); i++)
		h = (h ^ p[i]) * 16777619u;
	return h ^ h >> 15;
}

static uint32_t *find(const struct endflows *f, const struct watch_flow *flow)
{
	uint32_t mask = f->room * 2 - 1, at = hash(flow) & mask;

	while (f->slot[at] && memcmp(&f->at[f->slot[at] - 1].flow, flow, sizeof(*flow)))
		at = (at + 1) & mask;
	return &f->slot[at];
}

static int grow(struct endflows *f)
{
	uint32_t room = f->room ? f->room * 2 : FIRST;
	struct endflow *at = realloc(f->at, room * sizeof(*at));
	uint32_t *slot;

	if (!at)
		return -ENOMEM;
	f->at = at;
	slot = calloc(room * 2UL, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(f->slot);
	f->slot = slot;
	f->room = room;
	for (uint32_t i = 0; i < f->n; i++)
		*find(f, &at[i].flow) = i + 1;
	return 0;
}

int endflows_find(struct endflows *f, const struct watch_flow *flow)
{
	uint32_t *slot;

	if (f->n == f->room && grow(f))
		return -ENOMEM;
	slot = find(f, flow);
	if (!*slot) {
		f->at[f->n] = (struct endflow){.flow = *flow};
		*slot = ++f->n;
	}
	return (int)(*slot - 1);
}

/* The one that misses most, of those that come behind `last`; NULL: none. */
static const struct endflow *next_worst(const struct endflows *f, const struct endflow *last)
{
	const struct endflow *best = NULL;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct endflow *flow = &f->at[i];

		if (!flow->missing || (last && (flow->missing > last->missing ||
						(flow->missing == last->missing && flow <= last))))
			continue;
		if (!best || flow->missing > best->missing)
			best = flow;
	}
	return best;
}

struct json_object *endflows_json(const struct endflows *f)
{
	struct json_object *list = json_object_new_array();
	const struct endflow *flow = NULL;

	for (unsigned i = 0; i < SHOWN && (flow = next_worst(f, flow)); i++) {
		struct json_object *o = json_object_new_object();
		char text[FLOW_TEXT];

		json_put_text(o, "flow", describe_flow(&flow->flow, text, sizeof(text)));
		json_put_u64(o, "packets", flow->packets);
		json_put_u64(o, "matched", flow->matched);
		json_put_u64(o, "missing", flow->missing);
		json_object_array_add(list, o);
	}
	return list;
}

void endflows_free(struct endflows *f)
{
	free(f->at);
	free(f->slot);
}
