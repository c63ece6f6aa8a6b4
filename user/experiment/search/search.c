// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/search/search.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"

#define LATE_SHARE  0.01    /* a trial may take so much longer than intended, */
#define LATE_NS	    5000000 /* and so long: hiccups of the scheduler */
#define LATE_AGAIN  2	    /* trials that are made again at most, because this host was late */
#define HELD_SHARE  0.1	    /* who waits for so much of the time is held back, not slow */
#define SAME_RATE   1e-9
#define WARMUPS	    5	 /* at most, until the two fastest differ by no more */
#define WARM_SHARE  0.02 /* than that: else a slow moment of this host bounds the search; */
#define UNSTEADY    0.1	 /* if the slowest is so much slower, it is said */
#define NOISE	    3	 /* trials at least that lost where others held, */
#define NOISE_SHARE 0.25 /* and of all at or below that rate: not to be told from loss, */
#define CLEARLY	    4	 /* if so many widths below that rate as many are lost: else it is near, */
#define CONTROLS    10	 /* of so many trials there */

struct hunt {
	const struct search *s;
	struct found *found;
	const struct result *last;
	struct mlr *mlr;	      /* NULL: none */
	struct list log;	      /* struct found_trial: of the search, without the warm-up */
	uint64_t start_ns, trials_ns; /* the trials alone, as intended */
};

/*
 * What was lost, and what was not sent within the time that was meant for it: a sender that takes
 * longer has sent at a lower rate. Hiccups of the scheduler are no reason to say so; a queue that
 * is full is one, however short: a sender that waited for room in its send buffer or ring, and was
 * late for that. What is behind it takes no more, however fast this host generates.
 */
static void judge(struct found_trial *t, const struct result *res, unsigned threads)
{
	uint64_t hiccup = (uint64_t)((double)t->time_ns * LATE_SHARE) + LATE_NS, most;
	double offered = (double)res->sent, took = (double)res->duration_ns, bad;
	double waited = (double)res->wait_ns / threads, late = took - (double)t->time_ns;

	t->held_back = t->intended ? late > 0 && waited > late / 2 : waited > took * HELD_SHARE;
	most = t->time_ns + (t->held_back ? 0 : hiccup);
	if (t->intended && res->duration_ns > most)
		offered *= (double)t->time_ns / took;
	t->unsent = (double)t->intended > offered ? t->intended - (uint64_t)offered : 0;
	bad = (double)(res->sent - res->delivered) + (double)t->unsent;
	t->loss_share = t->intended ? fmin(1, bad / (double)t->intended)
			: res->sent ? bad / (double)res->sent
				    : 0;
	for (int stage = 0; stage < STAGE_COUNT; stage++)
		t->dropped[stage] = res->stage[stage].packets;
}

/* No trial may follow. */
static bool is_over(struct hunt *h)
{
	const struct search *s = h->s;

	if (s->most_trials && h->found->trials - h->found->warmups >= s->most_trials)
		h->found->out_of_trials = true;
	else if (s->most_ns && clock_now() - h->start_ns >= s->most_ns)
		h->found->out_of_time = true;
	return h->found->out_of_trials || h->found->out_of_time;
}

/* Of the time that trials take, as intended, what is left as far as can be told; ns. */
static double time_left(const struct hunt *h, double trials_s, uint64_t trial_ns)
{
	const struct search *s = h->s;
	double overhead = (double)(clock_now() - h->start_ns) / (double)h->trials_ns;
	double left = trials_s * 1e9, trials = (double)s->most_trials;

	trials -= h->found->trials - h->found->warmups;
	if (s->most_trials)
		left = fmin(left, trials * (double)trial_ns);
	left *= overhead;
	if (s->most_ns)
		left = fmin(left, (double)s->most_ns - (double)(clock_now() - h->start_ns));
	return left;
}

/* Runs one trial; t: as intended, then as it was. */
static int run_trial(struct hunt *h, const struct rate *rate, struct found_trial *t, double left_s,
		     struct error *err)
{
	char title[192];
	int n, rc;

	n = snprintf(title, sizeof(title), "trial %u, %s", h->found->trials + 1,
		     t->rate_pps > 0 ? fmt_rate(t->rate_pps) : "full speed");
	if (left_s > 0 && h->trials_ns)
		n += snprintf(title + n, sizeof(title) - (size_t)n, ", about %s left",
			      fmt_ns((uint64_t)time_left(h, left_s, t->time_ns)));
	for (unsigned i = 0; h->mlr && i < h->s->goals; i++) {
		double lower, upper;

		mlr_so_far(h->mlr, i, &lower, &upper);
		n += snprintf(title + n, sizeof(title) - (size_t)n, ", %s %s to %s", h->s->name[i],
			      lower > 0 ? fmt_rate(lower) : "?", upper > 0 ? fmt_rate(upper) : "?");
	}
	rc = h->s->run(h->s->arg, rate, t, title, &h->last, err);
	if (rc)
		return rc;
	judge(t, h->last, h->s->threads);
	h->found->trials++;
	h->trials_ns += t->time_ns;
	h->s->on_trial(h->s->arg, t);
	return 0;
}

static const char *who_limits(const struct found *f)
{
	return f->held_back ? "the sender's device takes" : "this host generates";
}

/*
 * The warm-up: as much as may be asked for, until the fastest of the trials is no accident. `t` is
 * that one.
 */
static int warm_up(struct hunt *h, struct found_trial *t, struct error *err)
{
	const struct search *s = h->s;
	struct found *f = h->found;
	double fastest = 0, second = 0;
	int rc = 0;

	while (!rc && f->warmups < WARMUPS && (!fastest || second < fastest * (1 - WARM_SHARE)) &&
	       (!fastest || !s->max_set || fastest < t->rate_pps * (1 - LATE_SHARE))) {
		struct found_trial next = {
			.phase = "warm-up", .rate_pps = t->rate_pps, .time_ns = s->warmup_ns};

		rc = run_trial(h, s->max_set ? &s->max : NULL, &next, 0, err);
		if (rc)
			break;
		f->generator_low =
			f->warmups++ ? fmin(f->generator_low, h->last->tx_pps) : h->last->tx_pps;
		second = fmin(fastest, fmax(second, h->last->tx_pps));
		if (h->last->tx_pps <= fastest)
			continue;
		second = fastest;
		fastest = h->last->tx_pps;
		*t = next;
	}
	f->generator_pps = fastest;
	return rc;
}

/* What the generator can do, so that nothing is blamed on the path that was never sent. */
static int find_limits(struct hunt *h, struct error *err)
{
	const struct search *s = h->s;
	struct found *f = h->found;
	struct found_trial t = {};
	int rc = s->rate_pps(s->arg, &s->min, &f->min_pps, err);

	if (!rc && s->max_set)
		rc = s->rate_pps(s->arg, &s->max, &t.rate_pps, err);
	if (!rc && s->max_set && t.rate_pps <= f->min_pps)
		rc = error_usage(err, NULL, "--max-rate has to be above --min-rate");
	if (!rc)
		rc = warm_up(h, &t, err);
	if (rc)
		return rc;
	f->frame_bytes = h->last->frame_bytes;
	f->payload_bytes = h->last->payload_bytes;
	f->max_pps = f->generator_pps;
	f->generator_limited = !s->max_set || f->generator_pps < t.rate_pps * (1 - LATE_SHARE);
	f->held_back = f->generator_limited && t.held_back;
	if (!f->generator_limited)
		f->max_pps = t.rate_pps;
	else if (s->max_set)
		log_warn("%s %.0f packets/s of the %.0f of --max-rate: the search ends there",
			 who_limits(f), f->generator_pps, t.rate_pps);
	if (f->generator_limited && f->generator_low < f->generator_pps * (1 - UNSTEADY))
		log_warn("%s %s at one time and %s at another: if that bounds what is found, "
			 "another "
			 "search finds another bound",
			 who_limits(f), fmt_rate(f->generator_low), fmt_rate(f->generator_pps));
	if (f->max_pps > f->min_pps)
		return 0;
	return error_set(err, STATUS_FAILED, -ERANGE, "give a lower --min-rate",
			 "%s %.0f packets/s only, and --min-rate is %.0f", who_limits(f),
			 f->max_pps, f->min_pps);
}

static int measure(struct hunt *h, const char *phase, double pps, double time_s, double left_s,
		   double *loss, struct error *err)
{
	struct found_trial t = {
		.phase = phase,
		.rate_pps = pps,
		.time_ns = (uint64_t)llround(time_s * 1e9),
		.intended = (uint64_t)floor(pps * time_s),
	};
	const struct rate rate = {RATE_PPS, pps};
	int rc;

	if (!t.intended)
		return error_usage(err, "longer trials, or a higher --min-rate",
				   "at %.3g packets/s a trial of %.3g s sends nothing", pps,
				   time_s);
	/*
	 * Where this host did not keep to the rate, and what was sent came through, it shows
	 * nothing of the path. One that is late time and again cannot generate it.
	 */
	for (unsigned i = 0; i <= LATE_AGAIN; i++) {
		rc = run_trial(h, &rate, &t, left_s, err);
		if (rc || !t.unsent || t.held_back || h->last->delivered != h->last->sent ||
		    is_over(h))
			break;
	}
	*loss = t.loss_share;
	if (!rc)
		*(struct found_trial *)list_add(&h->log) = t;
	return rc;
}

static bool is_bad(const struct found_trial *t, const struct found_rate *rate)
{
	return t->loss_share > rate->loss_ratio;
}

/* The time of trials at a rate, s, and that of those that lost more than is allowed. */
static void time_at(const struct hunt *h, double pps, const struct found_rate *rate, double *lost,
		    double *all)
{
	const struct found_trial *log = h->log.at;

	*lost = *all = 0;
	for (unsigned i = 0; i < h->log.n; i++) {
		if (fabs(log[i].rate_pps - pps) > pps * SAME_RATE)
			continue;
		*all += (double)log[i].time_ns * 1e-9;
		*lost += is_bad(&log[i], rate) ? (double)log[i].time_ns * 1e-9 : 0;
	}
}

/* The highest rate below `pps` at which a trial held; 0: none. */
static double held_below(const struct hunt *h, double pps, const struct found_rate *rate)
{
	const struct found_trial *log = h->log.at;
	double held = 0;

	for (unsigned i = 0; i < h->log.n; i++) {
		if (log[i].rate_pps < pps * (1 - SAME_RATE) && !is_bad(&log[i], rate))
			held = fmax(held, log[i].rate_pps);
	}
	return held;
}

static void take_down(struct found_rate *rate, double pps)
{
	rate->lower_pps = rate->throughput_pps = pps;
	rate->has_lower = pps > 0;
	rate->done &= rate->has_lower;
}

/* Trials at a rate or below it, and those of them that lost more than is allowed. */
static void count_below(const struct hunt *h, double pps, struct found_rate *rate)
{
	const struct found_trial *log = h->log.at;

	rate->below = rate->lost_below = 0;
	for (unsigned i = 0; i < h->log.n; i++) {
		if (log[i].rate_pps > pps * (1 + SAME_RATE))
			continue;
		rate->below++;
		rate->lost_below += is_bad(&log[i], rate);
	}
}

static bool too_many_lost(const struct found_rate *rate)
{
	return rate->lost_below >= NOISE && rate->lost_below > NOISE_SHARE * rate->below;
}

/*
 * Where a rate below the bound lost more often than is allowed, the next lower one that held; and
 * where too many trials up to the bound lost.
 */
static void stay_below_losers(const struct hunt *h, double exceed_ratio, struct found_rate *rate)
{
	const struct found_trial *log = h->log.at;
	double lost, all;

	for (unsigned i = 0; rate->has_lower && i < h->log.n; i++) {
		const double pps = log[i].rate_pps;

		if (pps > rate->lower_pps * (1 + SAME_RATE))
			continue;
		time_at(h, pps, rate, &lost, &all);
		if (lost <= exceed_ratio * all)
			continue;
		take_down(rate, held_below(h, pps, rate));
		i = UINT_MAX; /* those that are lower may have lost, too */
	}
	for (count_below(h, rate->lower_pps, rate); rate->has_lower && too_many_lost(rate);
	     count_below(h, rate->lower_pps, rate))
		take_down(rate, held_below(h, rate->lower_pps, rate));
}

/*
 * Whether trials at a rate that is said to hold, or below it, lost so often that it may be noise.
 * Near the highest rate that holds, some lose on any path that has no sharp edge. So what counts is
 * whether they do clearly below it, too, which is tried.
 */
static int look_for_noise(struct hunt *h, unsigned goal, struct error *err)
{
	const struct mlr_goal *g = &h->s->goal[goal];
	struct found_rate rate = {.loss_ratio = g->loss_ratio};
	double pps, loss;
	int rc = 0;

	mlr_bounds(h->mlr, goal, &rate);
	count_below(h, rate.lower_pps, &rate);
	if (!rate.has_lower || !too_many_lost(&rate))
		return 0;
	pps = fmax(rate.lower_pps * (1 - CLEARLY * g->width), h->found->min_pps);
	for (count_below(h, pps, &rate); !rc && rate.below < CONTROLS && !is_over(h);
	     count_below(h, pps, &rate))
		rc = measure(h, "search", pps, g->initial_s, mlr_left(h->mlr), &loss, err);
	h->found->noise |= too_many_lost(&rate);
	return rc;
}

/*
 * A rate at which the coarse search lost in its first trials, and which is below the bound that was
 * found: tried again until it has held often enough, or has not. Else a single hiccup there would
 * take the bound down to it.
 */
static int try_losers_again(struct hunt *h, unsigned goal, struct error *err)
{
	const struct mlr_goal *g = &h->s->goal[goal];
	struct found_rate rate = {.loss_ratio = g->loss_ratio};
	double loss;
	int rc = 0;

	mlr_bounds(h->mlr, goal, &rate);
	for (unsigned i = 0; rate.has_lower && i < h->log.n && !rc; i++) {
		const double pps = ((struct found_trial *)h->log.at)[i].rate_pps;
		double lost, all;

		if (pps > rate.lower_pps * (1 + SAME_RATE))
			continue;
		for (time_at(h, pps, &rate, &lost, &all);
		     !rc && lost > g->exceed_ratio * all && lost <= g->exceed_ratio * g->sum_s &&
		     !is_over(h);
		     time_at(h, pps, &rate, &lost, &all))
			rc = measure(h, "search", pps, g->initial_s, 0, &loss, err);
	}
	return rc;
}

static int search_all(struct hunt *h, struct error *err)
{
	struct mlr_trial next;
	double loss;
	int rc = 0;

	while (!rc && !h->found->noise && mlr_next(h->mlr, &next) && !is_over(h)) {
		rc = measure(h, "search", next.load, next.duration_s, mlr_left(h->mlr), &loss, err);
		if (rc || mlr_add(h->mlr, loss))
			break;
		for (unsigned i = 0; i < h->s->goals && !rc; i++)
			rc = look_for_noise(h, i, err);
	}
	for (unsigned i = 0; i < h->s->goals && !rc && !h->found->noise; i++)
		rc = try_losers_again(h, i, err);
	return rc;
}

/* What lost most in the trials at a rate that lost more than was allowed. */
static void find_culprit(const struct hunt *h, double pps, double allowed, struct found_rate *rate)
{
	uint64_t dropped[STAGE_COUNT] = {}, unsent = 0, held_back = 0, most = 0;

	rate->stage = STAGE_NONE;
	for (unsigned i = 0; i < h->log.n; i++) {
		const struct found_trial *t = (const struct found_trial *)h->log.at + i;

		if (fabs(t->rate_pps - pps) > pps * SAME_RATE || t->loss_share <= allowed)
			continue;
		unsent += t->unsent;
		held_back += t->held_back ? t->unsent : 0;
		for (int s = 0; s < STAGE_COUNT; s++)
			dropped[s] += t->dropped[s];
	}
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (dropped[s] > most) {
			most = dropped[s];
			rate->stage = s;
		}
	}
	if (unsent > most)
		rate->limit = held_back * 2 > unsent ? FOUND_LIMIT_QUEUE : FOUND_LIMIT_GENERATOR;
	else if (most)
		rate->limit = FOUND_LIMIT_PATH;
}

static void take_bounds(const struct hunt *h)
{
	struct found *f = h->found;

	f->goals = h->s->goals;
	for (unsigned i = 0; i < f->goals; i++) {
		struct found_rate *rate = &f->goal[i];

		*rate = (struct found_rate){
			.name = h->s->name[i],
			.loss_ratio = h->s->goal[i].loss_ratio,
			.stage = STAGE_NONE,
		};
		mlr_bounds(h->mlr, i, rate);
		rate->done &= !f->noise;
		stay_below_losers(h, h->s->goal[i].exceed_ratio, rate);
		if (rate->has_upper)
			find_culprit(h, rate->upper_pps, rate->loss_ratio, rate);
		else if (rate->has_lower && f->generator_limited)
			rate->limit = f->held_back ? FOUND_LIMIT_QUEUE : FOUND_LIMIT_GENERATOR;
	}
}

/* What got through at the highest load: the lowest, the highest and the median of its trials. */
static void take_mrr(const struct hunt *h)
{
	struct found_rate *mrr = &h->found->mrr;
	const struct found_trial *log = h->log.at;
	double *pps = mem_zero(h->log.n, sizeof(*pps));
	unsigned n = 0;

	*mrr = (struct found_rate){.name = "mrr", .loss_ratio = 1, .stage = STAGE_NONE};
	for (unsigned i = 0; i < h->log.n; i++) {
		if (log[i].rate_pps >= h->found->max_pps)
			pps[n++] = log[i].rate_pps * (1 - log[i].loss_share);
	}
	if (n) {
		struct summary s = num_summary(pps, n);

		mrr->lower_pps = s.min;
		mrr->upper_pps = s.max;
		mrr->throughput_pps = s.median;
		mrr->has_lower = mrr->has_upper = mrr->done = true;
		find_culprit(h, h->found->max_pps, 0, mrr);
	}
	free(pps);
}

int search_run(const struct search *s, struct found *found, struct error *err)
{
	struct hunt h = {.s = s,
			 .found = found,
			 .log.size = sizeof(struct found_trial),
			 .start_ns = clock_now()};
	double time_s = (double)s->mrr_ns * 1e-9, loss;
	int rc;

	*found = (struct found){};
	rc = find_limits(&h, err);
	if (!rc && s->goals) {
		rc = mlr_new(&h.mlr, found->min_pps, found->max_pps, s->goal, s->goals, err);
		if (!rc)
			rc = search_all(&h, err);
	}
	for (unsigned i = 0; i < s->mrr_trials && !s->goals && !rc; i++)
		rc = measure(&h, "mrr", found->max_pps, time_s, time_s * (s->mrr_trials - i), &loss,
			     err);
	if (h.mlr)
		take_bounds(&h);
	found->interrupted = rc == -EINTR;
	take_mrr(&h);
	found->time_ns = clock_now() - h.start_ns;
	mlr_free(h.mlr);
	list_free(&h.log);
	return rc;
}
