/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A growing array of rows of one size. Rows move when it grows. */
#ifndef PKTLEDGER_BASE_LIST_H
#define PKTLEDGER_BASE_LIST_H

#include <stddef.h>

/* Zero-initialise all but `size`. */
struct list {
	void *at;
	size_t size; /* of a row */
	unsigned n, cap;
};

/* Another row, zeroed; NULL: no memory, and the list is as it was. */
void *list_add(struct list *l);

/* Empty again. */
void list_free(struct list *l);

#endif
