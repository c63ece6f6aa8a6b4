// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/search/mlr_grid.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* How much of a width its whole steps must be, and that rounding must not decide. */
#define QUALITY_MIN 0.99
#define QUALITY_MAX 0.999999

int mlr_grid_init(struct mlr_grid *g, double min, double max, const double *width, unsigned n)
{
	double range = log(max) - log(min), candidate = 1;

	for (bool fits = false; !fits;) {
		double next = candidate + 1;

		fits = true;
		for (unsigned i = 0; i < n; i++) {
			double units = -log1p(-width[i]) / (range / candidate);
			double quality = floor(units) / units;

			if (quality >= QUALITY_MIN && quality <= QUALITY_MAX)
				continue;
			fits = false;
			next = fmax(next, (floor(units) + 1) / QUALITY_MAX / units * candidate);
		}
		if (!fits)
			candidate = ceil(next);
		if (candidate > INT_MAX / 4)
			return -ERANGE;
	}
	*g = (struct mlr_grid){min, max, (int)candidate};
	return 0;
}

double mlr_grid_load(const struct mlr_grid *g, int step)
{
	if (step <= 0)
		return g->min;
	if (step >= g->top)
		return g->max;
	return g->min * exp((log(g->max) - log(g->min)) * step / g->top);
}

int mlr_grid_step(const struct mlr_grid *g, double load)
{
	int step;

	if (load <= g->min)
		return 0;
	if (load >= g->max)
		return g->top;
	step = (int)floor(log(load / g->min) / log(g->max / g->min) * g->top);
	/* the logarithm may be off by its rounding */
	while (step < g->top && mlr_grid_load(g, step + 1) <= load)
		step++;
	while (step > 0 && mlr_grid_load(g, step) > load)
		step--;
	return step;
}

int mlr_grid_width(const struct mlr_grid *g, double width)
{
	return mlr_grid_step(g, g->min / (1 - width));
}

int mlr_grid_add(const struct mlr_grid *g, int a, int b)
{
	int64_t sum = (int64_t)a + b;

	return sum < 0 ? 0 : sum > g->top ? g->top : (int)sum;
}

int mlr_grid_middle(int lower, int upper, int goal)
{
	int width = upper - lower, high, low;

	while (width < 2 * goal && goal % 2 == 0)
		goal /= 2;
	if (width == 2 * goal)
		return lower + goal;
	if (width < 2 * goal) /* an odd goal: this is the last division */
		return lower + width / 2;
	high = goal;
	while (width - 2 * high > 2 * high)
		high *= 2;
	/* either this part below the rest, or what its double leaves */
	low = width - 2 * high;
	if ((int64_t)high * (width - high) > (int64_t)low * 2 * high)
		low = high;
	return lower + low;
}
