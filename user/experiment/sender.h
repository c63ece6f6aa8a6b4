/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending threads: one engine and one stream each, started together, paced together. */
#ifndef PKTLEDGER_EXPERIMENT_SENDER_H
#define PKTLEDGER_EXPERIMENT_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/result.h"
#include "traffic/tx.h"

struct sender;

/* Starts the threads and opens the engines; nothing is sent yet. `cfg` is borrowed. */
int sender_open(struct sender **s, const struct sender_config *cfg, struct error *err);
void sender_start(struct sender *s);

bool sender_done(const struct sender *s);

/* Asks the threads to end now. */
void sender_stop(struct sender *s);

/*
 * Waits for the threads, each having finished its engine. An error that ended a thread early is in
 * `err`; the ledger of what was sent is good all the same.
 */
int sender_join(struct sender *s, struct error *err);

/*
 * First number of the stream that is not closed yet. May be called while the threads run; with
 * reordering on purpose it lags behind then, so that all numbers below it are sent.
 */
uint64_t sender_next(const struct sender *s, unsigned slot);

/* CPU time of the threads until now, or until they ended; ns. */
uint64_t sender_cpu_ns(struct sender *s);

/* Numbers up to here may be used: the window has moved. Only for runs longer than the window. */
void sender_allow(struct sender *s, unsigned slot, uint64_t upto);

void sender_stats(const struct sender *s, struct tx_stats *st);

/* Of these and of the CPU time what a result shows: waits, slips, duration, faults on purpose. */
void sender_result(struct sender *s, struct result *res);

const char *sender_mode(const struct sender *s);
void sender_close(struct sender *s);

#endif
