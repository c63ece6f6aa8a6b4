/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving threads: one engine and one sink each. */
#ifndef PKTLEDGER_EXPERIMENT_RECEIVER_H
#define PKTLEDGER_EXPERIMENT_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/fates.h"
#include "traffic/rx.h"

#define RECEIVER_THREADS 64

struct receiver;

/* Starts the threads and opens the engines: packets arriving from here on are received. */
int receiver_open(struct receiver **r, const struct receiver_config *cfg, struct error *err);

/* Ends `paused` and `work_ns`. */
void receiver_resume(struct receiver *r);

/* Numbers delivered so far. May be called while the threads run. */
uint64_t receiver_delivered(const struct receiver *r);

/* CPU time of the threads until now, or until they ended; ns. */
uint64_t receiver_cpu_ns(struct receiver *r);

/* Those that arrive; with fates they are the run's. */
struct sink_streams *receiver_streams(struct receiver *r);

/* After tails were moved: sink_pass() of all threads. */
void receiver_pass(const struct receiver *r);

/*
 * Whether what waited for the threads at receiver_mark() has been read: each found its queue empty
 * since, or a number of the run that was sent later, `later` being the first of each stream (as in
 * the stamp). For one caller.
 */
void receiver_mark(struct receiver *r, const uint64_t *later);
bool receiver_caught_up(const struct receiver *r);

/* The highest number seen of a stream + 1; 0: none yet. May be called while the threads run. */
uint64_t receiver_next(const struct receiver *r, unsigned stream);

/*
 * The least time from sending to arrival of a stream, by the clocks of both ends; false: packets
 * without one. After receiver_stop().
 */
bool receiver_fastest(const struct receiver *r, unsigned stream, int64_t *ns);

/* The end record of a stream has come, and no number beyond what it says. */
bool receiver_ended(const struct receiver *r, unsigned stream);

/* There are streams, and all have ended. */
bool receiver_all_ended(const struct receiver *r);

/* Nothing waits in the queue of any engine. */
bool receiver_idle(const struct receiver *r);

/* A thread ended with an error: it is in `err`. */
bool receiver_failed(const struct receiver *r, struct error *err);

/* Ends the threads; the engines and their sockets stay open. */
void receiver_stop(struct receiver *r);

/* After receiver_stop(): STATUS_FAILED if a thread could not write all of its log. */
int receiver_check_log(const struct receiver *r, struct error *err);

/* Sums of all threads, after receiver_stop(). `sum` has no lines: they are in `arrivals`. */
void receiver_sum(const struct receiver *r, struct sink *sum, struct arrivals *arrivals);

/*
 * For receiver_sum(): sums the lines of `n` sinks; those of one flow that two threads received are
 * one flow. Fills all of `out` but the gaps.
 */
void arrivals_sum(struct arrivals *out, const struct sink *const *sink, unsigned n);
void receiver_stats(const struct receiver *r, struct rx_stats *st);
const char *receiver_mode(const struct receiver *r);
int receiver_fd(const struct receiver *r, unsigned thread);

/* Closes the engines, so their sockets. */
void receiver_close(struct receiver *r);

#endif
