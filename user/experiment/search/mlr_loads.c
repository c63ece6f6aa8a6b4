// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/search/mlr_loads.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sorted by load, and by loss where that is the same. */
int mlr_loads_add(struct mlr_loads *l, int step, double duration_s, double loss)
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

void mlr_loads_clear(struct mlr_loads *l)
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

struct mlr_relevant mlr_loads_bounds(const struct mlr_loads *l, const struct mlr_target *t)
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

double mlr_loads_pessimistic(const struct mlr_loads *l, const struct mlr_target *t, int step)
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
