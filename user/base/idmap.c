// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first entry that is not below `id`. */
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

int idmap_add(struct idmap *m, uint64_t id, void *object)
{
	unsigned i = lower_bound(m, id);

	if (m->n == m->cap) {
		unsigned cap = m->cap ? m->cap * 2 : 64;
		struct idmap_entry *at = reallocarray(m->at, cap, sizeof(*at));

		if (!at)
			return -ENOMEM;
		m->at = at;
		m->cap = cap;
	}
	memmove(m->at + i + 1, m->at + i, (m->n - i) * sizeof(*m->at));
	m->at[i] = (struct idmap_entry){id, object};
	m->n++;
	return 0;
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
