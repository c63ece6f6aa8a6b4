// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/search/mlrsearch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "experiment/search/mlr_select.h"

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
	double width[MLR_GOALS];
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
