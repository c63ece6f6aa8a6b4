// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 1024

static int compare(const void *x, const void *y)
{
	const struct watch_entry *a = x, *b = y;
	int order = memcmp(&a->key, &b->key, sizeof(a->key));

	if (!order)
		order = memcmp(&a->flow, &b->flow, sizeof(a->flow));
	return order ? order : (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

static void add_count(struct watch_count *to, const struct watch_count *from)
{
	to->events += from->events;
	to->more += from->more;
	to->bytes += from->bytes;
	to->memory += from->memory;
}

static void merge(struct entries *list)
{
	unsigned last = 0;

	qsort(list->at, list->n, sizeof(*list->at), compare);
	for (unsigned i = 1; i < list->n; i++) {
		if (!compare(&list->at[last], &list->at[i]))
			add_count(&list->at[last].count, &list->at[i].count);
		else
			list->at[++last] = list->at[i];
	}
	list->n = list->n ? last + 1 : 0;
	list->merged = list->n;
}

int entries_add(struct entries *list, const struct watch_entry *e)
{
	if (list->n == list->room && list->n >= LEAST && list->n >= 2 * list->merged)
		merge(list);
	if (list->n == list->room) {
		unsigned room = list->room ? list->room * 2 : LEAST;
		struct watch_entry *more = reallocarray(list->at, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->at = more;
		list->room = room;
	}
	list->at[list->n++] = *e;
	return 0;
}

void entries_clear(struct entries *list)
{
	list->n = list->merged = 0;
}

void entries_free(struct entries *list)
{
	free(list->at);
}
