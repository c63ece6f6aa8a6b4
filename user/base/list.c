// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

void *list_add(struct list *l)
{
	if (l->n == l->cap) {
		unsigned cap = l->cap ? l->cap * 2 : 64;
		void *more = reallocarray(l->at, cap, l->size);

		if (!more)
			return NULL;
		l->at = more;
		l->cap = cap;
	}
	return memset((char *)l->at + l->n++ * l->size, 0, l->size);
}

void list_free(struct list *l)
{
	free(l->at);
	l->at = NULL;
	l->n = l->cap = 0;
}
