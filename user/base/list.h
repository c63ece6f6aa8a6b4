/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Growing arrays, whose rows may be found by a key. Rows move when an array grows. */
#ifndef PKTLEDGER_BASE_LIST_H
#define PKTLEDGER_BASE_LIST_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise everything except `size` and `key`. */
struct list {
	void *at;
	size_t size; /* bytes per row */
	unsigned n, cap;
	size_t key; /* bytes at the start of each row, without holes, that identify it; 0: none */
	unsigned *index, slots; /* private: a hash table of row numbers + 1 */
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

/* Returns the row with this key, or NULL. */
void *list_get(const struct list *l, const void *key);

/* Returns the row with this key. If there is none, appends a row that has zeros after its key. */
void *list_row(struct list *l, const void *key) __attribute__((returns_nonnull));

/* Finds the rows of a list by their keys again, after rows were moved, removed or overwritten. */
void list_index(struct list *l);

/* Removes all rows and keeps the memory. */
void list_clear(struct list *l);

#endif
