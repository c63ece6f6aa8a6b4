// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LEAST 64

void *list_ask(struct list *l)
{
	if (l->n == l->cap) {
		unsigned cap = l->cap ? l->cap * 2 : LEAST;
		void *more = reallocarray(l->at, cap, l->size);

		if (!more)
			return NULL;
		l->at = more;
		l->cap = cap;
	}
	return memset((char *)l->at + l->n++ * l->size, 0, l->size);
}

void *list_add(struct list *l)
{
	return mem_need(list_ask(l));
}

void *list_find(const struct list *l, size_t offset, const void *key, size_t size)
{
	char *row = l->at;

	for (unsigned i = 0; i < l->n; i++, row += l->size) {
		if (!memcmp(row + offset, key, size))
			return row;
	}
	return NULL;
}

void list_free(struct list *l)
{
	free(l->at);
	l->at = NULL;
	l->n = l->cap = 0;
}

void *list_room(void *at, size_t n, size_t size)
{
	bool full = !n || (n >= LEAST && !(n & (n - 1)));

	if (full)
		at = mem_resize(at, n ? 2 * n : LEAST, size);
	memset((char *)at + n * size, 0, size);
	return at;
}

/* Returns the index of the first entry whose id is not less than `id`. */
static unsigned lower_bound(const struct idmap *m, uint64_t id)
{
	unsigned low = 0, high = m->n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (m->at[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void *idmap_find(const struct idmap *m, uint64_t id)
{
	unsigned i = lower_bound(m, id);

	return i < m->n && m->at[i].id == id ? m->at[i].object : NULL;
}

void idmap_add(struct idmap *m, uint64_t id, void *object)
{
	unsigned i = lower_bound(m, id);

	m->at = list_room(m->at, m->n, sizeof(*m->at));
	memmove(m->at + i + 1, m->at + i, (m->n - i) * sizeof(*m->at));
	m->at[i] = (struct idmap_entry){id, object};
	m->n++;
}

void *idmap_take(struct idmap *m, uint64_t id)
{
	unsigned i = lower_bound(m, id);
	void *object;

	if (i == m->n || m->at[i].id != id)
		return NULL;
	object = m->at[i].object;
	m->n--;
	memmove(m->at + i, m->at + i + 1, (m->n - i) * sizeof(*m->at));
	return object;
}

void idmap_free(struct idmap *m, void (*free_object)(void *))
{
	for (unsigned i = 0; free_object && i < m->n; i++)
		free_object(m->at[i].object);
	free(m->at);
	*m = (struct idmap){};
}
