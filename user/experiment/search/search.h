/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks for the highest rates that lose nothing, or hardly anything: trials, picked by MLRsearch. A
 * trial is whole: sending stops, what is under way arrives, then the ledger is closed and counters
 * are read. What was to be sent and was not counts as lost; what arrived twice counts once.
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
	double loss_ratio;   /* a trial that loses more is bad: 0 .. below 1 */
	double exceed_ratio; /* share of the duration sum that may be bad: 0 .. below 1 */
	double width;	     /* (upper - lower) / upper that is narrow enough: above 0, below 1 */
	double initial_s;    /* trials of the first, coarse targets */
	double final_s;	     /* trials of the goal itself; at least initial_s */
	double sum_s;	     /* duration sum at a load; at least final_s */
	unsigned preceding;  /* coarser targets before; 1 at least if initial_s is below sum_s */
	unsigned expansion;  /* by what the step grows while a bound is missing: 2 at least */
};

/* Why a rate was not reached. */
enum found_limit {
	FOUND_LIMIT_NONE,      /* it is not known to be too high */
	FOUND_LIMIT_PATH,      /* packets were lost on the way */
	FOUND_LIMIT_GENERATOR, /* most were not even sent in time, */
	FOUND_LIMIT_QUEUE,     /* because the sender's queue was full: its device took no more */
};

struct found_trial {
	const char *phase; /* "warm-up", "search" or "mrr" */
	double rate_pps;   /* intended; 0: as fast as it goes */
	uint64_t time_ns;  /* intended */
	uint64_t intended; /* packets; 0: as many as it gets */
	uint64_t unsent;   /* of those, not sent in that time */
	bool held_back;	   /* it was the sender's queue that it waited for */
	double loss_share; /* lost and unsent, of those intended */
	uint64_t dropped[STAGE_COUNT];
};

/* A rate between two bounds. */
struct found_rate {
	const char *name;  /* "ndr", "pdr", "mrr" */
	double loss_ratio; /* that is allowed */
	bool has_lower, has_upper;
	double lower_pps, upper_pps;
	/* got through at the lower bound, reduced by the loss that is not ruled out there; of mrr:
	 * the median */
	double throughput_pps;
	enum stage stage; /* that lost most at the upper bound; STAGE_NONE: none did */
	enum found_limit limit;
	bool done; /* as narrow as was asked for */
	/* Trials at or below the lower bound, and those of them that lost more than is allowed. */
	unsigned below, lost_below;
};

/* What a search has found. Plain data. */
struct found {
	double min_pps, max_pps; /* searched between these */
	double generator_pps;	 /* the most that was sent when as much as possible was asked for */
	double generator_low;	 /* the least: of one trial the same */
	bool generator_limited;	 /* that is less than was asked for, and max_pps is a bit less, */
	bool held_back;		 /* because the sender's queue was full */
	unsigned goals;
	struct found_rate goal[MLR_GOALS], mrr;
	unsigned frame_bytes, payload_bytes;
	unsigned trials, warmups; /* trials: those included */
	unsigned late; /* of all: what was sent came through, but this host did not send it in time
			*/
	uint64_t time_ns; /* all of it took */
	bool interrupted, out_of_time, out_of_trials;
	/* Too many trials lost below rates at which others held: it ended. */
	bool noise;
	/* of the first goal: the lowest that lost, INFINITY: none; the highest that held */
	double lost_from_pps, held_to_pps;
};

struct search {
	struct rate min, max;
	bool max_set; /* else as fast as it goes */
	uint64_t warmup_ns;
	uint64_t most_ns;     /* no trial begins later than that; 0: no limit */
	uint64_t most_trials; /* and no more are made, after the warm-up; 0: no limit */
	unsigned goals;	      /* 0: only the rate at the highest load, by mrr_trials of mrr_ns */
	struct mlr_goal goal[MLR_GOALS];
	const char *name[MLR_GOALS];
	unsigned mrr_trials;
	uint64_t mrr_ns;
	/* A rate in packets/s, of packets as the trials have them. */
	int (*rate_pps)(void *arg, const struct rate *rate, double *pps, struct error *err);
	/*
	 * Makes a trial as `t` intends, at a rate (NULL: as fast as it goes); the title is for who
	 * waits. *res is borrowed until the next one. -EINTR after a signal.
	 */
	int (*run)(void *arg, const struct rate *rate, const struct found_trial *t,
		   const char *title, const struct result **res, struct error *err);
	unsigned threads; /* that send */
	/* Each trial, when its ledger is closed. */
	void (*on_trial)(void *arg, const struct found_trial *t);
	void *arg;
};

/*
 * No lower bound is above a rate whose trials lost more often than the goal allows: where
 * MLRsearch has passed one with too few trials to decide on it, more are made, and where they lose,
 * the bound is taken down below it; so it is where more than a quarter of the trials up to it lost.
 * If a search ends early, all rates tried up to the lower bound held, and all from the upper on
 * lost.
 *
 * Whatever ends it early, `found` has what was found until then. -EINTR after a signal, which is
 * no error; else 0 or -errno with `err`: a trial failed.
 */
int search_run(const struct search *s, struct found *found, struct error *err);

/*
 * The controller of MLRsearch (RFC 9971): searches for the highest load that meets a goal, for
 * several goals at once. Pure: the caller reports the loss of each trial, the controller chooses the
 * next trial. It chooses the same trials as the package MLRsearch 1.2.1 of PyPI, which the RFC refers
 * to. The RFC leaves the choice open and specifies the classification of a load, which has not
 * changed since that version.
 *
 * Loads are points of a logarithmic grid between min and max, so a relative width is a number of
 * steps. A load is a lower bound of a goal if the goal is met whatever the rest of its duration sum
 * loses, and an upper bound if the goal is missed even if the rest loses nothing.
 */

/* The requirements of a goal on one load (RFC 9971, "Search Goal"). */
struct mlr_need {
	double loss_ratio;   /* Goal Loss Ratio, 0 .. 1: more is a high-loss trial */
	double exceed_ratio; /* Goal Exceed Ratio, 0 .. 1: allowed fraction of high-loss trials */
	double trial_s;	     /* Goal Final Trial Duration: a shorter trial is a short trial */
	double sum_s;	     /* Goal Duration Sum */
};

/* The result of one trial. Lists are sorted by step, then by loss. */
struct mlr_load {
	int step;	   /* of the grid */
	double duration_s; /* Trial Effective Duration */
	double loss;	   /* Trial Loss Ratio, 0 .. 1 */
};

enum mlr_class { MLR_UNDECIDED, MLR_LOWER, MLR_UPPER };

/* Classifies a load by the n trials made there (RFC 9971, "Load Classification Code"). */
enum mlr_class mlr_classify(const struct mlr_load *trial, unsigned n, const struct mlr_need *need);

/*
 * Returns the loss ratio of the Conditional Throughput at a load: a quantile of the full-length
 * trials, sorted by loss, or 1 if they are too few (RFC 9971, "Conditional Throughput Code").
 */
double mlr_conditional_loss(const struct mlr_load *trial, unsigned n, const struct mlr_need *need);

struct mlr_trial {
	double load, duration_s;
};

struct mlr;

/* Between two loads, in packets/s or any unit. STATUS_USAGE for limits that contradict. */
int mlr_new(struct mlr **m, double min, double max, const struct mlr_goal *goal, unsigned goals,
	    struct error *err);
void mlr_free(struct mlr *m);

/* The next trial; false: the search is over. */
bool mlr_next(struct mlr *m, struct mlr_trial *next);

/*
 * The trial that mlr_next() gave lost this share of what was intended, what was not sent included.
 * -EINVAL without such a trial.
 */
int mlr_add(struct mlr *m, double loss_ratio);

/* Sets the bounds of a goal, what got through, and `done`: nothing is left to measure for it. */
void mlr_bounds(const struct mlr *m, unsigned goal, struct found_rate *rate);
/* For people who wait: the bounds by the finest trials that know one, which may fall yet. */
void mlr_so_far(const struct mlr *m, unsigned goal, double *lower, double *upper);

/* Duration of the trials that are probably left, s: a guess that grows better. */
double mlr_left(const struct mlr *m);

/*
 * The loads that may be tried: steps 0 .. top, even in the logarithm. The step is so small that
 * each width asked for is a whole number of steps within 1 %.
 */
struct mlr_grid {
	double min, max;
	int top; /* the step of max; min is step 0 */
};

/* `width`: n relative widths, above 0 and below 1. 0 < min < max. -ERANGE: too fine a grid. */
int mlr_grid_init(struct mlr_grid *g, double min, double max, const double *width, unsigned n);

double mlr_grid_load(const struct mlr_grid *g, int step);

/* The highest step that is not above the load. */
int mlr_grid_step(const struct mlr_grid *g, double load);

/* Steps of a relative width, rounded down; at most top. */
int mlr_grid_width(const struct mlr_grid *g, double width);

/* a + b, but not outside the grid. */
int mlr_grid_add(const struct mlr_grid *g, int a, int b);

/*
 * Where to divide an interval that is wider than `goal` steps: so that one part is a power of two
 * times the goal, as even as that allows, the lower part the smaller one.
 */
int mlr_grid_middle(int lower, int upper, int goal);

#endif
