/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MLRsearch (draft-ietf-bmwg-mlrsearch): looks for the highest load that meets a goal, for several
 * goals at once. Pure: it is told what each trial lost and says which one is next. It picks the
 * same trials as the package MLRsearch 1.2.1 of PyPI, which is the draft's reference.
 *
 * Loads are those of a logarithmic grid between min and max, so that a relative width is a number
 * of steps. A load is a lower bound of a goal if too little of the goal's duration sum can still
 * turn out to be lossy, an upper bound if too much of it has.
 */
#ifndef PKTLEDGER_EXPERIMENT_SEARCH_MLRSEARCH_H
#define PKTLEDGER_EXPERIMENT_SEARCH_MLRSEARCH_H

#include <stdbool.h>

#include "base/err.h"

#define MLR_GOALS     4
#define MLR_PRECEDING 4

struct mlr_goal {
	double loss_ratio;   /* a trial that loses more is bad: 0 .. below 1 */
	double exceed_ratio; /* share of the duration sum that may be bad: 0 .. below 1 */
	double width;	     /* (upper - lower) / upper that is narrow enough: above 0, below 1 */
	double initial_s;    /* trials of the first, coarse targets */
	double final_s;	     /* trials of the goal itself; at least initial_s */
	double sum_s;	     /* duration sum at a load; at least final_s */
	unsigned preceding;  /* coarser targets before; 1 at least if initial_s is below sum_s */
	unsigned expansion;  /* by what the step grows while a bound is missing: 2 at least */
};

struct mlr_config {
	double min_load, max_load; /* packets/s, or any other unit */
	unsigned goals;
	struct mlr_goal goal[MLR_GOALS];
};

struct mlr_trial {
	double load, duration_s;
};

/* What is known of a goal. */
struct mlr_bounds {
	bool has_lower, has_upper;
	double lower, upper; /* relevant bounds of the load */
	/* load that got through at `lower`: reduced by the loss that is not ruled out there */
	double throughput;
	bool done; /* nothing is left to measure for it */
};

struct mlr;

/* STATUS_USAGE for limits that contradict each other. */
int mlr_new(struct mlr **m, const struct mlr_config *cfg, struct error *err);
void mlr_free(struct mlr *m);

/* The next trial; false: the search is over. */
bool mlr_next(struct mlr *m, struct mlr_trial *next);

/*
 * The trial that mlr_next() told lost this share of what was intended, what was not sent included.
 * -ENOMEM, or -EINVAL without such a trial.
 */
int mlr_add(struct mlr *m, double loss_ratio);

void mlr_bounds(const struct mlr *m, unsigned goal, struct mlr_bounds *b);

/* Duration of the trials that are probably left, s: a guess that grows better. */
double mlr_left(const struct mlr *m);

/*
 * The loads that may be tried: steps 0 .. top, even in the logarithm. The step is so small that
 * each width asked for is a whole number of steps within 1 %.
 */
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
