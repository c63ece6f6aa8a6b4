/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How each stage loses packets, and how that is seen: static texts, for the catalogue of stages,
 * for pktledger-stages(7) and `check --explain`.
 */
#ifndef PKTLEDGER_DROPS_STAGES_DATA_H
#define PKTLEDGER_DROPS_STAGES_DATA_H

#include "stages.h"

struct stage_facts {
	const char *mechanism; /* what in the kernel ends the packet; functions by name */
	const char *hook;      /* where that is seen: tracepoint and reasons */
	const char *limit;     /* what is known not to be seen or not to be told; NULL: nothing */
};

extern const struct stage_facts stage_facts[STAGE_COUNT];

/* Whole sentences. */
struct stage_text {
	const char *what;   /* where that is, and what those concerned learn of it */
	const char *causes; /* why packets are lost there, the usual ones first */
	const char *remedy; /* what to do, and how to look closer */
};

/* By enum stage. */
extern const struct stage_text stage_texts[STAGE_COUNT];

#endif
