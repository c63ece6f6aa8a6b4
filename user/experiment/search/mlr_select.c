// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/search/mlr_select.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int max2(int a, int b)
{
	return a > b ? a : b;
}

/*
 * A load that is far enough from the ends of low .. high to be worth a trial: an end that is
 * excluded is known already, one that is not is taken instead of its neighbourhood.
 */
static int keep_away(int step, int width, int low, int high, bool low_known, bool high_known)
{
	int soft_low = low + width, soft_high = high - width;

	if (width >= high - low)
		return !low_known ? low : !high_known ? high : MLR_NONE;
	if (soft_low > soft_high)
		soft_low = soft_high = mlr_grid_middle(low, high, width);
	if (step < soft_low)
		return low_known ? soft_low : low;
	if (step > soft_high)
		return high_known ? soft_high : high;
	return step;
}

int mlr_limit(const struct mlr_grid *grid, int step, int width, struct mlr_relevant known)
{
	int low = known.lower == MLR_NONE ? 0 : known.lower;
	int high = known.upper == MLR_NONE ? grid->top : known.upper;

	if (known.upper != MLR_NONE && (step >= high || high <= 0))
		return MLR_NONE;
	if (known.lower != MLR_NONE && step <= low)
		return MLR_NONE;
	return keep_away(step, width, low, high, known.lower != MLR_NONE, known.upper != MLR_NONE);
}

static const struct mlr_target *target_of(const struct mlr_selector *s)
{
	return &s->target[s->current];
}

/* How far to look out next: what others found, if that is more. */
static int reach(const struct mlr_selector *s)
{
	return max2(s->next_width, s->shared->width);
}

static int expanded(const struct mlr_selector *s, int width)
{
	int64_t wide = (int64_t)width * target_of(s)->expansion;

	return wide > s->shared->grid.top ? s->shared->grid.top : (int)wide;
}

static void set_reach(struct mlr_selector *s, int width)
{
	s->next_width = expanded(s, max2(width, target_of(s)->width));
}

static bool narrow(const struct mlr_selector *s)
{
	return s->bounds.lower != MLR_NONE && s->bounds.upper != MLR_NONE &&
	       s->bounds.upper - s->bounds.lower <= target_of(s)->width;
}

/* The bounds say already what a trial there would. */
static bool not_worth(const struct mlr_selector *s, int step)
{
	return step == MLR_NONE || (s->bounds.lower != MLR_NONE && s->bounds.lower >= step) ||
	       (s->bounds.upper != MLR_NONE && s->bounds.upper <= step) || narrow(s);
}

/* A load within the target's own width, so the next step out starts from there. */
static int take(struct mlr_selector *s, int step, int *width)
{
	if (not_worth(s, step))
		return MLR_NONE;
	*width = target_of(s)->width;
	set_reach(s, *width);
	return step;
}

/* Between the bounds of the target before, if that saves one of them from being refined. */
static int halve(struct mlr_selector *s, int *width)
{
	int goal = target_of(s)->width, apart;

	if (s->initial.lower == MLR_NONE || s->initial.upper == MLR_NONE)
		return MLR_NONE;
	apart = abs(s->initial.upper - s->initial.lower);
	if (apart <= goal || apart > 2 * goal)
		return MLR_NONE;
	return take(s, mlr_grid_middle(s->initial.lower, s->initial.upper, goal), width);
}

static int extend_low(struct mlr_selector *s, int *width)
{
	int step;

	if (s->bounds.lower != MLR_NONE || s->bounds.upper == MLR_NONE || s->bounds.upper <= 0)
		return MLR_NONE;
	*width = reach(s);
	step = mlr_limit(&s->shared->grid, mlr_grid_add(&s->shared->grid, s->bounds.upper, -*width),
			 target_of(s)->width, s->bounds);
	return not_worth(s, step) ? MLR_NONE : step;
}

static int extend_high(struct mlr_selector *s, int *width)
{
	int step;

	if (s->bounds.upper != MLR_NONE || s->bounds.lower == MLR_NONE ||
	    s->bounds.lower >= s->shared->grid.top)
		return MLR_NONE;
	*width = reach(s);
	step = mlr_limit(&s->shared->grid, mlr_grid_add(&s->shared->grid, s->bounds.lower, *width),
			 target_of(s)->width, s->bounds);
	return not_worth(s, step) ? MLR_NONE : step;
}

/*
 * A bound may come from the search for another goal and be far off. Where the target before had
 * one that is nearer, a step out from the bound is better than the middle.
 */
static int step_out(struct mlr_selector *s, int middle, bool down)
{
	const struct mlr_grid *grid = &s->shared->grid;
	int from = down ? s->initial.upper : s->initial.lower, step;

	if (from == MLR_NONE || (down ? middle >= from : middle <= from))
		return MLR_NONE;
	step = mlr_grid_add(grid, down ? s->bounds.upper : s->bounds.lower,
			    down ? -reach(s) : reach(s));
	step = mlr_limit(grid, step, target_of(s)->width, s->bounds);
	if (step == MLR_NONE ||
	    (down ? step <= middle || step >= from : step >= middle || step <= from))
		return MLR_NONE;
	return step;
}

static int bisect(struct mlr_selector *s, int *width)
{
	int low = s->bounds.lower, high = s->bounds.upper, middle, step;

	if (low == MLR_NONE || high == MLR_NONE || low >= s->shared->grid.top || high <= 0 ||
	    narrow(s))
		return MLR_NONE;
	middle = mlr_grid_middle(low, high, target_of(s)->width);
	*width = reach(s);
	step = step_out(s, middle, true);
	s->grow_low = false;
	s->grow_high = step != MLR_NONE;
	if (step != MLR_NONE)
		return step;
	step = step_out(s, middle, false);
	s->grow_low = step != MLR_NONE;
	if (step != MLR_NONE)
		return step;
	*width = middle - low < high - middle ? middle - low : high - middle;
	set_reach(s, *width);
	return middle;
}

static int try_strategy(struct mlr_selector *s, enum mlr_strategy strategy, int *width)
{
	switch (strategy) {
	case MLR_HALVE:
		return halve(s, width);
	case MLR_REFINE_LOW:
		return take(s, s->initial.lower, width);
	case MLR_REFINE_HIGH:
		return take(s, s->initial.upper, width);
	case MLR_EXTEND_LOW:
		return extend_low(s, width);
	case MLR_EXTEND_HIGH:
		return extend_high(s, width);
	default:
		return bisect(s, width);
	}
}

static void update_bounds(struct mlr_selector *s)
{
	s->bounds = mlr_loads_bounds(&s->shared->loads, target_of(s));
}

/* Starts with a target, from what is known of the one before. */
static void begin_target(struct mlr_selector *s)
{
	s->next_width = target_of(s)->width;
	if (s->initial.lower != MLR_NONE && s->initial.upper != MLR_NONE)
		s->next_width = max2(s->next_width, s->initial.upper - s->initial.lower);
	s->next_width = expanded(s, s->next_width);
	s->grow_low = s->grow_high = false;
}

struct mlr_nominee mlr_nominate(struct mlr_selector *s)
{
	int width = 0;

	update_bounds(s);
	for (;;) {
		for (int i = 0; i < MLR_STRATEGIES; i++) {
			int step = try_strategy(s, i, &width);

			if (step == MLR_NONE)
				continue;
			s->strategy = i;
			return (struct mlr_nominee){step, target_of(s)->trial_s, width, s};
		}
		if (s->current + 1 == s->targets) {
			s->done = true;
			return (struct mlr_nominee){.step = MLR_NONE};
		}
		s->initial = s->bounds;
		s->current++;
		update_bounds(s);
		begin_target(s);
	}
}

/* The one that was tried has its result: a step out that found nothing makes the next longer. */
void mlr_selector_won(struct mlr_selector *s, int step)
{
	bool grow = false;

	update_bounds(s);
	if (s->strategy == MLR_EXTEND_LOW || (s->strategy == MLR_BISECT && s->grow_high))
		grow = step == s->bounds.upper;
	if (s->strategy == MLR_EXTEND_HIGH || (s->strategy == MLR_BISECT && s->grow_low))
		grow = step == s->bounds.lower;
	if (!grow)
		return;
	s->next_width = expanded(s, s->next_width);
	s->shared->width = s->next_width;
}

void mlr_selector_begin(struct mlr_selector *s, int low, int high)
{
	s->initial = (struct mlr_relevant){low < high ? low : high, max2(low, high)};
	begin_target(s);
}

struct mlr_relevant mlr_selector_bounds(const struct mlr_selector *s)
{
	return mlr_loads_bounds(&s->shared->loads, &s->target[s->targets - 1]);
}

/*
 * The targets before the goal have twice the width each, and duration sums between that of the goal
 * and a single short trial, evenly in the logarithm.
 */
void mlr_selector_init(struct mlr_selector *s, struct mlr_shared *shared,
		       const struct mlr_goal *goal)
{
	double ratio =
		goal->preceding ? pow(goal->initial_s / goal->sum_s, 1.0 / goal->preceding) : 1;
	int width = mlr_grid_width(&shared->grid, goal->width);

	*s = (struct mlr_selector){.shared = shared, .targets = goal->preceding + 1};
	for (unsigned i = 0; i <= goal->preceding; i++) {
		double sum =
			i && i == goal->preceding ? goal->initial_s : goal->sum_s * pow(ratio, i);

		s->target[goal->preceding - i] = (struct mlr_target){
			.loss_ratio = goal->loss_ratio,
			.exceed_ratio = goal->exceed_ratio,
			.trial_s = fmin(goal->final_s, sum),
			.sum_s = sum,
			.width = width,
			.expansion = (int)goal->expansion,
		};
		width = 2 * width > shared->grid.top ? shared->grid.top : 2 * width;
	}
}
