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
	free(l->index);
	*l = (struct list){.size = l->size, .key = l->key};
}

void *list_room(void *at, size_t n, size_t size)
{
	bool full = !n || (n >= LEAST && !(n & (n - 1)));

	if (full)
		at = mem_resize(at, n ? 2 * n : LEAST, size);
	memset((char *)at + n * size, 0, size);
	return at;
}

/* Returns the slot of a row number, or the empty slot where it belongs. */
static unsigned *slot_of(const struct list *l, const void *key)
{
	uint64_t hash = 0, word;

	for (size_t at = 0; at < l->key; at += sizeof(word)) {
		word = 0;
		memcpy(&word, (const char *)key + at,
		       l->key - at < sizeof(word) ? l->key - at : sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	for (;; hash++) {
		unsigned *slot = &l->index[hash & (l->slots - 1)];

		if (!*slot || !memcmp((char *)l->at + (*slot - 1) * l->size, key, l->key))
			return slot;
	}
}

void *list_get(const struct list *l, const void *key)
{
	const unsigned row = l->n ? *slot_of(l, key) : 0;

	return row ? (char *)l->at + (row - 1) * l->size : NULL;
}

void list_index(struct list *l)
{
	l->slots = 2 * l->cap;
	free(l->index);
	l->index = mem_zero(l->slots, sizeof(*l->index));
	for (unsigned i = 0; i < l->n; i++)
		*slot_of(l, (char *)l->at + i * l->size) = i + 1;
}

void *list_row(struct list *l, const void *key)
{
	void *row = list_get(l, key);

	if (row)
		return row;
	row = memcpy(list_add(l), key, l->key);
	if (l->slots < 2 * l->cap)
		list_index(l);
	else
		*slot_of(l, key) = l->n;
	return row;
}

void list_clear(struct list *l)
{
	l->n = 0;
	if (l->slots)
		list_index(l);
}
