// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/search/search.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"

/*
 * The loads to try are steps 0 .. top, evenly spaced on a logarithmic scale. A step is so small
 * that each requested width is a whole number of steps to within 1 %.
 */
struct mlr_grid {
	double min, max;
	int top; /* step of the maximum, the minimum is step 0 */
};

/*
 * Fraction of a width that its whole steps must cover, and fraction above which rounding would
 * decide.
 */
#define QUALITY_MIN 0.99
#define QUALITY_MAX 0.999999

/* Fits a grid to n relative widths. Returns -ERANGE if it would be too fine. */
static int mlr_grid_init(struct mlr_grid *g, double min, double max, const double *width, unsigned n)
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

static double mlr_grid_load(const struct mlr_grid *g, int step)
{
	if (step <= 0)
		return g->min;
	if (step >= g->top)
		return g->max;
	return g->min * exp((log(g->max) - log(g->min)) * step / g->top);
}

/* Returns the highest step that is not above the load. */
static int mlr_grid_step(const struct mlr_grid *g, double load)
{
	int step;

	if (load <= g->min)
		return 0;
	if (load >= g->max)
		return g->top;
	step = (int)floor(log(load / g->min) / log(g->max / g->min) * g->top);
	/* the logarithm may have been rounded */
	while (step < g->top && mlr_grid_load(g, step + 1) <= load)
		step++;
	while (step > 0 && mlr_grid_load(g, step) > load)
		step--;
	return step;
}

static int mlr_grid_add(const struct mlr_grid *g, int a, int b)
{
	int64_t sum = (int64_t)a + b;

	return sum < 0 ? 0 : sum > g->top ? g->top : (int)sum;
}

/*
 * Divides an interval that is wider than `goal` steps. One part is a power of two times the goal.
 * The parts are as even as possible, and the smaller one is below.
 */
static int mlr_grid_middle(int lower, int upper, int goal)
{
	int width = upper - lower, high, low;

	while (width < 2 * goal && goal % 2 == 0)
		goal /= 2;
	if (width == 2 * goal)
		return lower + goal;
	if (width < 2 * goal) /* the goal is odd, so this is the last division */
		return lower + width / 2;
	high = goal;
	while (width - 2 * high > 2 * high)
		high *= 2;
	/* either this part below the rest, or the remainder after doubling it */
	low = width - 2 * high;
	if ((int64_t)high * (width - high) > (int64_t)low * 2 * high)
		low = high;
	return lower + low;
}

/* Results per load, which for each target are the seconds of good and bad trials. */

/* A goal, or a coarser step towards it. */
struct mlr_target {
	struct mlr_need need;
	int width; /* steps on the grid */
	int expansion;
};

#define MLR_NONE (-1) /* no such bound, or no load */

/*
 * Relevant bounds, as steps. They are the lowest load proven too high, and the highest good load
 * below it.
 */
struct mlr_relevant {
	int lower, upper; /* or MLR_NONE */
};

static void add_load(struct list *loads, const struct mlr_load *load)
{
	unsigned i = loads->n;
	struct mlr_load *at;

	list_add(loads);
	for (at = loads->at; i > 0; i--) {
		if (at[i - 1].step < load->step ||
		    (at[i - 1].step == load->step && at[i - 1].loss <= load->loss))
			break;
		at[i] = at[i - 1];
	}
	at[i] = *load;
}

/*
 * Appendix A of RFC 9971. Short trials cannot make a load a lower bound. Short high-loss trials
 * make it an upper bound if there are more of them than the short low-loss trials offset.
 */
enum mlr_class mlr_classify(const struct mlr_load *trial, unsigned n, const struct mlr_need *need)
{
	double good_long = 0, bad_long = 0, good_short = 0, bad_short = 0;
	double excess, sum, allowed;

	for (unsigned i = 0; i < n; i++) {
		bool bad = trial[i].loss > need->loss_ratio;

		if (trial[i].duration_s >= need->trial_s)
			*(bad ? &bad_long : &good_long) += trial[i].duration_s;
		else
			*(bad ? &bad_short : &good_short) += trial[i].duration_s;
	}
	excess = bad_short - good_short * need->exceed_ratio / (1 - need->exceed_ratio);
	excess = bad_long + fmax(0, excess);
	sum = fmax(good_long + excess, need->sum_s);
	allowed = sum * need->exceed_ratio;
	if (excess > allowed)
		return MLR_UPPER; /* even if all remaining trials have low loss */
	return sum - good_long <= allowed ? MLR_LOWER : MLR_UNDECIDED;
}

/* Appendix B of RFC 9971. */
double mlr_conditional_loss(const struct mlr_load *trial, unsigned n, const struct mlr_need *need)
{
	double all = 0, remaining, loss = 1;

	for (unsigned i = 0; i < n; i++) {
		if (trial[i].duration_s >= need->trial_s)
			all += trial[i].duration_s;
	}
	remaining = fmax(need->sum_s, all) * (1 - need->exceed_ratio);
	for (unsigned i = 0; i < n && remaining > 0; i++) {
		if (trial[i].duration_s < need->trial_s)
			continue;
		loss = trial[i].loss;
		remaining -= trial[i].duration_s;
	}
	return remaining > 0 ? 1 : loss;
}

/* Returns how many consecutive trials, starting with the i-th, have the same load. */
static unsigned same_load(const struct list *loads, unsigned i)
{
	const struct mlr_load *at = loads->at;
	unsigned n = 1;

	while (i + n < loads->n && at[i + n].step == at[i].step)
		n++;
	return n;
}

static struct mlr_relevant bounds_of(const struct list *loads, const struct mlr_target *t)
{
	struct mlr_relevant r = {MLR_NONE, MLR_NONE};
	const struct mlr_load *at = loads->at;

	for (unsigned i = 0, n; i < loads->n && r.upper == MLR_NONE; i += n) {
		enum mlr_class found;

		n = same_load(loads, i);
		found = mlr_classify(&at[i], n, &t->need);
		if (found != MLR_UNDECIDED)
			*(found == MLR_LOWER ? &r.lower : &r.upper) = at[i].step;
	}
	return r;
}

static bool has_both(struct mlr_relevant r)
{
	return r.lower != MLR_NONE && r.upper != MLR_NONE;
}

#define MLR_TARGETS (MLR_PRECEDING + 1)

/*
 * Chooses the next load for one goal. Proceeds from coarse targets to the goal itself, and starts
 * each target with the bounds that the previous target found.
 */
struct mlr_selector {
	struct mlr *m;
	unsigned targets, current; /* the last target is the goal itself */
	struct mlr_target target[MLR_TARGETS];
	struct mlr_relevant initial; /* bounds that the previous target found */
	struct mlr_relevant bounds;  /* bounds of the current target */
	int next_width;		     /* width of the next step outwards */
	bool down, up; /* the last nominee is a step outwards from the upper or lower bound */
	bool done;
};

/* A step that a selector nominates. */
struct mlr_nominee {
	int step; /* MLR_NONE: no nomination */
	double trial_s;
	int width; /* width from which it was computed */
	struct mlr_selector *by;
};

enum phase { AT_MAX, AT_RATE, AT_RATE_AGAIN, MAIN, OVER };

struct mlr {
	struct mlr_grid grid;
	struct list loads; /* struct mlr_load */
	int width;	   /* width from which the previous trial was computed */
	enum phase phase;
	struct mlr_target first; /* target of the initial trials, the strictest of all goals */
	int step[2];		 /* steps of the initial trials */
	struct mlr_selector selector[MLR_GOALS];
	unsigned goals;
	struct mlr_nominee winner; /* the trial in progress */
	bool under_way;
};

static int max2(int a, int b)
{
	return a > b ? a : b;
}

/*
 * Limits a load to a useful distance from known bounds. A load at an excluded end is already known,
 * and an included end replaces loads close to it. Returns MLR_NONE if no useful load remains.
 */
static int limit(const struct mlr_grid *grid, int step, int width, struct mlr_relevant known)
{
	bool low_known = known.lower != MLR_NONE, high_known = known.upper != MLR_NONE;
	int low = low_known ? known.lower : 0, high = high_known ? known.upper : grid->top;
	int soft_low = low + width, soft_high = high - width;

	if ((high_known && (step >= high || high <= 0)) || (low_known && step <= low))
		return MLR_NONE;
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

static const struct mlr_target *target_of(const struct mlr_selector *s)
{
	return &s->target[s->current];
}

/* Returns the next width outwards, which is the larger of the selector's and the shared width. */
static int reach(const struct mlr_selector *s)
{
	return max2(s->next_width, s->m->width);
}

static int expanded(const struct mlr_selector *s, int width)
{
	int64_t wide = (int64_t)width * target_of(s)->expansion;

	return wide > s->m->grid.top ? s->m->grid.top : (int)wide;
}

static void set_reach(struct mlr_selector *s, int width)
{
	s->next_width = expanded(s, max2(width, target_of(s)->width));
}

static bool narrow(const struct mlr_selector *s)
{
	return has_both(s->bounds) && s->bounds.upper - s->bounds.lower <= target_of(s)->width;
}

/* Returns whether the bounds already imply the result of a trial there. */
static bool not_worth(const struct mlr_selector *s, int step)
{
	return step == MLR_NONE || (s->bounds.lower != MLR_NONE && s->bounds.lower >= step) ||
	       (s->bounds.upper != MLR_NONE && s->bounds.upper <= step) || narrow(s);
}

/* Takes a load within the target's own width, so that the next step outwards starts from it. */
static int take(struct mlr_selector *s, int step, int *width)
{
	if (not_worth(s, step))
		return MLR_NONE;
	*width = target_of(s)->width;
	set_reach(s, *width);
	return step;
}

/* Divides the interval between the previous target's bounds, if that avoids refining a bound. */
static int halve(struct mlr_selector *s, int *width)
{
	int goal = target_of(s)->width, apart = abs(s->initial.upper - s->initial.lower);

	if (!has_both(s->initial) || apart <= goal || apart > 2 * goal)
		return MLR_NONE;
	return take(s, mlr_grid_middle(s->initial.lower, s->initial.upper, goal), width);
}

static int step_from(const struct mlr_selector *s, bool down)
{
	const struct mlr_grid *grid = &s->m->grid;
	int step = down ? mlr_grid_add(grid, s->bounds.upper, -reach(s))
			: mlr_grid_add(grid, s->bounds.lower, reach(s));

	return limit(grid, step, target_of(s)->width, s->bounds);
}

/* Steps outwards from the known bound if the opposite bound is missing. */
static int extend(struct mlr_selector *s, bool down, int *width)
{
	int missing = down ? s->bounds.lower : s->bounds.upper;
	int from = down ? s->bounds.upper : s->bounds.lower, step;

	if (missing != MLR_NONE || from == MLR_NONE || from == (down ? 0 : s->m->grid.top))
		return MLR_NONE;
	*width = reach(s);
	step = step_from(s, down);
	if (not_worth(s, step))
		return MLR_NONE;
	*(down ? &s->down : &s->up) = true;
	return step;
}

/*
 * Returns a step outwards if it is better than the middle. A bound from another goal's search may
 * be far away, while the previous target had a nearer bound.
 */
static int step_out(struct mlr_selector *s, int middle, bool down)
{
	int from = down ? s->initial.upper : s->initial.lower, step;

	if (from == MLR_NONE || (down ? middle >= from : middle <= from))
		return MLR_NONE;
	step = step_from(s, down);
	if (step == MLR_NONE ||
	    (down ? step <= middle || step >= from : step >= middle || step <= from))
		return MLR_NONE;
	*(down ? &s->down : &s->up) = true;
	return step;
}

static int bisect(struct mlr_selector *s, int *width)
{
	int low = s->bounds.lower, high = s->bounds.upper, middle, step;

	if (!has_both(s->bounds) || narrow(s))
		return MLR_NONE;
	middle = mlr_grid_middle(low, high, target_of(s)->width);
	*width = reach(s);
	step = step_out(s, middle, true);
	if (step == MLR_NONE)
		step = step_out(s, middle, false);
	if (step != MLR_NONE)
		return step;
	*width = middle - low < high - middle ? middle - low : high - middle;
	set_reach(s, *width);
	return middle;
}

/* Starts a target with the previous target's results. */
static void begin_target(struct mlr_selector *s)
{
	set_reach(s, has_both(s->initial) ? s->initial.upper - s->initial.lower : 0);
}

/* Returns the selector's nomination, or MLR_NONE as its step if the search is finished. */
static struct mlr_nominee nominate(struct mlr_selector *s)
{
	int width = 0, step;

	for (;;) {
		s->bounds = bounds_of(&s->m->loads, target_of(s));
		s->down = s->up = false;
		step = halve(s, &width);
		if (step == MLR_NONE)
			step = take(s, s->initial.lower, &width);
		if (step == MLR_NONE)
			step = take(s, s->initial.upper, &width);
		if (step == MLR_NONE)
			step = extend(s, true, &width);
		if (step == MLR_NONE)
			step = extend(s, false, &width);
		if (step == MLR_NONE)
			step = bisect(s, &width);
		if (step != MLR_NONE || s->current + 1 == s->targets) {
			s->done |= step == MLR_NONE;
			return (struct mlr_nominee){step, target_of(s)->need.trial_s, width, s};
		}
		s->initial = s->bounds;
		s->current++;
		begin_target(s);
	}
}

/*
 * Targets before the goal have twice the width of the next target. Their duration sums are evenly
 * spaced on a logarithmic scale between the goal's sum and a single short trial.
 */
static void init_selector(struct mlr_selector *s, struct mlr *m, const struct mlr_goal *goal)
{
	double ratio =
		goal->preceding ? pow(goal->initial_s / goal->sum_s, 1.0 / goal->preceding) : 1;
	int width = mlr_grid_step(&m->grid, m->grid.min / (1 - goal->width));

	*s = (struct mlr_selector){.m = m, .targets = goal->preceding + 1};
	for (unsigned i = 0; i <= goal->preceding; i++) {
		double sum =
			i && i == goal->preceding ? goal->initial_s : goal->sum_s * pow(ratio, i);

		s->target[goal->preceding - i] = (struct mlr_target){
			.need = {goal->loss_ratio, goal->exceed_ratio,
				 fmin(goal->final_s, sum), sum},
			.width = width,
			.expansion = (int)goal->expansion,
		};
		width = 2 * width > m->grid.top ? m->grid.top : 2 * width;
	}
}

/* The search for all goals. */

static int check_goal(const struct mlr_goal *g, struct error *err)
{
	if (!(g->loss_ratio >= 0 && g->loss_ratio < 1 && g->exceed_ratio >= 0 &&
	      g->exceed_ratio < 1 && g->width > 0 && g->width < 1))
		return error_usage(err, NULL, "shares of a search goal have to be below 100 %%");
	if (!(g->initial_s > 0 && g->final_s >= g->initial_s && g->sum_s >= g->final_s))
		return error_usage(err, NULL,
				   "a trial cannot be longer than the total trial time per rate");
	if (g->expansion < 2 || g->preceding > MLR_PRECEDING ||
	    (!g->preceding && g->initial_s < g->sum_s))
		return error_usage(err, NULL, "a search needs 1 to %d coarser targets",
				   MLR_PRECEDING);
	return 0;
}

int mlr_new(struct mlr **out, double min, double max, const struct mlr_goal *goal, unsigned goals,
	    struct error *err)
{
	double width[MLR_GOALS] = {0};
	struct mlr *m;
	int rc = 0;

	if (!(min > 0 && min < max))
		return error_usage(err, NULL,
				   "the lowest rate of a search has to be below the highest");
	for (unsigned i = 0; i < goals && !rc; i++) {
		rc = check_goal(&goal[i], err);
		width[i] = goal[i].width;
	}
	if (rc)
		return rc;
	m = mem_new(m);
	rc = mlr_grid_init(&m->grid, min, max, width, goals);
	if (rc) {
		free(m);
		return error_set(err, STATUS_USAGE, rc, "ask for less precision",
				 "the width of a search goal is too small");
	}
	m->loads.size = sizeof(struct mlr_load);
	m->goals = goals;
	m->first.need.loss_ratio = 1;
	for (unsigned i = 0; i < goals; i++) {
		const struct mlr_target *t = m->selector[i].target;

		init_selector(&m->selector[i], m, &goal[i]);
		m->first.need.loss_ratio = fmin(m->first.need.loss_ratio, t->need.loss_ratio);
		m->first.need.trial_s = fmax(m->first.need.trial_s, t->need.trial_s);
		m->first.width = max2(m->first.width, t->width);
	}
	*out = m;
	return 0;
}

void mlr_free(struct mlr *m)
{
	if (m)
		list_free(&m->loads);
	free(m);
}

/* Prefers lower loads, because their results also apply to higher loads. */
static bool is_better(const struct mlr_nominee *a, const struct mlr_nominee *than)
{
	if (a->step == MLR_NONE || than->step == MLR_NONE)
		return a->step != MLR_NONE;
	if (a->step != than->step)
		return a->step < than->step;
	if (a->trial_s != than->trial_s)
		return a->trial_s > than->trial_s;
	return a->width > than->width;
}

static void begin_main(struct mlr *m)
{
	int low = m->step[0], high = m->step[1];

	m->phase = MAIN;
	m->width = abs(high - low);
	for (unsigned i = 0; i < m->goals; i++) {
		m->selector[i].initial =
			(struct mlr_relevant){low < high ? low : high, max2(low, high)};
		begin_target(&m->selector[i]);
	}
}

/*
 * Plans the first trials: at the highest load, at the throughput found there, and near that again.
 */
static void after_initial(struct mlr *m, int step, double loss)
{
	double allowed = m->first.need.loss_ratio;
	struct mlr_relevant known = {MLR_NONE, step};
	/* the throughput as an offered load, with the allowed loss added */
	int next = mlr_grid_step(&m->grid,
				 mlr_grid_load(&m->grid, step) * (1 - loss) * (1 / (1 - allowed)));

	m->step[0] = m->step[1] = step;
	if (m->phase == AT_RATE && loss <= allowed) {
		known = (struct mlr_relevant){step, m->grid.top};
		next = mlr_grid_add(&m->grid, step, m->first.width);
	}
	if (m->phase != AT_MAX || next < m->grid.top)
		next = limit(&m->grid, next, m->first.width, known);
	else
		next = MLR_NONE;
	m->phase = m->phase == AT_MAX ? AT_RATE : AT_RATE_AGAIN;
	if (next == MLR_NONE)
		begin_main(m);
	else
		m->step[1] = next;
}

static struct mlr_nominee elect(struct mlr *m)
{
	struct mlr_nominee winner = {.step = MLR_NONE};

	if (m->phase != MAIN)
		return (struct mlr_nominee){m->phase == AT_MAX ? m->grid.top : m->step[1],
					    m->first.need.trial_s, m->first.width, NULL};
	for (unsigned i = 0; i < m->goals; i++) {
		struct mlr_nominee n = nominate(&m->selector[i]);

		if (is_better(&n, &winner))
			winner = n;
	}
	return winner;
}

bool mlr_next(struct mlr *m, struct mlr_trial *next)
{
	if (!m->under_way && m->phase != OVER) {
		m->winner = elect(m);
		m->under_way = m->winner.step != MLR_NONE;
		if (!m->under_way)
			m->phase = OVER;
	}
	if (m->under_way)
		*next = (struct mlr_trial){mlr_grid_load(&m->grid, m->winner.step),
					   m->winner.trial_s};
	return m->under_way;
}

int mlr_add(struct mlr *m, double loss_ratio)
{
	const struct mlr_load load = {m->winner.step, m->winner.trial_s, loss_ratio};
	struct mlr_selector *s = m->winner.by;

	if (!m->under_way)
		return -EINVAL;
	m->under_way = false;
	add_load(&m->loads, &load);
	if (m->phase == AT_RATE_AGAIN) {
		begin_main(m);
	} else if (m->phase != MAIN) {
		after_initial(m, load.step, loss_ratio);
	} else {
		m->width = m->winner.width;
		s->bounds = bounds_of(&m->loads, target_of(s));
		/* After a step outwards without a new bound, the next step is longer. */
		if ((s->down && load.step == s->bounds.upper) ||
		    (s->up && load.step == s->bounds.lower))
			m->width = s->next_width = expanded(s, s->next_width);
	}
	return 0;
}

void mlr_bounds(const struct mlr *m, unsigned goal, struct found_rate *rate)
{
	const struct mlr_selector *s = &m->selector[goal];
	const struct mlr_target *t = &s->target[s->targets - 1];
	struct mlr_relevant r = bounds_of(&m->loads, t);
	const struct mlr_load *at = m->loads.at;
	unsigned i = 0;
	double loss;

	rate->has_lower = r.lower != MLR_NONE;
	rate->has_upper = r.upper != MLR_NONE;
	rate->lower_pps = mlr_grid_load(&m->grid, r.lower);
	rate->upper_pps = mlr_grid_load(&m->grid, r.upper);
	rate->throughput_pps = 0;
	if (rate->has_lower) {
		while (at[i].step != r.lower)
			i++;
		loss = mlr_conditional_loss(&at[i], same_load(&m->loads, i), &t->need);
		rate->throughput_pps = rate->lower_pps * (1 - loss);
	}
	rate->done = s->done;
}

void mlr_so_far(const struct mlr *m, unsigned goal, double *lower, double *upper)
{
	const struct mlr_selector *s = &m->selector[goal];

	*lower = *upper = 0;
	for (unsigned i = s->targets; i-- > 0;) {
		struct mlr_relevant r = bounds_of(&m->loads, &s->target[i]);

		if (!*lower && r.lower != MLR_NONE)
			*lower = mlr_grid_load(&m->grid, r.lower);
		if (!*upper && r.upper != MLR_NONE)
			*upper = mlr_grid_load(&m->grid, r.upper);
	}
}
