// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/consumed.h"

#include <stddef.h>
#include <string.h>

/* `.noclone` and the like are one function; its `.cold` part lies elsewhere. */
static unsigned add_range(const struct ksyms *k, const char *name, struct watch_range *out)
{
	struct ksym_range r = ksym_range(k, name);

	if (r.end == r.start)
		return 0;
	*out = (struct watch_range){r.start, r.end - r.start};
	return 1;
}

unsigned consumed_ranges(const struct ksyms *k, struct watch_range out[WATCH_CONSUMED_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < consumed_row_count && n < WATCH_CONSUMED_MAX; i++)
		n += add_range(k, consumed_rows[i].function, &out[n]);
	return n;
}

const struct consumed_row *consumed_find(const char *function)
{
	for (unsigned i = 0; i < consumed_row_count; i++) {
		if (!strcmp(consumed_rows[i].function, function))
			return &consumed_rows[i];
	}
	return NULL;
}
