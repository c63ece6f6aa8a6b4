/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loads that MLRsearch may try: steps 0 .. top, even in the logarithm. The step is so small
 * that each width asked for is a whole number of steps within 1 %.
 */
#ifndef PKTLEDGER_EXPERIMENT_SEARCH_MLR_GRID_H
#define PKTLEDGER_EXPERIMENT_SEARCH_MLR_GRID_H

struct mlr_grid {
	double min, max;
	int top; /* the step of max; min is step 0 */
};

/* `width`: n relative widths, above 0 and below 1. 0 < min < max. -ERANGE: too fine a grid. */
int mlr_grid_init(struct mlr_grid *g, double min, double max, const double *width, unsigned n);

double mlr_grid_load(const struct mlr_grid *g, int step);

/* The highest step that is not above the load. */
int mlr_grid_step(const struct mlr_grid *g, double load);

/* Steps of a relative width, rounded down; at most top. */
int mlr_grid_width(const struct mlr_grid *g, double width);

/* a + b, but not outside the grid. */
int mlr_grid_add(const struct mlr_grid *g, int a, int b);

/*
 * Where to divide an interval that is wider than `goal` steps: so that one part is a power of two
 * times the goal, as even as that allows, the lower part the smaller one.
 */
int mlr_grid_middle(int lower, int upper, int goal);

#endif
