/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the sinks of the receiving threads to what is shown. */
#ifndef PKTLEDGER_EXPERIMENT_RUN_ARRIVALS_H
#define PKTLEDGER_EXPERIMENT_RUN_ARRIVALS_H

#include "drops/arrivals.h"
#include "traffic/sink.h"

/*
 * Sums the lines of `n` sinks; those of one flow that two threads received are one flow. Fills all
 * of `out` but the gaps.
 */
void arrivals_sum(struct arrivals *out, const struct sink *const *sink, unsigned n);

#endif
