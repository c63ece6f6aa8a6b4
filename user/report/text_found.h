/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A search for rates, for people: its trials as a table, then what was found. */
#ifndef PKTLEDGER_REPORT_TEXT_FOUND_H
#define PKTLEDGER_REPORT_TEXT_FOUND_H

#include <stdio.h>

#include "experiment/search/search.h"
#include "report/trials.h"

/* A line of the log, with a heading before number 1. */
void text_found_trial(FILE *out, unsigned number, const struct found_trial *t);

void text_found(FILE *out, const struct found *f);

/* Of the lower bounds of `n` searches. */
void text_found_spread(FILE *out, const char *name, const struct trials_summary *s, unsigned n);

/* "rcvbuf", "the generator", "the sender's queue", or "" where nothing is to blame. */
const char *found_culprit(const struct found_rate *rate);

#endif
