// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/endindex.h"

#include <errno.h>
#include <stdlib.h>

#define NONE  0x7fffffffu
#define FIRST 4096 /* entries to begin with */

/* Chains by key: whatever many packets look the same, one step finds the next. */
struct endindex_slot {
	uint64_t key;
	uint32_t head, tail; /* of those that are not taken; head NONE: all are */
	bool used;
};

static struct endindex_slot *find(const struct endindex *x, uint64_t key)
{
	uint32_t at = (uint32_t)key & (x->slots - 1);

	while (x->slot[at].used && x->slot[at].key != key)
		at = (at + 1) & (x->slots - 1);
	return &x->slot[at];
}

static int grow(struct endindex *x)
{
	uint32_t room = x->room ? x->room * 2 : FIRST;
	struct endindex old = *x;
	struct endindex_entry *entry;

	if (x->n >= ENDINDEX_MAX / 2)
		return -EFBIG;
	entry = realloc(x->entry, room * sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	x->entry = entry;
	x->slot = calloc(room * 2UL, sizeof(*x->slot));
	if (!x->slot) {
		x->slot = old.slot;
		return -ENOMEM;
	}
	x->room = room;
	x->slots = room * 2;
	for (uint32_t i = 0; i < old.slots; i++) {
		if (old.slot[i].used)
			*find(x, old.slot[i].key) = old.slot[i];
	}
	free(old.slot);
	return 0;
}

int endindex_add(struct endindex *x, uint64_t key, const struct endindex_entry *entry)
{
	struct endindex_slot *slot;
	int rc = x->n == x->room ? grow(x) : 0;

	if (rc)
		return rc;
	x->entry[x->n] = *entry;
	x->entry[x->n].next = NONE;
	x->entry[x->n].taken = false;
	slot = find(x, key);
	if (slot->used) {
		x->ambiguous += slot->head == slot->tail ? 2 : 1;
		x->entry[slot->tail].next = x->n;
		slot->tail = x->n;
	} else {
		*slot = (struct endindex_slot){key, x->n, x->n, true};
	}
	x->n++;
	return 0;
}

enum endindex_found endindex_take(struct endindex *x, uint64_t key, uint32_t *at)
{
	struct endindex_slot *slot = x->slots ? find(x, key) : NULL;

	if (!slot || !slot->used)
		return ENDINDEX_NONE;
	if (slot->head == NONE)
		return ENDINDEX_AGAIN;
	*at = slot->head;
	slot->head = x->entry[*at].next;
	x->entry[*at].taken = true;
	return ENDINDEX_FOUND;
}

void endindex_free(struct endindex *x)
{
	free(x->entry);
	free(x->slot);
}
