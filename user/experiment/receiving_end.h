/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiving end of a path, alone on this host: engine, XDP program, tracer. For `recv`, which
 * learns its streams from what arrives, and for either side of `run --to`, which knows the numbers
 * and keeps their fates as far as this namespace decides them.
 */
#ifndef PKTLEDGER_EXPERIMENT_RECEIVING_END_H
#define PKTLEDGER_EXPERIMENT_RECEIVING_END_H

#include "ledger/ledger.h"
#include "traffic/sink.h"
#include "traffic/xsk.h"
#include "experiment/receiver.h"
#include "experiment/solo.h"
#include "experiment/tracer.h"

struct receiving_end {
	const struct recv_spec *spec;
	struct flow flow;
	struct netns ns;
	unsigned ifindex; /* by which packets of the sender come in, if it is known */
	struct tracer tracer;
	bool traced;
	struct error untraced; /* why not, if it is not traced */
	struct xsk_prog *xsk_prog;
	struct sink_prog *sink_prog;
	unsigned xdp_ifindex; /* where a program of ours is attached */
	struct receiver_config config;
	struct receiver *receiver;
	struct ledger ledger;
};

/*
 * Packets arriving from here on are received. With numbers the tracer is needed; without them its
 * absence is told in `untraced`. On failure receiving_end_close() is due all the same.
 */
int receiving_end_open(struct receiving_end *e, const struct recv_spec *spec, struct error *err);

/* Of an end with a border: where its checkpoint is. */
const char *receiving_end_place(const struct receiving_end *e);

/* Names the losses seen so far; those that are not this side's end no packet. */
void receiving_end_name(struct receiving_end *e);

/* Whether a loss is one of this namespace, and not our own program's way to take a packet. */
bool receiving_end_is_here(const struct receiving_end *e, const struct ledger_cause *c);

/* With numbers: folds what is below `upto` of a stream, as fates_fold() does. */
void receiving_end_fold(struct receiving_end *e, unsigned slot, uint64_t upto,
			const struct fates_visitor *visitor);

/* What the receiver counted, when it has stopped: delivered .. foreign, rates, arrivals. */
void receiving_end_sums(struct receiving_end *e, struct sink *sum, struct result *res);

void receiving_end_close(struct receiving_end *e);

#endif
