// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/search/mlrsearch.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The grid. */

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

/* What is known of the loads that were tried: for each target, good and bad seconds. */

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

/* Sorted by load, and by loss where that is the same. */
static int mlr_loads_add(struct mlr_loads *l, int step, double duration_s, double loss)
{
	unsigned i;

	if (l->n == l->room) {
		unsigned room = l->room ? 2 * l->room : 64;
		struct mlr_load *at = realloc(l->at, room * sizeof(*at));

		if (!at)
			return -ENOMEM;
		l->at = at;
		l->room = room;
	}
	for (i = l->n; i > 0; i--) {
		const struct mlr_load *before = &l->at[i - 1];

		if (before->step < step || (before->step == step && before->loss <= loss))
			break;
	}
	memmove(&l->at[i + 1], &l->at[i], (l->n - i) * sizeof(*l->at));
	l->at[i] = (struct mlr_load){step, duration_s, loss};
	l->n++;
	return 0;
}

static void mlr_loads_clear(struct mlr_loads *l)
{
	free(l->at);
	*l = (struct mlr_loads){};
}

enum verdict { UNDECIDED, LOWER, UPPER };

/*
 * Appendix A of the draft. Short trials cannot make a load good. They can make it bad, as far as
 * there are more bad ones than the good short ones excuse.
 */
static enum verdict classify(const struct mlr_load *trial, unsigned n, const struct mlr_target *t)
{
	double good_long = 0, bad_long = 0, good_short = 0, bad_short = 0;
	double excess, sum, allowed;

	for (unsigned i = 0; i < n; i++) {
		bool bad = trial[i].loss > t->loss_ratio;

		if (trial[i].duration_s >= t->trial_s)
			*(bad ? &bad_long : &good_long) += trial[i].duration_s;
		else
			*(bad ? &bad_short : &good_short) += trial[i].duration_s;
	}
	excess = bad_short - good_short * t->exceed_ratio / (1 - t->exceed_ratio);
	excess = bad_long + fmax(0, excess);
	sum = fmax(good_long + excess, t->sum_s);
	allowed = sum * t->exceed_ratio;
	if (excess > allowed)
		return UPPER; /* even if all the rest were good */
	return sum - good_long <= allowed ? LOWER : UNDECIDED;
}

/* How many trials of the same load begin at `first`. */
static unsigned trials_at(const struct mlr_loads *l, unsigned first)
{
	unsigned n = 1;

	while (first + n < l->n && l->at[first + n].step == l->at[first].step)
		n++;
	return n;
}

static struct mlr_relevant mlr_loads_bounds(const struct mlr_loads *l, const struct mlr_target *t)
{
	struct mlr_relevant r = {MLR_NONE, MLR_NONE};
	unsigned n;

	for (unsigned i = 0; i < l->n; i += n) {
		enum verdict v;

		n = trials_at(l, i);
		v = classify(&l->at[i], n, t);
		if (v == LOWER)
			r.lower = l->at[i].step;
		if (v == UPPER) {
			r.upper = l->at[i].step;
			break;
		}
	}
	return r;
}

/*
 * The loss that is not ruled out at a load for the share of the duration sum that has to be good:
 * a quantile of its long trials, 1 if they are too few.
 */
static double mlr_loads_pessimistic(const struct mlr_loads *l, const struct mlr_target *t, int step)
{
	double all = 0, remaining, loss = 1;
	unsigned first = 0, end;
	bool any = false;

	while (first < l->n && l->at[first].step < step)
		first++;
	if (first == l->n || l->at[first].step != step)
		return 1;
	end = first + trials_at(l, first);
	for (unsigned i = first; i < end; i++)
		all += l->at[i].duration_s >= t->trial_s ? l->at[i].duration_s : 0;
	remaining = fmax(t->sum_s, all) * (1 - t->exceed_ratio);
	for (unsigned i = first; i < end && (!any || remaining > 0); i++) {
		if (l->at[i].duration_s < t->trial_s)
			continue;
		any = true;
		loss = l->at[i].loss;
		remaining -= l->at[i].duration_s;
	}
	return remaining > 0 ? 1 : loss;
}

/*
 * One goal: which load it would try next. It goes from coarse targets to the goal itself, and
 * begins each with the bounds that the one before has left.
 */

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

/*
 * A load that is far enough from what is known, and from the limits of the search where nothing
 * is; MLR_NONE: there is none.
 */
static int mlr_limit(const struct mlr_grid *grid, int step, int width, struct mlr_relevant known)
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

/* What it would try; MLR_NONE in it: nothing is left. */
static struct mlr_nominee mlr_nominate(struct mlr_selector *s)
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
static void mlr_selector_won(struct mlr_selector *s, int step)
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

/* Begins the search between two loads, in either order. */
static void mlr_selector_begin(struct mlr_selector *s, int low, int high)
{
	s->initial = (struct mlr_relevant){low < high ? low : high, max2(low, high)};
	begin_target(s);
}

/* Bounds of the goal itself. */
static struct mlr_relevant mlr_selector_bounds(const struct mlr_selector *s)
{
	return mlr_loads_bounds(&s->shared->loads, &s->target[s->targets - 1]);
}

/*
 * The targets before the goal have twice the width each, and duration sums between that of the goal
 * and a single short trial, evenly in the logarithm.
 */
static void mlr_selector_init(struct mlr_selector *s, struct mlr_shared *shared,
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

/* The search for all goals. */

enum phase { AT_MAX, AT_RATE, AT_RATE_AGAIN, MAIN, OVER };

struct mlr {
	struct mlr_config cfg;
	struct mlr_shared shared;
	enum phase phase;
	int step[2]; /* of the initial trials */
	struct mlr_selector selector[MLR_GOALS];
	struct mlr_nominee winner; /* the trial that is under way */
	bool under_way;
};

static int check(const struct mlr_config *cfg, struct error *err)
{
	if (!(cfg->min_load > 0 && cfg->min_load < cfg->max_load))
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "the lowest rate of a search has to be below the highest");
	for (unsigned i = 0; i < cfg->goals; i++) {
		const struct mlr_goal *g = &cfg->goal[i];

		if (!(g->loss_ratio >= 0 && g->loss_ratio < 1 && g->exceed_ratio >= 0 &&
		      g->exceed_ratio < 1 && g->width > 0 && g->width < 1))
			return error_set(err, STATUS_USAGE, -EINVAL, NULL,
					 "shares of a search goal have to be below 100 %%");
		if (!(g->initial_s > 0 && g->final_s >= g->initial_s && g->sum_s >= g->final_s))
			return error_set(err, STATUS_USAGE, -EINVAL, NULL,
					 "a trial cannot be longer than the sum of all at a rate");
		if (g->expansion < 2 || g->preceding > MLR_PRECEDING ||
		    (!g->preceding && g->initial_s < g->sum_s))
			return error_set(err, STATUS_USAGE, -EINVAL, NULL,
					 "a search needs 1 to %d coarser targets", MLR_PRECEDING);
	}
	return 0;
}

int mlr_new(struct mlr **out, const struct mlr_config *cfg, struct error *err)
{
	double width[MLR_GOALS] = {0};
	struct mlr *m;
	int rc = check(cfg, err);

	if (rc)
		return rc;
	m = calloc(1, sizeof(*m));
	if (!m)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	m->cfg = *cfg;
	for (unsigned i = 0; i < cfg->goals; i++)
		width[i] = cfg->goal[i].width;
	rc = mlr_grid_init(&m->shared.grid, cfg->min_load, cfg->max_load, width, cfg->goals);
	if (rc) {
		free(m);
		return error_set(err, STATUS_USAGE, rc, "ask for less precision",
				 "the width of a search goal is too small");
	}
	for (unsigned i = 0; i < cfg->goals; i++)
		mlr_selector_init(&m->selector[i], &m->shared, &cfg->goal[i]);
	*out = m;
	return 0;
}

void mlr_free(struct mlr *m)
{
	if (!m)
		return;
	mlr_loads_clear(&m->shared.loads);
	free(m);
}

/* Lower loads first: what they say holds for those above. */
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

/* What is asked of the initial trials: the strictest of all goals. */
static void initial_wants(const struct mlr *m, double *loss, double *trial_s, int *width)
{
	const struct mlr_target *first = &m->selector[0].target[0];

	*loss = first->loss_ratio;
	*trial_s = first->trial_s;
	*width = first->width;
	for (unsigned i = 1; i < m->cfg.goals; i++) {
		const struct mlr_target *t = &m->selector[i].target[0];

		*loss = fmin(*loss, t->loss_ratio);
		*trial_s = fmax(*trial_s, t->trial_s);
		*width = *width > t->width ? *width : t->width;
	}
}

static void begin_main(struct mlr *m)
{
	m->phase = MAIN;
	m->shared.width = abs(m->step[1] - m->step[0]);
	for (unsigned i = 0; i < m->cfg.goals; i++)
		mlr_selector_begin(&m->selector[i], m->step[0], m->step[1]);
}

/* What got through at `step`, were it all that is offered; some loss may be allowed. */
static int forwarded(const struct mlr *m, int step, double loss, double allowed)
{
	return mlr_grid_step(&m->shared.grid, mlr_grid_load(&m->shared.grid, step) * (1 - loss) *
						      (1 / (1 - allowed)));
}

/*
 * The first trials: at the highest load, at what got through there, and once more near that. They
 * tell where to begin.
 */
static void after_initial(struct mlr *m, int step, double loss)
{
	struct mlr_relevant known = {MLR_NONE, step};
	double allowed, trial_s;
	int width, next;

	initial_wants(m, &allowed, &trial_s, &width);
	m->step[0] = m->step[1] = step;
	if (m->phase == AT_MAX) {
		next = forwarded(m, step, loss, allowed);
		if (next >= m->shared.grid.top) {
			begin_main(m);
			return;
		}
		next = mlr_limit(&m->shared.grid, next, width, known);
		m->phase = AT_RATE;
	} else {
		next = forwarded(m, step, loss, allowed);
		if (loss <= allowed) {
			known = (struct mlr_relevant){step, m->shared.grid.top};
			next = mlr_grid_add(&m->shared.grid, step, width);
		}
		next = mlr_limit(&m->shared.grid, next, width, known);
		m->phase = AT_RATE_AGAIN;
	}
	if (next == MLR_NONE) {
		begin_main(m);
		return;
	}
	m->step[1] = next;
}

static bool next_initial(struct mlr *m)
{
	double loss, trial_s;
	int width;

	initial_wants(m, &loss, &trial_s, &width);
	m->winner = (struct mlr_nominee){m->phase == AT_MAX ? m->shared.grid.top : m->step[1],
					 trial_s, width, NULL};
	return true;
}

static bool next_main(struct mlr *m)
{
	struct mlr_nominee winner = {.step = MLR_NONE};

	for (unsigned i = 0; i < m->cfg.goals; i++) {
		struct mlr_nominee n = mlr_nominate(&m->selector[i]);

		if (is_better(&n, &winner))
			winner = n;
	}
	if (winner.step == MLR_NONE)
		m->phase = OVER;
	m->winner = winner;
	return winner.step != MLR_NONE;
}

bool mlr_next(struct mlr *m, struct mlr_trial *next)
{
	if (!m->under_way)
		m->under_way = m->phase == OVER	  ? false
			       : m->phase == MAIN ? next_main(m)
						  : next_initial(m);
	if (m->under_way)
		*next = (struct mlr_trial){mlr_grid_load(&m->shared.grid, m->winner.step),
					   m->winner.trial_s};
	return m->under_way;
}

int mlr_add(struct mlr *m, double loss_ratio)
{
	int step = m->winner.step, rc;

	if (!m->under_way)
		return -EINVAL;
	rc = mlr_loads_add(&m->shared.loads, step, m->winner.trial_s, loss_ratio);
	if (rc)
		return rc;
	m->under_way = false;
	if (m->phase == AT_RATE_AGAIN) {
		begin_main(m);
	} else if (m->phase != MAIN) {
		after_initial(m, step, loss_ratio);
	} else {
		m->shared.width = m->winner.width;
		mlr_selector_won(m->winner.by, step);
	}
	return 0;
}

void mlr_bounds(const struct mlr *m, unsigned goal, struct mlr_bounds *b)
{
	const struct mlr_selector *s = &m->selector[goal];
	struct mlr_relevant r = mlr_selector_bounds(s);

	*b = (struct mlr_bounds){
		.has_lower = r.lower != MLR_NONE,
		.has_upper = r.upper != MLR_NONE,
		.lower = mlr_grid_load(&m->shared.grid, r.lower),
		.upper = mlr_grid_load(&m->shared.grid, r.upper),
		.done = s->done,
	};
	if (b->has_lower)
		b->throughput =
			b->lower * (1 - mlr_loads_pessimistic(&m->shared.loads,
							      &s->target[s->targets - 1], r.lower));
}

/* Loads that a target still has to divide its interval at, and its bounds. */
static double loads_left(const struct mlr_selector *s, const struct mlr_target *t)
{
	struct mlr_relevant r = mlr_loads_bounds(&s->shared->loads, t);
	double apart = s->shared->grid.top, missing = (r.lower == MLR_NONE) + (r.upper == MLR_NONE);

	if (!missing)
		apart = r.upper - r.lower;
	else if (s->initial.lower != MLR_NONE && s->initial.upper != MLR_NONE)
		apart = s->initial.upper - s->initial.lower;
	return missing + (apart > t->width ? ceil(log2(apart / t->width)) : 0);
}

double mlr_left(const struct mlr *m)
{
	double left = 0;

	for (unsigned i = 0; i < m->cfg.goals; i++) {
		const struct mlr_selector *s = &m->selector[i];

		if (s->done)
			continue;
		for (unsigned t = s->current; t < s->targets; t++) {
			const struct mlr_target *target = &s->target[t];
			double loads = loads_left(s, target);

			/* targets behind the current one begin where it ends: a division, two
			 * bounds */
			if (t > s->current)
				loads = fmin(loads, 3);
			/* a load is decided when the rest of the sum cannot change it any more */
			left += loads * fmax(target->trial_s,
					     target->sum_s * fmax(target->exceed_ratio,
								  1 - target->exceed_ratio));
		}
	}
	return left;
}
