/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of pair.c that need no connection: what is asked of the far end, and the books. */
#ifndef PKTLEDGER_EXPERIMENT_PAIR_PARTS_H
#define PKTLEDGER_EXPERIMENT_PAIR_PARTS_H

#include <net/if.h>

#include "host/lab.h"
#include "experiment/client.h"
#include "experiment/near.h"

struct pair {
	const struct run_spec *spec;
	const struct experiment_view *view;
	struct peer *peer;
	struct near *near;
	struct peer_ready near_ready, far_ready;
	struct peer_status far_status; /* the last one told */
	const struct result *far_end;  /* NULL: not told */
	struct peer_teller teller;     /* writes what the far end tells into the fates here */
	struct join join;
	struct ledger_cause far_cause[TRACE_CAUSES]; /* by index here */
	struct window window;			     /* of a far sender */
	uint64_t upto[TRACE_STREAMS];		     /* numbers (from 0) that leave the window */
	char device[IF_NAMESIZE];		     /* to the far host; "" unknown */
	struct {
		int64_t offset_ns;
		uint64_t error_ns;
	} clock;
	char host[65]; /* this one */
};

struct pair *pair_new(const struct run_spec *spec, const struct experiment_view *view);
void pair_free(struct pair *p);

/* Plans both ends; the numbers of `plan` come with pair_ready(), when the near end is open. */
int pair_fill(struct pair *p, struct peer_plan *plan, struct error *err);
void pair_ready(struct pair *p, struct peer_plan *plan);

void pair_announce(struct pair *p, struct result *res);

/*
 * Folds numbers (from 0). If the far end has told all that it knows of them, `told`, the wire is
 * given what is its.
 */
void pair_fold(struct pair *p, const uint64_t *upto, bool told);

/* Closes the books on what was folded. */
void pair_close(struct pair *p, struct result *res);

#endif
