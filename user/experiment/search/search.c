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

#define LATE_SHARE   0.01    /* fraction by which a trial may take longer than intended, */
#define LATE_NS	     5000000 /* plus this many ns for scheduler hiccups */
#define LATE_AGAIN   2	     /* maximum repetitions of a trial because this host was late */
#define HELD_SHARE   0.1     /* a sender that waits for this fraction of the time is held back,
			      * not slow */
#define SAME_RATE    1e-9
#define WARMUPS	     5	  /* trials that measure the generator */
#define UNSTEADY     0.1  /* a run this much slower than the fastest run hit a slow moment */
#define HEADROOM     0.03 /* fraction of this host's rate kept in reserve to catch up after a
			   * hiccup */
#define NOISE	     3	  /* minimum number of trials, */
#define NOISE_SHARE  0.25 /* and fraction of trials that lost up to a rate, and that held above
			   * it, which count as noise */
#define CLEARLY	     4	  /* if at least this many widths are between them */

struct hunt {
	const struct search *s;
	struct found *found;
	const struct result *last;
	struct mlr *mlr;	      /* NULL: not started */
	struct list log;	      /* struct found_trial: trials of the search, without the
				       * warm-up */
	uint64_t start_ns;
};

/*
 * Decides a trial's loss from lost packets and packets not sent within the planned time. A late
 * sender has sent at a lower rate. Scheduler hiccups are ignored, but a full queue counts even if
 * it was full only briefly, because the sender waited for room in its send buffer or ring and was
 * late for that reason. The path after that queue accepts no more packets, however fast this host
 * generates them.
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

/*
 * Returns whether no further trial is allowed. A search that still needs trials is then unfinished.
 */
static bool is_over(struct hunt *h)
{
	const struct search *s = h->s;

	if (s->most_trials && h->found->trials - h->found->warmups >= s->most_trials)
		h->found->out_of_trials = true;
	else if (s->most_ns && clock_now() - h->start_ns >= s->most_ns)
		h->found->out_of_time = true;
	return h->found->out_of_trials || h->found->out_of_time;
}

/*
 * Returns whether this host missed the rate without packet loss, which says nothing about the path.
 */
static bool is_late(const struct hunt *h, const struct found_trial *t)
{
	return t->unsent && !t->held_back && h->last->delivered == h->last->sent;
}

/* Runs one trial. `t` contains the intended values on entry and the measured values on return. */
static int run_trial(struct hunt *h, const struct rate *rate, struct found_trial *t,
		     struct error *err)
{
	char title[192];
	int n, rc;

	n = snprintf(title, sizeof(title), "trial %u, %s", h->found->trials + 1,
		     t->rate_pps > 0 ? fmt_rate(t->rate_pps) : "full speed");
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
	h->found->late += is_late(h, t);
	h->s->on_trial(h->s->arg, t);
	return 0;
}

static const char *who_limits(const struct found *f)
{
	return f->held_back ? "the sender's device takes" : "this host generates";
}

/*
 * Runs several trials at the maximum rate to measure the generator's limit, which is the median of
 * the sent rates without this host's slow moments. `t`: the fastest trial.
 */
static int warm_up(struct hunt *h, struct found_trial *t, struct error *err)
{
	const struct search *s = h->s;
	struct found *f = h->found;
	double speed[WARMUPS], best = 0;
	const double asked = t->rate_pps;
	unsigned like = 0;

	do {
		struct found_trial next = {
			.phase = "warm-up", .rate_pps = asked, .time_ns = s->warmup_ns};
		int rc = run_trial(h, asked ? &s->max : NULL, &next, err);

		if (rc)
			return rc;
		if (h->last->sent && !h->last->delivered)
			return error_set(err, STATUS_FAILED, -EHOSTUNREACH,
					 "`pktledger run` with the same options shows where they "
					 "are lost",
					 "none of %s arrived, so a search is not possible",
					 fmt_many(h->last->sent, "packet"));
		speed[f->warmups] = h->last->tx_pps;
		f->generator_low = f->warmups ? fmin(f->generator_low, speed[f->warmups])
					      : speed[f->warmups];
		if (!f->warmups || speed[f->warmups] > best)
			*t = next;
		best = fmax(best, speed[f->warmups]);
	} while (++f->warmups < WARMUPS && (!asked || best < asked * (1 - LATE_SHARE)));
	f->generator_pps = best;
	for (unsigned i = 0; i < f->warmups; i++) {
		if (speed[i] >= best * (1 - UNSTEADY))
			speed[like++] = speed[i];
	}
	f->max_pps = num_summary(speed, like).median;
	return 0;
}

/* Measures the generator's limit, so that packets it never sent are not blamed on the path. */
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
	f->generator_limited = !s->max_set || f->generator_pps < t.rate_pps * (1 - LATE_SHARE);
	f->held_back = f->generator_limited && t.held_back;
	if (!f->generator_limited)
		f->max_pps = t.rate_pps;
	else if (!f->held_back)
		f->max_pps *= 1 - HEADROOM;
	if (f->generator_limited && s->max_set)
		log_warn("%s %.0f packets/s of the %.0f of --max-rate: the search ends there",
			 who_limits(f), f->generator_pps, t.rate_pps);
	if (f->max_pps > f->min_pps)
		return 0;
	return error_set(err, STATUS_FAILED, -ERANGE, "give a lower --min-rate",
			 "%s %.0f packets/s only, and --min-rate is %.0f", who_limits(f),
			 f->max_pps, f->min_pps);
}

static int measure(struct hunt *h, const char *phase, double pps, double time_s, double *loss,
		   struct error *err)
{
	struct found_trial t = {
		.phase = phase,
		.rate_pps = pps,
		.time_ns = (uint64_t)llround(time_s * 1e9),
		.intended = (uint64_t)floor(pps * time_s),
	};
	const struct rate rate = {RATE_PPS, pps};
	unsigned late = 0;
	int rc;

	if (!t.intended)
		return error_usage(err, "longer trials, or a higher --min-rate",
				   "at %.3g packets/s a trial of %.3g s sends nothing", pps,
				   time_s);
	/* the generator cannot reach a rate at which it is late repeatedly */
	do
		rc = run_trial(h, &rate, &t, err);
	while (!rc && is_late(h, &t) && late++ < LATE_AGAIN && !is_over(h));
	*loss = t.loss_share;
	if (!rc)
		*(struct found_trial *)list_add(&h->log) = t;
	return rc;
}

/* Counts the trials between two rates, and the trials that lost more than allowed. */
static void count_trials(const struct hunt *h, double from, double to, struct found_rate *rate)
{
	const struct found_trial *log = h->log.at;

	rate->below = rate->lost_below = 0;
	for (unsigned i = 0; i < h->log.n; i++) {
		if (log[i].rate_pps < from || log[i].rate_pps > to * (1 + SAME_RATE))
			continue;
		rate->below++;
		rate->lost_below += log[i].loss_share > rate->loss_ratio;
	}
}

static bool too_many(unsigned n, unsigned all)
{
	return n >= NOISE && n > NOISE_SHARE * all;
}

/*
 * Returns whether too many trials lost up to a rate, and too many held clearly above it. Near the
 * highest rate that holds, some trials lose packets on any path without a sharp limit.
 */
static bool is_noise(const struct hunt *h, const struct mlr_goal *g)
{
	const struct found_trial *log = h->log.at;
	struct found_rate rate = {.loss_ratio = g->loss_ratio};
	bool noise = false;

	for (unsigned i = 0; i < h->log.n; i++) {
		const double pps = log[i].rate_pps;

		count_trials(h, 0, pps, &rate);
		if (!too_many(rate.lost_below, rate.below))
			continue;
		count_trials(h, pps / (1 - CLEARLY * g->width), INFINITY, &rate);
		noise |= too_many(rate.below - rate.lost_below, rate.below);
	}
	return noise;
}

/* Searches until all goals are met, or until there are too many trials or they are only noise. */
static int search_all(struct hunt *h, struct error *err)
{
	struct found *f = h->found;
	struct mlr_trial next;
	double loss;
	int rc = mlr_new(&h->mlr, f->min_pps, f->max_pps, h->s->goal, h->s->goals, err);

	while (!rc && !f->noise && mlr_next(h->mlr, &next) && !is_over(h)) {
		rc = measure(h, "search", next.load, next.duration_s, &loss, err);
		if (rc || mlr_add(h->mlr, loss))
			break;
		for (unsigned i = 0; i < h->s->goals; i++)
			f->noise |= is_noise(h, &h->s->goal[i]);
	}
	return rc;
}

/* Finds the stage with the most losses in trials at a rate that lost more than allowed. */
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

/* Takes a goal's bounds, or the bounds of its finest trials if the search ended early. */
static void take_goal(const struct hunt *h, unsigned goal, struct found_rate *rate)
{
	*rate = (struct found_rate){.name = h->s->name[goal],
				    .loss_ratio = h->s->goal[goal].loss_ratio,
				    .stage = STAGE_NONE};
	mlr_bounds(h->mlr, goal, rate);
	if (!rate->done) {
		mlr_so_far(h->mlr, goal, &rate->lower_pps, &rate->upper_pps);
		rate->throughput_pps = rate->lower_pps;
		rate->has_lower = rate->lower_pps > 0;
		rate->has_upper = rate->upper_pps > rate->lower_pps;
	}
	count_trials(h, 0, rate->lower_pps, rate);
}

static void take_bounds(const struct hunt *h)
{
	struct found *f = h->found;

	f->goals = h->s->goals;
	f->lost_from_pps = INFINITY;
	for (unsigned i = 0; i < h->log.n; i++) {
		const struct found_trial *t = (const struct found_trial *)h->log.at + i;

		if (t->loss_share > h->s->goal[0].loss_ratio)
			f->lost_from_pps = fmin(f->lost_from_pps, t->rate_pps);
		else
			f->held_to_pps = fmax(f->held_to_pps, t->rate_pps);
	}
	for (unsigned i = 0; i < f->goals; i++) {
		struct found_rate *rate = &f->goal[i];

		take_goal(h, i, rate);
		if (rate->has_upper)
			find_culprit(h, rate->upper_pps, rate->loss_ratio, rate);
		else if (rate->has_lower && f->generator_limited)
			rate->limit = f->held_back ? FOUND_LIMIT_QUEUE : FOUND_LIMIT_GENERATOR;
	}
}

/* Reports the throughput at the highest load as the minimum, maximum and median of its trials. */
static void take_mrr(const struct hunt *h)
{
	struct found_rate *mrr = &h->found->mrr;
	const struct found_trial *log = h->log.at;
	double *pps = mem_zero(h->log.n, sizeof(*pps));
	unsigned n = 0;

	*mrr = (struct found_rate){.name = "mrr", .loss_ratio = 1, .stage = STAGE_NONE};
	for (unsigned i = 0; i < h->log.n; i++) {
		if (fabs(log[i].rate_pps - h->found->max_pps) <= h->found->max_pps * SAME_RATE)
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
	if (!rc && s->goals)
		rc = search_all(&h, err);
	for (unsigned i = 0; i < s->mrr_trials && !s->goals && !rc; i++)
		rc = measure(&h, "mrr", found->max_pps, time_s, &loss, err);
	if (h.mlr)
		take_bounds(&h);
	found->interrupted = rc == -EINTR;
	take_mrr(&h);
	found->time_ns = clock_now() - h.start_ns;
	mlr_free(h.mlr);
	list_free(&h.log);
	return rc;
}
