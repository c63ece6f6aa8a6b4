/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a search for rates has found, and the trials by which. Plain data. */
#ifndef PKTLEDGER_EXPERIMENT_SEARCH_FOUND_H
#define PKTLEDGER_EXPERIMENT_SEARCH_FOUND_H

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

#endif
