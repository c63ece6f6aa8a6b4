// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/worst.h"

static int add_class(struct live_table *t, const struct live_table *from, unsigned by,
		     enum noise noise)
{
	struct live_table rows;
	int rc = table_group(&rows, from, by, 1u << noise);

	if (rc)
		return rc;
	table_sort(&rows, TABLE_BY_PACKETS);
	for (unsigned i = 0; i < rows.n; i++)
		table_add(t, &rows.rows[i], by);
	table_free(&rows);
	return 0;
}

int worst_rows(struct live_table *t, const struct live_table *from, unsigned by, unsigned classes,
	       unsigned max)
{
	int rc = table_init(t, max);

	for (int noise = 0; noise < NOISE_COUNT && !rc; noise++) {
		if (!classes || classes & 1u << noise)
			rc = add_class(t, from, by, noise);
	}
	if (rc)
		table_free(t);
	return rc;
}
