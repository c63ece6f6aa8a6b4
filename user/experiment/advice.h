/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A finding for every loss of a result, with the values of this host. */
#ifndef PKTLEDGER_EXPERIMENT_ADVICE_H
#define PKTLEDGER_EXPERIMENT_ADVICE_H

#include "diagnosis/findings.h"
#include "experiment/close.h"

void advise(const struct rig *rig, const struct books *b, struct result *res);

/* A finding for the loss at one stage, if there is one. `host`: what is known beside the loss. */
void advise_stage(enum stage stage, const struct finding_facts *host, const struct ledger *l,
		  struct result *res);

/* The largest cause of a stage, which tells the place; NULL: none. */
const struct result_cause *advise_main_cause(const struct result *res, enum stage stage);

#endif
