/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A struct in which each member of a table has a different value. */
#ifndef PKTLEDGER_TESTS_RECORD_FILL_H
#define PKTLEDGER_TESTS_RECORD_FILL_H

#include <stdio.h>
#include <string.h>

#include "base/record.h"

static inline void record_fill(const struct record_field *rows, void *to);

static inline void record_fill_value(const struct record_field *f, void *at, unsigned nth)
{
	uint64_t most = f->size < 8 ? (1ULL << 8 * f->size) - 1 : UINT64_MAX - nth;
	unsigned word = f->names_n - 1;

	switch (f->type) {
	case RECORD_UINT:
	case RECORD_INT:
		if (f->type == RECORD_INT)
			most = (uint64_t)-1000 - nth;
		else if (f->max)
			most = f->max;
		memcpy(at, &most, f->size); /* little endian, as BPF is compiled */
		break;
	case RECORD_BOOL:
		*(bool *)at = true;
		break;
	case RECORD_DOUBLE:
		*(double *)at = 1234.5 + nth;
		break;
	case RECORD_TEXT:
		snprintf(at, f->size, "t%u", nth);
		break;
	case RECORD_POINTER:
		*(const char **)at = "a text";
		break;
	case RECORD_WORD:
		*(const char **)at = f->names[word];
		break;
	case RECORD_ENUM:
		*(unsigned *)at = word;
		break;
	case RECORD_TIME:
		*(uint64_t *)at = 1714564800123456000 + 1000ULL * nth;
		break;
	case RECORD_COUNTED:
		*(uint64_t *)at = 7 + nth;
		break;
	case RECORD_NESTED:
	case RECORD_ROWS:
		record_fill(f->rows, at);
		break;
	case RECORD_JSON:
	case RECORD_OWN:
		break;
	}
}

static inline void record_fill(const struct record_field *rows, void *to)
{
	for (const struct record_field *f = rows; f->key; f++) {
		size_t n = f->items ? f->items : 1;

		for (size_t i = 0; i < n; i++)
			record_fill_value(f, (char *)to + f->offset + i * f->size,
					  (unsigned)(f - rows + 1));
		if (f->count)
			*(unsigned *)((char *)to + f->count - 1) = (unsigned)n;
		if (f->when)
			*(bool *)((char *)to + f->when - 1) = true;
	}
}

#endif
