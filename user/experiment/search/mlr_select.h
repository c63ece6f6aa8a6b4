/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One goal of MLRsearch: which load it would try next. It goes from coarse targets to the goal
 * itself, and begins each with the bounds that the one before has left.
 */
#ifndef PKTLEDGER_EXPERIMENT_SEARCH_MLR_SELECT_H
#define PKTLEDGER_EXPERIMENT_SEARCH_MLR_SELECT_H

#include "experiment/search/mlr_grid.h"
#include "experiment/search/mlr_loads.h"
#include "experiment/search/mlrsearch.h"

/* What all goals of a search have in common. */
struct mlr_shared {
	struct mlr_grid grid;
	struct mlr_loads loads;
	int width; /* by which the trial before was reached */
};

#define MLR_TARGETS (MLR_PRECEDING + 1)

/* A step that somebody wants to try. */
struct mlr_nominee {
	int step; /* MLR_NONE: nobody */
	double trial_s;
	int width; /* by which it was reached */
	struct mlr_selector *by;
};

/* What a selector tries, in this order. */
enum mlr_strategy {
	MLR_HALVE,
	MLR_REFINE_LOW,
	MLR_REFINE_HIGH,
	MLR_EXTEND_LOW,
	MLR_EXTEND_HIGH,
	MLR_BISECT,
	MLR_STRATEGIES
};

/* Looks for one goal: by coarse targets first. */
struct mlr_selector {
	struct mlr_shared *shared;
	unsigned targets, current; /* the last one is the goal */
	struct mlr_target target[MLR_TARGETS];
	struct mlr_relevant initial; /* bounds of the target before */
	struct mlr_relevant bounds;  /* of the current target */
	int next_width;		     /* by which to look further out */
	enum mlr_strategy strategy;  /* of the last nominee */
	bool grow_low, grow_high;    /* a bisection went further out from the lower, upper bound */
	bool done;
};

/*
 * A load that is far enough from what is known, and from the limits of the search where nothing
 * is; MLR_NONE: there is none.
 */
int mlr_limit(const struct mlr_grid *grid, int step, int width, struct mlr_relevant known);

/* Fills the targets of a goal. */
void mlr_selector_init(struct mlr_selector *s, struct mlr_shared *shared,
		       const struct mlr_goal *goal);

/* Begins the search between two loads, in either order. */
void mlr_selector_begin(struct mlr_selector *s, int low, int high);

/* What it would try; MLR_NONE in it: nothing is left. */
struct mlr_nominee mlr_nominate(struct mlr_selector *s);

/* The load that it nominated last was tried. */
void mlr_selector_won(struct mlr_selector *s, int step);

/* Bounds of the goal itself. */
struct mlr_relevant mlr_selector_bounds(const struct mlr_selector *s);

#endif
