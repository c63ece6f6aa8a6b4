/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks for the highest rates that lose nothing, or hardly anything: trials, picked by mlrsearch.h.
 * A trial is whole: sending stops, what is under way arrives, then the ledger is closed and
 * counters are read. What was to be sent and was not counts as lost; what arrived twice counts
 * once.
 */
#ifndef PKTLEDGER_EXPERIMENT_SEARCH_SEARCH_H
#define PKTLEDGER_EXPERIMENT_SEARCH_SEARCH_H

#include "base/num.h"
#include "experiment/search/mlrsearch.h"
#include "ledger/result.h"

#define FOUND_GOALS 4

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
	double throughput_pps; /* got through at the lower bound; of mrr: the median */
	enum stage stage;      /* that lost most at the upper bound; STAGE_NONE: none did */
	enum found_limit limit;
	bool done; /* as narrow as was asked for */
};

/* What a search has found. Plain data. */
struct found {
	double min_pps, max_pps; /* searched between these */
	double generator_pps;	 /* what was sent when as much as possible was asked for */
	bool generator_limited;	 /* that is less than was asked for, and so is max_pps, */
	bool held_back;		 /* because the sender's queue was full */
	unsigned goals;
	struct found_rate goal[FOUND_GOALS], mrr;
	unsigned frame_bytes, payload_bytes;
	unsigned trials;
	uint64_t time_ns; /* all of it took */
	bool interrupted, out_of_time;
};

struct search {
	struct rate min, max;
	bool max_set; /* else as fast as it goes */
	uint64_t warmup_ns;
	uint64_t most_ns; /* no trial begins later than that; 0: no limit */
	unsigned goals;	  /* 0: only the rate at the highest load, by mrr_trials of mrr_ns */
	struct mlr_goal goal[FOUND_GOALS];
	const char *name[FOUND_GOALS];
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
 * Whatever ends it early, `found` has what was found until then. -EINTR after a signal, which is
 * no error; else 0 or -errno with `err`: a trial failed.
 */
int search_run(const struct search *s, struct found *found, struct error *err);

#endif
