// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct error *err)
{
	return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
}

/* Which value of each option point `i` has. */
static void place(const struct opt_vary *const *vary, unsigned n, unsigned i, unsigned *which)
{
	for (unsigned k = n; k-- > 0;) {
		which[k] = i % vary[k]->n;
		i /= vary[k]->n;
	}
}

static int fill(struct point *p, const struct opt_vary *const *vary, unsigned n,
		const unsigned *which, int argc, char **argv)
{
	p->argv = calloc((size_t)argc + n + 1, sizeof(*p->argv));
	if (!p->argv)
		return -ENOMEM;
	memcpy(p->argv, argv, (size_t)argc * sizeof(*argv));
	p->argc = argc;
	for (unsigned k = 0; k < n; k++) {
		const struct opt_vary_value *v = &vary[k]->at[which[k]];

		p->text[k] = v->text;
		if (*v->word)
			p->argv[p->argc++] = (char *)v->word; /* getopt leaves it as it is */
	}
	return 0;
}

int points_product(const struct opt_vary *const *vary, unsigned n, int argc, char **argv,
		   struct points *points, struct error *err)
{
	unsigned which[POINTS_COLUMNS] = {};
	uint64_t all = 1;

	*points = (struct points){.columns = n};
	for (unsigned k = 0; k < n; k++) {
		points->column[k] = vary[k]->ref.opt->name;
		all *= vary[k]->n;
		if (all > POINTS_MAX)
			return error_set(err, STATUS_USAGE, -E2BIG, "vary fewer values",
					 "more than %u combinations of values", POINTS_MAX);
	}
	points->at = calloc(all, sizeof(*points->at));
	if (!points->at)
		return out_of_memory(err);
	for (points->n = 0; points->n < all; points->n++) {
		place(vary, n, points->n, which);
		if (fill(&points->at[points->n], vary, n, which, argc, argv)) {
			points_free(points);
			return out_of_memory(err);
		}
	}
	return 0;
}

void points_free(struct points *points)
{
	for (unsigned i = 0; i < points->n; i++)
		free(points->at[i].argv);
	free(points->at);
	free(points->owned);
	*points = (struct points){};
}
