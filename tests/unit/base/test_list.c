// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lists whose rows are found by their keys. */
#include "cases.h"

#include "base/list.h"

struct row {
	uint64_t id;
	uint16_t part; /* also of the key, which is longer than a word */
	unsigned value;
};

#define KEY (offsetof(struct row, part) + sizeof(uint16_t))

static struct row *row_of(struct list *l, unsigned i)
{
	const struct row key = {.id = i / 3 * 1000000007ULL, .part = (uint16_t)(i % 3)};

	return list_row(l, &key);
}

CASE(rows_by_key)
{
	struct list l = {.size = sizeof(struct row), .key = KEY};
	struct row *rows;

	assert_null(list_get(&l, &(struct row){}));
	for (unsigned i = 0; i < 1000; i++)
		row_of(&l, i * 37 % 1000)->value += i;
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(row_of(&l, i * 37 % 1000)->value, i);
	assert_int_equal(l.n, 1000);
	assert_null(list_get(&l, &(struct row){.id = 1}));
	assert_null(list_get(&l, &(struct row){.part = 3}));

	/* the last row takes the place of the first, which is gone */
	rows = l.at;
	rows[0] = rows[--l.n];
	list_index(&l);
	assert_null(list_get(&l, &(struct row){}));
	assert_ptr_equal(row_of(&l, 999 * 37 % 1000), rows);
	assert_int_equal(row_of(&l, 0)->value, 0);
	assert_int_equal(l.n, 1000);

	list_clear(&l);
	assert_null(list_get(&l, &rows[5]));
	assert_int_equal(row_of(&l, 5)->value, 0);
	assert_int_equal(l.n, 1);
	list_free(&l);
	assert_null(list_get(&l, &(struct row){}));
	row_of(&l, 7);
	assert_int_equal(l.n, 1);
	list_free(&l);
}

int main(void)
{
	return run_cases(NULL, NULL);
}
