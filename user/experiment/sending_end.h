/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending end of a path, alone on this host: engine, tracer, and the fates of its numbers as
 * far as this namespace decides them. For `send`, and for either side of `run --to`.
 */
#ifndef PKTLEDGER_EXPERIMENT_SENDING_END_H
#define PKTLEDGER_EXPERIMENT_SENDING_END_H

#include "ledger/ledger.h"
#include "experiment/sender.h"
#include "experiment/solo.h"
#include "experiment/tracer.h"
#include "experiment/window.h"

struct sending_end {
	const struct send_spec *spec;
	struct flow flow;
	unsigned ifindex; /* by which the packets leave; 0: no route yet */
	struct netns ns;  /* this one, for telling our losses from those of others */
	struct tracer tracer;
	bool traced;
	struct error untraced; /* why not, if it is not traced */
	struct fates fates;    /* without a tracer: plain memory */
	bool moving;	       /* more numbers than the window holds, or to be told early */
	struct window window;
	uint64_t refused[TRACE_STREAMS]; /* of the numbers folded so far */
	struct sender_config config;
	struct sender *sender;
	struct ledger ledger;
};

/* The sender's threads stand ready. On failure sending_end_close() is due all the same. */
int sending_end_open(struct sending_end *e, const struct send_spec *spec, struct error *err);

struct fates *sending_end_fates(struct sending_end *e);

/* Of an end with a border: where its checkpoint is; the engine, if frames bypass the stack. */
const char *sending_end_place(const struct sending_end *e);

/* Names the losses seen so far; those elsewhere on this host are not this side's. */
void sending_end_name(struct sending_end *e);

/*
 * Whether numbers are old enough to leave the window: where each stream was then, to be folded and
 * given to sending_end_allow(). NULL: none are. For ends that are `moving`.
 */
const uint64_t *sending_end_leaving(struct sending_end *e, uint64_t now_ns);

/*
 * Of an end with a border: packets in the queueing discipline of its device, and whether the
 * address of a next hop is being asked for.
 */
uint64_t sending_end_queued(const struct sending_end *e);
bool sending_end_is_asking(const struct sending_end *e);

/*
 * Frames of AF_XDP and XDP do not come by the border: that the device took those below `upto` is
 * known to the engine, and noted here as seen there.
 */
void sending_end_note_handed(struct sending_end *e, unsigned slot, uint64_t upto);

/* Folds what is below `upto` of a stream, as fates_fold() does. `visitor` may be NULL. */
void sending_end_fold(struct sending_end *e, unsigned slot, uint64_t upto,
		      const struct fates_visitor *visitor);

/* Numbers below `tail` are folded: the sender may use their places. */
void sending_end_allow(struct sending_end *e, unsigned slot, uint64_t tail);

/* Sent and refused of a stream so far, when its thread has ended. */
void sending_end_count(const struct sending_end *e, unsigned slot, uint64_t *sent,
		       uint64_t *refused);

/* Sizes, rate and mode, before anything is sent. */
void sending_end_describe(const struct sending_end *e, struct result *res);

/*
 * Closes the ledger on what was folded, with what engine and tracer say of themselves. `in_queues`
 * as ledger_close() is told.
 */
void sending_end_books(struct sending_end *e, uint64_t in_queues, struct result *res);

void sending_end_close(struct sending_end *e);

#endif
