/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What MLRsearch knows of the loads that it has tried: for each target, good and bad seconds. */
#ifndef PKTLEDGER_EXPERIMENT_SEARCH_MLR_LOADS_H
#define PKTLEDGER_EXPERIMENT_SEARCH_MLR_LOADS_H

#include <stdbool.h>

/* A goal, or a coarser step on the way to it. */
struct mlr_target {
	double loss_ratio, exceed_ratio;
	double trial_s, sum_s;
	int width; /* steps of the grid */
	int expansion;
};

#define MLR_NONE (-1) /* no such bound */

/* Relevant bounds, as steps: the lowest that was proven too high, the highest good one below it. */
struct mlr_relevant {
	int lower, upper; /* or MLR_NONE */
};

struct mlr_loads {
	unsigned n, room;
	struct mlr_load {
		int step;
		double duration_s, loss;
	} * at; /* trials, by step */
};

/* 0 or -ENOMEM. */
int mlr_loads_add(struct mlr_loads *l, int step, double duration_s, double loss);
void mlr_loads_clear(struct mlr_loads *l);

struct mlr_relevant mlr_loads_bounds(const struct mlr_loads *l, const struct mlr_target *t);

/*
 * The loss that is not ruled out at a load for the share of the duration sum that has to be good:
 * a quantile of its long trials, 1 if they are too few.
 */
double mlr_loads_pessimistic(const struct mlr_loads *l, const struct mlr_target *t, int step);

#endif
