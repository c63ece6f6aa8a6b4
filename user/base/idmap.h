/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects by a number, sorted by it: small tables that are asked more often than they change. */
#ifndef PKTLEDGER_BASE_IDMAP_H
#define PKTLEDGER_BASE_IDMAP_H

#include <stdint.h>

struct idmap_entry {
	uint64_t id;
	void *object; /* the caller's */
};

/* Zero-initialise. `at` may be walked, in ascending order of the ids. */
struct idmap {
	struct idmap_entry *at;
	unsigned n, cap;
};

/* NULL: there is none. */
void *idmap_find(const struct idmap *m, uint64_t id);

/* The id must not be in the map. -ENOMEM. */
int idmap_add(struct idmap *m, uint64_t id, void *object);

/* Takes it out and returns it; NULL: there is none. */
void *idmap_take(struct idmap *m, uint64_t id);

/* Frees the map; the objects by `free_object`, which may be NULL. */
void idmap_free(struct idmap *m, void (*free_object)(void *));

#endif
