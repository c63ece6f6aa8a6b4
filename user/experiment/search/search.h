/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Searches for the highest rates without loss, or with almost no loss, using trials that MLRsearch
 * chooses. Each trial runs to completion. Sending stops, packets in transit arrive, then the ledger
 * is closed and counters are read. Unsent packets count as lost, duplicates count once.
 */
#ifndef PKTLEDGER_EXPERIMENT_SEARCH_SEARCH_H
#define PKTLEDGER_EXPERIMENT_SEARCH_SEARCH_H

#include <stdbool.h>

#include "base/err.h"
#include "base/num.h"
#include "ledger/result.h"

#define MLR_GOALS     4
#define MLR_PRECEDING 4

struct mlr_goal {
	double loss_ratio;   /* a trial that loses more is bad, 0 to below 1 */
	double exceed_ratio; /* fraction of the duration sum that may be bad, 0 to below 1 */
	double width;	     /* (upper - lower) / upper that is accurate enough, above 0 and
			      * below 1 */
	double initial_s;    /* duration of trials for the first, coarse targets */
	double final_s;	     /* duration of trials for the goal itself, at least initial_s */
	double sum_s;	     /* duration sum at a load, at least final_s */
	unsigned preceding;  /* number of coarser targets before it, at least 1 if initial_s is
			      * below sum_s */
	unsigned expansion;  /* factor by which steps grow while a bound is missing, at least 2 */
};

/* Why a rate was not reached. */
enum found_limit {
	FOUND_LIMIT_NONE,      /* not known to be too high */
	FOUND_LIMIT_PATH,      /* packets were lost on the path */
	FOUND_LIMIT_GENERATOR, /* most packets were not sent in time, */
	FOUND_LIMIT_QUEUE,     /* because the sender's queue was full and its interface accepted
				* no more */
};

struct found_trial {
	const char *phase; /* "warm-up", "search" or "mrr" */
	double rate_pps;   /* intended, 0: unthrottled */
	uint64_t time_ns;  /* intended */
	uint64_t intended; /* packets, 0: as many as possible */
	uint64_t unsent;   /* intended packets that were not sent in time */
	bool held_back;	   /* the sender waited for its own queue */
	double loss_share; /* fraction of intended packets that were lost or not sent */
	uint64_t dropped[STAGE_COUNT];
};

/* The result for a rate, which lies between two bounds. */
struct found_rate {
	const char *name;  /* "ndr", "pdr", "mrr" */
	double loss_ratio; /* allowed ratio */
	bool has_lower, has_upper;
	double lower_pps, upper_pps;
	/*
	 * Throughput at the lower bound, minus the loss that cannot be excluded there. For mrr, the
	 * median.
	 */
	double throughput_pps;
	enum stage stage; /* stage with the most losses at the upper bound, STAGE_NONE: no losses */
	enum found_limit limit;
	bool done; /* as accurate as requested */
	/* Trials at or below the lower bound, and how many of them lost more than allowed. */
	unsigned below, lost_below;
};

/* Search results. Plain data. */
struct found {
	double min_pps, max_pps; /* range of the search */
	double generator_pps;	 /* highest rate sent while unthrottled */
	double generator_low;	 /* the lowest, same as the highest for a single trial */
	bool generator_limited;	 /* below the requested rate, max_pps is slightly below, */
	bool held_back;		 /* because the sender's queue was full */
	unsigned goals;
	struct found_rate goal[MLR_GOALS], mrr;
	unsigned frame_bytes, payload_bytes;
	unsigned trials, warmups; /* number of trials, including warm-up trials */
	unsigned late; /* all sent packets arrived, but this host did not send them in time */
	uint64_t time_ns; /* ns, total duration */
	bool interrupted, out_of_time, out_of_trials;
	/*
	 * Ended because too many trials lost packets at rates below the rates of lossless trials.
	 */
	bool noise;
	/* first goal: lowest lossy rate (INFINITY: not found), highest rate that held */
	double lost_from_pps, held_to_pps;
};

struct search {
	struct rate min, max;
	bool max_set; /* otherwise unthrottled */
	uint64_t warmup_ns;
	uint64_t most_ns;     /* no trial starts after this time, 0: no limit */
	uint64_t most_trials; /* maximum number after the warm-up, 0: no limit */
	unsigned goals;	      /* 0: only the throughput at the highest load, from mrr_trials
			       * trials of mrr_ns each */
	struct mlr_goal goal[MLR_GOALS];
	const char *name[MLR_GOALS];
	unsigned mrr_trials;
	uint64_t mrr_ns;
	/* Converts a rate to pps for the packets used in the trials. */
	int (*rate_pps)(void *arg, const struct rate *rate, double *pps, struct error *err);
	/*
	 * Runs a trial as intended in `t` at a rate (NULL: unthrottled). The title is shown to the
	 * user. *res is borrowed until the next trial. Returns -EINTR after a signal.
	 */
	int (*run)(void *arg, const struct rate *rate, const struct found_trial *t,
		   const char *title, const struct result **res, struct error *err);
	unsigned threads; /* sending threads */
	/* Called after each trial, once its ledger is closed. */
	void (*on_trial)(void *arg, const struct found_trial *t);
	void *arg;
};

/*
 * Runs the search. It measures the generator, then lets MLRsearch choose rates. A trial in which
 * this host fell behind but nothing was lost is repeated. The search ends early if trials lose
 * packets below rates at which others do not. `found` has the results so far if the search ends
 * early for any reason. Returns 0, -EINTR after a signal (not an error), or -errno with `err` if a
 * trial failed.
 */
int search_run(const struct search *s, struct found *found, struct error *err);

/*
 * The MLRsearch controller (RFC 9971) searches for the highest load that meets a goal, for several
 * goals at once. It has no side effects. The caller reports each trial's loss, and the controller
 * chooses the next trial. It chooses the same trials as the MLRsearch 1.2.1 package on PyPI, to
 * which the RFC refers. The RFC leaves that choice open and specifies how to classify a load, which
 * has not changed since that version.
 *
 * Loads are points on a logarithmic grid between min and max, so a relative width is a number of
 * steps. A load is a lower bound for a goal if the goal is met whatever is lost in the rest of its
 * duration sum, and an upper bound if the goal is missed even if nothing is lost in the rest.
 */

/* A goal's requirements on one load (RFC 9971, "Search Goal"). */
struct mlr_need {
	double loss_ratio;   /* Goal Loss Ratio, 0 .. 1, a trial that loses more is a high-loss
			      * trial */
	double exceed_ratio; /* Goal Exceed Ratio, 0 .. 1, the allowed fraction of high-loss
			      * trials */
	double trial_s;	     /* Goal Final Trial Duration, shorter trials are short trials */
	double sum_s;	     /* Goal Duration Sum */
};

/* One trial's result. Lists are sorted by step, then by loss. */
struct mlr_load {
	int step;	   /* step on the grid */
	double duration_s; /* Trial Effective Duration */
	double loss;	   /* Trial Loss Ratio, 0 .. 1 */
};

enum mlr_class { MLR_UNDECIDED, MLR_LOWER, MLR_UPPER };

/* Classifies a load from the n trials made there (RFC 9971, "Load Classification Code"). */
enum mlr_class mlr_classify(const struct mlr_load *trial, unsigned n, const struct mlr_need *need);

/*
 * Returns the loss ratio of the Conditional Throughput at a load, which is a quantile of the
 * full-length trials sorted by loss, or 1 if there are too few (RFC 9971, "Conditional Throughput
 * Code").
 */
double mlr_conditional_loss(const struct mlr_load *trial, unsigned n, const struct mlr_need *need);

struct mlr_trial {
	double load, duration_s;
};

struct mlr;

/*
 * Creates a search between two loads, in pps or any other unit. STATUS_USAGE: the limits are
 * contradictory.
 */
int mlr_new(struct mlr **m, double min, double max, const struct mlr_goal *goal, unsigned goals,
	    struct error *err);
void mlr_free(struct mlr *m);

/* Returns the next trial, or false when the search is complete. */
bool mlr_next(struct mlr *m, struct mlr_trial *next);

/*
 * Reports the loss ratio for the trial from mlr_next(), relative to the intended packets, including
 * packets not sent. Returns -EINVAL if there is no such trial.
 */
int mlr_add(struct mlr *m, double loss_ratio);

/* Sets a goal's bounds and throughput, and `done` if no measurement is left for it. */
void mlr_bounds(const struct mlr *m, unsigned goal, struct found_rate *rate);

/* Returns preliminary bounds from the finest trials that have a bound, or 0. */
void mlr_so_far(const struct mlr *m, unsigned goal, double *lower, double *upper);

#endif
