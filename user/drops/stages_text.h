/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the manual says of each stage, for pktledger-stages(7) and `check --explain`. */
#ifndef PKTLEDGER_DROPS_STAGES_TEXT_H
#define PKTLEDGER_DROPS_STAGES_TEXT_H

#include "stages.h"

/* Whole sentences. */
struct stage_text {
	const char *what;   /* where that is, and what those concerned learn of it */
	const char *causes; /* why packets are lost there, the usual ones first */
	const char *remedy; /* what to do, and how to look closer */
};

/* By enum stage. */
extern const struct stage_text stage_texts[STAGE_COUNT];

#endif
