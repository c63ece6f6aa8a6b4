/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside of drops/balance.h: shared by balance.c and balance_look.c only. */
#ifndef PKTLEDGER_DROPS_BALANCE_PARTS_H
#define PKTLEDGER_DROPS_BALANCE_PARTS_H

#include "drops/balance.h"

#include "balance.skel.h"

struct balance {
	struct balance_bpf *skel;
	const struct filter *filter;
	const struct reasons *reasons;
	const struct ksyms *ksyms;
	struct balance_cell *cells; /* mapped */
	unsigned judged;	    /* causes */
	bool doubtful[BALANCE_CAUSES];
	int stats_fd; /* -1: the cost is not being measured */
	uint64_t stats_since;
	struct balance_cost stats_base, cost;
};

int balance_attach(struct balance *b, struct error *err);

/* Sides of causes that are new. 0 or -errno. */
int balance_judge(struct balance *b);

#endif
