/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tracer with all it needs: names of this kernel, the numbers of the run, their fates. */
#ifndef PKTLEDGER_EXPERIMENT_TRACER_H
#define PKTLEDGER_EXPERIMENT_TRACER_H

#include "drops/fates.h"
#include "ledger/ledger.h"
#include "drops/checkpoint.h"
#include "drops/drops.h"
#include "drops/ksym.h"
#include "drops/reason.h"

struct tracer {
	struct reasons *reasons;
	struct ksyms *ksyms;
	struct fates fates;
	struct trace_config config;
	struct drops *drops;
	struct checkpoints *checkpoints; /* NULL: none */
	struct checkpoints *border;	 /* the same: of border_open() */
};

struct tracer_spec {
	unsigned streams;
	uint64_t window; /* numbers kept per stream; 0: they are others', so that causes are counted
			  * but no fates kept */
	uint16_t port;
	uint16_t tunnel; /* UDP port of VXLAN to look into; 0: none */
	bool consumed;	 /* follow also what is freed as if it had been used up */
	bool fragments;	 /* datagrams are larger than the MTU */
	uint32_t netns;	 /* only losses in this namespace; 0: in any */
	const struct checkpoint_place *checkpoints; /* as checkpoints_open() is told; NULL: none */
	const struct fates_numbers *numbers;	    /* drawn by another host; NULL: to be drawn */
	bool learn;		    /* of `numbers` only room and window are known */
	struct border_netns border; /* in place of checkpoints; all 0: none */
	unsigned border_ifindex;    /* as border_open() is told */
};

/*
 * Draws the numbers, loads and attaches the observers, maps the fates. On failure all is undone.
 */
int tracer_open(struct tracer *t, const struct tracer_spec *spec, struct error *err);

/* The map of what the checkpoints have seen; -1: there are none. */
int tracer_seen_fd(const struct tracer *t);

/* Reads the causes seen so far and names them. */
int tracer_name(const struct tracer *t, const struct ledger_place *places, unsigned n,
		struct ledger *ledger);

/* What the tracer itself lost, and evidence of suppression that the ledger holds. */
void tracer_losses(const struct tracer *t, const struct ledger *ledger, struct result *res);

/* Numbers of a stream below `number` leave the window; they are to be folded next. */
void tracer_set_tail(struct tracer *t, unsigned slot, uint64_t number);

void tracer_close(struct tracer *t);

#endif
