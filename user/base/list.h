/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Growing arrays, and objects stored by number. Rows move when an array grows. */
#ifndef PKTLEDGER_BASE_LIST_H
#define PKTLEDGER_BASE_LIST_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise everything except `size`. */
struct list {
	void *at;
	size_t size; /* bytes per row */
	unsigned n, cap;
};

/* Appends a zeroed row and returns it. */
void *list_add(struct list *l) __attribute__((returns_nonnull));

/*
 * Appends a zeroed row to a list whose size depends on a file. If memory runs out, returns NULL and
 * leaves the list unchanged.
 */
void *list_ask(struct list *l);

/* Returns the first row that has these bytes at this offset, or NULL. */
void *list_find(const struct list *l, size_t offset, const void *key, size_t size);

void list_free(struct list *l);

/*
 * Returns the array of `n` rows (NULL if empty), which was itself made by this function, with room
 * for one more zeroed row.
 */
void *list_room(void *at, size_t n, size_t size) __attribute__((returns_nonnull));

/*
 * Maps numbers to objects, sorted by number. For small tables that are read more often than
 * changed.
 */
struct idmap_entry {
	uint64_t id;
	void *object; /* owned by the caller */
};

/* Zero-initialise. `at` may be iterated over, in ascending order of ids. */
struct idmap {
	struct idmap_entry *at;
	unsigned n;
};

/* Returns the object with this id, or NULL. */
void *idmap_find(const struct idmap *m, uint64_t id);

/* Adds an object. The id must not be in the map yet. */
void idmap_add(struct idmap *m, uint64_t id, void *object);

/* Removes and returns the object, or returns NULL. */
void *idmap_take(struct idmap *m, uint64_t id);

/* Frees the map. Frees the objects with `free_object`, which may be NULL. */
void idmap_free(struct idmap *m, void (*free_object)(void *));

#endif
