/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays that grow, and objects by a number in one of them. Rows move when it grows. */
#ifndef PKTLEDGER_BASE_LIST_H
#define PKTLEDGER_BASE_LIST_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise all but `size`. */
struct list {
	void *at;
	size_t size; /* of a row */
	unsigned n, cap;
};

/* Another row, zeroed. */
void *list_add(struct list *l) __attribute__((returns_nonnull));

/* The same of what a file can make large; NULL: no memory, and the list is as it was. */
void *list_ask(struct list *l);

/* The first row that has these bytes at this offset; NULL: there is none. */
void *list_find(const struct list *l, size_t offset, const void *key, size_t size);

void list_free(struct list *l);

/*
 * The array of `n` rows that this function has made (NULL: of none), with room for one more, which
 * is zeroed.
 */
void *list_room(void *at, size_t n, size_t size) __attribute__((returns_nonnull));

/* Objects by a number, sorted by it: small tables that are asked more often than they change. */
struct idmap_entry {
	uint64_t id;
	void *object; /* the caller's */
};

/* Zero-initialise. `at` may be walked, in ascending order of the ids. */
struct idmap {
	struct idmap_entry *at;
	unsigned n;
};

/* NULL: there is none. */
void *idmap_find(const struct idmap *m, uint64_t id);

/* The id must not be in the map. */
void idmap_add(struct idmap *m, uint64_t id, void *object);

/* Takes it out and returns it; NULL: there is none. */
void *idmap_take(struct idmap *m, uint64_t id);

/* Frees the map; the objects by `free_object`, which may be NULL. */
void idmap_free(struct idmap *m, void (*free_object)(void *));

#endif
