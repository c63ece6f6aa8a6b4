/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks for the highest rates that lose nothing, or hardly anything: trials of `run`, picked by
 * experiment/search/mlrsearch.h. A trial is whole: sending stops, what is under way arrives, then the books close
 * and counters are read. What was to be sent and was not counts as lost; what arrived twice counts
 * once.
 */
#ifndef PKTLEDGER_CLI_SEARCH_H
#define PKTLEDGER_CLI_SEARCH_H

#include "experiment/search/found.h"
#include "cli/report.h"
#include "experiment/search/mlrsearch.h"

struct search {
	const struct run_options *o; /* of all trials, but for rate, count and duration */
	struct rate min, max;
	bool max_set; /* else as fast as it goes */
	uint64_t warmup_ns;
	uint64_t most_ns; /* no trial begins later than that; 0: no limit */
	unsigned goals;	  /* 0: only the rate at the highest load, by mrr_trials of mrr_ns */
	struct mlr_goal goal[FOUND_GOALS];
	const char *name[FOUND_GOALS];
	unsigned mrr_trials;
	uint64_t mrr_ns;
	/* Each trial, when its books are closed. */
	void (*on_trial)(void *arg, const struct found_trial *t);
	void *arg;
};

/*
 * Whatever ends it early, `found` has what was found until then. -EINTR after a signal, which is
 * no error; else 0 or -errno with `err`: a trial failed.
 */
int search_run(const struct search *s, struct report *report, struct found *found,
	       struct error *err);

#endif
